/** The JSON Schema of scenarios as the form reads it. */

export interface Node {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Node>;
  additionalProperties?: Node | boolean;
  items?: Node;
  enum?: unknown[];
  required?: string[];
  default?: unknown;
  examples?: unknown[];
  minimum?: number;
  maximum?: number;
  "x-minimum"?: string;
  "x-maximum"?: string;
  "x-values"?: string[];
  "x-allowed"?: string;
  "x-family"?: string;
  "x-since"?: string;
  "x-quantity"?: string;
  [key: string]: unknown;
}

export interface Schema extends Node {
  $defs: Record<string, Node>;
}

export type Kind = "object" | "map" | "list" | "choice" | "boolean" | "value";

/** A node with what its reference says; its own keys take priority. */
export function resolved(schema: Schema, node: Node): Node {
  const name = node.$ref?.replace("#/$defs/", "");
  if (!name) return node;
  const { $ref: _, ...own } = node;
  return { ...resolved(schema, schema.$defs[name] ?? {}), ...own };
}

export function kindOf(node: Node): Kind {
  if (node.properties) return "object";
  if (node.type === "object") return "map";
  if (node.type === "array") return "list";
  if (node.enum) return "choice";
  if (node.type === "boolean") return "boolean";
  return "value";
}

/** True if a number is allowed, so that digits are written as one. */
export function takesNumbers(node: Node): boolean {
  return [node.type ?? []].flat().some((type) => type === "integer" || type === "number");
}

/** The allowed values in a few words. */
export function range(node: Node): string {
  const [low, high] = [node["x-minimum"] ?? node.minimum, node["x-maximum"] ?? node.maximum];
  const words = node["x-values"]?.join(", ");
  if (words) return words + (node.maximum ? `, or ${node.minimum ?? 0} to ${node.maximum.toLocaleString("en")}` : "");
  if (node["x-quantity"] && !node["x-minimum"]) return "";
  if (low !== undefined && high !== undefined) return `${shown(low)} to ${shown(high)}`;
  if (low !== undefined) return `at least ${shown(low)}`;
  if (high !== undefined) return `at most ${shown(high)}`;
  return "";
}

const shown = (value: string | number) => (typeof value === "number" ? value.toLocaleString("en") : value);

export function placeholder(node: Node): string {
  if (node.default !== undefined && typeof node.default !== "object") return `default: ${String(node.default)}`;
  const example = node.examples?.[0];
  return example === undefined || typeof example === "object" ? "" : `such as ${String(example)}`;
}

/** What a typed text means: a number where one is allowed, otherwise the text. */
export function meant(node: Node, text: string): unknown {
  const plain = text.trim();
  return takesNumbers(node) && /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(plain) ? Number(plain) : plain;
}

/** The smallest new entry: its required keys, empty or with their examples. */
export function starter(schema: Schema, node: Node): unknown {
  const full = resolved(schema, node);
  const kind = kindOf(full);
  if (kind === "object")
    return Object.fromEntries((full.required ?? []).map((key) => [key, starter(schema, full.properties?.[key] ?? {})]));
  if (kind === "map") return {};
  if (kind === "list") return [];
  if (kind === "boolean") return full.default ?? false;
  if (kind === "choice") return full.default ?? full.enum?.[0] ?? "";
  return full.default ?? full.examples?.[0] ?? full.minimum ?? "";
}
