/** Changes to a scenario: where they are, what they give, and how they are written in an address, a command and YAML. */

import type { Control, Live } from "../model/page";
import { quoted } from "../model/words";
import type { Scenario } from "./core";

export type Path = readonly (string | number)[];
export type Section = keyof Live["controls"];

/** Values by path with dots; the path `fails` has the name of a host. */
export type Changes = Readonly<Record<string, string | number>>;

export const FAILS = "fails";

/** The value at a path; undefined where there is none. */
export function at(data: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (here, key) => (typeof here === "object" && here !== null ? (here as Record<string, unknown>)[key] : undefined),
    data,
  );
}

/** The same data with another value at a path; null removes it. */
export function put<T>(data: T, path: Path, value: unknown): T {
  const [key, ...rest] = path;
  if (key === undefined) return value as T;
  const { [key]: here, ...others } = (data ?? {}) as Record<string, unknown>;
  const next = rest.length ? put(here, rest, value) : value;
  if (next === null) return others as T;
  return { ...(data as object), [key]: next } as T;
}

/** The scenario of a point as the command simulated it. */
export function ofPoint(live: Live, point: number): Scenario {
  const differences = live.points[point] ?? [];
  return differences.reduce((data, [path, value]) => put(data, path, value), live.scenario) as Scenario;
}

/** A scenario with other values. */
export function changed(scenario: Scenario, changes: Changes): Scenario {
  return Object.entries(changes).reduce(
    (data, [path, value]) =>
      path === FAILS
        ? { ...data, failures: [...((data["failures"] as unknown[]) ?? []), { at: "0 s", fails: [value] }] }
        : put(data, path.split("."), value),
    scenario,
  );
}

/** One replication of a scenario with short times. */
export function brief(scenario: Scenario, seconds: number): Scenario {
  const run = { ...scenario.run, warmup: `${seconds / 5} s`, duration: `${seconds} s`, replications: 1 };
  return { ...scenario, run };
}

/** VMs up to which a preview shows each of them, and draws all sections. */
const MAX_VMS = 60;

/** True for a scenario of which a preview shows groups and hosts only. */
export function isLarge(scenario: Scenario): boolean {
  const groups = Object.values((scenario["vms"] ?? {}) as Record<string, { count?: number }>);
  return groups.reduce((vms, group) => vms + (group.count ?? 1), 0) > MAX_VMS;
}

/** A control of an entry, with the value there. */
export interface Setting {
  path: string;
  control: Control;
  /** A number in the unit of the control, or a choice. */
  value: string | number;
}

/** The settings of an entry of a section. */
export function settingsOf(live: Live, scenario: Scenario, section: Section, name: string): Setting[] {
  return (live.controls[section] ?? []).flatMap((control) => {
    const path = [section, name, ...control.key];
    const value = shown(control, at(scenario, path) ?? control.default);
    return value === null ? [] : [{ path: path.join("."), control: fitting(control, scenario, name), value }];
  });
}

/** vCPUs are whole sockets of the guest. */
function fitting(control: Control, scenario: Scenario, name: string): Control {
  const cores = control.key[0] === "vcpus" ? at(scenario, ["vms", name, "cores_per_socket"]) : undefined;
  return typeof cores === "number" ? { ...control, step: cores, low: cores } : control;
}

const FACTORS: Record<string, number> = {
  "MiB GiB": 1 / 1024,
  "GiB GiB": 1,
  "TiB GiB": 1024,
  "MB GiB": 1e6 / 2 ** 30,
  "GB GiB": 1e9 / 2 ** 30,
  "TB GiB": 1e12 / 2 ** 30,
  "MHz GHz": 1e-3,
  "GHz GHz": 1,
};

/** A value of the scenario as the control shows it; null for one that it cannot. */
function shown(control: Control, value: unknown): string | number | null {
  if (control.form === "quantity") {
    const [number, unit] = String(value).split(" ");
    const factor = FACTORS[`${unit} ${control.unit}`];
    return factor === undefined ? null : Number(number) * factor;
  }
  return typeof value === "number" || typeof value === "string" ? value : null;
}

/** A value of a control as the scenario has it. */
export function written(control: Control, value: string | number): string | number {
  return control.form === "quantity" ? `${Number(value)} ${control.unit}` : value;
}

/** A number that a control allows. */
export function allowed(control: Control, value: number): number {
  const steps = control.form === "integer" ? Math.round(value / control.step) * control.step : value;
  return Math.min(Math.max(Number(steps.toPrecision(6)), control.low), control.high);
}

/** The end of a slider. */
export function end(control: Control, value: number): number {
  return allowed(control, Math.max(value * control.span, control.reach));
}

/** Changes as part of an address. */
export function asAddress(changes: Changes, point: number): string {
  const fields = Object.entries(changes).map(([path, value]) => [path, String(value)]);
  return fields.length ? new URLSearchParams([["point", String(point)], ...fields]).toString() : "";
}

/** The changes of an address, as far as controls of this page allow them. */
export function ofAddress(live: Live, text: string): { changes: Changes; point: number } {
  const fields = new URLSearchParams(text);
  const last = live.points.length - 1;
  const point = Math.min(Math.max(Math.trunc(Number(fields.get("point"))) || 0, 0), last);
  const scenario = ofPoint(live, point);
  const changes: Record<string, string | number> = {};
  for (const [path, said] of fields) {
    const [section = "", name = "", ...key] = path.split(".");
    if (path === FAILS && live.hosts.includes(said)) changes[path] = said;
    const entries = at(scenario, [section]);
    if (typeof entries !== "object" || entries === null || !Object.hasOwn(entries, name)) continue;
    const settings = settingsOf(live, scenario, section as Section, name);
    const control = settings.find((each) => each.control.key.join(".") === key.join("."))?.control;
    if (!control) continue;
    if (control.form === "choice") {
      const value = control.values.find((each) => String(each) === said);
      if (value !== undefined) changes[path] = value as string | number;
    } else {
      const number = Number.parseFloat(said);
      if (Number.isFinite(number)) changes[path] = written(control, allowed(control, number));
    }
  }
  return { changes, point };
}

/** The command that simulates the same, with the same random streams and times. */
export function asCommand(live: Live, set: Record<string, unknown>, scenario: Scenario, changes: Changes): string {
  const before = (at(scenario, ["failures"]) as unknown[] | undefined) ?? [];
  const { [FAILS]: host, ...values } = changes;
  const all: Record<string, unknown> = { ...set, ...values };
  if (host !== undefined) all["failures"] = [...before, { at: "0 s", fails: [host] }];
  const { warmup, duration, replications, seed } = scenario.run as Record<string, unknown>;
  const times = Object.entries({ warmup, duration, replications, seed });
  const words = [
    ...["hypertwin", "simulate", live.file, ...live.options],
    ...Object.entries(all).flatMap(([path, value]) => [
      "--set",
      `${path}=${typeof value === "string" ? value : JSON.stringify(value)}`,
    ]),
    ...times.flatMap(([name, value]) => [`--${name}`, String(value)]),
  ];
  return words.map(quoted).join(" ");
}

/** A scenario as YAML. */
export function asYaml(value: unknown, indent = ""): string {
  if (Array.isArray(value)) {
    if (!value.length) return " []\n";
    return `\n${value.map((each) => `${indent}- ${JSON.stringify(each)}\n`).join("")}`;
  }
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value);
    if (!entries.length) return " {}\n";
    const lines = entries.map(([key, each]) => `${indent}${key}:${asYaml(each, `${indent}  `)}`).join("");
    return indent ? `\n${lines}` : lines;
  }
  return ` ${JSON.stringify(value)}\n`;
}
