/** The YAML editor. It stands in a shadow root, whose styles the policy of the page allows without exceptions. */

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";
import type { Mistake } from "./api";

const LOOK = EditorView.theme({
  "&": { backgroundColor: "var(--surface)", color: "var(--ink)", fontSize: "13.5px" },
  ".cm-content": { fontFamily: "ui-monospace, 'DejaVu Sans Mono', monospace", caretColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--plain-paper)", color: "var(--muted)", border: "0" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--note-paper)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--grid) !important" },
  "&.cm-focused": { outline: "2px solid var(--accent)" },
  ".cm-tooltip": { backgroundColor: "var(--surface)", color: "var(--ink)", border: "1px solid var(--line)" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap" },
});

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.string, tags.content], color: "var(--ink)" },
  { tag: tags.comment, color: "var(--good)" },
  { tag: [tags.meta, tags.keyword, tags.labelName], color: "var(--warn)" },
]);

interface Props {
  name: string;
  text: string;
  mistakes: Mistake[];
  change: (text: string) => void;
}

export function Editor({ name, text, mistakes, change }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(change);
  /** Texts that were typed here, until they come back: an older one must not replace what was typed since. */
  const typed = useRef(new Set<string>());
  latest.current = change;
  useEffect(() => {
    if (!place.current) return;
    const root = place.current.shadowRoot ?? place.current.attachShadow({ mode: "open" });
    const parent = document.createElement("div");
    root.replaceChildren(parent);
    view.current = new EditorView({
      parent,
      root,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          highlightActiveLine(),
          EditorView.lineWrapping,
          lintGutter(),
          yaml(),
          LOOK,
          syntaxHighlighting(COLOURS),
          keymap.of([...defaultKeymap, ...historyKeymap]), // without Tab, which moves on to the next element
          EditorView.contentAttributes.of({ "aria-label": `YAML of ${name}` }),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged) return;
            const now = update.state.doc.toString();
            typed.current.add(now);
            latest.current(now);
          }),
        ],
      }),
    });
    return () => view.current?.destroy();
  }, [name]);
  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    if (editor.state.doc.toString() === text) typed.current.clear();
    else if (!typed.current.has(text))
      editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
  }, [text]);
  useEffect(() => {
    const editor = view.current;
    if (editor)
      editor.dispatch(
        setDiagnostics(
          editor.state,
          mistakes.map((each) => diagnostic(editor, each)),
        ),
      );
  }, [mistakes, name]);
  return <div class="editor" ref={place} />;
}

function diagnostic(editor: EditorView, mistake: Mistake): Diagnostic {
  const line = editor.state.doc.line(Math.min(Math.max(mistake.line ?? 1, 1), editor.state.doc.lines));
  return { from: line.from, to: line.to, severity: "error", message: mistake.message };
}
