//! What the schema cannot say: references, sums, and values that must agree with each other.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::{Deserialize, DeserializeOwned};
use serde_json::Value;

use crate::hypervisor::{Family, Hypervisor};
use crate::limits;
use crate::mistake::{Found, show, show_text};
use crate::names::members;
use crate::options;
use crate::placement::{candidates, fits, place};
use crate::pool::{Failure, StoragePool};
use crate::rules::PlacementRule;
use crate::scenario::{Arrivals, HostGroup, NumaOptions, RunSettings, VmGroup, Workload, parse_cpus};
use crate::storage::{ControllerKind, SPLIT_BYTES, StorageArray, VDISKS_PER_CONTROLLER};
use crate::validate::nearest;

/// The parts of a scenario that the schema found no fault with.
pub(crate) struct Parts {
    run: Option<RunSettings>,
    pub(crate) hosts: BTreeMap<String, Option<HostGroup>>,
    pub(crate) vms: BTreeMap<String, Option<VmGroup>>,
    pub(crate) workloads: BTreeMap<String, Option<Workload>>,
    arrays: BTreeMap<String, Option<StorageArray>>,
    pub(crate) storage: BTreeMap<String, Option<StoragePool>>,
    /// Those that the schema found no fault with, and their positions.
    failures: Vec<(usize, Failure)>,
    rules: Vec<(usize, PlacementRule)>,
    /// Paths with a mistake, so that a default that stands in for a faulty value is not blamed.
    faulty: BTreeSet<Vec<String>>,
}

impl Parts {
    /// The parts of `scenario`, from which the values at the `faulty` paths have been removed.
    pub(crate) fn new(scenario: &Value, faulty: BTreeSet<Vec<String>>) -> Self {
        let run = scenario.get("run").map_or_else(
            || Some(RunSettings::default()),
            |run| RunSettings::deserialize(run).ok(),
        );
        Self {
            run,
            hosts: groups(scenario, "hosts", &faulty),
            vms: groups(scenario, "vms", &faulty),
            workloads: groups(scenario, "workloads", &faulty),
            arrays: groups(scenario, "arrays", &faulty),
            storage: groups(scenario, "storage", &faulty),
            failures: entries(scenario, "failures"),
            rules: entries(scenario, "rules"),
            faulty,
        }
    }

    /// Whether nothing at, under or over `path` is a mistake.
    pub(crate) fn clean(&self, path: &[&str]) -> bool {
        let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
        let over = (0..path.len()).any(|length| self.faulty.contains(&path[..length]));
        // In the set's order, what is under a path comes right after it.
        let under = self
            .faulty
            .range(path.clone()..)
            .next()
            .is_some_and(|fault| fault.starts_with(&path));
        !over && !under
    }

    /// Whether a name exists or might have: a faulty section hides what it names.
    pub(crate) fn readable(&self, section: &str) -> bool {
        !self.faulty.contains([section.to_owned()].as_slice())
    }

    /// Every mistake that the schema does not see.
    pub(crate) fn mistakes(&self) -> Vec<Found> {
        let mut found = Vec::new();
        for (name, host) in &self.hosts {
            if let Some(host) = host {
                self.host(name, host, &mut found);
            }
        }
        for (name, workload) in &self.workloads {
            if let Some(workload) = workload {
                self.workload(name, workload, &mut found);
            }
        }
        for (name, vm) in &self.vms {
            if let Some(vm) = vm {
                self.vm(name, vm, &mut found);
                self.vm_pool(name, vm, &mut found);
            }
        }
        for (name, pool) in &self.storage {
            if let Some(pool) = pool {
                self.pool(name, pool, &mut found);
            }
        }
        for (position, failure) in &self.failures {
            if self.clean(&["failures", &position.to_string()]) {
                self.failure(*position, failure, &mut found);
            }
        }
        for (position, rule) in &self.rules {
            if self.clean(&["rules", &position.to_string()]) {
                self.rule(*position, rule, &mut found);
            }
        }
        let shares = |workload: &Workload| workload.block_mix.iter().map(|part| part.share_pct).sum::<f64>();
        for (name, share) in self
            .workloads
            .iter()
            .filter_map(|(name, workload)| Some((name, shares(workload.as_ref()?))))
        {
            if share > 100.0 + 1e-9 && self.clean(&["workloads", name, "block_mix"]) {
                found.push(Found::new(
                    ["workloads", name, "block_mix"],
                    "mix-over-100",
                    format!("{share} % in all"),
                    "shares of at most 100 % in all".to_owned(),
                    "lower share_pct; what is left of 100 % has the size block".to_owned(),
                ));
            }
        }
        let hosts: BTreeMap<&str, u32> = counts(&self.hosts, |host| host.count);
        let vms: BTreeMap<&str, u32> = counts(&self.vms, |vm| vm.count);
        clashes("hosts", &hosts, &mut found);
        clashes("vms", &vms, &mut found);
        if self.sizes(&mut found) && found.is_empty() {
            self.reservations(&mut found);
        }
        found
    }

    fn host(&self, name: &str, host: &HostGroup, found: &mut Vec<Found>) {
        if let Some(turbo) = host
            .turbo
            .filter(|turbo| *turbo < host.clock && self.clean(&["hosts", name, "clock"]))
        {
            found.push(Found::new(
                ["hosts", name, "turbo"],
                "turbo-below-clock",
                turbo.to_string(),
                format!("at least the clock, {}", host.clock),
                "remove turbo, or give the clock that all cores sustain when busy".to_owned(),
            ));
        }
        if self.clean(&["hosts", name, "hypervisor"]) {
            let path = ["hosts", name, "scheduler"];
            let remedy = format!("or change hosts.{name}.hypervisor");
            for (key, value) in changed(&host.scheduler) {
                found.extend(not_of(host.hypervisor, &path, &key, &value, &remedy));
            }
        }
        let costop = host.scheduler.costop_threshold();
        let costart = host.scheduler.costart_threshold();
        let clean = self.clean(&["hosts", name, "scheduler", "costop_threshold"])
            && self.clean(&["hosts", name, "scheduler", "costart_threshold"]);
        if clean && costart > costop && has_option(host, &["hosts", name, "scheduler"], "costart_threshold") {
            let key = if host.scheduler.costart_threshold.is_some() {
                "costart_threshold"
            } else {
                "costop_threshold"
            };
            found.push(Found::new(
                ["hosts", name, "scheduler", key],
                "costart-above-costop",
                format!("costart_threshold {costart} with costop_threshold {costop}"),
                "a costart_threshold of at most costop_threshold".to_owned(),
                format!("lower costart_threshold to {costop} or less, or raise costop_threshold"),
            ));
        }
    }

    fn workload(&self, name: &str, workload: &Workload, found: &mut Vec<Found>) {
        if !self.clean(&["workloads", name]) {
            return;
        }
        match &workload.arrivals {
            Arrivals::Closed { think, .. } => {
                if workload.cpu.mean.is_zero() && workload.delay.mean.is_zero() && think.mean.is_zero() {
                    found.push(Found::new(
                        ["workloads", name],
                        "zero-cycle",
                        "cpu, delay and think are all 0".to_owned(),
                        "a closed workload whose cpu, delay or think time is above 0".to_owned(),
                        "give cpu.mean; without any time a session would repeat without end at one instant".to_owned(),
                    ));
                }
            }
            Arrivals::Parallel { .. } => {
                let sequential = [
                    (
                        "cpu",
                        workload.cpu.mean.is_zero(),
                        workload.cpu.mean.to_string(),
                        "above 0",
                    ),
                    (
                        "delay",
                        !workload.delay.mean.is_zero(),
                        workload.delay.mean.to_string(),
                        "none",
                    ),
                    ("ios", workload.ios > 0.0, workload.ios.to_string(), "none"),
                ];
                for (key, _, value, allowed) in sequential.into_iter().filter(|(_, wrong, ..)| *wrong) {
                    found.push(Found::new(
                        ["workloads", name, key],
                        "not-parallel",
                        value,
                        format!("{allowed}: a parallel workload computes, and nothing else"),
                        "change it, or use closed arrivals".to_owned(),
                    ));
                }
            }
            Arrivals::Io { .. } => {
                let foreign = [
                    ("bursts", workload.bursts != 1, workload.bursts.to_string()),
                    ("delay", !workload.delay.mean.is_zero(), workload.delay.mean.to_string()),
                    ("ios", workload.ios > 0.0, workload.ios.to_string()),
                ];
                for (key, _, value) in foreign.into_iter().filter(|(_, wrong, _)| *wrong) {
                    found.push(Found::new(
                        ["workloads", name, key],
                        "not-io",
                        value,
                        "none: each transaction of an io workload is one I/O".to_owned(),
                        "remove it, or use closed or open arrivals".to_owned(),
                    ));
                }
            }
            Arrivals::Open { rate, .. } => {
                if rate.per_second() <= 0.0 {
                    found.push(Found::new(
                        ["workloads", name, "arrivals", "open", "rate"],
                        "zero-rate",
                        rate.to_string(),
                        "a rate above 0".to_owned(),
                        "for a machine without work set its load to 0, or its count".to_owned(),
                    ));
                }
            }
        }
    }

    fn vm(&self, name: &str, vm: &VmGroup, found: &mut Vec<Found>) {
        if let Some(cores) = vm
            .cores_per_socket
            .filter(|cores| !vm.vcpus.is_multiple_of(*cores) && self.clean(&["vms", name, "vcpus"]))
        {
            let divisors: Vec<String> = (1..=vm.vcpus)
                .filter(|d| vm.vcpus.is_multiple_of(*d))
                .map(|d| d.to_string())
                .collect();
            found.push(Found::new(
                ["vms", name, "cores_per_socket"],
                "odd-topology",
                cores.to_string(),
                format!("a divisor of vcpus ({}): {}", vm.vcpus, divisors.join(", ")),
                "every virtual socket has the same number of cores; change cores_per_socket or vcpus".to_owned(),
            ));
        }
        let parallel = self.workloads.get(&vm.workload).and_then(Option::as_ref);
        let parallel = parallel.is_some_and(|workload| matches!(workload.arrivals, Arrivals::Parallel { .. }));
        let loads = [
            ("load", vm.load != 1.0, vm.load.to_string()),
            (
                "load_steps",
                !vm.load_steps.is_empty(),
                format!("{} steps", vm.load_steps.len()),
            ),
        ];
        for (key, _, value) in loads
            .into_iter()
            .filter(|(key, wrong, _)| parallel && *wrong && self.clean(&["vms", name, key]))
        {
            found.push(Found::new(
                ["vms", name, key],
                "not-parallel",
                value,
                "none: a parallel workload keeps every vCPU busy".to_owned(),
                "remove it, or use closed arrivals".to_owned(),
            ));
        }
        if let Some(limit) = vm
            .limit
            .filter(|limit| *limit < vm.reservation && self.clean(&["vms", name, "reservation"]))
        {
            found.push(Found::new(
                ["vms", name, "limit"],
                "limit-below-reservation",
                limit.to_string(),
                format!("at least the reservation, {}", vm.reservation),
                "raise the limit or lower the reservation".to_owned(),
            ));
        }
        for (position, pair) in vm.load_steps.windows(2).enumerate() {
            if pair[1].at <= pair[0].at && self.clean(&["vms", name, "load_steps"]) {
                found.push(Found::new(
                    ["vms", name, "load_steps", &(position + 1).to_string(), "at"],
                    "unordered-steps",
                    pair[1].at.to_string(),
                    format!("later than the step before, {}", pair[0].at),
                    "put load_steps in order of time".to_owned(),
                ));
            }
        }
        if self.readable("workloads")
            && self.clean(&["vms", name, "workload"])
            && !self.workloads.contains_key(&vm.workload)
        {
            found.push(self.unknown(
                ["vms", name, "workload"],
                &vm.workload,
                "workloads",
                self.workloads.keys(),
            ));
        }
        self.numa(name, vm, found);
        self.storage(name, vm, found);
        let Some(affinity) = vm
            .affinity
            .as_deref()
            .map(parse_cpus)
            .map_or(Some(None), |cpus| cpus.map(Some))
        else {
            found.push(Found::new(
                ["vms", name, "affinity"],
                "bad-affinity",
                show_text(vm.affinity.as_deref().unwrap_or_default()),
                "numbers and ranges of logical CPUs, such as 0-11,24".to_owned(),
                "write each range from its lower to its higher number".to_owned(),
            ));
            return;
        };
        if self.readable("hosts") {
            self.host_of(name, vm, affinity.as_deref(), found);
        }
    }

    /// That a VM's virtual disks have an array, and its controllers room for them.
    fn storage(&self, name: &str, vm: &VmGroup, found: &mut Vec<Found>) {
        let clean = |key: &str| self.clean(&["vms", name, key]);
        let workload = self.workloads.get(&vm.workload).and_then(Option::as_ref);
        let generator = workload.is_some_and(|workload| matches!(workload.arrivals, Arrivals::Io { .. }));
        if generator && !vm.load_steps.is_empty() && clean("load_steps") {
            found.push(Found::new(
                ["vms", name, "load_steps"],
                "not-io",
                format!("{} steps", vm.load_steps.len()),
                "none: an io workload keeps its I/Os outstanding throughout".to_owned(),
                "remove it, or sweep vms.NAME.load".to_owned(),
            ));
        }
        if !vm.has_disks() {
            let without = [
                ("controller", vm.controller.map(|kind| kind.as_str().to_owned())),
                ("controllers", (vm.controllers != 1).then(|| vm.controllers.to_string())),
                ("vdisks", vm.vdisks.map(|count| count.to_string())),
                ("vdisk_depth", vm.vdisk_depth.map(|depth| depth.to_string())),
                ("ring_pages", vm.ring_pages.map(|pages| pages.to_string())),
                ("shared_luns", vm.shared_luns.then(|| "true".to_owned())),
                ("workload", generator.then(|| vm.workload.clone())),
            ];
            let without = without.into_iter().filter_map(|(key, value)| Some((key, value?)));
            for (key, value) in without.filter(|(key, _)| clean(key) && clean("array") && clean("storage")) {
                found.push(Found::new(
                    ["vms", name, key],
                    "no-array",
                    value,
                    "a machine with an array or a storage".to_owned(),
                    format!("set vms.{name}.array to a key of arrays, or vms.{name}.storage to one of storage"),
                ));
            }
            return;
        }
        if let Some(array) = vm.array.as_ref().filter(|array| !self.arrays.contains_key(*array))
            && self.readable("arrays")
            && clean("array")
        {
            found.push(self.unknown(["vms", name, "array"], array, "arrays", self.arrays.keys()));
        }
        let most = VDISKS_PER_CONTROLLER * vm.controllers;
        if vm.all_vdisks() > most && clean("vdisks") && clean("controllers") {
            found.push(Found::new(
                ["vms", name, "vdisks"],
                "too-many-vdisks",
                vm.all_vdisks().to_string(),
                format!("at most {most}, {VDISKS_PER_CONTROLLER} on each controller"),
                "add controllers (4 at most), or use fewer virtual disks".to_owned(),
            ));
        }
        let family = self.family_of(vm);
        let Some(kind) = vm.controller.or(family.map(Family::default_controller)) else {
            return;
        };
        if !clean("controller") {
            return;
        }
        if let Some(facts) = family
            .map(Family::facts)
            .filter(|facts| !facts.controllers.contains(&kind))
        {
            let own: Vec<&str> = facts.controllers.iter().map(|kind| kind.as_str()).collect();
            found.push(Found::new(
                ["vms", name, "controller"],
                "wrong-hypervisor",
                kind.as_str().to_owned(),
                format!("for {}: {}", facts.title, own.join(", ")),
                "virtio is of Linux hosts; choose another kind, or give the machine such a host".to_owned(),
            ));
        }
        let (_, deepest) = kind.vdisk_depth();
        if let Some(depth) = vm.vdisk_depth.filter(|depth| *depth > deepest && clean("vdisk_depth")) {
            found.push(Found::new(
                ["vms", name, "vdisk_depth"],
                "depth-over-maximum",
                depth.to_string(),
                format!("at most {deepest}, for {}", kind.as_str()),
                "lower it, or change vms.NAME.controller".to_owned(),
            ));
        }
        if let Some(pages) = vm
            .ring_pages
            .filter(|_| kind != ControllerKind::Pvscsi && clean("ring_pages"))
        {
            found.push(Found::new(
                ["vms", name, "ring_pages"],
                "not-pvscsi",
                pages.to_string(),
                format!("none: {} has no ring pages", kind.as_str()),
                "remove it, or set the controller to pvscsi".to_owned(),
            ));
        }
    }

    /// The one family of all hosts that a VM may be on, if there is one and it is known.
    fn family_of(&self, vm: &VmGroup) -> Option<Family> {
        let hosts = self.hosts_of(vm)?;
        let known = hosts.iter().all(|(name, _)| self.clean(&["hosts", name, "hypervisor"]));
        let mut families = hosts.iter().map(|(_, host)| host.hypervisor.family());
        let first = families.next().filter(|_| known)?;
        families.all(|family| family == first).then_some(first)
    }

    /// The groups of hosts that a VM may be on, by name; `None` where one has mistakes of its own, which says nothing about
    /// what fits it.
    pub(crate) fn hosts_of(&self, vm: &VmGroup) -> Option<Vec<(&str, &HostGroup)>> {
        let count = |host: &Option<HostGroup>| host.as_ref().map_or(u32::MAX, |host| host.count);
        let pool = vm.storage.as_ref().and_then(|name| self.storage.get(name)?.as_ref());
        candidates(&self.hosts, count, vm, pool)
            .into_iter()
            .map(|(name, _)| Some((name, self.hosts[name].as_ref()?)))
            .collect()
    }

    /// That the virtual NUMA options of a VM agree with each other and with the hypervisor of a host it may be on.
    fn numa(&self, name: &str, vm: &VmGroup, found: &mut Vec<Found>) {
        let NumaOptions { cells, nodes, .. } = &vm.numa;
        let clean = |key: &str| self.clean(&["vms", name, "numa", key]);
        let in_all: u32 = cells.iter().sum();
        if !cells.is_empty() && in_all != vm.vcpus && clean("cells") && self.clean(&["vms", name, "vcpus"]) {
            found.push(Found::new(
                ["vms", name, "numa", "cells"],
                "cells-not-vcpus",
                format!("{cells:?}, {in_all} vCPUs in all"),
                format!("cells with {} vCPUs in all, as many as vcpus", vm.vcpus),
                "every vCPU is in one cell; change cells or vcpus".to_owned(),
            ));
        }
        if !nodes.is_empty() && nodes.len() != cells.len() && clean("nodes") && clean("cells") {
            found.push(Found::new(
                ["vms", name, "numa", "nodes"],
                "nodes-not-cells",
                format!("{nodes:?}, a list of {}", nodes.len()),
                format!("as many as there are cells: {}", cells.len()),
                "give each of cells one node of the host, or remove nodes".to_owned(),
            ));
        }
        let Some(hosts) = self.hosts_of(vm).filter(|hosts| !hosts.is_empty()) else {
            return;
        };
        let bound = hosts
            .iter()
            .filter(|(_, host)| has_option(host, &["vms", name, "numa"], "nodes"));
        let known = hosts.iter().all(|(name, _)| self.clean(&["hosts", name, "sockets"]));
        // it may be on any of them, so the smallest counts
        if let Some((host_name, host)) = bound
            .min_by_key(|(_, host)| host.sockets)
            .filter(|_| known && clean("nodes"))
        {
            for (position, node) in nodes.iter().enumerate().filter(|(_, node)| **node >= host.sockets) {
                found.push(Found::new(
                    ["vms", name, "numa", "nodes", &position.to_string()],
                    "node-outside-host",
                    node.to_string(),
                    format!("a NUMA node of host {host_name}, 0 to {}", host.sockets - 1),
                    "every socket of a host is one node, numbered from 0".to_owned(),
                ));
            }
        }
        if hosts
            .iter()
            .any(|(name, _)| !self.clean(&["hosts", name, "hypervisor"]))
        {
            return;
        }
        let hot_add = [("cpu_hot_add".to_owned(), Value::Bool(true))];
        let path = ["vms", name, "numa"];
        let options = changed(&vm.numa).into_iter().map(|option| (&path[..], option));
        let options = options.chain(hot_add.into_iter().filter(|_| vm.cpu_hot_add).map(|o| (&path[..2], o)));
        for (path, (key, value)) in options {
            let mistakes: Vec<Found> = hosts
                .iter()
                .filter_map(|(_, host)| not_of(host.hypervisor, path, &key, &value, "or give the machine such a host"))
                .collect();
            // a machine that may be on several kinds of host may have the options of each
            if mistakes.len() == hosts.len() {
                found.extend(mistakes.into_iter().next());
            }
        }
    }

    /// That the VM has a host it fits.
    fn host_of(&self, name: &str, vm: &VmGroup, affinity: Option<&[u32]>, found: &mut Vec<Found>) {
        let hosts = self.hosts_of(vm);
        if let (true, Some(wanted)) = (hosts.as_ref().is_some_and(Vec::is_empty), &vm.host) {
            found.push(self.unknown(["vms", name, "host"], wanted, "hosts", self.hosts.keys()));
            return;
        }
        let Some(hosts) = hosts.filter(|hosts| !hosts.is_empty()) else {
            return;
        };
        let known = |name: &str| self.clean(&["hosts", name, "hypervisor"]);
        let reserves = |host: &HostGroup| host.hypervisor.family().facts().reservations;
        if vm.reservation.whole_hz() > 0
            && self.clean(&["vms", name, "reservation"])
            && hosts.iter().all(|(name, host)| known(name) && !reserves(host))
        {
            found.push(no_reservations(name, vm, hosts[0].0, hosts[0].1));
        }
        let topology = ["sockets", "cores_per_socket", "threads_per_core", "memory_per_node"];
        if hosts
            .iter()
            .any(|(name, _)| topology.iter().any(|key| !self.clean(&["hosts", name, key])))
        {
            return;
        }
        // So does a machine whose size is a stand-in, except for what is its own.
        if !self.clean(&["vms", name, "vcpus"]) || !self.clean(&["vms", name, "memory"]) {
            return;
        }
        if hosts.iter().any(|(_, host)| fits(vm, host)) {
            return;
        }
        let before = found.len();
        let (widest, host) = hosts
            .iter()
            .max_by_key(|(_, host)| host.logical_cpus())
            .expect("not empty");
        let logical = host.logical_cpus();
        let shape = format!(
            "{logical} logical CPUs of host {widest} (sockets x cores x threads: {} x {} x {})",
            host.sockets, host.cores_per_socket, host.threads_per_core
        );
        if vm.vcpus > logical {
            found.push(Found::new(
                ["vms", name, "vcpus"],
                "vm-wider-than-host",
                vm.vcpus.to_string(),
                format!("at most the {shape}"),
                format!(
                    "a virtual machine wider than its host's logical CPUs cannot power on; use {} or fewer vCPUs (one per physical core), or a wider host",
                    host.cores()
                ),
            ));
        }
        if let Some(last) = affinity.and_then(<[u32]>::last).filter(|last| **last >= logical) {
            found.push(Found::new(
                ["vms", name, "affinity"],
                "affinity-outside-host",
                show_text(vm.affinity.as_deref().unwrap_or_default()),
                format!("numbers from 0 to {}, for the {shape}", logical - 1),
                format!("there is no logical CPU {last}; thread t of core c of socket s is number (s * cores + c) * threads + t"),
            ));
        }
        let (largest, host) = hosts.iter().max_by_key(|(_, host)| host.memory()).expect("not empty");
        if vm.memory > host.memory() {
            found.push(Found::new(
                ["vms", name, "memory"],
                "memory-exceeds-host",
                vm.memory.to_string(),
                format!("at most the {} of host {largest}", host.memory()),
                "give the machine less memory, or the host more memory_per_node".to_owned(),
            ));
        }
        if found.len() == before {
            found.push(Found::new(
                ["vms", name],
                "no-host-fits",
                format!("{} vCPUs, {}", vm.vcpus, vm.memory),
                "a machine whose vCPUs, memory and affinity fit one host together".to_owned(),
                "some hosts have the CPUs and others the memory, none both; name a host, or make the machine smaller"
                    .to_owned(),
            ));
        }
    }

    pub(crate) fn unknown<'k, const DEPTH: usize>(
        &self,
        path: [&str; DEPTH],
        value: &str,
        section: &str,
        known: impl Iterator<Item = &'k String> + Clone,
    ) -> Found {
        let mut names: Vec<&str> = known.map(String::as_str).collect();
        let hint = match nearest(value, names.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("add it under {section}, or refer to one that is there"),
        };
        let more = names.len().saturating_sub(12);
        names.truncate(12);
        let mut allowed = match names.is_empty() {
            true => format!("a key of {section}, of which there is none"),
            false => format!("a key of {section}: {}", names.join(", ")),
        };
        if more > 0 {
            allowed += &format!(" and {more} more");
        }
        if section == "hosts" && path[0] != "rules" {
            allowed += "; or one host of a group, by number (such as esx-2)";
        }
        Found::new(path, "unknown-reference", show_text(value), allowed, hint)
    }

    /// That the scenario as a whole is of a size that can be simulated; true if so and every part is readable.
    fn sizes(&self, found: &mut Vec<Found>) -> bool {
        let before = found.len();
        let mut check = |section: &str, what: &str, value: f64, most: f64| {
            if value > most {
                found.push(Found::new(
                    [section],
                    "too-large",
                    format!("{value} {what} in all"),
                    format!("at most {most} {what} in all"),
                    "lower the counts, or split the scenario".to_owned(),
                ));
            }
        };
        let hosts: Vec<&HostGroup> = self.hosts.values().flatten().collect();
        let count: u64 = hosts.iter().map(|host| u64::from(host.count)).sum();
        let logical: u64 = hosts
            .iter()
            .map(|host| u64::from(host.count) * u64::from(host.logical_cpus()))
            .sum();
        check("hosts", "hosts", count as f64, limits::HOSTS as f64);
        check("hosts", "logical CPUs", logical as f64, limits::LOGICAL_CPUS as f64);
        let vms: Vec<&VmGroup> = self.vms.values().flatten().collect();
        let machines: u64 = vms.iter().map(|vm| u64::from(vm.count)).sum();
        let vcpus: u64 = vms.iter().map(|vm| u64::from(vm.count) * u64::from(vm.vcpus)).sum();
        check("vms", "vCPUs", vcpus as f64, limits::VCPUS as f64);
        let disks: u64 = self
            .arrays
            .values()
            .flatten()
            .map(|array| u64::from(array.disks.count))
            .sum();
        check("arrays", "disks", disks as f64, limits::DISKS as f64);
        let pooled: u64 = self
            .storage
            .values()
            .flatten()
            .map(|pool| {
                let nodes = self.hosts.get(&pool.nodes).and_then(Option::as_ref);
                let flash = pool.flash.as_ref().map_or(0, |flash| flash.per_node);
                nodes.map_or(0, |nodes| u64::from(nodes.count)) * u64::from(pool.devices.per_node + flash)
            })
            .sum();
        check("storage", "disks", pooled as f64, limits::DISKS as f64);
        let (mut processes, mut arrivals, mut vdisks, mut outstanding) = (0.0, 0.0, 0.0, 0.0);
        for vm in &vms {
            let peak = f64::from(vm.count) * vm.peak_load();
            let Some(workload) = self.workloads.get(&vm.workload).and_then(Option::as_ref) else {
                continue;
            };
            let all_vdisks = if vm.has_disks() { vm.all_vdisks() } else { 0 };
            vdisks += f64::from(vm.count) * f64::from(all_vdisks);
            let parts = workload.largest_block().bytes().div_ceil(SPLIT_BYTES) as f64;
            match &workload.arrivals {
                Arrivals::Closed { population, .. } => {
                    processes += peak * f64::from(*population);
                    if vm.has_disks() {
                        outstanding +=
                            peak * f64::from(*population) * workload.ios / f64::from(workload.bursts) * parts;
                    }
                }
                Arrivals::Open { rate, .. } => arrivals += peak * rate.per_second(),
                Arrivals::Parallel { .. } => processes += f64::from(vm.count) * f64::from(vm.vcpus),
                Arrivals::Io {
                    outstanding: each,
                    workers,
                    ..
                } => {
                    processes += f64::from(vm.count) * f64::from(workers.unwrap_or(vm.vcpus));
                    outstanding += peak * f64::from(all_vdisks) * f64::from(*each) * parts;
                }
            }
        }
        check("vms", "virtual disks", vdisks, limits::VDISKS);
        check("vms", "processes", processes, limits::PROCESSES);
        check("vms", "I/Os outstanding", outstanding, limits::OUTSTANDING);
        check("vms", "arrivals per second", arrivals, limits::ARRIVALS_PER_SECOND);
        if let Some(run) = self.run.as_ref().filter(|run| !run.sample_interval.is_zero()) {
            let samples = run.duration.seconds() / run.sample_interval.seconds() * (count + machines) as f64;
            check(
                "run",
                "samples (duration / sample_interval, for every host and VM)",
                samples.round(),
                limits::SAMPLES,
            );
        }
        found.len() == before
            && self.faulty.is_empty()
            && self.hosts.values().all(Option::is_some)
            && self.vms.values().all(Option::is_some)
    }

    /// That no host has more CPU reserved than it has, or cannot reserve any. Everything else is known to be right.
    fn reservations(&self, found: &mut Vec<Found>) {
        fn intact<T: Clone>(groups: &BTreeMap<String, Option<T>>) -> BTreeMap<String, T> {
            groups
                .iter()
                .filter_map(|(name, group)| Some((name.clone(), group.clone()?)))
                .collect()
        }
        let (hosts, vms) = (intact(&self.hosts), intact(&self.vms));
        let Some(placed) = place(&hosts, &vms, &intact(&self.storage)) else {
            return;
        };
        let machines = vms
            .iter()
            .flat_map(|(name, vm)| std::iter::repeat_n((name, vm), vm.count as usize));
        let mut reserved: BTreeMap<usize, Vec<(&String, u64)>> = BTreeMap::new();
        for ((name, vm), host) in machines
            .zip(placed)
            .filter(|((_, vm), _)| vm.reservation.whole_hz() > 0)
        {
            reserved
                .entry(host)
                .or_default()
                .push((name, vm.reservation.whole_hz()));
        }
        let names = members(&hosts, |host| host.count);
        let mut blamed = BTreeSet::new();
        for (position, reservations) in reserved {
            let (host_name, host) = &names[position];
            if !host.hypervisor.family().facts().reservations {
                for (name, _) in reservations {
                    if blamed.insert(name) {
                        found.push(no_reservations(name, &vms[name], host_name, host));
                    }
                }
                continue;
            }
            let sum: u128 = reservations.iter().map(|(_, hz)| u128::from(*hz)).sum();
            if sum <= u128::from(host.capacity().whole_hz()) {
                continue;
            }
            // The largest reservation is the one to look at first; one message per group of machines is enough.
            let (name, hz) = reservations.iter().max_by_key(|(_, hz)| *hz).expect("not empty");
            if blamed.insert(*name) {
                found.push(Found::new(
                    ["vms", name, "reservation"],
                    "over-reserved",
                    format!(
                        "{} (in all {} GHz on host {host_name})",
                        crate::Frequency::from_hz(*hz),
                        sum as f64 / 1e9
                    ),
                    format!(
                        "at most {} reserved on host {host_name} (cores x clock)",
                        host.capacity()
                    ),
                    "lower the reservations, or spread the machines over more hosts".to_owned(),
                ));
            }
        }
    }
}

/// The options that differ from their defaults, and their values.
fn changed<T: serde::Serialize + Default>(options: &T) -> Vec<(String, Value)> {
    let map = |options: &T| match serde_json::to_value(options) {
        Ok(Value::Object(map)) => map,
        _ => serde_json::Map::new(),
    };
    let defaults = map(&T::default());
    let options = map(options).into_iter();
    options
        .filter(|(key, value)| defaults.get(key) != Some(value))
        .collect()
}

/// The mistake of an option under `path` that `hypervisor` does not have, by the `x-family`, `x-since` and `x-until` of
/// its schema; `remedy` says what to do other than removing it.
fn not_of(hypervisor: Hypervisor, path: &[&str], key: &str, value: &Value, remedy: &str) -> Option<Found> {
    let all = options::at(path)?;
    let option = all.get(key)?;
    if options::has(hypervisor, option) {
        return None;
    }
    let own = options::own(hypervisor, all);
    let own = if own.is_empty() {
        "none".to_owned()
    } else {
        own.join(", ")
    };
    let family = option["x-family"].as_str().unwrap_or_default();
    let owner = match (options::version(option, "x-since"), options::version(option, "x-until")) {
        (Some(since), _) => format!("{since} and later"),
        (None, Some(until)) => format!("{family} up to {until}"),
        (None, None) => format!("{family} hosts"),
    };
    Some(Found::new(
        path.iter().copied().chain([key]),
        "wrong-hypervisor",
        show(value),
        format!("for {hypervisor}: {own}"),
        format!("{key} is an option of {owner}; remove it, {remedy}"),
    ))
}

/// Whether a host has the option `key` under `path`.
fn has_option(host: &HostGroup, path: &[&str], key: &str) -> bool {
    options::at(path)
        .and_then(|options| options.get(key))
        .is_some_and(|option| options::has(host.hypervisor, option))
}

/// A reservation of a VM that is, or can only be, on a host that has none.
fn no_reservations(name: &str, vm: &VmGroup, host_name: &str, host: &HostGroup) -> Found {
    Found::new(
        ["vms", name, "reservation"],
        "wrong-hypervisor",
        vm.reservation.to_string(),
        format!(
            "no reservation on host {host_name}, {}: Linux cgroups have none for CPU",
            host.hypervisor
        ),
        format!("use shares (cpu.weight of the cgroup) instead, or set vms.{name}.host to an ESXi host"),
    )
}

/// The groups of one section. A group that is there but faulty as a whole keeps its name.
fn groups<T: DeserializeOwned>(
    scenario: &Value,
    section: &str,
    faulty: &BTreeSet<Vec<String>>,
) -> BTreeMap<String, Option<T>> {
    let sound = scenario.get(section).and_then(Value::as_object).into_iter().flatten();
    let named = faulty
        .iter()
        .filter(|path| path.len() == 2 && path[0] == section)
        .map(|path| (path[1].clone(), None));
    let read = sound.map(|(name, group)| (name.clone(), T::deserialize(group).ok()));
    named.chain(read).collect()
}

/// The entries of a list that can be read, with their positions.
fn entries<T: DeserializeOwned>(scenario: &Value, section: &str) -> Vec<(usize, T)> {
    let all = scenario.get(section).and_then(Value::as_array).into_iter().flatten();
    all.enumerate()
        .filter_map(|(position, entry)| Some((position, T::deserialize(entry).ok()?)))
        .collect()
}

fn counts<T>(groups: &BTreeMap<String, Option<T>>, count: impl Fn(&T) -> u32) -> BTreeMap<&str, u32> {
    groups
        .iter()
        .filter_map(|(name, group)| Some((name.as_str(), count(group.as_ref()?))))
        .collect()
}

/// Groups of one whose name is also that of a member of a numbered group.
fn clashes(section: &str, counts: &BTreeMap<&str, u32>, found: &mut Vec<Found>) {
    for (name, _) in counts.iter().filter(|(_, count)| **count == 1) {
        let Some((group, number)) = name.rsplit_once('-') else {
            continue;
        };
        let (Some(count), Ok(value)) = (counts.get(group), number.parse::<u32>()) else {
            continue;
        };
        if *count > 1 && (1..=*count).contains(&value) && value.to_string() == number {
            found.push(Found::new(
                [section, name],
                "duplicate-name",
                (*name).to_owned(),
                format!("a name that no member of {section}.{group} has ({group}-1 to {group}-{count})"),
                "rename one of the two groups".to_owned(),
            ));
        }
    }
}
