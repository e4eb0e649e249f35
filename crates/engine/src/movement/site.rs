//! Hosts, VMs and rules as movement sees them: who is where, and who may go where.

use crate::ids::{HostId, Id, Table, VmId, WorldId};
use hypertwin_cluster::{Family, RestartPriority, RuleKind};
use hypertwin_models::migration::Settings;

/// A host.
pub(super) struct Host {
    pub name: String,
    pub family: Family,
    /// Its cluster, if VMs move there.
    pub cluster: Option<usize>,
    pub is_up: bool,
    /// Reasons for which it is emptied.
    pub maintenance: u32,
    /// Memory for VMs, and what they have reserved of it, overhead included, in bytes.
    pub memory: f64,
    pub reserved: f64,
    /// Its CPU, and what they have reserved of it, in Hz.
    pub cpu_hz: u64,
    pub reserved_hz: u64,
    /// VMs that are on it or on their way, and those of them that were restarted.
    pub vms: usize,
    pub restarted: usize,
    /// vCPUs of these VMs.
    pub vcpus: u32,
    pub logical_cpus: u32,
    /// Cores, and the nominal clock of one in MHz.
    pub cores: u32,
    pub core_mhz: f64,
    /// Power-ons, and migrations from and to it, at present.
    pub power_ons: usize,
    pub migrating: usize,
    pub migration: Settings,
    pub sender: Sender,
}

impl Host {
    pub fn is_open(&self) -> bool {
        self.is_up && self.maintenance == 0
    }
}

/// Worlds of a host's hypervisor that send and receive VMs.
#[derive(Default)]
pub(super) struct Sender {
    pub worlds: Vec<WorldId>,
    /// Cores that it spends now.
    pub cores: f64,
    /// Work that each world has not been given yet, in nanoseconds.
    pub waiting_ns: Vec<f64>,
    /// Whether it looks again by itself.
    pub is_armed: bool,
}

/// A VM.
pub(super) struct Machine {
    pub name: String,
    pub group: usize,
    pub cluster: Option<usize>,
    pub family: Family,
    pub vcpus: u32,
    /// What it reserves, overhead included, in bytes.
    pub reserves: f64,
    /// CPU that it reserves, in Hz.
    pub reserves_hz: u64,
    pub priority: RestartPriority,
    pub place: Option<HostId>,
    /// Where it migrates to.
    pub target: Option<HostId>,
    /// Whether it can migrate while it runs.
    pub is_live: bool,
    /// The only host that it can be on: that of a storage appliance.
    pub only_on: Option<HostId>,
    /// Its place is one where it is restarted.
    pub is_restarted: bool,
    /// Whether it serves: it is neither dead nor booting.
    pub is_up: bool,
    /// What is sent of it at least once, what of it is zero, and what it writes to again and again, in bytes.
    pub memory: f64,
    pub zero: f64,
    pub written_set: f64,
    /// Bytes that it has touched, and time that it had wanted when its cluster was balanced last.
    pub touched: f64,
    pub wanted_ns: i64,
    /// Bytes that it uses again and again, and pages of them in a second of CPU time.
    pub active: f64,
    pub page_rate: f64,
    /// Bytes written in a second of CPU time.
    pub dirty_rate: f64,
}

/// A placement rule about VMs here.
pub(super) struct Rule {
    pub name: String,
    pub kind: RuleKind,
    pub is_mandatory: bool,
    pub vms: Vec<VmId>,
    pub hosts: Vec<HostId>,
}

/// All of them.
#[derive(Default)]
pub(super) struct Site {
    pub hosts: Table<HostId, Host>,
    pub vms: Table<VmId, Machine>,
    pub rules: Vec<Rule>,
    /// Per VM: rules that are about it.
    pub rules_of: Table<VmId, Vec<usize>>,
    /// Per cluster: its hosts.
    pub clusters: Vec<Vec<HostId>>,
    /// Per group of VMs and host: whether such a VM can be there at all.
    pub fits: Vec<Vec<bool>>,
}

/// Why a host does not take a VM, the nearest to taking it last.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub(super) enum Lack {
    Open,
    Fit,
    Rule(usize),
    Memory(f64),
    Cpu(u64),
}

impl Site {
    /// Hosts of its cluster that take a VM now, beside its own; or what is lacking where least is.
    pub fn open_to(&self, vm: VmId) -> Result<Vec<HostId>, String> {
        let mut lack = Lack::Open;
        let mut open = Vec::new();
        let cluster = self.vms[vm].cluster.map_or(&[][..], |cluster| &self.clusters[cluster]);
        for &host in cluster.iter().filter(|&&host| Some(host) != self.vms[vm].place) {
            match self.takes(host, vm) {
                Ok(()) => open.push(host),
                Err(found) => lack = nearer(lack, found),
            }
        }
        if open.is_empty() {
            Err(self.say(&lack))
        } else {
            Ok(open)
        }
    }

    /// Whether a host takes a VM now.
    pub fn takes(&self, host: HostId, vm: VmId) -> Result<(), Lack> {
        let (there, machine) = (&self.hosts[host], &self.vms[vm]);
        if !there.is_open() {
            return Err(Lack::Open);
        }
        let is_elsewhere = machine.only_on.is_some_and(|own| own != host);
        if is_elsewhere || !self.fits[machine.group][host.index()] || there.family != machine.family {
            return Err(Lack::Fit);
        }
        let broken = |&&rule: &&usize| self.rules[rule].is_mandatory && !self.keeps(rule, vm, host);
        if let Some(&rule) = self.rules_of[vm].iter().find(broken) {
            return Err(Lack::Rule(rule));
        }
        let missing = there.reserved + machine.reserves - there.memory;
        if missing > 0.0 {
            return Err(Lack::Memory(missing));
        }
        match (there.reserved_hz + machine.reserves_hz).saturating_sub(there.cpu_hz) {
            missing_hz if machine.reserves_hz > 0 && missing_hz > 0 => Err(Lack::Cpu(missing_hz)),
            _ => Ok(()),
        }
    }

    /// Rules that are not mandatory and that a VM would break on a host.
    pub fn violated_should_rules(&self, vm: VmId, host: HostId) -> usize {
        let broken = |&&rule: &&usize| !self.rules[rule].is_mandatory && !self.keeps(rule, vm, host);
        self.rules_of[vm].iter().filter(broken).count()
    }

    /// Whether a rule about a VM is kept while it is on a host.
    pub fn keeps(&self, rule: usize, vm: VmId, host: HostId) -> bool {
        let rule = &self.rules[rule];
        let mut others = rule
            .vms
            .iter()
            .filter(|&&other| other != vm)
            .map(|&other| &self.vms[other]);
        match rule.kind {
            RuleKind::RunOn => rule.hosts.contains(&host),
            RuleKind::NotOn => !rule.hosts.contains(&host),
            RuleKind::KeepApart => others.all(|other| other.place != Some(host) && other.target != Some(host)),
            RuleKind::KeepTogether => {
                // those that have to leave will follow
                let stays = |place: &HostId| *place == host || self.hosts[*place].maintenance == 0;
                let mut places = others
                    .filter_map(|other| other.target.or(other.place))
                    .filter(stays)
                    .peekable();
                places.peek().is_none() || places.any(|place| place == host)
            }
        }
    }

    /// The missing condition, in words.
    pub fn say(&self, lack: &Lack) -> String {
        match lack {
            Lack::Open => "a host that is up and not in maintenance".to_owned(),
            Lack::Fit => "a compatible host (vCPUs, memory, affinity, hypervisor, storage)".to_owned(),
            Lack::Rule(rule) => format!("a host that rule {} allows", self.rules[*rule].name),
            Lack::Memory(bytes) => format!("{:.1} GiB more unreserved memory", bytes / f64::from(1 << 30)),
            Lack::Cpu(hz) => format!("{:.1} GHz more unreserved CPU", *hz as f64 / 1e9),
        }
    }

    /// A VM takes room on a host.
    pub fn enter(&mut self, vm: VmId, host: HostId) {
        let (there, machine) = (&mut self.hosts[host], &self.vms[vm]);
        there.vms += 1;
        there.vcpus += machine.vcpus;
        there.reserved += machine.reserves;
        there.reserved_hz += machine.reserves_hz;
        there.restarted += usize::from(machine.is_restarted);
    }

    /// A VM leaves its room on a host.
    pub fn leave(&mut self, vm: VmId, host: HostId) {
        let (there, machine) = (&mut self.hosts[host], &self.vms[vm]);
        debug_assert!(there.vms > 0, "it was there");
        there.vms -= 1;
        there.vcpus -= machine.vcpus;
        there.reserved_hz -= machine.reserves_hz;
        there.restarted -= usize::from(machine.is_restarted);
        there.reserved = if there.vms == 0 {
            0.0
        } else {
            there.reserved - machine.reserves
        };
    }
}

/// The one that lacks less: a host that came further, or less memory or CPU.
fn nearer(one: Lack, other: Lack) -> Lack {
    match (&one, &other) {
        (Lack::Memory(a), Lack::Memory(b)) => Lack::Memory(a.min(*b)),
        (Lack::Cpu(a), Lack::Cpu(b)) => Lack::Cpu(*a.min(b)),
        (Lack::Rule(_), Lack::Rule(_)) => one,
        _ if other > one => other,
        _ => one,
    }
}
