/** `hypertwin capacity`: how full clusters are, now and without their largest hosts, what still fits, what could be taken back. */

import { badges, figures, tabled, words } from "./columns";
import type { Kind } from "./kinds";
import { guessed } from "./guess";
import type { PageDocument } from "./page";
import type { Badge, BarChart, Block, Cell, Column, Row as Cells, Section, Tone, View } from "./view";
import { number, withUnit } from "./numbers";
import { byName, count, list, some } from "./words";

type Source = "measured" | "configured" | "assumed";

interface Left {
  cpu: number | null;
  memory: number | null;
  memory_consumed: number | null;
  ratio: number | null;
  binding: string | null;
  count: number | null;
  vm: { vcpus: number; memory_gib: number } | null;
  average: boolean;
}

interface Stored {
  datastores: number;
  capacity_gib: number | null;
  used_pct: number | null;
  provisioned_pct: number | null;
  vms_provisioned_gib: number | null;
  vms_used_gib: number | null;
  vms_in_guest_gib: number | null;
  swap_gib: number | null;
}

interface Unused {
  vms: number;
  vcpus: number;
  memory_gib: number | null;
  hosts_freed: number | null;
}

interface Group {
  vms: number;
  storage_gib: number | null;
}

interface Reclaimable {
  judged: number;
  proven: Unused | null;
  moment: Unused | null;
  idle: Group;
  idle_at_moment: Group;
  off: Group;
  templates: Group;
  snapshots: { vms: number; count: number; gib: number | null; oldest: string | null };
  hosts_spare: number | null;
  basis: string;
}

interface Figures {
  hosts: number;
  sockets: number;
  cores: number;
  vms: number;
  vcpus: number;
  vcpu_per_core: number | null;
  vcpu_per_core_degraded: number | null;
  vcpu_per_core_corrected: number | null;
  vcpu_per_core_corrected_degraded: number | null;
  cpu_usage_pct: number | null;
  cpu_usage_degraded_pct: number | null;
  memory_gib: number;
  memory_configured_pct: number | null;
  memory_configured_degraded_pct: number | null;
  memory_consumed_pct: number | null;
  memory_consumed_degraded_pct: number | null;
  memory_active_pct: number | null;
  memory_active_degraded_pct: number | null;
  storage: Stored | null;
  licence_cores: number;
  vms_left: Left | null;
  reclaimable: Reclaimable;
}

interface Basis {
  kind: string;
  aligned: boolean;
  text: string;
}

interface Ha {
  policy: string | null;
  admission: string | null;
  slot: { cpu_mhz: number; memory_mib: number } | null;
  free_slots: number | null;
  unreserved_cpu_pct: number;
  unreserved_memory_pct: number;
  tolerates: number | null;
  may_power_on: boolean;
  not_powered_on: string[];
  will_perform: boolean | null;
  lacks: string[];
  restart_s: { detection: number } | null;
}

interface Cluster extends Figures {
  label: string | null;
  limits: { failures: number; cpu_pct: number; memory_pct: number; ratio: number | null; speed: number };
  ha: Ha;
  /** See `Failover` of documents/failover.py. */
  failover: { survives: boolean | null; text: string } | null;
  largest_restartable: { vcpus: number; memory_gib: number; failed: string[]; not_restarted: string[] } | null;
  demand: { asked: string; cpu: Basis | null; memory_consumed: Basis | null; memory_active: Basis | null };
  sources: Record<string, Source>;
}

interface Datastore {
  name: string;
  clusters: string[];
  kind: string | null;
  hosts: number | null;
  capacity_gib: number;
  used_pct: number | null;
  provisioned_pct: number | null;
}

interface ReclaimableVm {
  name: string;
  cluster: string | null;
  state: string;
  proven: boolean;
  vcpus: number;
  vcpus_needed: number | null;
  memory_gib: number;
  memory_needed_gib: number | null;
  storage_gib: number | null;
  snapshots: number;
  snapshots_gib: number | null;
  oldest_snapshot: string | null;
}

/** See `Capacity` of documents/capacity.py. */
export interface Capacity {
  scenario: string;
  clusters: Record<string, Cluster>;
  total: Figures;
  datastores: Datastore[];
  /** The room of pools: see documents/space.py. */
  pools?: Record<string, { raw_gib: number; room_gib: number; stored_gib: number; free_gib: number; used_pct: number; lost_host: { used_pct: number } }>;
  reclaimable: ReclaimableVm[];
}

const BINDING: Record<string, string> = { cpu: "CPU", memory: "memory", memory_consumed: "consumed memory", ratio: "vCPUs per core", pool: "pool" };
/** Datastores fuller than this are marked. */
const NEARLY_FULL_PCT = 80;
const FULL_PCT = 90;

interface Named {
  name: string;
  of: Cluster;
}

/** A figure now and without the largest hosts, and what it may be then. */
interface Pair {
  key: string;
  name: string;
  unit: string;
  text: string;
  /** The key of the figure in a document, without its unit. */
  figure: "vcpu_per_core" | "cpu_usage" | "memory_configured" | "memory_consumed" | "memory_active";
  limit: (of: Cluster) => number | null;
}

const now = (of: Figures, { figure, unit }: Pair): number | null => of[(unit ? `${figure}_pct` : figure) as "cpu_usage_pct"];
const degraded = (of: Figures, { figure, unit }: Pair): number | null => of[(unit ? `${figure}_degraded_pct` : `${figure}_degraded`) as "cpu_usage_degraded_pct"];

const PAIRS: Pair[] = [
  {
    ...{ key: "ratio", name: "vCPUs per core", unit: "", figure: "vcpu_per_core" },
    text: "vCPUs of VMs that are on, over physical cores.",
    limit: (of) => of.limits.ratio === null ? null : of.limits.ratio * of.limits.speed,
  },
  {
    ...{ key: "cpu", name: "CPU", unit: "%", figure: "cpu_usage" },
    text: "Demand of VMs over cores x nominal clock.",
    limit: (of) => of.limits.cpu_pct,
  },
  {
    ...{ key: "configured", name: "memory configured", unit: "%", figure: "memory_configured" },
    text: "What VMs that are on are configured with, and hypervisors occupy, over what hosts have.",
    limit: (of) => of.limits.memory_pct,
  },
  {
    ...{ key: "consumed", name: "memory consumed", unit: "%", figure: "memory_consumed" },
    text: "What VMs occupy on their hosts.",
    limit: (of) => of.limits.memory_pct,
  },
  {
    ...{ key: "active", name: "memory active", unit: "%", figure: "memory_active" },
    text: "What VMs touched lately.",
    limit: () => null,
  },
];

/** What a cluster is beyond without its largest hosts; null where that is not known of anything. */
function beyond(of: Cluster): string[] | null {
  const judged = PAIRS.map((pair) => ({ pair, value: degraded(of, pair), limit: pair.limit(of) })).filter((each) => each.value !== null && each.limit !== null);
  if (!judged.length) return null;
  const over = judged.filter((each) => each.value! > each.limit! + 1e-9).map((each) => `${each.pair.name} ${withUnit(each.value, each.pair.unit)}`);
  return over;
}

const failing = (of: Cluster): string => (of.limits.failures === 1 ? "its largest host" : `its ${of.limits.failures} largest hosts`);

function limited(of: Cluster): string {
  const { limits } = of;
  return list([`${number(limits.cpu_pct)} % of CPU`, `${number(limits.memory_pct)} % of memory`, ...(limits.ratio === null ? [] : [`${number(limits.ratio)} vCPUs per core`])]);
}

function answer(all: readonly Named[]): View["answer"] {
  const judged = all.map((each) => ({ ...each, over: beyond(each.of) }));
  const bad = judged.filter((each) => each.over?.length || each.of.failover?.survives === false);
  const open = judged.filter((each) => !bad.includes(each) && (each.over === null || each.of.failover?.survives === null));
  const left = judged.filter((each) => each.of.vms_left?.count);
  const several = all.length > 1;
  const room = left.length
    ? `Room for ${count(left.reduce((sum, each) => sum + each.of.vms_left!.count!, 0), "more VM")} without the largest hosts.`
    : "No room for another VM without the largest hosts.";
  /** One cluster, as terminals say it; beside it the limits that it is over. */
  const said = ({ name, of, over }: (typeof judged)[number]) =>
    [of.failover?.text, over?.length ? `Over its limits without ${failing(of)}: ${list(over)}.` : ""].filter(Boolean).join(" ") || `${name}: ${over ? "within its limits" : "not known"} without ${failing(of)}.`;
  const text = !several
    ? judged.map(said).join()
    : bad.length
      ? `${bad.length} of ${all.length} clusters cannot lose a host within their limits: ${some(bad.map((each) => each.name))}.`
      : open.length
        ? `Not known of ${some(open.map((each) => each.name))}.`
        : "Every cluster can lose a host.";
  return {
    tone: bad.length ? "bad" : open.length ? "warn" : "good",
    text: `${text} ${room}`,
    more: several ? [...bad, ...open].slice(0, 8).map(said) : [],
  };
}

function arrow(now: number | null, degraded: number | null, unit = ""): string {
  return now === null ? "not known" : `${number(now)} → ${degraded === null ? "–" : number(degraded)}${unit && ` ${unit}`}`;
}

function chart(all: readonly Named[], pair: Pair): BarChart[] {
  const known = all.filter((each) => now(each.of, pair) !== null);
  if (!known.length) return [];
  const worst = (each: Named) => degraded(each.of, pair) ?? now(each.of, pair)!;
  const sorted = [...known].sort((one, other) => worst(other) - worst(one) || byName(one.name, other.name));
  const limits = new Set(known.map((each) => pair.limit(each.of)));
  const [limit] = limits;
  return [
    {
      type: "bars",
      id: pair.key,
      title: pair.name,
      text: pair.text,
      alternative: `${sorted[0]!.name}: ${arrow(now(sorted[0]!.of, pair), degraded(sorted[0]!.of, pair), pair.unit)} without its largest hosts.`,
      categories: sorted.map((each) => each.name),
      value: { name: pair.name, ...(pair.unit ? { unit: pair.unit } : {}), from: 0 },
      series: [
        { name: "now", values: sorted.map((each) => now(each.of, pair)), colour: 0 },
        { name: "without the largest hosts", values: sorted.map((each) => degraded(each.of, pair)), colour: 1 },
      ],
      horizontal: true,
      limits: limits.size === 1 && limit !== null && limit !== undefined ? [{ name: `limit ${withUnit(limit, pair.unit)}`, value: limit, tone: "bad" }] : [],
    },
  ];
}

/** A figure now and then; the worse of them is what a table is sorted by. */
const both = (now: number | null, degraded: number | null, limit: number | null): Cell =>
  now === null ? null : { value: degraded ?? now, text: arrow(now, degraded), tone: limit !== null && (degraded ?? now) > limit + 1e-9 ? "bad" : "plain" };

const SOURCES: Record<Source, Tone> = { measured: "good", configured: "plain", assumed: "warn" };
const source = (from: Source | undefined): Badge | null => (from ? { tone: SOURCES[from], text: from } : { tone: "note", text: "not known" });

const USE: Column[] = [
  words("cluster", "cluster"),
  figures("hosts", "hosts"),
  figures("sockets", "sockets", "", { secondary: true }),
  figures("cores", "cores"),
  figures("vms", "VMs"),
  figures("vcpus", "vCPUs"),
  figures("memory", "memory", "GiB"),
  ...PAIRS.map((pair) => figures(pair.key, pair.name, pair.unit, { text: `${pair.text} Now → without the largest hosts.` })),
];

function useRow(name: string, of: Figures, cluster?: Cluster): Cells {
  return {
    ...{ cluster: name, hosts: of.hosts, sockets: of.sockets, cores: of.cores, vms: of.vms, vcpus: of.vcpus, memory: of.memory_gib },
    ...Object.fromEntries(PAIRS.map((pair) => [pair.key, both(now(of, pair), degraded(of, pair), cluster ? pair.limit(cluster) : null)])),
  };
}

const ROOM: Column[] = [
  words("cluster", "cluster"),
  figures("left", "VMs left", "", { text: "How many more VMs fit by all limits together, packed whole onto hosts, without the largest hosts." }),
  words("binds", "binds", { text: "The limit that leaves the least." }),
  figures("cpu", "by CPU"),
  figures("memory", "by memory"),
  figures("consumed", "by consumed"),
  figures("ratio", "by vCPUs per core"),
  words("vm", "VM counted", { secondary: true }),
  words("restart", "largest restart", { text: "The largest VM for which a host has room after the VMs of a failed host were restarted, at worst." }),
  figures("lost", "not restarted", "VMs", { text: "VMs of the failed host that fit nowhere with all their memory." }),
  figures("licences", "licence cores"),
];

const sized = (vm: { vcpus: number; memory_gib: number }): string => `${number(vm.vcpus, 2)} x ${number(vm.memory_gib)} GiB`;

function roomRow(name: string, of: Figures, cluster?: Cluster): Cells {
  const left = of.vms_left;
  const restart = cluster?.largest_restartable;
  return {
    cluster: name,
    left: left && left.count !== null ? { value: left.count, tone: left.count ? "good" : "bad" } : null,
    binds: left?.binding ? BINDING[left.binding]! : "",
    cpu: left?.cpu ?? null,
    memory: left?.memory ?? null,
    consumed: left?.memory_consumed ?? null,
    ratio: left?.ratio ?? null,
    vm: left?.vm ? `${sized(left.vm)}${left.average ? " (mean)" : ""}` : "",
    restart: restart ? (restart.vcpus ? sized(restart) : "none") : "",
    lost: restart ? { value: restart.not_restarted.length, tone: restart.not_restarted.length ? "bad" : "plain" } : null,
    licences: of.licence_cores,
  };
}

const FAILOVER: Column[] = [
  words("cluster", "cluster"),
  words("policy", "restarted by"),
  words("admission", "admission"),
  badges("power_on", "may power on", { text: "By reservations: the rule of admission control, and what single hosts have unreserved." }),
  badges("perform", "will perform", { text: "By demand: whether it is within the limits on the hosts that are left." }),
  words("slot", "slot", { secondary: true }),
  figures("free", "slots free"),
  figures("tolerates", "tolerates", "hosts", { text: "Host failures, by reservations and demand." }),
  figures("cpu", "unreserved CPU", "%", { secondary: true }),
  figures("memory", "unreserved memory", "%", { secondary: true }),
  figures("detection", "restarts from", "s"),
];

const yes = (said: boolean | null, lacks: string[] = []): Badge =>
  said === null ? { tone: "note", text: "not known" } : said ? { tone: "good", text: "yes" } : { tone: "bad", text: lacks.length ? `no: ${list(lacks)}` : "no" };

const failoverRow = ({ name, of: { ha } }: Named): Cells => ({
  cluster: name,
  policy: ha.policy ?? "",
  admission: ha.admission ?? "",
  power_on: yes(ha.may_power_on),
  perform: yes(ha.will_perform, ha.lacks.map((each) => BINDING[each]!)),
  slot: ha.slot ? `${number(ha.slot.cpu_mhz)} MHz, ${number(ha.slot.memory_mib)} MiB` : "",
  free: ha.free_slots === null ? null : { value: ha.free_slots, tone: ha.free_slots < 0 ? "bad" : "plain" },
  tolerates: ha.tolerates,
  cpu: ha.unreserved_cpu_pct,
  memory: ha.unreserved_memory_pct,
  detection: ha.restart_s?.detection ?? null,
});

function corrected(all: readonly Named[]): Block[] {
  const faster = all.filter((each) => each.of.vcpu_per_core_corrected !== null);
  if (!faster.length) return [];
  return [
    {
      type: "list",
      items: faster.map(({ name, of }) => ({
        text: `${name}: a core counts as ${number(of.limits.speed)}; vCPUs per core are ${arrow(of.vcpu_per_core_corrected, of.vcpu_per_core_corrected_degraded)} then.`,
      })),
    },
  ];
}

const BASES: Column[] = [
  words("cluster", "cluster"),
  words("figure", "figure"),
  badges("source", "source", { text: "Measured, configured, or with something in it that was assumed." }),
  words("kind", "demand"),
  words("text", "what it stands on"),
];

const KINDS: Record<string, string> = { moment: "one moment", p95: "95th percentile" };

function bases(all: readonly Named[]): Cells[] {
  return all.flatMap(({ name, of }) =>
    (
      [
        ["CPU", "cpu_usage_pct", of.demand.cpu],
        ["memory consumed", "memory_consumed_pct", of.demand.memory_consumed],
        ["memory active", "memory_active_pct", of.demand.memory_active],
      ] as const
    ).map(([figure, key, basis]) => ({
      cluster: name,
      figure,
      source: source(of.sources[key]),
      kind: basis ? (KINDS[basis.kind] ?? basis.kind) : "",
      text: basis?.text ?? "",
    })),
  );
}

const STORES: Column[] = [
  words("name", "datastore"),
  words("clusters", "clusters"),
  words("kind", "kind", { secondary: true }),
  figures("hosts", "hosts", "", { secondary: true }),
  figures("capacity_gib", "capacity", "GiB"),
  figures("used_pct", "used", "%"),
  figures("provisioned_pct", "provisioned", "%", { text: "What virtual disks may grow to; above 100 % they can fill it." }),
];

const POOLS: Column[] = [
  words("name", "pool"),
  figures("raw_gib", "raw", "GiB"),
  figures("room_gib", "usable", "GiB", { text: "With a host lost." }),
  figures("stored_gib", "stored", "GiB"),
  figures("free_gib", "free", "GiB"),
  figures("used_pct", "used", "%"),
  figures("lost_host", "without a host", "%"),
];

const OF_VMS: Column[] = [
  words("cluster", "cluster"),
  figures("vms_provisioned_gib", "may grow to", "GiB", { text: "VMs that are on or off, and templates." }),
  figures("vms_used_gib", "occupied", "GiB", { text: "What these occupy on datastores." }),
  figures("vms_in_guest_gib", "in guests", "GiB", { text: "What guests that are on believe to use." }),
  figures("swap_gib", "swap files", "GiB", { text: "Configured memory of VMs that are on, on ESXi: their swap files, where no memory is reserved." }),
];

const full = (used: number): Tone => (used > FULL_PCT ? "bad" : used > NEARLY_FULL_PCT ? "warn" : "plain");

function storage(found: Capacity, rows: readonly { name: string; of: Figures }[]): Section[] {
  const stored = rows.flatMap(({ name, of: { storage: each } }) => (each ? [{ cluster: name, ...each }] : []));
  const ofVms = stored.some((each) => (each.vms_provisioned_gib ?? each.vms_used_gib ?? each.vms_in_guest_gib) !== null) ? stored : [];
  const pools = Object.entries(found.pools ?? {}).map(([name, each]) => ({ name, ...each, lost_host: each.lost_host.used_pct }));
  if (!found.datastores.length && !ofVms.length && !pools.length) return [];
  const known = found.datastores.filter((each) => each.used_pct !== null).sort((one, other) => other.used_pct! - one.used_pct! || byName(one.name, other.name));
  const bars: BarChart = {
    type: "bars",
    id: "datastores",
    title: "Datastores, the fullest first",
    alternative: known.length ? `${known[0]!.name} is ${number(known[0]!.used_pct)} % full.` : "Nothing known.",
    categories: known.map((each) => each.name),
    value: { name: "used", unit: "%", from: 0 },
    series: [{ name: "used", values: known.map((each) => each.used_pct), colour: 0 }],
    horizontal: true,
    limits: [{ name: `${FULL_PCT} %`, value: FULL_PCT, tone: "warn" }],
  };
  return [
    {
      id: "storage",
      heading: "Storage",
      text: "A datastore that several clusters share counts in full in each of them, and once in all.",
      blocks: [
        ...(known.length ? [{ type: "charts" as const, charts: [bars] }] : []),
        ...(ofVms.length
          ? [tabled({ id: "stored", caption: "Storage that VMs take", columns: OF_VMS, rows: ofVms })]
          : []),
        ...(pools.length ? [tabled({ id: "pools", caption: "Pools", columns: POOLS, rows: pools })] : []),
        ...(found.datastores.length
          ? [
              tabled({
                id: "datastores",
                caption: "Datastores",
                columns: STORES,
                rows: found.datastores.map((each) => ({
                  ...each,
                  clusters: each.clusters.join(", "),
                  used_pct: each.used_pct === null ? null : { value: each.used_pct, tone: full(each.used_pct) },
                })),
                sorted: { column: "used_pct", descending: true },
                filters: ["clusters", "kind"],
              }),
            ]
          : []),
      ],
    },
  ];
}

const TAKEN: Column[] = [
  words("cluster", "cluster"),
  badges("by", "judged by"),
  figures("vms", "VMs", "", { text: "VMs with more than they need." }),
  figures("idle", "idle", "VMs", { text: "VMs whose CPU stays below 5 % of their vCPUs." }),
  figures("vcpus", "unused", "vCPUs"),
  figures("memory", "unused", "GiB"),
  figures("freed", "hosts freed", "", { text: "Hosts that the cluster can do without then, beside those that it can do without now." }),
  figures("spare", "hosts to spare now", "", { secondary: true }),
];

const OFF: Column[] = [
  words("cluster", "cluster"),
  figures("off", "off", "VMs"),
  figures("off_gib", "they occupy", "GiB"),
  figures("templates", "templates"),
  figures("templates_gib", "they occupy", "GiB"),
  figures("snapshots", "snapshots"),
  figures("snapshots_gib", "they occupy", "GiB"),
  words("oldest", "oldest snapshot"),
];

const TAKEN_VMS: Column[] = [
  words("name", "VM"),
  words("cluster", "cluster"),
  badges("state", "state"),
  badges("proven", "proven", { text: "Whether its demand was measured over time; one moment or a mean proves nothing." }),
  figures("vcpus", "vCPUs"),
  figures("vcpus_needed", "needs", "vCPUs"),
  figures("memory_gib", "memory", "GiB"),
  figures("memory_needed_gib", "needs", "GiB"),
  figures("storage_gib", "storage", "GiB", { secondary: true }),
  figures("snapshots", "snapshots", "", { secondary: true }),
  words("oldest_snapshot", "oldest", { secondary: true }),
];

function reclaimable(found: Capacity, rows: readonly { name: string; of: Figures }[]): Section {
  const taken = rows.flatMap(({ name, of: { reclaimable: each } }) =>
    (
      [
        ["demand over time", "good", each.proven, each.idle],
        ["one moment or a mean", "note", each.moment, each.idle_at_moment],
      ] as const
    ).flatMap(([text, tone, unused, idle]) =>
      unused
        ? [{ cluster: name, by: { tone, text }, vms: unused.vms, idle: idle.vms, vcpus: unused.vcpus, memory: unused.memory_gib, freed: unused.hosts_freed, spare: each.hosts_spare }]
        : [],
    ),
  );
  const off = rows.map(({ name, of: { reclaimable: each } }) => ({
    ...{ cluster: name, off: each.off.vms, off_gib: each.off.storage_gib, templates: each.templates.vms, templates_gib: each.templates.storage_gib },
    ...{ snapshots: each.snapshots.count, snapshots_gib: each.snapshots.gib, oldest: each.snapshots.oldest?.slice(0, 10) ?? "" },
  }));
  return {
    id: "reclaimable",
    heading: "What could be taken back",
    text: found.total.reclaimable.basis,
    blocks: [
      ...(taken.length ? [tabled({ id: "unused", caption: "What VMs that are on do not use", columns: TAKEN, rows: taken })] : []),
      tabled({ id: "off", caption: "What does not run, and the storage that it takes", columns: OFF, rows: off }),
      ...(found.reclaimable.length
        ? [
            tabled({
              id: "vms",
              caption: "VMs, those with the most memory to take back first",
              columns: TAKEN_VMS,
              rows: found.reclaimable.map((each) => ({
                ...each,
                state: { tone: "plain" as const, text: each.state },
                proven: { tone: each.proven ? ("good" as const) : ("note" as const), text: each.proven ? "yes" : "no" },
                snapshots: each.snapshots || null,
                oldest_snapshot: each.oldest_snapshot?.slice(0, 10) ?? "",
              })),
              filters: ["cluster", "state", "proven"],
            }),
          ]
        : []),
    ],
  };
}

function confidence(all: readonly Named[]): View["confidence"] {
  const kinds = new Map<string, string[]>();
  for (const { name, of } of all) {
    const basis = of.demand.cpu;
    const said = basis ? `${of.sources["cpu_usage_pct"] === "assumed" ? "assumed: " : ""}${basis.text}` : "not known";
    kinds.set(said, [...(kinds.get(said) ?? []), name]);
  }
  return [...kinds].map(([said, names]) => ({
    tone: said === "not known" ? "warn" : said.includes("one moment") || said.startsWith("assumed") ? "note" : "plain",
    text: `CPU demand${kinds.size > 1 ? ` of ${some(names)}` : ""}: ${said}.`,
  }));
}

function view(page: PageDocument): View {
  const found = page.document as Capacity;
  const all: Named[] = Object.entries(found.clusters).map(([name, of]) => ({ name: of.label ?? name, of }));
  const { total } = found;
  const several = all.length > 1;
  const rows = [...all, ...(several ? [{ name: "all", of: total }] : [])];
  const left = total.vms_left;
  const only = all.length === 1 ? all[0]!.of.vms_left : null;
  return {
    title: `Capacity of ${found.scenario}`,
    answer: guessed(page, answer(all)),
    promises: all.map(({ name, of }) => {
      const over = beyond(of);
      return {
        text: `${several ? `${name}: ` : ""}${limited(of)} without ${failing(of)}`,
        met: over?.length || of.failover?.survives === false ? false : over === null || of.failover?.survives === null ? null : true,
        note: of.failover?.survives === true ? list(over ?? []) : (of.failover?.text ?? (over === null ? "no host is left, or nothing is known" : list(over))),
      };
    }),
    confidence: confidence(all),
    cards: [
      { name: "Hosts", value: `${total.hosts}`, remark: `${count(total.cores, "core")}${several ? `, ${all.length} clusters` : ""}` },
      { name: "VMs", value: number(total.vms), remark: count(total.vcpus, "vCPU") },
      { name: "vCPUs per core", value: arrow(total.vcpu_per_core, total.vcpu_per_core_degraded), remark: "now → without the largest hosts" },
      { name: "Memory configured", value: arrow(total.memory_configured_pct, total.memory_configured_degraded_pct, "%"), remark: `of ${number(total.memory_gib)} GiB` },
      {
        name: "VMs left",
        value: left?.count === null || left?.count === undefined ? "not known" : number(left.count),
        ...(only?.binding ? { remark: `${BINDING[only.binding]} binds` } : {}),
        tone: left?.count === 0 ? "bad" : "plain",
      },
      ...(total.storage && total.storage.used_pct !== null ? [{ name: "Storage used", value: `${number(total.storage.used_pct)} %`, remark: `of ${number(total.storage.capacity_gib! / 1024)} TiB` }] : []),
      { name: "Licence cores", value: number(total.licence_cores) },
    ],
    sections: [
      {
        id: "use",
        heading: "How full",
        text: "Without the largest hosts: those with the most cores x clock for CPU, the most memory for memory, the most cores for vCPUs per core.",
        blocks: [
          { type: "charts", charts: PAIRS.flatMap((pair) => (pair.key === "active" ? [] : chart(all, pair))) },
          tabled({ id: "use", caption: "What clusters have and use, now → without their largest hosts", columns: USE, rows: rows.map(({ name, of }, place) => useRow(name, of, all[place]?.of)) }),
          ...corrected(all),
        ],
      },
      {
        id: "room",
        heading: "What still fits",
        blocks: [tabled({ id: "room", caption: "What still fits without the largest hosts", columns: ROOM, rows: rows.map(({ name, of }, place) => roomRow(name, of, all[place]?.of)) })],
      },
      {
        id: "failover",
        heading: "After a failure",
        text: "What may be powered on is a matter of reservations; what will perform, of demand.",
        blocks: [tabled({ id: "failover", caption: "What may be powered on, and what will perform", columns: FAILOVER, rows: all.map(failoverRow) })],
      },
      ...storage(found, rows),
      reclaimable(found, rows),
      {
        id: "basis",
        heading: "What the figures stand on",
        blocks: [tabled({ id: "basis", caption: "Demand behind the figures", columns: BASES, rows: bases(all), ...(several ? { filters: ["figure"] } : {}) })],
      },
    ],
    remarks: page.notes,
  };
}

export const CAPACITY: Kind = { choices: () => [], view };
