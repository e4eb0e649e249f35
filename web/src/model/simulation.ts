/** The page of `hypertwin simulate`: VMs that suffer, from which value on, why, how sure that is, and all figures. */

import type { Choice, Kind } from "./kind";
import { number } from "./numbers";
import type { PageDocument } from "./page";
import { breaksSection } from "./simulation/breaks";
import { clusterCards, clusterSections, differences } from "./simulation/clusters";
import { confidence } from "./simulation/confidence";
import type { Beside } from "./simulation/beside";
import type { Point, Simulation, Vm } from "./simulation/document";
import { memorySections } from "./simulation/memory";
import { movementSections } from "./simulation/movement";
import { pointSections } from "./simulation/point";
import { axes, fullest, groupNames, groups, known, varyingPaths, where, worstFirst } from "./simulation/points";
import { groupSeverity, waiting, worstGroups } from "./simulation/signs";
import { sweepSections, TOGETHER } from "./simulation/sweep";
import { definitions, pointsTable, pointTables } from "./simulation/tables";
import { timeSections } from "./simulation/time";
import type { Card, Section, View } from "./view";
import { count } from "./words";

const resultOf = (page: PageDocument) => page.document as Simulation;
const besideOf = (page: PageDocument) => page.beside as Beside;

/** Groups, the worst over all points first. */
function ranked(points: readonly Point[]): string[] {
  const worst = (group: string) => Math.max(0, ...points.map((point) => groupSeverity(point, group)));
  return worstFirst(groupNames(points), worst);
}

/** The point that the page opens with: where the answer says that a group begins to suffer, else the last. */
function opening({ points, breaks = [] }: Simulation): number {
  const set = JSON.stringify(breaks.find((each) => each.set)?.set);
  const at = points.findIndex((point) => JSON.stringify(point.set) === set);
  return at < 0 ? points.length - 1 : at;
}

function choices(page: PageDocument): Choice[] {
  const result = resultOf(page);
  const { points } = result;
  if (points.length < 2) return [];
  const paths = varyingPaths(points);
  const names = ranked(points);
  const options = points.map((point, index) => ({
    value: String(index),
    name: where(point, paths) || `point ${index + 1}`,
  }));
  const each = names.map((name) => ({ value: `=${name}`, name }));
  return [
    ...(names.length > TOGETHER
      ? [
          {
            key: "group",
            name: "Groups in the charts",
            options: [{ value: "", name: `the ${TOGETHER} worst` }, ...each],
          },
        ]
      : []),
    { key: "point", name: "Point", options, initial: String(opening(result)) },
  ];
}

/** What comes before the sections. */
export function head(page: PageDocument): Pick<View, "title" | "answer" | "promises" | "confidence" | "cards"> {
  const result = resultOf(page);
  const beside = besideOf(page);
  const { title } = page;
  const sure = confidence(result);
  if (!result.points.length)
    return {
      title,
      answer: { tone: "warn", text: "The result has no points." },
      promises: [],
      confidence: sure,
      cards: [],
    };
  return {
    title,
    answer: result.answer,
    promises: beside.promises ?? [],
    confidence: sure,
    cards: cards(result.points, beside),
  };
}

function view(page: PageDocument, chosen: Record<string, string>): View {
  const result = resultOf(page);
  const beside = besideOf(page);
  const { points } = result;
  if (!points.length) return { ...head(page), sections: [], assumptions: [...page.notes] };
  const place = Math.min(Math.max(Number(chosen["point"] ?? opening(result)) || 0, 0), points.length - 1);
  const isSweep = points.length > 1;
  const layout = axes(points);
  const names = ranked(points);
  const wanted = names.filter((name) => chosen["group"] === `=${name}`);
  const shown = wanted.length ? wanted : names.slice(0, TOGETHER);
  const swept = isSweep ? sweepSections(points, layout, shown, beside.published ?? []) : [];
  const notes = page.notes.filter((note) => !page.made.calibrated.includes(note));
  return {
    ...head(page),
    sections: [
      ...breaksSection(result),
      ...swept,
      ...(beside.judged ?? []),
      ...ofPoint(points, place, beside),
      ...(isSweep ? [pointsTable(points, beside.metrics ?? [])] : []),
      ...layouts(beside, isSweep),
      ...definitions(beside.metrics ?? []),
    ],
    assumptions: notes,
  };
}

/** What one point shows; of a sweep under a heading that names it. */
function ofPoint(points: readonly Point[], place: number, beside: Beside): Section[] {
  const point = points[place]!;
  const names = groupNames(points);
  // a colour for life while there are enough of them; else the worst are told apart
  const all = names.length > TOGETHER ? worstGroups(point) : names;
  const metrics = beside.metrics ?? [];
  const sections = [
    ...clusterSections(point, beside, metrics),
    ...movementSections(point, place, beside),
    ...memorySections(point),
    ...pointSections(point, all, metrics),
    ...timeSections(point, place, beside, all),
    ...pointTables(point, metrics, beside),
  ];
  if (points.length === 1) return sections;
  const at = where(point, varyingPaths(points)) || `point ${place + 1}`;
  return sections.map((section) => ({ ...section, heading: `${section.heading} (${at})` }));
}

function cards(points: readonly Point[], { measured = {} }: Beside): Card[] {
  const paths = varyingPaths(points);
  const rowsOf = (entities: (point: Point) => Record<string, Vm>) =>
    points.flatMap((point) =>
      Object.entries(entities(point)).map(([name, vm]) => ({ name, vm, at: where(point, paths) })),
    );
  const rows = rowsOf(groups);
  // a group whose mean waits little can have a VM that waits long; VMs that are alike stay a group
  const all = rowsOf((point) => ({ ...groups(point), ...point.vms }));
  const several = new Set(rows.map((row) => row.name)).size > 1;
  const isNamed = (name: string) => several || !rows.some((row) => row.name === name);
  const place = (name: string, at: string) => [isNamed(name) ? name : "", at].filter(Boolean).join(", ");
  const highest = (
    name: string,
    unit: string | null,
    read: (row: (typeof rows)[number]) => unknown,
    among = rows,
  ): Card[] => {
    const measured = among.flatMap((row) => (known(read(row)) === null ? [] : [{ row, value: known(read(row))! }]));
    const top = measured.toSorted((a, b) => b.value - a.value)[0];
    return top
      ? [
          {
            name: rows.length > 1 ? name : name.replace(", at most", ""),
            value: unit ? `${number(top.value)} ${unit}` : waiting(top.value),
            ...(top.value ? { remark: place(top.row.name, top.row.at) } : {}),
          },
        ]
      : [];
  };
  const hosts = points.flatMap((point) => {
    const host = fullest(point);
    return host ? [{ name: host[0], usage: host[1].usage_pct, at: where(point, paths) }] : [];
  });
  const full = hosts.toSorted((a, b) => b.usage - a.usage)[0];
  const ofClusters = points.length === 1 ? clusterCards(points[0]!) : [];
  const off = points.length === 1 ? differences(points[0]!, measured) : null;
  return [
    ...ofClusters,
    ...(off
      ? [
          {
            name: "Deviation from measurements",
            value: `${off.mean.toFixed(1)} points`,
            remark: `usage of ${count(off.hosts, "host")} on average; at most ${off.worst.toFixed(1)} (${off.host})`,
          },
        ]
      : []),
    ...(full && !ofClusters.length
      ? [
          {
            name: "Most loaded host",
            value: `${number(full.usage)} %`,
            remark: [full.name, full.at].filter(Boolean).join(", "),
          },
        ]
      : []),
    ...highest("Ready per vCPU, at most", null, (row) => row.vm.ready_pct, all),
    ...highest("Co-stop per vCPU, at most", null, (row) => row.vm.costop_pct || null, all),
    ...highest("Response, p99, at most", "ms", (row) => row.vm.response_ms.p99),
    ...highest("Throughput, at most", "/s", (row) => row.vm.throughput_per_s),
    ...highest("I/O operations, at most", "/s", (row) => (row.vm.io_latency_ms ? row.vm.iops : null)),
    ...highest("I/O latency, p99, at most", "ms", (row) => row.vm.io_latency_ms?.p99),
  ];
}

/** Drawings that Python made of where vCPUs and memory are. */
function layouts(beside: Beside, isSweep: boolean): Section[] {
  const drawings = beside.drawings ?? [];
  if (!drawings.length) return [];
  return [
    {
      id: "topology",
      heading: "Topology",
      text: [isSweep ? "Of the first point." : "", beside.drawings_note ?? ""].filter(Boolean).join(" "),
      closed: drawings.length > 1,
      blocks: drawings.map(({ caption, svg }) => ({ type: "drawing", caption, svg })),
    },
  ];
}

export const SIMULATION: Kind = { choices, view };
