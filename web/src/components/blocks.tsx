/** The blocks of a section. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Block, Card } from "../model/view";
import { Chart } from "./chart";
import { download, fileName } from "./hooks";
import { Badge, Copy, Sign } from "./small";
import { Table } from "./table";

export function Blocks({ blocks }: { blocks: readonly Block[] }) {
  return (
    <>
      {blocks.map((block, index) => (
        <BlockOf key={index} block={block} />
      ))}
    </>
  );
}

function BlockOf({ block }: { block: Block }) {
  switch (block.type) {
    case "prose":
      return (
        <div class={`prose ${block.tone ? `tone-box ${block.tone}` : ""}`}>
          {block.paragraphs.map((paragraph, index) => (
            <p key={index}>{paragraph}</p>
          ))}
        </div>
      );
    case "list":
      return (
        <ul class="list">
          {block.items.map((item, index) => (
            <li key={index} class={item.tone ? "signed" : ""}>
              {item.tone && <Sign tone={item.tone} />}
              {item.address?.startsWith("https://") ? (
                <a href={item.address} rel="noreferrer noopener">
                  {item.text}
                </a>
              ) : (
                <span>{item.text}</span>
              )}
            </li>
          ))}
        </ul>
      );
    case "cards":
      return <Cards cards={block.cards} />;
    case "charts":
      return (
        <div class={`charts ${block.wide || block.charts.length === 1 ? "wide" : ""}`}>
          {block.charts.map((chart, index) => (
            <Chart key={chart.id} chart={chart} above={block.charts[index - 1]} />
          ))}
        </div>
      );
    case "table":
      return <Table key={block.table.id} table={block.table} />;
    case "drawing":
      return <Drawing caption={block.caption} svg={block.svg} />;
    case "text":
      return <Text name={block.name} text={block.text} />;
    case "group":
      return (
        <Folding heading={block.heading} badge={block.badge} closed={block.closed} blocks={block.blocks} level={3} />
      );
  }
}

export function Cards({ cards }: { cards: readonly Card[] }) {
  if (!cards.length) return null;
  return (
    <dl class="cards">
      {cards.map((card) => (
        <div key={card.name} class={`card ${card.tone ?? "plain"}`}>
          <dt>{card.name}</dt>
          <dd class="value">{card.value}</dd>
          {card.remark && <dd class="remark">{card.remark}</dd>}
        </div>
      ))}
    </dl>
  );
}

/** Blocks under a heading, which can be folded if `closed` is set; paper shows what is open. */
export function Folding(props: {
  heading: string;
  badge?: { tone: "good" | "bad" | "warn" | "note" | "plain"; text: string } | undefined;
  closed?: boolean | undefined;
  text?: string | undefined;
  blocks: readonly Block[];
  level: 2 | 3;
}) {
  const [open, setOpen] = useState(!props.closed);
  const Heading = props.level === 2 ? "h2" : "h3";
  const heading = (
    <Heading>
      {props.badge && <Badge badge={props.badge} />} {props.heading}
    </Heading>
  );
  const inside = (
    <>
      {props.text && <p class="lead">{props.text}</p>}
      <Blocks blocks={props.blocks} />
    </>
  );
  if (props.closed === undefined)
    return (
      <div class={`level-${props.level}`}>
        {heading}
        {inside}
      </div>
    );
  return (
    <details
      class={`level-${props.level} ${open ? "" : "folded"}`}
      open={open}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>{heading}</summary>
      {open && inside}
    </details>
  );
}

const FORBIDDEN = "script, foreignObject, iframe, image, use, a, style, animate, set";

/** A drawing made by Python, without elements that could run or load anything. */
function Drawing({ caption, svg }: { caption: string; svg: string }) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const root = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    if (!place.current || root.localName !== "svg") return;
    root.querySelectorAll(FORBIDDEN).forEach((element) => element.remove());
    for (const element of [root, ...root.querySelectorAll("*")])
      for (const { name } of [...element.attributes])
        if (/^on|^style$|href$/i.test(name)) element.removeAttribute(name);
    place.current.replaceChildren(document.importNode(root, true));
  }, [svg]);
  return (
    <figure class="drawing">
      <div class="bar">
        <figcaption>{caption}</figcaption>
        <button
          type="button"
          class="small"
          onClick={() => download(fileName(caption, "svg"), svg, "image/svg+xml")}
          aria-label={`Save ${caption} as SVG`}
        >
          SVG
        </button>
      </div>
      <div class="scroll" ref={place} role="region" aria-label={caption} tabIndex={0} />
    </figure>
  );
}

function Text({ name, text }: { name: string; text: string }) {
  return (
    <div class="text">
      <div class="bar">
        <p class="caption">{name}</p>
        <div class="tools">
          <Copy text={text} what={name} />
          <button type="button" class="small" onClick={() => download(name, text)} aria-label={`Download ${name}`}>
            download
          </button>
        </div>
      </div>
      <pre tabIndex={0}>{text}</pre>
    </div>
  );
}

/** Run when paper is about to be drawn, and after. */
export function usePaper(before: () => void, after: () => void): void {
  useEffect(() => {
    window.addEventListener("beforeprint", before);
    window.addEventListener("afterprint", after);
    return () => {
      window.removeEventListener("beforeprint", before);
      window.removeEventListener("afterprint", after);
    };
  });
}
