/** The content of a page: the head, what to choose, its sections, and how it was made. */

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { PageDocument } from "../model/page";
import type { Section, View } from "../model/view";
import { Folding } from "./blocks";
import { Head } from "./head";
import { Made } from "./made";

/** Sections from which on a page has a list of them. */
const LONG = 4;

interface Props {
  page: PageDocument;
  view: View;
  choices: ComponentChildren;
  /** What is beside the content. */
  panel?: ComponentChildren;
  /** Classes of the content. */
  look?: string;
  /** True if it is a part of a page that has its own `main`. */
  isInside?: boolean;
}

export function Body({ page, view, choices, panel, look = "", isInside = false }: Props) {
  const Main = isInside ? "div" : "main";
  const isLong = view.sections.length >= LONG;
  return (
    <div class={panel ? "asking" : isLong ? "long" : ""}>
      {panel}
      <Main class={`content ${look}`} {...(isInside ? {} : { id: "content", tabIndex: -1 })}>
        <Head view={view} />
        {isLong && <Contents view={view} />}
        {choices}
        {view.sections.map((section) => (
          <Part key={section.id} section={section} />
        ))}
        <Made page={page} assumptions={view.assumptions} />
      </Main>
    </div>
  );
}

/** A section, drawn again only if it changed. */
function Part({ section }: { section: Section }) {
  return useMemo(
    () => (
      <section id={section.id} class="section" aria-label={section.heading}>
        <Folding
          heading={section.heading}
          badge={section.badge}
          closed={section.closed}
          text={section.text}
          blocks={section.blocks}
          level={2}
        />
      </section>
    ),
    [section],
  );
}

function Contents({ view }: { view: View }) {
  return (
    <nav class="contents" aria-label="Contents">
      <ol>
        {view.sections.map((section) => (
          <li key={section.id}>
            <a href={`#${section.id}`}>{section.heading}</a>
          </li>
        ))}
        <li>
          <a href="#made">How this page was made</a>
        </li>
      </ol>
    </nav>
  );
}
