/** `hypertwin diagnose`: what is wrong, worst first, by which figures and rules, and what was not checked. */

import { badges, figures, tabled, words } from "./columns";
import type { Kind } from "./kinds";
import type { PageDocument } from "./page";
import type { Badge, Block, Column, LineChart, Row as Cells, Section, Tone, View } from "./view";
import { number } from "./numbers";
import { amount, count, slug, some } from "./words";

type Severity = "critical" | "warning" | "info";

interface Band {
  direction: "above" | "below";
  info?: number;
  warning?: number;
  critical?: number;
}

interface Finding {
  code: string;
  severity: Severity;
  entity: string;
  kind: string;
  name: string;
  host: string | null;
  cluster: string | null;
  title: string;
  figure: string;
  text: string;
  sources: { title: string; address: string }[];
  advice: string;
  what_if: { text: string; helps: boolean | null } | null;
  no_what_if: string | null;
}

/** A cluster or a host: see `Row` of documents/diagnosis.py. */
interface Size {
  name: string;
  vms: number;
  vcpus: number;
  cores: number | null;
  vcpu_per_core: number | null;
  cpu_pct: number | null;
  memory_bytes: number | null;
  memory_configured_pct: number | null;
  memory_pct: number | null;
  measured: string | null;
  findings: Record<Severity, number>;
}

interface ClusterSize extends Size {
  key: string | null;
  datacenter: string | null;
  vms_by_guess: number;
  hosts: Size[];
}

/** See `Document` of documents/diagnosis.py. */
export interface Diagnosis {
  cluster: string | null;
  hosts: number;
  machines: number;
  rules: number;
  clusters: ClusterSize[];
  findings: Finding[];
  not_checked: { code: string; needs: string }[];
  read: { source: string; kind: string; rows: number }[];
}

export interface Series {
  what: string;
  unit: string;
  x: (string | number)[];
  mean: number[];
  most: number[];
  band: Band | null;
}

/** What Python says beside the document; findings go by their place in it. */
interface Beside {
  summary?: string;
  /** Findings by their first cause, which comes first: places in the list of findings; the worst story first. */
  stories?: number[][];
  /** The figures of each finding in words. */
  evidence?: string[][];
  series?: Series[][];
  not_checked?: string[];
}

const SEVERITIES: Severity[] = ["critical", "warning", "info"];
const TONES: Record<Severity, Tone> = { critical: "bad", warning: "warn", info: "note" };
const NOUNS: Record<string, string> = { vm: "VM", host: "host", device: "device", guest: "guest", cluster: "cluster", datastore: "datastore" };
/** Stories of one code that are told in full; of more, the rest is behind a line. */
const TOLD = 3;
/** Hosts whose table is open at once. */
const OPEN = 8;
/** Codes that the answer names. */
const ANSWERED = 4;

const badge = (severity: Severity): Badge => ({ tone: TONES[severity], text: severity });
const rank = (finding: Finding): number => SEVERITIES.indexOf(finding.severity);

/** A finding with all that is shown of it. */
interface Told {
  finding: Finding;
  evidence: string[];
  series: Series[];
}

interface Group {
  code: string;
  told: Told[];
  /** How many findings follow from these, by code. */
  follows: Group[];
}

function byCode(told: readonly Told[]): Group[] {
  const groups = new Map<string, Told[]>();
  for (const each of told) groups.set(each.finding.code, [...(groups.get(each.finding.code) ?? []), each]);
  return [...groups].map(([code, same]) => ({ code, told: same, follows: [] }));
}

const worst = (group: Group): Finding => group.told[0]!.finding;

function whom(group: Group): string {
  const kinds = [...new Set(group.told.map((each) => each.finding.kind))];
  return count(group.told.length, kinds.length === 1 ? (NOUNS[kinds[0]!] ?? "entity") : "finding", kinds.length === 1 && !NOUNS[kinds[0]!] ? "entities" : undefined);
}

/** Whom it is about, and the worst figure. */
function told(group: Group): string {
  const { name, figure: shown } = worst(group);
  return `${group.told.length > 1 ? `${whom(group)}, worst ${name}` : name}: ${shown}`;
}

function helps(finding: Finding): Badge | null {
  if (!finding.what_if) return null;
  if (finding.what_if.helps === null) return { tone: "note", text: "unclear" };
  return finding.what_if.helps ? { tone: "good", text: "helps" } : { tone: "warn", text: "does not help" };
}

const MINUTE_MS = 60_000;

/** Times as numbers: hours or minutes since the first sample, or the numbers of samples where there is no clock. */
function times(x: readonly (string | number)[]): { places: number[]; name: string; unit?: string } {
  const clock = x.map((each) => (typeof each === "string" ? Date.parse(each) : NaN));
  const first = clock[0];
  if (first === undefined || clock.some(Number.isNaN)) return { places: x.map((_, place) => place), name: "sample" };
  const hours = clock[clock.length - 1]! - first > 300 * MINUTE_MS;
  const name = `since ${new Date(first).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  return { places: clock.map((each) => (each - first) / (hours ? 60 * MINUTE_MS : MINUTE_MS)), name, unit: hours ? "h" : "min" };
}

function scaled(highest: number, unit: string): [number, string] {
  if (unit !== "B" && unit !== "B/s") return [1, unit];
  const text = amount(highest, unit).split(" ")[1]!;
  const power = ["B", "KiB", "MiB", "GiB", "TiB"].indexOf(text.replace("/s", ""));
  return [1024 ** Math.max(power, 0), text];
}

function chart(series: Series, id: string): LineChart {
  const highest = Math.max(0, ...series.most);
  const [scale, unit] = scaled(highest, series.unit);
  const { places, name, unit: clock } = times(series.x);
  const [what] = series.what.split(", ");
  const { band } = series;
  const limits = band ? SEVERITIES.flatMap((each) => (band[each] === undefined ? [] : [{ name: each, value: band[each]! / scale, tone: TONES[each] }])) : [];
  const nearest = limits.length ? Math.min(...limits.map((each) => each.value)) : 0;
  const top = Math.max((highest / scale) * 1.12, nearest * 1.25);
  const mean = series.mean.map((value) => value / scale);
  const most = series.most.map((value) => value / scale);
  const differ = most.some((value, place) => value !== mean[place]);
  return {
    type: "lines",
    id,
    title: what!,
    alternative:
      `Up to ${amount(highest, series.unit)}` +
      (limits.length ? `; ${limits.map((each) => `${each.name} ${band!.direction} ${number(each.value)} ${unit}`.trim()).join(", ")}.` : "."),
    x: { name, ...(clock ? { unit: clock } : {}) },
    y: { name: what!, ...(unit ? { unit } : {}), from: 0, to: top || 1 },
    places,
    series: [
      { name: "mean", values: mean, colour: 0 },
      ...(differ ? [{ name: "highest", values: most, colour: 0, dash: "dotted" as const }] : []),
    ],
    limits: limits.filter((each) => each.value <= top),
  };
}

/** All of one finding: what, by which figures, what to do, what the twin says, charts and sources. */
function blocks({ finding, evidence, series }: Told): Block[] {
  const id = slug(`${finding.code}-${finding.entity}`);
  const twin = finding.what_if
    ? [`The twin says: ${finding.what_if.text}`]
    : finding.no_what_if
      ? [`Not simulated: ${finding.no_what_if}`]
      : [];
  return [
    { type: "prose", paragraphs: [finding.text, `What to do: ${finding.advice}`, ...twin] },
    ...(evidence.length ? [{ type: "list" as const, items: evidence.map((text) => ({ text })) }] : []),
    ...(series.length ? [{ type: "charts" as const, charts: series.map((each, place) => chart(each, `${id}-${place + 1}`)) }] : []),
    {
      type: "list",
      items: finding.sources.map((each) => ({
        text: `Rule ${finding.code}: ${each.title}`,
        ...(each.address ? { address: each.address } : {}),
      })),
    },
  ];
}

/** A first cause with what follows from it behind lines. */
function story(one: readonly Told[], closed: boolean): Block {
  const [first, ...others] = one;
  const follows: Block[] = byCode(others).map((group) => ({
    type: "group",
    heading: `follows: ${group.code}, ${told(group)}`,
    badge: badge(worst(group).severity),
    closed: true,
    blocks: group.told.length === 1 ? blocks(group.told[0]!) : group.told.map((each) => story([each], true)),
  }));
  const { finding } = first!;
  return { type: "group", heading: finding.title, badge: badge(finding.severity), closed, blocks: [...blocks(first!), ...follows] };
}

/** A section for each code of first causes; where there are many stories the worst are told and the rest is closed. */
function sections(stories: readonly Told[][]): Section[] {
  const codes = new Map<string, Told[][]>();
  for (const one of stories) codes.set(one[0]!.finding.code, [...(codes.get(one[0]!.finding.code) ?? []), one]);
  return [...codes].map(([code, same]) => {
    const group: Group = { code, told: same.map((one) => one[0]!), follows: [] };
    const severity = SEVERITIES[Math.min(...same.flat().map((each) => rank(each.finding)))]!;
    const rest = same.slice(TOLD);
    return {
      id: slug(code),
      heading: same.length === 1 ? worst(group).title : `${code}: ${whom(group)}`,
      badge: badge(severity),
      ...(same.length > 1 ? { text: `Worst: ${worst(group).name}, ${worst(group).figure}.` } : {}),
      blocks: [
        ...(same.length === 1 ? [single(same[0]!)].flat() : same.slice(0, TOLD).map((one, place) => story(one, place > 0))),
        ...(rest.length
          ? [
              {
                type: "group" as const,
                heading: `${rest.length} more: ${some(rest.map((one) => one[0]!.finding.name), 8)}`,
                closed: true,
                blocks: rest.map((one) => story(one, true)),
              },
            ]
          : []),
      ],
    };
  });
}

/** The only story of its code needs no heading of its own below that of the section. */
function single(one: Told[]): Block[] {
  const block = story(one, false);
  return block.type === "group" ? block.blocks : [block];
}

function glance(groups: readonly Group[]): Cells[] {
  const line = (group: Group, cause: string): Cells => ({
    severity: badge(worst(group).severity),
    code: group.code,
    of: group.told.length > 1 ? whom(group) : worst(group).name,
    worst: `${group.told.length > 1 ? `${worst(group).name}: ` : ""}${worst(group).figure}`,
    cause,
    twin: worst(group).what_if?.text ?? "",
    helps: helps(worst(group)),
  });
  return groups.flatMap((group) => [line(group, ""), ...group.follows.map((each) => line(each, group.code))]);
}

const GLANCE: Column[] = [
  badges("severity", "severity"),
  words("code", "finding"),
  words("of", "of"),
  words("worst", "worst"),
  words("cause", "follows from", { secondary: true }),
  badges("helps", "cure", { text: "Whether the best change helped when it was simulated." }),
  words("twin", "what the twin says", { secondary: true }),
];

const ALL: Column[] = [
  badges("severity", "severity"),
  words("code", "finding"),
  words("name", "of"),
  words("kind", "kind", { secondary: true }),
  words("cluster", "cluster", { secondary: true }),
  words("host", "host"),
  words("figure", "figure"),
  words("advice", "what to do", { secondary: true }),
];

const SIZES: Column[] = [
  words("cluster", "cluster"),
  words("name", "host"),
  figures("vms", "VMs"),
  figures("vcpu_per_core", "vCPU/core", "", { secondary: true }),
  figures("cpu", "CPU", "%", { text: "CPU used as measured, of the cores that were measured." }),
  figures("memory", "memory", "GiB", { secondary: true }),
  figures("configured", "configured", "%", { secondary: true, text: "Memory that its VMs are configured with, over its own." }),
  figures("used", "used", "%", { text: "Memory used as measured." }),
  figures("critical", "critical"),
  figures("warning", "warning"),
  figures("info", "info", "", { secondary: true }),
];

const sizes = (row: Size): Cells => ({
  vms: row.vms,
  vcpu_per_core: row.vcpu_per_core,
  cpu: row.cpu_pct,
  memory: row.memory_bytes === null ? null : row.memory_bytes / 2 ** 30,
  configured: row.memory_configured_pct,
  used: row.memory_pct,
  ...Object.fromEntries(SEVERITIES.map((each) => [each, row.findings[each] ? { value: row.findings[each], tone: TONES[each] } : null])),
});

/** A row for each cluster and host, where there is a cluster file or more than one host. */
function clusterSection(found: Diagnosis): Section[] {
  const hosts = found.clusters.flatMap((cluster) => cluster.hosts);
  if (hosts.length < 2 && !found.clusters.some((cluster) => cluster.key)) return [];
  const when = [...new Set(hosts.flatMap((host) => (host.measured ? [host.measured] : [])))];
  const guesses = found.clusters.filter((cluster) => cluster.vms_by_guess);
  const notes = [
    ...(when.length ? [`CPU and memory used: ${some(when, 3)}.`] : ["Usage was not measured."]),
    ...guesses.map((cluster) => `${cluster.name}: of ${count(cluster.vms_by_guess, "VM")} the host is not known; they count in the cluster only.`),
  ];
  const clusters = { id: "clusters", caption: "Clusters", columns: SIZES.filter((each) => each.key !== "name"), rows: found.clusters.map((each) => ({ cluster: each.name, ...sizes(each) })) };
  const rows = found.clusters.flatMap((cluster) => cluster.hosts.map((host) => ({ cluster: cluster.name, name: host.name, ...sizes(host) })));
  const table = { id: "hosts", caption: "Hosts", columns: SIZES, rows, filters: ["cluster"] };
  return [
    {
      id: "clusters",
      heading: "Clusters and hosts",
      blocks: [
        tabled(clusters),
        { type: "prose", paragraphs: notes },
        ...(rows.length ? [{ type: "group" as const, heading: `${count(rows.length, "host")}`, closed: rows.length > OPEN, blocks: [tabled(table)] }] : []),
      ],
    },
  ];
}

/** Groups of first causes, each with what follows from them, the worst first. */
function grouped(stories: readonly Told[][]): Group[] {
  const heads = byCode(stories.map((one) => one[0]!));
  const follows = (code: string) => byCode(stories.filter((one) => one[0]!.finding.code === code).flatMap((one) => one.slice(1)));
  const whole = heads.map((head) => ({ ...head, follows: follows(head.code) }));
  const worstOf = (group: Group) => Math.min(...[group, ...group.follows].map((each) => rank(worst(each))));
  return whole.sort((one, other) => worstOf(one) - worstOf(other));
}

function confidence(found: Diagnosis, unchecked: readonly string[]): View["confidence"] {
  const rows = found.read.reduce((sum, each) => sum + each.rows, 0);
  const tried = found.findings.filter((each) => each.what_if).length;
  const lacking = new Set(found.not_checked.map((each) => each.code)).size;
  return [
    unchecked.length
      ? { tone: "warn", text: `${lacking} of ${found.rules} rules could not be checked for want of data: see Not checked.` }
      : { tone: "good", text: "Every rule could be checked." },
    found.read.length
      ? { tone: "plain", text: `${count(rows, "value")} of telemetry from ${some(found.read.map((each) => `${each.source} (${each.kind})`), 3)}.` }
      : { tone: "warn", text: found.clusters.some((each) => each.measured) ? "No telemetry: configuration, and what the cluster file says was measured." : "No telemetry: only the configuration was looked at." },
    ...(found.cluster ? [] : [{ tone: "note" as const, text: "No cluster file: configuration was not looked at, and no cure was simulated." }]),
    ...(tried ? [{ tone: "plain" as const, text: `Cures of ${count(tried, "finding")} were simulated on the twin.` }] : []),
  ];
}

function view(page: PageDocument): View {
  const found = page.document as Diagnosis;
  const beside = page.beside as Beside;
  const all: Told[] = found.findings.map((finding, place) => ({
    finding,
    evidence: beside.evidence?.[place] ?? [],
    series: beside.series?.[place] ?? [],
  }));
  const stories = (beside.stories ?? all.map((_, place) => [place])).map((one) => one.map((place) => all[place]!));
  const groups = grouped(stories);
  const counts = SEVERITIES.map((each) => [each, found.findings.filter((one) => one.severity === each).length] as const);
  const unchecked = beside.not_checked ?? found.not_checked.map((each) => `${each.code}: needs ${each.needs}`);
  const [worstFound] = counts.filter(([, number]) => number);
  return {
    title: `Diagnosis${found.cluster ? ` of ${found.cluster}` : ""}`,
    answer: {
      tone: worstFound ? TONES[worstFound[0]] : unchecked.length ? "warn" : "good",
      text: beside.summary ?? count(found.findings.length, "finding"),
      more: [
        ...groups.slice(0, ANSWERED).map((group) => `${worst(group).severity}: ${group.told.length > 1 ? `${group.code}, ${told(group)}` : `${worst(group).title} (${worst(group).figure})`}`),
        ...(groups.length > ANSWERED ? [`${groups.length - ANSWERED} more kinds of findings below.`] : []),
      ],
    },
    promises: [],
    confidence: confidence(found, unchecked),
    cards: [
      ...counts.map(([name, number]) => ({ name, value: `${number}`, tone: number ? TONES[name] : ("plain" as const) })),
      { name: "Looked at", value: count(found.hosts, "host"), remark: count(found.machines, "VM") },
      { name: "Not checked", value: count(new Set(found.not_checked.map((each) => each.code)).size, "rule"), tone: unchecked.length ? "warn" : "plain" },
    ],
    sections: [
      ...(groups.length
        ? [
            {
              id: "glance",
              heading: "At a glance",
              blocks: [tabled({ id: "glance", caption: "Findings by code, the worst first", columns: GLANCE, rows: glance(groups) })],
            },
          ]
        : []),
      ...clusterSection(found),
      ...sections(stories),
      ...(all.length > TOLD
        ? [
            {
              id: "findings",
              heading: "All findings",
              blocks: [
                tabled({
                  id: "findings",
                  caption: "Every finding, the worst first",
                  columns: ALL,
                  rows: found.findings.map((each) => ({
                    severity: badge(each.severity),
                    code: each.code,
                    name: each.name,
                    kind: NOUNS[each.kind] ?? each.kind,
                    cluster: each.cluster ?? "",
                    host: each.host ?? "",
                    figure: each.figure,
                    advice: each.advice,
                  })),
                  filters: ["severity", "code", "kind", "cluster", "host"],
                }),
              ],
            },
          ]
        : []),
      ...(unchecked.length
        ? [{ id: "not-checked", heading: "Not checked", blocks: [{ type: "list" as const, items: unchecked.map((text) => ({ text })) }] }]
        : []),
    ],
    remarks: page.notes,
  };
}

export const DIAGNOSIS: Kind = { choices: () => [], view };
