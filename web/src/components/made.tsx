/** The end of a page: how it was made, and all that it takes to make it again. */

import type { ComponentChildren } from "preact";
import type { PageDocument } from "../model/page";
import { quoted } from "../model/words";
import { download, fileName } from "./hooks";
import { Copy } from "./small";

/** Commands that read or measure what a page does not hold. */
const ONCE = ["diagnose", "lab"];

/** Files that are listed at once. */
const FEW = 3;

export function Made({ page, assumptions }: { page: PageDocument; assumptions: readonly string[] }) {
  const { made } = page;
  const command = made.command.length ? ["hypertwin", ...made.command].map(quoted) : [];
  const again =
    command.length > 0 && !ONCE.includes(made.command[0] ?? "") && made.files.every((file) => file.text !== null);
  const said = [...new Set([...assumptions, ...page.notes])];
  return (
    <section class="made" id="made" aria-labelledby="made-heading">
      <h2 id="made-heading">How this page was made</h2>
      <dl class="facts">
        <Fact name="date">{made.date.replace("T", " ").replace("Z", " UTC")}</Fact>
        <Fact name="hypertwin">{made.version}</Fact>
        {made.seed !== null && <Fact name="seed">{made.seed}</Fact>}
        {command.length > 0 && (
          <Fact name="command">
            <code class="command">
              {command.map((word, index) => [index > 0 && " ", <span key={index}>{word}</span>])}
            </code>{" "}
            <Copy text={command.join(" ")} what="the command" />
          </Fact>
        )}
        {again && (
          <Fact name="run again">
            <code class="command">hypertwin rerun {quoted(ownName())}</code>, from this page alone
          </Fact>
        )}
        {made.calibrated.length > 0 && <Fact name="calibrated on">{made.calibrated.join(" ")}</Fact>}
      </dl>
      {made.files.length > 0 && <Files files={made.files} />}
      {said.length > 0 && (
        <>
          <h3>Assumptions</h3>
          <ul class="assumptions">
            {said.map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        </>
      )}
      <p>
        <button
          type="button"
          onClick={() =>
            download(
              fileName(page.title || page.kind, "json"),
              JSON.stringify(page.document, null, 2),
              "application/json",
            )
          }
        >
          Download the result as JSON
        </button>{" "}
        <span class="hint">Figures are rounded to six significant digits, curves to four.</span>
      </p>
    </section>
  );
}

function Files({ files }: { files: PageDocument["made"]["files"] }) {
  const listed = (some: PageDocument["made"]["files"]) => (
    <ul class="files">
      {some.map((file) => (
        <li key={file.name}>
          <code>{file.name}</code>
          {file.text !== null && (
            <button
              type="button"
              class="small"
              onClick={() => download(baseName(file.name), file.text ?? "")}
              aria-label={`Download ${file.name}`}
            >
              download
            </button>
          )}
          <span class="hash">SHA-256 {file.sha256}</span>
        </li>
      ))}
    </ul>
  );
  return (
    <>
      <h3>Input files</h3>
      {listed(files.slice(0, FEW))}
      {files.length > FEW && (
        <details class="folded">
          <summary>{files.length - FEW} more</summary>
          {listed(files.slice(FEW))}
        </details>
      )}
    </>
  );
}

/** The file that this page is in, as the address says; that may hold a stray "%". */
function ownName(): string {
  try {
    return baseName(decodeURIComponent(location.pathname));
  } catch {
    return "PAGE.html";
  }
}

function baseName(path: string): string {
  return path.split(/[\\/]/).at(-1) || "file";
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
