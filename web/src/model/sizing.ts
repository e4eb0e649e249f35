/** `hypertwin size` and `vnuma`: the topology that one VM should have or has, with a drawing and text to paste. */

import { badges, figures, tabled, words } from "./columns";
import type { Kind } from "./kinds";
import type { PageDocument } from "./page";
import type { Badge, Column, Row as Cells, Section, View } from "./view";
import { number } from "./numbers";
import { amount, count, list } from "./words";

interface Warning {
  code: string;
  text: string;
}

interface Topology {
  sockets: number;
  cores_per_socket: number;
  threads_per_core: number;
  memory_per_node_bytes: number;
}

interface Candidate {
  name: string;
  vcpus: number;
  sockets: number;
  cores_per_socket: number;
  vpds: number[];
  homes: number[];
  fits_node: boolean;
  local_memory_pct: number;
  bandwidth_nodes: number;
  warnings: Warning[];
}

interface Advice {
  sockets: number;
  cores_per_socket: number;
  vcpus: number;
  vpds: number[];
  fits_node: boolean;
  text: string;
}

/** See `Sizing` of documents/plan.py. */
export interface Sizing {
  host: Topology & { name: string; hypervisor: string };
  asked: { vcpus: number | null; demand_cores: number | null; memory_bytes: number };
  advice: Advice;
  candidates: Candidate[];
  notes: string[];
  snippets?: Record<string, string>;
}

/** What `hypertwin vnuma` prints: see `Layout` of documents/vnuma.py. */
export interface Layout {
  advice: Advice;
  host: string;
  hypervisor: string;
  host_topology: Topology;
  vcpus: number;
  cores_per_socket: number;
  memory_bytes: number;
  vnuma: boolean;
  vpds: number[];
  homes: number[];
  settled_homes: number[];
  collapsed: boolean;
  clients: { first_vcpu: number; vcpus: number; home: number; local_bytes: number; remote_bytes: number }[];
  warnings: Warning[];
}

interface Drawing {
  caption: string;
  svg: string;
}

const numbers = (values: readonly number[]): string => values.join(" + ");

function drawings(page: PageDocument, heading: string): Section[] {
  const drawn = (page.beside["drawings"] ?? []) as Drawing[];
  return drawn.length
    ? [{ id: "drawing", heading, blocks: drawn.map((each) => ({ type: "drawing" as const, caption: each.caption, svg: each.svg })) }]
    : [];
}

function hostCards(host: Topology, hypervisor: string): View["cards"] {
  const threads = host.threads_per_core > 1 ? `, ${host.threads_per_core} threads each` : "";
  return [
    { name: "Host", value: `${host.sockets} × ${host.cores_per_socket} cores`, remark: `${hypervisor}${threads}` },
    { name: "Memory of a node", value: amount(host.memory_per_node_bytes, "B") },
  ];
}

const COLUMNS: Column[] = [
  words("name", "topology"),
  badges("state", "state"),
  figures("vcpus", "vCPUs"),
  words("sockets", "sockets × cores"),
  words("nodes", "virtual nodes", { text: "vCPUs of each node that the guest sees." }),
  words("homes", "home nodes", { secondary: true }),
  figures("local", "local memory", "%"),
  figures("bandwidth", "bandwidth of", "nodes", { secondary: true }),
  words("against", "against it"),
];

function state(warnings: readonly Warning[]): Badge {
  return warnings.length ? { tone: "warn", text: count(warnings.length, "warning") } : { tone: "good", text: "fine" };
}

function cells(each: Candidate): Cells {
  return {
    name: each.name,
    state: state(each.warnings),
    vcpus: each.vcpus,
    sockets: `${each.sockets} × ${each.cores_per_socket}`,
    nodes: numbers(each.vpds),
    homes: each.homes.join(" "),
    local: each.local_memory_pct,
    bandwidth: each.bandwidth_nodes,
    against: each.warnings.map((warning) => warning.text).join("; "),
  };
}

function size(page: PageDocument): View {
  const { host, asked, advice, candidates, notes, snippets } = page.document as Sizing;
  const [best] = candidates;
  const wanted = [
    ...(asked.vcpus === null ? [] : [count(asked.vcpus, "vCPU")]),
    ...(asked.demand_cores === null ? [] : [`${number(asked.demand_cores)} cores at the peak`]),
    amount(asked.memory_bytes, "B"),
  ];
  const given = [count(advice.vcpus, "vCPU")];
  return {
    title: "The topology of a VM",
    answer: {
      tone: best?.warnings.length ? "warn" : "good",
      text: advice.text,
      more: best?.warnings.map((each) => each.text) ?? [],
    },
    promises: [
      { text: `Asked for: ${list(wanted)}`, met: asked.vcpus === null || advice.vcpus === asked.vcpus, note: `advised: ${list(given)}` },
      { text: "All memory is local", met: (best?.local_memory_pct ?? 0) >= 100, note: `${number(best?.local_memory_pct ?? 0)} %` },
    ],
    confidence: [{ tone: "plain", text: `By the rules of ${host.hypervisor}; nothing is simulated, and the VM is taken to be alone on its host.` }],
    cards: [
      { name: "vCPUs", value: `${advice.vcpus}`, remark: `${count(advice.sockets, "socket")} of ${count(advice.cores_per_socket, "core")}` },
      { name: "Virtual nodes", value: `${advice.vpds.length}`, remark: `of ${numbers(advice.vpds)} vCPUs` },
      { name: "Local memory", value: `${number(best?.local_memory_pct ?? 0)} %` },
      ...hostCards(host, host.hypervisor),
    ],
    sections: [
      ...drawings(page, "Where it is on the host"),
      {
        id: "candidates",
        heading: "Beside other topologies",
        blocks: [tabled({ id: "candidates", caption: "The advised topology, then the alternatives", columns: COLUMNS, rows: candidates.map(cells) })],
      },
      ...(snippets
        ? [
            {
              id: "paste",
              heading: "To paste",
              blocks: Object.entries(snippets).map(([name, text]) => ({ type: "text" as const, name: snippetFile(name), text })),
            },
          ]
        : []),
    ],
    remarks: [...notes, ...page.notes],
  };
}

const EXTENSIONS: Record<string, string> = { vmx: "vmx", powercli: "ps1", govc: "govc.sh", libvirt: "xml", qm: "qm.sh", qemu: "qemu.sh" };
const snippetFile = (name: string): string => `machine.${EXTENSIONS[name] ?? `${name}.txt`}`;

const CLIENTS: Column[] = [
  words("vcpus", "vCPUs"),
  figures("home", "home node"),
  figures("settled", "node when settled"),
  figures("local", "local memory"),
  figures("remote", "remote memory"),
];

function layout(page: PageDocument): View {
  const found = page.document as Layout;
  const { advice, clients, vpds, warnings } = found;
  const [total, remote] = [found.memory_bytes, clients.reduce((sum, each) => sum + each.remote_bytes, 0)];
  const local = total ? (100 * (total - remote)) / total : 100;
  const bytes = (value: number) => ({ value, text: amount(value, "B") });
  return {
    title: `NUMA of ${count(found.vcpus, "vCPU")} on ${found.hypervisor}`,
    answer: {
      tone: warnings.length || found.collapsed ? "warn" : "good",
      text: `The guest sees ${vpds.length === 1 ? "one node" : `${vpds.length} nodes of ${numbers(vpds)} vCPUs`}; ${number(local)} % of its memory is local${warnings.length ? `, and ${count(warnings.length, "thing")} ${warnings.length === 1 ? "is" : "are"} wrong` : ""}.`,
      more: [...warnings.map((each) => each.text), `Advice: ${advice.text}`],
    },
    promises: [
      { text: "Nothing is wrong with the layout", met: !warnings.length, note: warnings.length ? count(warnings.length, "warning") : "" },
      { text: "It stays when the rebalancer settles", met: !found.collapsed, note: found.collapsed ? "all clients go to one node" : "" },
    ],
    confidence: [{ tone: "plain", text: `By the rules of ${found.hypervisor}; nothing is simulated, and the VM is taken to be alone on its host.` }],
    cards: [
      { name: "Virtual nodes", value: `${vpds.length}`, remark: `of ${numbers(vpds)} vCPUs` },
      { name: "Local memory", value: `${number(local)} %` },
      { name: "Advised", value: `${advice.sockets} × ${advice.cores_per_socket}`, remark: `${count(advice.vcpus, "vCPU")} in ${count(advice.vpds.length, "virtual node")}` },
      ...hostCards(found.host_topology, found.hypervisor),
    ],
    sections: [
      ...drawings(page, "Where it is on the host"),
      {
        id: "clients",
        heading: "Clients",
        text: "A NUMA client is a set of vCPUs that are placed on one node of the host together.",
        blocks: [
          tabled({
            id: "clients",
            caption: "NUMA clients",
            columns: CLIENTS,
            rows: clients.map((each, place) => ({
              vcpus: each.vcpus === 1 ? `${each.first_vcpu}` : `${each.first_vcpu} to ${each.first_vcpu + each.vcpus - 1}`,
              home: each.home,
              settled: found.settled_homes[place] ?? null,
              local: bytes(each.local_bytes),
              remote: bytes(each.remote_bytes),
            })),
          }),
        ],
      },
    ],
    remarks: page.notes,
  };
}

export const SIZING: Kind = { choices: () => [], view: size };
export const LAYOUT: Kind = { choices: () => [], view: layout };
