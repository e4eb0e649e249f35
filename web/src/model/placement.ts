/** `hypertwin plan`: where VMs go, what that survives, and how far it is from the best. */

import { badges, figures, tabled, words } from "./columns";
import type { Kind } from "./kinds";
import { number, withUnit } from "./numbers";
import { guessed } from "./guess";
import type { PageDocument } from "./page";
import type { Badge, BarChart, Block, Card, Cell, Column, HeatMap, RangeChart, Row as Cells, Section, Tone, View } from "./view";
import { byName, count, duration, list, some, spread } from "./words";

interface Move {
  vm: string;
  from: string | null;
  to: string;
  step: number;
  seconds: number | null;
  parking: boolean;
  why: string;
}

interface Step {
  step: number;
  moves: number;
  seconds: number | null;
  fullest_host: string;
  fullest_pct: number;
  empty_host?: string;
  back?: boolean;
}

interface Unplaced {
  vm: string;
  lacks: string;
}

interface Certificate {
  failed: string[];
  placed: Record<string, string>;
  unplaced: Unplaced[];
  stays_down: Unplaced[];
  proven: boolean;
  fullest_host: string | null;
  fullest_pct: number;
  broken_wishes: string[];
}

/** The fullest host if another demand counted. */
interface Other {
  text: string;
  fullest_host: string | null;
  fullest_pct: number | null;
}

type PerResource = Record<string, number>;

interface HostPlan {
  name: string;
  vms_before: number;
  vms_after: number;
  before_pct: PerResource;
  after_pct: PerResource;
  limit_pct: PerResource;
  vcpu_per_core_before: number;
  vcpu_per_core_after: number;
}

interface Verified {
  meets: boolean;
  sure: boolean;
  metrics: Record<string, { mean: number | null; ci95: number | null; limit: number | null }>;
  worst: Record<string, string>;
  steady: boolean | null;
}

/** See `Plan` of documents/placement.py. */
export interface Plan {
  scenario: string;
  command: string;
  cluster: string;
  feasible: boolean;
  objective: { name?: string; value?: number | null };
  bound: number | null;
  gap_pct: number | null;
  proven: boolean;
  hosts_used: number;
  moves: Move[];
  steps: Step[];
  certificate: Record<string, Certificate>;
  binding: string[];
  /** See `Failover` of documents/failover.py. */
  failover?: { survives: boolean | null; text: string } | null;
  not_placed?: unknown[];
  not_known?: string[];
  dropped: string[];
  dropped_proven: boolean;
  remedies: { kind: string; text: string; helps: boolean }[];
  limits: Record<string, unknown>;
  demand: Record<string, unknown>;
  ratio: Record<string, unknown>;
  policies: Record<string, { on?: boolean; decided?: string | string[] }>;
  hosts: HostPlan[];
  explained: { vm: string; host: string | null; reasons: string[]; elsewhere: Record<string, string> }[];
  verified: { before: Verified | null; after: Verified | null; failures: Record<string, Verified> | null } | null;
  commands: Record<string, string>;
  /** VMs whose host is a guess: nothing that stands on them is met for sure. */
  guessed?: number;
}

const TITLES: Record<string, string> = { survive: "What survives a failure", balance: "Balance", evacuate: "Emptying hosts", place: "Placing VMs" };
/** What no plan has less of, by objective: as an amount, and in words. */
const OBJECTIVES: Record<string, { unit: (value: number) => string; best: string }> = {
  moves: { unit: (value) => count(value, "move"), best: "no plan has fewer moves" },
  hosts: { unit: (value) => count(value, "host"), best: "no plan needs fewer hosts" },
  fullest: { unit: (value) => `${number(value)} %`, best: "no plan has a less full fullest host" },
};
const TOOLS: Record<string, string> = { powercli: "PowerCLI", ansible: "Ansible" };
const ENDINGS: Record<string, string> = { powercli: "ps1", ansible: "yml" };
/** States that a chart of the twin's figures shows: the worst failures. */
const STATES = 20;
/** Bounds are rounded; a host this little above its limit is at it. */
const SLACK = 1 + 1e-6;
/** Where a host has nothing of what its VMs take, their part has no end; bars have. */
const MOST_PCT = 1000;

const named = (key: string): string => key.replace(/_pct$/, "").replace(/_/g, " ").replace(/\bcpu/, "CPU").replace(/\bvcpu/, "vCPU");
const resources = (plan: Plan): string[] => Object.keys(plan.hosts[0]?.limit_pct ?? {});
const share = (used: PerResource, of: HostPlan, name: string): number => (of.limit_pct[name] ? (100 * (used[name] ?? 0)) / of.limit_pct[name]! : used[name] ? Infinity : 0);
/** What is used of what may be, of the resource that is the fullest. */
const full = (used: PerResource, of: HostPlan): number => Math.max(0, ...Object.keys(of.limit_pct).map((name) => share(used, of, name)));
const fullest = (plan: Plan, when: "before_pct" | "after_pct"): number => Math.max(0, ...plan.hosts.map((of) => full(of[when], of)));
const lost = (plan: Plan): [string, Certificate][] => Object.entries(plan.certificate).filter(([, each]) => each.unplaced.length);
const arrow = (before: number, after: number): string => (before === after ? number(after) : `${number(before)} → ${number(after)}`);
/** Whether hosts differ before and after, which asking what survives does not change. */
const changes = (plan: Plan): boolean => plan.command !== "survive" && plan.feasible;
const over = (pct: number): Tone => (pct > 100 * SLACK ? "bad" : "plain");
const proof = (sure: boolean): Tone => (sure ? "good" : "warn");
/** What the twin says of each state: as it is, as planned, and without what fails. */
const states = ({ verified }: Plan): [string, Verified][] =>
  [["before", verified?.before] as const, ["after", verified?.after] as const, ...Object.entries(verified?.failures ?? {}).map(([name, each]) => [`without ${name}`, each] as const)].flatMap(([name, each]) => (each ? [[name, each]] : []));

/** Whether a move never ends; a new VM has none. */
const endless = (of: Pick<Move, "from" | "seconds">): boolean => of.seconds === null && of.from !== null;

function moved(plan: Plan): string {
  const vms = new Set(plan.moves.map((each) => each.vm)).size;
  const seconds = plan.steps.reduce((sum, each) => sum + (each.seconds ?? 0), 0);
  const lasts = plan.moves.some(endless) ? ", of which some never end" : seconds ? `, about ${duration(seconds < 120 ? Math.round(seconds) : 60 * Math.round(seconds / 60))}` : "";
  return `${count(plan.moves.length, "move")}${vms === plan.moves.length ? "" : ` of ${count(vms, "VM")}`} in ${count(plan.steps.length, "step")}${lasts}`;
}

/** How good the plan is, by its bound. */
function quality(plan: Plan): string {
  const of = OBJECTIVES[plan.objective.name ?? ""];
  if (!of || plan.bound === null || !plan.feasible) return "";
  return plan.proven ? `Proven: ${of.best}${plan.moves.some((each) => each.parking) ? ", parking aside" : ""}.` : `Not proven: a plan may exist with ${of.unit(plan.bound)}; the gap is at most ${number(plan.gap_pct)} %.`;
}

const noHost = (name: string, each: Certificate): string =>
  `Without ${name}, ${some(each.unplaced.map((vm) => `${vm.vm} finds no host: it lacks ${vm.lacks}`), 2)}.`;

function outcome(plan: Plan): string {
  const empty = [...new Set(plan.steps.flatMap((each) => each.empty_host ?? []))];
  if (!plan.feasible) return plan.proven ? "There is no such plan, and that is proven." : "No plan was found; that there is none is not proven.";
  if (!plan.moves.length) return plan.command === "balance" ? "Nothing to gain: no VM has to move." : "Nothing to do: no VM has to move.";
  const created = plan.moves.filter((each) => each.from === null).length;
  const used = `; ${count(plan.hosts_used, "host")} ${plan.hosts_used === 1 ? "has" : "have"} VMs then.`;
  if (plan.command === "place") return created ? `${count(created, "new VM")} ${created === 1 ? "has" : "have"} a place${used}` : `${moved(plan)}${used}`;
  if (plan.command === "evacuate") return `${empty.length ? some(empty) : "The hosts"} can be emptied: ${moved(plan)}.`;
  return `${moved(plan)}: no host is above its limits then, and every rule holds.`;
}

/** `said` is the answer in words, as terminals have it. */
function answer(plan: Plan, said: string): View["answer"] {
  const failed = lost(plan);
  const helps = plan.remedies.filter((each) => each.helps).map((each) => `Would help: ${each.text}.`);
  const drops = plan.dropped.length ? [`There is one without ${list(plan.dropped)}${plan.dropped_proven ? "; nothing less will do" : ""}.`] : [];
  if (plan.command === "survive") {
    const good = plan.failover?.survives;
    return { tone: good ? "good" : good === false ? "bad" : "warn", text: said, more: good === false ? [...failed.slice(1, 3).map(([name, each]) => noHost(name, each)), ...helps.slice(0, 2)] : [] };
  }
  if (plan.not_placed?.length) return { tone: plan.moves.length ? "warn" : "bad", text: said, more: helps.slice(0, 3) };
  if (!plan.feasible) return { tone: "bad", text: `${outcome(plan)}${plan.binding.length ? ` What binds: ${some(plan.binding)}.` : ""}`, more: [...drops, ...helps.slice(0, 3)] };
  const missed = states(plan).some(([name, each]) => name !== "before" && !each.meets);
  return { tone: missed || failed.length || plan.not_known?.length ? "warn" : "good", text: `${plan.not_known?.length ? `${list(plan.not_known.map(named))} demand is not known. ` : ""}${outcome(plan)} ${plan.not_known?.length ? "" : quality(plan)}`.trim(), more: [...(missed ? ["The twin misses objectives: see what it says."] : []), ...failed.slice(0, 2).map(([name, each]) => noHost(name, each))] };
}

function promises(plan: Plan): View["promises"] {
  const many = Object.keys(plan.certificate).length;
  const failed = lost(plan).map(([name]) => name);
  const when = changes(plan) ? "after_pct" : "before_pct";
  const above = plan.hosts.filter((of) => full(of[when], of) > 100 * SLACK).map((of) => of.name);
  const promised = (text: string, broken: string[]) => ({ text, met: broken.length ? false : !(plan.guessed || plan.not_known?.length) || null, note: some(broken) });
  const judged = states(plan).map(([name, each]) => ({ name, each, planned: name !== "before" || !changes(plan) }));
  return [
    ...(plan.hosts.length ? [promised(`No host above its limits ${changes(plan) ? "after the moves" : "now"}`, above)] : []),
    ...(plan.failover ? [{ text: "Every host failure is survived", met: plan.failover.survives, note: plan.failover.text }] : many ? [promised("Every VM restarts after each failure", failed)] : []),
    ...(judged.length ? [promised("Objectives, by the twin", judged.filter(({ each, planned }) => planned && !each.meets).map(({ name }) => name))] : []),
  ];
}

function confidence(plan: Plan): View["confidence"] {
  const open = Object.values(plan.certificate).filter((each) => !each.proven).length;
  const said = plan.feasible || plan.command === "survive" ? quality(plan) : outcome(plan);
  const judged = states(plan);
  const unsure = judged.filter(([, each]) => each.meets && !each.sure).map(([name]) => name);
  const facts: [Tone, string | false | 0 | undefined][] = [
    [proof(plan.proven), said],
    ["warn", open && `Of ${count(open, "failure")} it is not proven that no more VMs could restart.`],
    ["warn", unsure.length && `Met on average, but intervals reach beyond limits: ${some(unsure)}.`],
    ["bad", judged.some(([, each]) => each.steady === false) && "The twin did not reach a steady state: its figures depend on how long it ran."],
    ["note", !judged.length && "By sizes and limits: without --slo the twin does not judge."],
  ];
  return facts.flatMap(([tone, text]) => (text ? [{ tone, text }] : []));
}

function cards(plan: Plan): Card[] {
  const many = Object.keys(plan.certificate).length;
  const survived = many - lost(plan).length;
  const of = OBJECTIVES[plan.objective.name ?? ""];
  const [before, after] = [fullest(plan, "before_pct"), fullest(plan, "after_pct")];
  const worst = Math.max(0, ...Object.values(plan.certificate).map((each) => each.fullest_pct));
  const plans = plan.command !== "survive";
  return [
    ...(plans ? [{ name: "Plan", value: plan.feasible ? "feasible" : plan.proven ? "none exists" : "none found", tone: plan.feasible ? ("good" as const) : ("bad" as const), ...(!plan.feasible && plan.proven && { remark: "proven" }) }] : []),
    ...(plan.feasible && plans ? [{ name: "Moves", value: number(plan.moves.length), ...(plan.moves.length && { remark: moved(plan).replace(/^\S+ moves? ?/, "") }) }] : []),
    ...(plan.hosts.length ? [{ name: "Fullest host", value: `${changes(plan) ? arrow(Math.round(before), Math.round(after)) : number(Math.round(before))} %`, remark: "of what may be used", tone: over(changes(plan) ? after : before) }] : []),
    ...(of && plan.bound !== null
      ? [{ name: "Bound", value: of.unit(plan.bound), remark: plan.proven ? `proven: ${of.best}` : `the plan is at most ${number(plan.gap_pct)} % from it`, ...(plan.proven && { tone: "good" as const }) }]
      : []),
    ...(many ? [{ name: "Failures survived", value: `${survived} of ${many}`, remark: `fullest host then ${number(worst)} %`, tone: survived < many ? ("bad" as const) : ("good" as const) }] : []),
    ...(plan.hosts.length ? [{ name: "Hosts with VMs", value: `${plan.hosts_used} of ${plan.hosts.length}` }] : []),
  ];
}

function hostChart(plan: Plan, name: string): BarChart {
  const same = new Set(plan.hosts.map((of) => number(of.limit_pct[name]))).size === 1;
  const limit = same ? plan.hosts[0]!.limit_pct[name]! : 100;
  const value = (of: HostPlan, used: PerResource) => Math.min(same ? (used[name] ?? 0) : share(used, of, name), MOST_PCT);
  const worst = (of: HostPlan) => Math.max(share(of.before_pct, of, name), share(of.after_pct, of, name));
  const sorted = [...plan.hosts].sort((one, other) => worst(other) - worst(one) || byName(one.name, other.name));
  const first = sorted[0]!;
  return {
    type: "bars",
    id: `hosts-${name}`,
    title: named(name).replace(/^m/, "M"),
    text: same ? "Of what each host has, the fullest host first." : "Of what may be used: limits differ by host. The fullest host first.",
    alternative: `${first.name}: ${arrow(value(first, first.before_pct), value(first, changes(plan) ? first.after_pct : first.before_pct))} %, limit ${number(limit)} %.`,
    categories: sorted.map((of) => of.name),
    value: { name: named(name), unit: "%", from: 0 },
    series: [
      { name: changes(plan) ? "before" : "now", values: sorted.map((of) => value(of, of.before_pct)), colour: 7 },
      ...(changes(plan) ? [{ name: "after", values: sorted.map((of) => value(of, of.after_pct)), colour: 1 }] : []),
    ],
    horizontal: true,
    limits: [{ name: `limit ${number(limit)} %`, value: limit, tone: "bad" }],
  };
}

function hosts(plan: Plan): Section[] {
  if (!plan.hosts.length) return [];
  const names = resources(plan);
  const two = changes(plan);
  const columns: Column[] = [
    words("host", "host"),
    figures("vms", "VMs"),
    ...names.map((name) => figures(`used-${name}`, named(name), "%", { text: "Taken by VMs, of what the host has." })),
    figures("full", "fullness", "%", { text: "What is used of what may be, of the resource that is the fullest; 100 is at its limit." }),
    figures("ratio", "vCPUs per core"),
  ];
  const cell = (before: number, after: number, tone: Tone = "plain"): Cell => (two ? { value: after, text: arrow(before, after), tone } : { value: before, tone });
  const rows = plan.hosts.map((of): Cells => ({
    host: of.name,
    vms: cell(of.vms_before, of.vms_after),
    ...Object.fromEntries(names.map((name) => [`used-${name}`, cell(of.before_pct[name] ?? 0, of.after_pct[name] ?? 0, over(share(two ? of.after_pct : of.before_pct, of, name)))])),
    full: cell(full(of.before_pct, of), full(of.after_pct, of), over(full(two ? of.after_pct : of.before_pct, of))),
    ratio: cell(of.vcpu_per_core_before, of.vcpu_per_core_after),
  }));
  return [
    {
      id: "hosts",
      heading: two ? "Hosts before and after" : "Hosts",
      blocks: [
        { type: "charts", charts: names.map((name) => hostChart(plan, name)) },
        tabled({ id: "hosts-table", caption: two ? "Hosts, before → after" : "Hosts", columns, rows, sorted: { column: "full", descending: true } }),
      ],
    },
  ];
}

/** What steps are told apart by. */
const KINDS: { name: string; badge: Badge | null }[] = [
  { name: "moves", badge: null },
  { name: "with parking: VMs move on later", badge: { tone: "warn", text: "parking" } },
  { name: "way back", badge: { tone: "note", text: "back" } },
];

const NEVER: Cell = { value: Infinity, text: "never ends", tone: "bad" };

const STEPS: Column[] = [
  figures("step", "step"),
  badges("kind", "kind"),
  words("empty", "empties"),
  figures("moves", "moves"),
  figures("seconds", "lasts", "s"),
  words("host", "fullest host"),
  figures("fullest", "its fullness", "%", { text: "Arriving VMs included, of what may be used: 100 is at its limit." }),
];

const MOVES: Column[] = [
  words("vm", "VM"),
  figures("step", "step"),
  words("from", "from"),
  words("to", "to"),
  badges("kind", "kind"),
  figures("seconds", "takes", "s", { text: "By the migration model." }),
  words("why", "why"),
];

function moves(plan: Plan): Section[] {
  if (!plan.moves.length) return plan.feasible && plan.command !== "survive" ? [{ id: "moves", heading: "Moves", blocks: [{ type: "prose", paragraphs: ["No VM has to move."] }] }] : [];
  const back = new Set(plan.steps.filter((each) => each.back).map((each) => each.step));
  const parks = new Set(plan.moves.filter((each) => each.parking).map((each) => each.step));
  const kind = (step: number, parking: boolean): number => (back.has(step) ? 2 : parking ? 1 : 0);
  const steps = plan.steps.map((each) => ({ ...each, kind: kind(each.step, parks.has(each.step)) }));
  const worst = steps.reduce((most, each) => (each.fullest_pct > most.fullest_pct ? each : most), steps[0]!);
  const drawing: BarChart = {
    type: "bars",
    id: "steps-chart",
    title: "The fullest host in each step",
    text: "Arriving VMs included. 100 % is what may be used.",
    alternative: `At its fullest in step ${worst.step}: ${worst.fullest_host} at ${number(worst.fullest_pct)} %.`,
    categories: steps.map((each) => `${each.step}`),
    value: { name: "fullest host", unit: "%", from: 0 },
    series: KINDS.map(({ name }, at) => ({ name, values: steps.map((each) => (each.kind === at ? each.fullest_pct : null)), colour: at })).filter((each) => each.values.some((value) => value !== null)),
    stacked: true,
    limits: [{ name: "limit 100 %", value: 100, tone: "bad" }],
  };
  const empties = plan.steps.some((each) => each.empty_host);
  return [
    {
      id: "moves",
      heading: "Moves",
      text: `${moved(plan)}. The moves of a step run side by side.`,
      blocks: [
        ...(steps.length > 1 ? [{ type: "charts" as const, charts: [drawing] }] : []),
        tabled({
          id: "moves-table",
          caption: "Moves",
          columns: MOVES,
          rows: plan.moves.map(({ parking, ...each }) => ({
            ...each,
            from: each.from ?? "new",
            kind: KINDS[kind(each.step, parking)]!.badge,
            seconds: endless(each) ? NEVER : each.seconds,
          })),
          sorted: { column: "step", descending: false },
          filters: ["from", "to"],
        }),
        {
          type: "group",
          heading: "Steps",
          closed: plan.steps.length > 12,
          blocks: [
            tabled({
              id: "steps",
              caption: "Steps",
              columns: STEPS.filter((each) => empties || each.key !== "empty"),
              rows: steps.map((each) => ({
                ...{ step: each.step, moves: each.moves, host: each.fullest_host, kind: KINDS[each.kind]!.badge, empty: each.empty_host ?? "" },
                seconds: plan.moves.some((move) => move.step === each.step && endless(move)) ? NEVER : each.seconds,
                fullest: { value: each.fullest_pct, tone: over(each.fullest_pct) },
              })),
            }),
          ],
        },
      ],
    },
  ];
}

const NO_HOST = "no host";

/** Failures by receiving hosts; those with VMs that find no host first, and these VMs in a column of their own, the first. */
function grid(plan: Plan, failures: readonly [string, Certificate][]): HeatMap {
  const columns = [NO_HOST, ...plan.hosts.map((of) => of.name)];
  const place = new Map(columns.map((name, at) => [name, at]));
  const rows = failures.map(([name, each]) => {
    const values: (number | null)[] = columns.map((host) => (host === NO_HOST || each.failed.includes(host) ? null : 0));
    for (const host of Object.values(each.placed)) values[place.get(host)!]!++;
    if (each.unplaced.length) values[0] = each.unplaced.length;
    return { name, values };
  });
  const most = Math.max(0, ...rows.flatMap((row) => row.values.slice(1).map((value) => value ?? 0)));
  const none = failures.filter(([, each]) => each.unplaced.length).length;
  return {
    type: "heat",
    id: "grid",
    title: "Where the VMs of each failed host restart",
    text: "A row is a failure, a column a host that receives VMs; failed hosts are left blank.",
    alternative: `${none ? `In ${count(none, "failure")} VMs find no host` : "Every VM finds a host"}; one host receives ${count(most, "VM")} at most.`,
    x: { name: "receiving host", scale: "category", categories: columns },
    columns: columns.map((_, at) => at),
    rows,
    unit: "VMs",
    top: most || 1,
    ...(none && {
      marks: {
        name: "VMs find no host",
        tone: "bad",
        points: failures.flatMap(([, each], row) => (each.unplaced.length ? [{ row, column: 0, text: some(each.unplaced.map((vm) => `${vm.vm} lacks ${vm.lacks}`), 3) }] : [])),
      },
    }),
  };
}

const FAILURES: Column[] = [
  words("name", "fails"),
  badges("verdict", "survived"),
  figures("restarted", "restarted", "VMs"),
  figures("hosts", "on hosts"),
  figures("none", NO_HOST, "VMs", { text: "VMs that restart and find no host." }),
  figures("down", "stay down", "VMs", { text: "VMs that are restarted nowhere, such as those with restarts disabled." }),
  words("host", "fullest host then"),
  figures("fullest", "its fullness", "%", { text: "Of what may be used while hosts have failed." }),
  words("wishes", "rules that do not hold then", { text: "Of those that are not mandatory." }),
];

const NOWHERE: Column[] = [words("vm", "VM"), words("failed", "when it fails"), badges("kind", "kind"), words("lacks", "lacks, or why")];
const RESTARTS: Column[] = [words("vm", "VM"), words("failed", "when it fails"), words("host", "restarts on")];
/** Restarts beyond which a page leaves their list to `--format json`. */
const LISTED = 20_000;

function failures(plan: Plan): Section[] {
  const all = Object.entries(plan.certificate).sort(([, one], [, other]) => other.unplaced.length - one.unplaced.length);
  if (!all.length) return [];
  const nowhere = all.flatMap(([failed, each]) => [
    ...each.unplaced.map((vm): Cells => ({ ...vm, failed, kind: { tone: "bad", text: NO_HOST } })),
    ...each.stays_down.map((vm): Cells => ({ ...vm, failed, kind: { tone: "note", text: "stays down" } })),
  ]);
  const restarts = all.flatMap(([failed, each]) => Object.entries(each.placed).map(([vm, host]): Cells => ({ vm, failed, host })));
  return [
    {
      id: "failures",
      heading: "After each failure",
      blocks: [
        { type: "charts", charts: [grid(plan, all)], wide: true },
        ...(nowhere.length ? [tabled({ id: "nowhere", caption: "VMs that do not restart", columns: NOWHERE, rows: nowhere, filters: ["kind"] })] : []),
        tabled({
          id: "failures-table",
          caption: "Failures, the worst first",
          columns: FAILURES.filter((each) => each.key !== "wishes" || all.some(([, of]) => of.broken_wishes.length)),
          rows: all.map(([name, each]) => ({
            name,
            verdict: each.unplaced.length ? { tone: "bad", text: each.proven ? "no" : "not proven" } : { tone: "good", text: "yes" },
            restarted: Object.keys(each.placed).length,
            hosts: new Set(Object.values(each.placed)).size,
            none: { value: each.unplaced.length, tone: each.unplaced.length ? "bad" : "plain" },
            down: each.stays_down.length,
            host: each.fullest_host ?? "",
            fullest: { value: each.fullest_pct, tone: over(each.fullest_pct) },
            wishes: some(each.broken_wishes),
          })),
        }),
        ...(restarts.length && restarts.length <= LISTED
          ? [{ type: "group" as const, heading: "Where every VM restarts", closed: true, blocks: [tabled({ id: "restarts", caption: "Restarts", columns: RESTARTS, rows: restarts, filters: ["failed", "host"] })] }]
          : []),
      ],
    },
  ];
}

function twin(plan: Plan): Section[] {
  const told = states(plan);
  const objectives = [...new Set(told.flatMap(([, each]) => Object.keys(each.metrics)))];
  if (!objectives.length) return [];
  const verdict = (each: Verified): Badge => (!each.meets ? { tone: "bad", text: "missed" } : each.sure ? { tone: "good", text: "met" } : { tone: "warn", text: "met on average" });
  const failure = (name: string) => name.startsWith("without ");
  const charts = objectives.map((objective, at): RangeChart => {
    const of = (each: Verified) => each.metrics[objective] ?? { mean: null, ci95: null, limit: null };
    // a figure that must be high is the worse the lower it is
    const sign = objective.includes(">") ? -1 : 1;
    // and one without a figure is the worst
    const badness = (each: Verified) => sign * (of(each).mean ?? sign * 1e300);
    const ranked = [...told].sort(([one, a], [other, b]) => Number(failure(one)) - Number(failure(other)) || badness(b) - badness(a));
    const kept = ranked.slice(0, STATES + 2);
    return {
      type: "ranges",
      id: `objective-${at}`,
      title: objective,
      text: `Before, after, and the ${kept.length < ranked.length ? `${STATES} worst failures` : "failures, the worst first"}.`,
      alternative: `${kept.slice(0, 3).map(([name, each]) => `${name} ${spread(of(each).mean, of(each).ci95)}`).join(", ")}.`,
      value: { name: objective, from: 0 },
      rows: kept.map(([name, each]) => {
        const { mean, ci95, limit } = of(each);
        return { name, low: mean === null ? null : mean - (ci95 ?? 0), middle: mean, high: mean === null ? null : mean + (ci95 ?? 0), marks: limit === null ? [] : [{ value: limit, tone: "bad", text: `limit ${number(limit)}` }] };
      }),
      legend: { range: "the twin, 95 % interval", marks: [{ tone: "bad", text: "limit" }] },
    };
  });
  const columns = [words("state", "state"), badges("verdict", "objectives"), ...objectives.flatMap((each, at) => [figures(`value-${at}`, each), words(`worst-${at}`, "at its worst on")])];
  return [
    {
      id: "twin",
      heading: "What the twin says",
      text: "Simulated as it is, as planned, and in every failure.",
      blocks: [
        { type: "charts", charts },
        tabled({
          id: "verified",
          caption: "Objectives in the twin",
          columns,
          rows: told.map(([state, each]) => ({
            ...{ state, verdict: verdict(each) },
            ...Object.fromEntries(
              objectives.flatMap((objective, at) => {
                const of = each.metrics[objective];
                return [[`value-${at}`, of ? { value: of.mean, half_width: of.ci95 } : null], [`worst-${at}`, each.worst[objective] ?? ""]];
              }),
            ),
          })),
        }),
      ],
    },
  ];
}

/** Anything that a document says beside its typed parts, in words. */
function said(key: string, value: unknown): string {
  if (typeof value === "number") return withUnit(value, key.endsWith("_pct") ? "%" : "");
  if (Array.isArray(value)) return some(value.map((each) => said(key, each)), 8);
  return value === null || value === undefined ? "" : String(value);
}

const points = (heading: string, items: { text: string; tone?: Tone }[]): Block[] => (items.length ? [{ type: "group", heading, blocks: [{ type: "list", items }] }] : []);

function decisions(plan: Plan): Section[] {
  const { others, ...demand } = plan.demand;
  const { says, twin, ...ratio } = plan.ratio;
  const policies = Object.entries(plan.policies).map(([policy, each]) => ({ policy, on: each.on ? { tone: "good" as const, text: "on" } : { tone: "plain" as const, text: "off" }, decided: said("", each.decided) || (each.on ? "nothing here" : "") }));
  const facts = (what: string, of: object): Cells[] => Object.entries(of).flatMap(([key, value]) => (said(key, value) ? [{ what, name: named(key), says: said(key, value) }] : []));
  const demands = Object.entries((others ?? {}) as Record<string, Other>).map(([key, { fullest_host, fullest_pct, text }]) => [key, fullest_pct === null ? text : `${fullest_host} at ${number(fullest_pct)} % of what may be used: ${text}`]);
  const rows = [...facts("limit", plan.limits), ...facts("demand", demand), ...facts("fullest host by another demand", Object.fromEntries(demands)), ...facts("vCPUs per core", ratio)];
  const blocks = [
    ...points("What would help", plan.remedies.map((each) => ({ text: `${each.text}${each.helps ? "" : ": does not help"}`, tone: each.helps ? "good" : "plain" }))),
    ...points("What cannot hold", plan.dropped.map((text) => ({ text, tone: "bad" }))),
    ...points("What binds", plan.binding.map((text) => ({ text }))),
    ...(policies.length ? [tabled({ id: "policies", caption: "Policies", columns: [words("policy", "policy"), badges("on", "on"), words("decided", "what it decided")], rows: policies })] : []),
    ...points("What the ratio of vCPUs to cores would have said", [says, twin].flatMap((each) => (each ? [{ text: said("", each) }] : []))),
    ...(rows.length ? [tabled({ id: "basis", caption: "What it stands on", columns: [words("what", "what"), words("name", "of"), words("says", "says")], rows })] : []),
  ];
  return blocks.length ? [{ id: "decisions", heading: "What decides", blocks }] : [];
}

function explained(plan: Plan): Section[] {
  if (!plan.explained.length) return [];
  return [
    {
      id: "explained",
      heading: "Why VMs are where they are",
      blocks: plan.explained.map((each, at): Block => ({
        type: "group",
        heading: `${each.vm} on ${each.host ?? NO_HOST}`,
        blocks: [
          { type: "list", items: each.reasons.map((text) => ({ text })) },
          tabled({ id: `elsewhere-${at}`, caption: `Why not elsewhere: ${each.vm}`, columns: [words("host", "host"), words("against", "what speaks against it")], rows: Object.entries(each.elsewhere).map(([host, against]) => ({ host, against })) }),
        ],
      })),
    },
  ];
}

function commands(plan: Plan): Section[] {
  const all = Object.entries(plan.commands).filter(([, text]) => text);
  if (!all.length) return [];
  return [
    {
      id: "commands",
      heading: "Commands",
      text: "The moves as text to paste. Read it first: nothing here was carried out.",
      blocks: all.map(([tool, text]): Block => ({ type: "group", heading: TOOLS[tool] ?? tool, closed: true, blocks: [{ type: "text", name: `moves.${ENDINGS[tool] ?? "sh"}`, text }] })),
    },
  ];
}

function view(page: PageDocument): View {
  const plan = page.document as Plan;
  const cluster = plan.cluster === "default" || plan.cluster === plan.scenario ? "" : `, cluster ${plan.cluster}`;
  return {
    title: `${TITLES[plan.command] ?? plan.command}: ${plan.scenario}${cluster}`,
    answer: guessed(page, answer(plan, page.beside["answer"] as string)),
    promises: promises(plan),
    confidence: confidence(plan),
    cards: cards(plan),
    sections: [hosts, moves, failures, twin, decisions, explained, commands].flatMap((each) => each(plan)),
    remarks: page.notes,
  };
}

export const PLACEMENT: Kind = { choices: () => [], view };
