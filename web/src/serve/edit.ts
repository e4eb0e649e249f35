/** Edits of YAML by path. A replaced value changes only its own characters; comments and order stay. */

import { Document, isAlias, isCollection, isMap, isScalar, parseDocument, stringify, type Node } from "yaml";

export type Path = (string | number)[];

export interface Parsed {
  data: Record<string, unknown>;
  /** What makes the text no YAML; empty for YAML. */
  error: string;
}

const PARSE = { keepSourceTokens: false, merge: false, uniqueKeys: true, prettyErrors: false } as const;

export function parsed(text: string): Parsed {
  const document = parseDocument(text, PARSE);
  const error = document.errors[0]?.message ?? "";
  if (error) return { data: {}, error };
  try {
    const data: unknown = document.toJS({ maxAliasCount: 1_000 });
    if (data === null || data === undefined) return { data: {}, error: "" };
    if (typeof data !== "object" || Array.isArray(data)) return { data: {}, error: "The text is no mapping of keys." };
    return { data: data as Record<string, unknown>, error: "" };
  } catch (caught) {
    return { data: {}, error: caught instanceof Error ? caught.message : String(caught) };
  }
}

/** The text with a value at a path; undefined removes the key, and mappings that become empty. */
export function withValue(text: string, path: Path, value: unknown): string {
  const document = parseDocument(text, PARSE);
  if (document.errors.length) return text;
  const there = document.getIn(path, true) as Node | undefined;
  const plain = value === null || typeof value !== "object";
  if (value !== undefined && plain && isScalar(there) && there.range && !there.anchor && !there.tag) {
    const [start, end] = there.range;
    return text.slice(0, start) + token(value, inFlow(document, path)) + text.slice(end);
  }
  if (value === undefined) remove(document, path);
  else {
    prepare(document, path);
    document.setIn(path, document.createNode(value));
  }
  return document.toString({ lineWidth: 0, flowCollectionPadding: /\{ \S/.test(text) || !/\{\S/.test(text) });
}

function token(value: unknown, flow: boolean): string {
  if (typeof value === "string" && (flow || value.includes("\n"))) {
    if (!/^[\w%][\w .%/+*-]*$/.test(value) || stringify(value).trim() !== value) return JSON.stringify(value);
  }
  return stringify(value, { lineWidth: 0 }).trim();
}

function inFlow(document: Document, path: Path): boolean {
  return path.some((_, depth) => {
    const node = document.getIn(path.slice(0, depth), true);
    return isCollection(node) && node.flow === true;
  });
}

/** Make the mappings on the way: a key without a value, or an alias, becomes a mapping of its own. */
function prepare(document: Document, path: Path): void {
  if (!isMap(document.contents)) document.contents = document.createNode({}) as typeof document.contents;
  for (let depth = 1; depth < path.length; depth++) {
    const at = path.slice(0, depth);
    const node = document.getIn(at, true);
    if (isAlias(node)) document.setIn(at, document.createNode(node.toJS(document)));
    else if (!isCollection(node)) document.setIn(at, document.createNode(typeof path[depth] === "number" ? [] : {}));
  }
}

function remove(document: Document, path: Path): void {
  if (!document.hasIn(path)) return;
  prepare(document, path);
  document.deleteIn(path);
  for (let depth = path.length - 1; depth > 1; depth--) {
    const node = document.getIn(path.slice(0, depth), true);
    if (depth < 3 || !isMap(node) || node.items.length) return; // an entry of a section stays, also when it is empty
    document.deleteIn(path.slice(0, depth));
  }
}

/** The text with an entry under another name, at its place. */
export function renamed(text: string, path: Path, name: string): string {
  const document = parseDocument(text, PARSE);
  const parent = document.getIn(path.slice(0, -1), true);
  if (document.errors.length || !isMap(parent) || parent.has(name)) return text;
  const pair = parent.items.find((each) => String(isScalar(each.key) ? each.key.value : each.key) === path.at(-1));
  if (!pair || !isScalar(pair.key) || !pair.key.range) return text;
  const [start, end] = pair.key.range;
  return text.slice(0, start) + token(name, true) + text.slice(end);
}
