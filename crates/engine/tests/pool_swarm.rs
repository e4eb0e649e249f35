//! Hundreds of random pools with random failures, under checkers that know the scenario and what [`View`] shows, and do
//! not call the code that they check. A failure names its seed `n`; `SWARM_FROM=n SWARM_SEEDS=1` runs that one alone.

use crate::support;

use hypertwin_cluster::{Component, Duration, FailureDomain, PoolKind, Redundancy, Scenario};
use hypertwin_engine::{Counters, HostResult, IoResult, MemberView, Replication, State, View, watched_run};

use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, HashSet};
use support::{Dice, seeds, usual_seeds};

const SEEDS: u64 = 200;

fn name(group: &str, count: u64, number: u64) -> String {
    if count == 1 {
        group.to_owned()
    } else {
        format!("{group}-{}", number + 1)
    }
}

fn random_redundancy(dice: &mut Dice, domains: u64) -> String {
    if domains >= 2 && dice.one_in(2) {
        let parity = dice.range(1, 3.min(domains - 1));
        format!("ec-{}+{parity}", dice.range(1, (domains - parity).min(6)))
    } else {
        let copies = dice.range(1, domains.min(4));
        format!("replicas-{copies}:{}", dice.range(1, copies))
    }
}

/// A pool of any kind that the schema allows, quick to simulate and to rebuild; with failures if `fails`.
fn random_scenario(seed: u64, fails: bool) -> Scenario {
    let mut dice = Dice::new(seed, "pool swarm");
    // choices of their own, so that the others stay what they were before these keys came
    let mut device_dice = Dice::new(seed, "pool devices");
    let more = if device_dice.one_in(4) {
        device_dice.range(1, 2)
    } else {
        0
    };
    let (nodes, first) = (dice.range(1, 8), dice.range(1, 3));
    let per_node = first + more;
    let racks = dice.range(1, 4);
    let domain = dice.pick(&["disk", "host", "host", "rack"]);
    let domains = match domain {
        "disk" => nodes * per_node,
        "host" => nodes,
        _ => racks.min(nodes),
    };
    let redundancy = random_redundancy(&mut dice, domains);
    let kind = dice.pick(&["nvme", "sas-ssd", "sata-ssd", "hdd-7.2k"]);
    let slow = kind == "hdd-7.2k";
    let hypervisor = dice.pick(&["esxi-6.5", "esxi-8.0", "linux-6.6"]);
    let mut host = support::host(hypervisor, 1, dice.range(2, 4) as u32, 1);
    host["network"] = json!({
        "ports": dice.range(1, 2), "bandwidth": format!("{} MB/s", dice.range(300, 5000)),
        "latency": format!("{} us", dice.range(0, 200)),
    });
    let mut node = host.clone();
    node["count"] = json!(nodes);
    let mut pool = json!({
        "kind": dice.pick(&["mirrored-mesh", "chunk-store"]), "nodes": "node", "redundancy": redundancy,
        "deployment": dice.pick(&["hci", "two-layer", "mixed"]), "failure_domain": domain, "racks": racks,
        "chunk": "256 KiB", "fragment": format!("{} KiB", dice.pick(&[16, 64, 256])),
        "write_path": dice.pick(&["chain", "primary", "client"]),
        "devices": {"kind": kind, "per_node": first, "capacity": "100 GB"},
        "service": {"cpu_per_io": format!("{} us", dice.range(0, 60)), "in_kernel": dice.one_in(2)},
        "client": {"timeout": format!("{} ms", dice.range(1, 50))},
        "layer_latency": format!("{} us", dice.range(0, 500)),
        "metadata_servers": dice.range(1, nodes.min(5)),
        "stored": format!("{} MiB", dice.range(1, if slow { 12 } else { 48 })),
        "rebuild": {
            "delay": format!("{} ms", dice.range(0, 300)), "node_bandwidth": format!("{} MB/s", dice.range(100, 1000)),
            "streams": dice.range(1, 6), "unit": format!("{} KiB", dice.range(64, 1024)),
        },
    });
    if dice.one_in(2) {
        let key = if dice.one_in(2) {
            "threads"
        } else {
            "threads_per_device"
        };
        pool["service"][key] = json!(dice.range(1, 4));
    }
    // choices of their own, so that the others stay what they were before this key came
    let mut quota_dice = Dice::new(seed, "quota");
    if quota_dice.one_in(3) {
        pool["service"]["limit_cpus"] = json!(quota_dice.range(1, 100) as f64 / 100.0);
    }
    if dice.one_in(2) {
        pool["flash"] = json!({
            "kind": "nvme", "per_node": dice.range(1, 2), "read_cache": format!("{} MiB", dice.range(0, 64)),
            "journal": format!("{} KiB", dice.pick(&[0, 128, 100_000])),
        });
    }
    if more > 0 {
        let capacity = format!("{} GB", device_dice.range(20, 400));
        let kind = device_dice.pick(&["nvme", "sata-ssd", "hdd-15k"]);
        pool["more_devices"] = json!([{"kind": kind, "per_node": more, "capacity": capacity}]);
    }
    let mut devices = json!({});
    if device_dice.one_in(3) {
        devices["d"] = support::random_device(&mut device_dice);
        devices["e"] = support::random_device(&mut device_dice);
        let used_pct = device_dice.range(1, 100);
        pool["devices"] = json!({"device": "d", "used_pct": used_pct, "per_node": first, "capacity": "100 GB"});
        pool["flushes"] = json!(device_dice.pick(&["as-asked", "always"]));
        if pool["flash"].is_object() && devices["e"]["kind"] != "hdd-10k" {
            pool["flash"].as_object_mut().expect("a mapping").remove("kind");
            pool["flash"]["device"] = json!("e");
        }
    }
    // choices of their own, so that the others stay what they were before this key came
    let mut policy_dice = Dice::new(seed, "policies");
    let policies = if policy_dice.one_in(3) {
        policy_dice.range(1, 2)
    } else {
        0
    };
    pool["policies"] = (0..policies)
        .map(|policy| {
            let redundancy = random_redundancy(&mut policy_dice, domains);
            let fragment = format!("{} KiB", policy_dice.pick(&[8, 32, 128]));
            (
                format!("p{policy}"),
                json!({"redundancy": redundancy, "fragment": fragment}),
            )
        })
        .collect();
    let (mut vms, mut workloads) = (Map::new(), Map::new());
    for index in 0..dice.range(1, 3) {
        let count = dice.range(1, 2);
        let controller = if hypervisor.starts_with("esxi") {
            "nvme"
        } else {
            "virtio-blk"
        };
        let more = json!({
            "count": count, "storage": "pool", "controller": controller, "vdisks": dice.range(1, 2),
        });
        vms.insert(
            format!("v{index}"),
            support::vm(dice.range(1, 2) as u32, &format!("w{index}"), more),
        );
        if policies > 0 && !policy_dice.one_in(3) {
            let mut policy = || format!("p{}", policy_dice.range(0, policies - 1));
            let (policy, other) = (policy(), policy());
            let vm = &mut vms[&format!("v{index}")];
            match vm["vdisks"] == 2 {
                true => vm["vdisk_policies"] = json!([policy, other]),
                false => vm["policy"] = json!(policy),
            }
        }
        let arrivals = if dice.one_in(3) {
            let think = json!({"mean": format!("{} ms", dice.range(1, 20))});
            json!({"closed": {"population": dice.range(1, 4), "think": think}})
        } else {
            json!({"io": {"outstanding": dice.range(1, 4), "rate": format!("{} /s", dice.range(20, 150))}})
        };
        let mut workload = json!({
            "arrivals": arrivals, "cpu": {"mean": format!("{} us", dice.range(1, 300))},
            "block": format!("{} KiB", dice.pick(&[4, 16, 64, 256])), "read_pct": dice.pick(&[0, 50, 100]),
            "random_pct": dice.pick(&[0, 50, 100]), "working_set": format!("{} MiB", dice.range(1, 64)),
        });
        if workload["arrivals"].get("closed").is_some() {
            workload["ios"] = json!(dice.range(1, 3));
        }
        if device_dice.one_in(3) {
            workload["sync_pct"] = json!(device_dice.pick(&[1, 50, 100]));
        }
        workloads.insert(format!("w{index}"), workload);
    }
    let mut failures = Vec::new();
    for _ in 0..if fails { dice.range(1, 5) } else { 0 } {
        let mut parts: HashSet<String> = HashSet::new();
        let mut listed = Vec::new();
        for _ in 0..if dice.one_in(4) { dice.range(2, 3) } else { 1 } {
            let node = name("node", nodes, dice.range(0, nodes - 1));
            let part = match dice.range(0, 9) {
                0..=3 => format!("{node}/disk-{}", dice.range(1, per_node)),
                4..=6 => node,
                7 => format!("{node}/link"),
                8 => format!("pool/rack-{}", dice.range(1, racks)),
                _ => format!(
                    "pool/metadata-{}",
                    dice.range(1, pool["metadata_servers"].as_u64().unwrap())
                ),
            };
            if parts.insert(part.clone()) {
                listed.push(part);
            }
        }
        // odd times, so that no other event falls on them
        let at = dice.range(0, 1200);
        let mut failure = json!({"at": format!("{at}.00013 ms"), "fails": listed});
        if !dice.one_in(3) {
            failure["returns"] = json!(format!("{}.00017 ms", at + dice.range(1, 700)));
        }
        failures.push(failure);
    }
    let mut new_dice = Dice::new(seed, "new kinds");
    let mut events = Vec::new();
    if fails {
        make_new(&mut pool, kind, &mut new_dice);
        for failure in failures.iter_mut().filter(|failure| failure["returns"].is_string()) {
            failure["empty"] = json!(new_dice.one_in(4));
        }
        for _ in 0..if new_dice.one_in(3) { new_dice.range(1, 2) } else { 0 } {
            let node = name("node", nodes, new_dice.range(0, nodes - 1));
            let part = match new_dice.one_in(2) {
                true => node,
                false => format!("{node}/disk-{}", new_dice.range(1, per_node)),
            };
            events.push(json!({"at": format!("{}.00019 ms", new_dice.range(1, 1200)), "add": part}));
        }
    }
    let text = |events: &[Value]| {
        let mut text = json!({
            "name": "pool-swarm", "run": {"duration": "4 s", "warmup": "0 s", "sample_interval": "500 ms"},
            "devices": devices, "hosts": {"node": node, "other": host}, "vms": vms, "workloads": workloads,
            "storage": {"pool": pool}, "failures": failures, "events": events,
        });
        if support::random_copies(seed, &mut text, &["san", "pool"]) {
            text["arrays"] = json!({"san": {"disks": {"kind": "nvme", "count": 4}}});
        }
        let text = text.to_string();
        // RAID-5 of ESA has other widths
        match text.contains("\"esa\"") {
            true => text.replace("ec-3+1", "ec-2+1"),
            false => text,
        }
    };
    // what the pool cannot do without joins at the start
    let mut scenario = Scenario::from_json(&text(&events))
        .or_else(|_| Scenario::from_json(&text(&[])))
        .unwrap_or_else(|mistakes| panic!("seed {seed}: {mistakes:#?}"));
    // quicker than a scenario may say, as there is little to read
    let mut scrub_dice = Dice::new(seed, "deep scrub");
    let pool = scenario.storage.get_mut("pool").expect("the scenario has it");
    if let Some(ceph) = pool.ceph.as_mut().filter(|_| scrub_dice.one_in(2)) {
        ceph.deep_scrub = Some(Duration::from_millis(scrub_dice.range(5_000, 60_000)));
    }
    scenario
}

/// Makes a pool one of Ceph or vSAN, or leaves it as it is.
fn make_new(pool: &mut Value, kind: &str, dice: &mut Dice) {
    let to = dice.pick(&["", "", "ceph", "ceph", "vsan"]);
    if to.is_empty() {
        return;
    }
    pool["kind"] = json!(to);
    let pool = pool.as_object_mut().expect("a mapping");
    if to == "vsan" {
        let architecture = if pool.contains_key("flash") { "osa" } else { "esa" };
        pool.insert("vsan".to_owned(), json!({"architecture": architecture}));
        return;
    }
    let service = pool["service"].as_object_mut().expect("a mapping");
    for key in ["cpu_per_io", "threads", "threads_per_device"] {
        service.remove(key);
    }
    if let Some(flash) = pool.get_mut("flash").and_then(Value::as_object_mut) {
        flash.remove("journal");
        flash.remove("read_cache");
    }
    let mut ceph = json!({
        "scheduler": dice.pick(&["mclock", "wpq"]), "max_backfills": dice.range(1, 3),
        "profile": dice.pick(&["balanced", "high-client-ops", "high-recovery-ops"]),
        "recovery_max_active": dice.range(1, 6), "recovery_sleep": format!("{} ms", dice.range(0, 3)),
    });
    if dice.one_in(2) {
        let most = if kind == "hdd-7.2k" { 300 } else { 20_000 };
        ceph["device_iops"] = json!(dice.range(50, most));
    }
    pool.insert("ceph".to_owned(), ceph);
}

/// What fails, read from the scenario anew.
struct Outages<'s> {
    scenario: &'s Scenario,
    nodes: usize,
    per_node: usize,
    racks: usize,
    parsed: Vec<(u64, u64, Vec<Component>)>,
    /// What joins, and when.
    joins: Vec<(u64, Component)>,
}

impl<'s> Outages<'s> {
    fn new(scenario: &'s Scenario) -> Self {
        let pool = &scenario.storage["pool"];
        let parsed = scenario.failures.iter().map(|failure| {
            let until = failure.returns.map_or(u64::MAX, |returns| returns.nanos());
            let parts = failure
                .fails
                .iter()
                .map(|part| Component::parse(part).unwrap())
                .collect();
            (failure.at.nanos(), until, parts)
        });
        Self {
            scenario,
            nodes: scenario.hosts["node"].count as usize,
            per_node: pool.all_devices().map(|devices| devices.per_node as usize).sum(),
            racks: pool.racks as usize,
            parsed: parsed.collect(),
            joins: scenario
                .events
                .iter()
                .filter_map(|event| Some((event.at.nanos(), Component::parse(event.add.as_ref()?)?)))
                .collect(),
        }
    }

    fn node_name(&self, node: usize) -> String {
        name("node", self.nodes as u64, node as u64)
    }

    fn any(&self, now: u64, forever: bool, is: impl Fn(&Component) -> bool) -> bool {
        self.parsed.iter().any(|(from, until, parts)| {
            *from <= now && now < *until && (!forever || *until == u64::MAX) && parts.iter().any(&is)
        })
    }

    fn host_is_off(&self, now: u64, node: usize, forever: bool) -> bool {
        let name = self.node_name(node);
        self.any(now, forever, |part| match part {
            Component::Host(host) => *host == name,
            Component::Rack(_, rack) => node % self.racks == *rack as usize,
            _ => false,
        })
    }

    /// Time in which a node is off, until `end`.
    fn off_ns(&self, node: usize, end: u64) -> u64 {
        let changes = self.parsed.iter().flat_map(|(from, until, _)| [*from, *until]);
        let mut times: Vec<u64> = changes.map(|time| time.min(end)).chain([end]).collect();
        times.sort_unstable();
        let parts = times.windows(2).filter(|part| self.host_is_off(part[0], node, false));
        parts.map(|part| part[1] - part[0]).sum()
    }

    /// The network of a node, or the node itself.
    fn is_cut(&self, now: u64, node: usize) -> bool {
        let name = self.node_name(node);
        self.host_is_off(now, node, false)
            || self.any(
                now,
                false,
                |part| matches!(part, Component::Link(host) if *host == name),
            )
    }

    fn device_is_up(&self, now: u64, device: usize) -> bool {
        let node = device / self.per_node;
        !self.is_cut(now, node) && !self.disk_failed(now, device, false) && self.joined_at(device) <= now
    }

    /// When a device joins the pool: 0 if it is there from the start.
    fn joined_at(&self, device: usize) -> u64 {
        let (name, disk) = (self.node_name(device / self.per_node), device % self.per_node);
        let joins = self.joins.iter().find(|(_, part)| match part {
            Component::Host(host) => *host == name,
            Component::Disk(host, number) => *host == name && *number as usize == disk,
            _ => false,
        });
        joins.map_or(0, |(at, _)| *at)
    }

    fn disk_failed(&self, now: u64, device: usize, forever: bool) -> bool {
        let (name, disk) = (self.node_name(device / self.per_node), device % self.per_node);
        self.any(
            now,
            forever,
            |part| matches!(part, Component::Disk(host, number) if *host == name && *number as usize == disk),
        )
    }

    /// Its data will never be back.
    fn is_gone(&self, now: u64, device: usize) -> bool {
        self.disk_failed(now, device, true) || self.host_is_off(now, device / self.per_node, true)
    }

    fn has_majority(&self, now: u64) -> bool {
        let servers = self.scenario.storage["pool"]
            .metadata_servers
            .expect("the scenario says it") as usize;
        let up = (0..servers).filter(|&server| {
            let failed =
                |part: &Component| matches!(part, Component::Metadata(_, number) if *number as usize == server);
            !self.is_cut(now, server) && !self.any(now, false, failed)
        });
        2 * up.count() > servers
    }

    fn domain(&self, device: usize) -> usize {
        match self.scenario.storage["pool"].failure_domain {
            FailureDomain::Disk => device,
            FailureDomain::Host => device / self.per_node,
            FailureDomain::Rack => device / self.per_node % self.racks,
        }
    }

    fn last_change(&self) -> u64 {
        let ends = self
            .parsed
            .iter()
            .map(|(from, until, _)| if *until == u64::MAX { *from } else { *until });
        ends.chain(self.joins.iter().map(|(at, _)| *at)).max().unwrap_or(0)
    }

    fn changes(&self) -> Vec<u64> {
        let mut times: Vec<u64> = self
            .parsed
            .iter()
            .flat_map(|(from, until, _)| [*from, *until])
            .chain(self.joins.iter().map(|(at, _)| *at))
            .collect();
        times.sort_unstable();
        times
    }
}

struct Checker<'s> {
    seed: u64,
    outages: Outages<'s>,
    /// By the number of the layout.
    kept: Vec<Redundancy>,
    changes: Vec<u64>,
    passed: usize,
    /// As of the changes passed: which nodes are off, and whether most metadata servers are there.
    off: Vec<bool>,
    majority: bool,
    events: u64,
    before: Counters,
    /// How many more members of one group were not whole at one time than it survives, at most.
    worst: i64,
    members: Vec<MemberView>,
    /// Groups that must be lost, by what is gone for good.
    dead: HashSet<usize>,
    acknowledged_without_majority: u64,
    full_checks: u64,
}

impl<'s> Checker<'s> {
    fn new(seed: u64, scenario: &'s Scenario) -> Self {
        let outages = Outages::new(scenario);
        Self {
            seed,
            changes: outages.changes(),
            outages,
            kept: kept(scenario),
            passed: 0,
            off: Vec::new(),
            majority: true,
            events: 0,
            before: Counters::default(),
            worst: i64::MIN,
            members: Vec::new(),
            dead: HashSet::new(),
            acknowledged_without_majority: 0,
            full_checks: 0,
        }
    }

    fn check(&mut self, view: &View<'_>) {
        let (seed, now, count) = (self.seed, view.now(), view.counters(0));
        self.events += 1;
        let mut stale = self.events == 1;
        while self.passed < self.changes.len() && self.changes[self.passed] < now {
            self.passed += 1;
            stale = true;
        }
        if stale {
            let nodes = 0..self.outages.nodes;
            self.off = nodes.map(|node| self.outages.host_is_off(now, node, false)).collect();
            self.majority = self.outages.has_majority(now);
        }
        let at_change = self.changes.get(self.passed) == Some(&now);
        assert_eq!(
            count.below_minimum, 0,
            "seed {seed} at {now}: acknowledged below the minimum"
        );
        assert!(
            count.scrubbed + count.scrub_skipped <= count.scrub_due,
            "seed {seed} at {now}: scrubbed {} and gave up {} of {}",
            count.scrubbed,
            count.scrub_skipped,
            count.scrub_due
        );
        for (index, world) in view.worlds().enumerate() {
            let total = world.account.total_ns() + (now - world.since);
            assert_eq!(
                total, now,
                "seed {seed} at {now}: the time of world {index} does not add up"
            );
            let off = self.off.get(world.host) == Some(&true);
            assert!(
                !off || world.state == State::Wait || at_change,
                "seed {seed} at {now}: world {index} of a host that is off is {:?}",
                world.state
            );
        }
        let before = std::mem::replace(&mut self.before, count);
        if !at_change && !self.majority {
            self.acknowledged_without_majority += count.client[1] - before.client[1];
        }
        let told = |count: &Counters| (count.due, count.rebuilt, count.abandoned, count.lost);
        if at_change || self.events == 1 || told(&before) != told(&count) {
            self.check_members(view, at_change);
        }
    }

    /// What is more work: everything about the members.
    fn check_members(&mut self, view: &View<'_>, at_change: bool) {
        let (seed, now, count) = (self.seed, view.now(), view.counters(0));
        self.full_checks += 1;
        self.members.clear();
        self.members.extend(view.members(0));
        let moving = |member: &MemberView| member.moves.map_or(0, |(_, due)| due);
        let due: u64 = self.members.iter().map(|member| member.due + moving(member)).sum();
        assert_eq!(
            count.due,
            count.rebuilt + count.abandoned + due,
            "seed {seed} at {now}: what members came to lack was rebuilt, given up, or is lacking"
        );
        let mut degraded = 0;
        for (group, members) in self.members.chunk_by(|one, next| one.group == next.group).enumerate() {
            let kept = self.kept[members[0].layout];
            let (width, survives) = (kept.width() as usize, kept.survives());
            assert_eq!(members.len(), width, "seed {seed} at {now}: group {group}");
            let domains: HashSet<usize> = members
                .iter()
                .map(|member| self.outages.domain(member.device))
                .collect();
            assert_eq!(
                domains.len(),
                width,
                "seed {seed} at {now}: two members of group {group} in one domain"
            );
            for (index, member) in members.iter().enumerate() {
                let Some((to, left)) = member.moves else { continue };
                let mut others = members.iter().enumerate().filter(|(other, _)| *other != index);
                let taken = others.any(|(_, other)| {
                    let places = other.moves.map(|(to, _)| to).into_iter().chain([other.device]);
                    places
                        .into_iter()
                        .any(|place| self.outages.domain(place) == self.outages.domain(to))
                });
                assert!(
                    to != member.device && left > 0 && left <= member.bytes && !taken,
                    "seed {seed} at {now}: {member:?}"
                );
            }
            let mut lacking = 0;
            for member in members {
                assert!(
                    at_change || self.outages.joined_at(member.device) <= now,
                    "seed {seed} at {now}: {member:?}"
                );
                assert!(
                    member.group == group && member.due <= member.bytes,
                    "seed {seed} at {now}: {member:?}"
                );
                assert!(
                    at_change || member.up == self.outages.device_is_up(now, member.device),
                    "seed {seed} at {now}: {member:?}"
                );
                lacking += u32::from(!member.up || member.due > 0);
            }
            degraded += usize::from(lacking > 0);
            self.worst = self.worst.max(i64::from(lacking) - i64::from(survives));
            // a whole copy may come back where it was before
            let has_none = |member: &&MemberView| {
                let left = member.left.filter(|&device| !self.outages.is_gone(now, device));
                left.is_none() && self.outages.is_gone(now, member.device)
            };
            let gone = members.iter().filter(has_none);
            if !at_change && gone.count() as u32 > survives {
                self.dead.insert(group);
            }
        }
        assert_eq!(
            view.pool(0).2,
            degraded,
            "seed {seed} at {now}: groups that are not whole"
        );
        let dead = |member: &&MemberView| self.dead.contains(&member.group);
        // every member of a lost group stands for its part of the data
        let of = |member: &MemberView| {
            let kept = self.kept[member.layout];
            member.bytes * u64::from(kept.needed()) / u64::from(kept.width())
        };
        let least: u64 = self.members.iter().filter(dead).map(of).sum();
        assert!(
            count.lost >= least,
            "seed {seed} at {now}: lost {} of {least}",
            count.lost
        );
        assert!(
            count.lost == 0 || self.worst > 0,
            "seed {seed} at {now}: lost data though no group lacked more members than it survives"
        );
    }

    /// What must hold when all is over.
    fn check_end(&self, scenario: &Scenario, result: &Replication) {
        let seed = self.seed;
        let end = scenario.run.duration.or_zero().nanos();
        let (pool, spec) = (&result.pools[0], &scenario.storage["pool"]);
        let count = &pool.count;
        assert!(self.full_checks > 0, "seed {seed}: nothing was checked");
        if spec.kind == hypertwin_cluster::PoolKind::ChunkStore {
            let slack = in_flight(scenario);
            assert!(
                self.acknowledged_without_majority <= slack * self.changes.len() as u64,
                "seed {seed}: {} bytes were acknowledged without a majority",
                self.acknowledged_without_majority
            );
        }
        // nothing is written faster than the throttle allows
        let first = self.changes.first().copied().unwrap_or(end);
        let rate = self.outages.nodes as f64 * spec.rebuild_bandwidth().bytes_per_s();
        let is_ceph = spec.kind == PoolKind::Ceph;
        let jobs = match is_ceph {
            // as many as may begin on each device, of as many pieces as it recovers at a time
            true => self.outages.per_node as u32 * 6,
            false => spec.rebuild.streams,
        };
        let units = self.outages.nodes as f64 * f64::from(jobs) * spec.rebuild_unit().bytes() as f64;
        let most = rate * end.saturating_sub(first) as f64 / 1e9 + units;
        assert!(
            count.rebuilt as f64 <= most,
            "seed {seed}: rebuilt {} of {most}",
            count.rebuilt
        );
        let needed = self.kept.iter().map(|kept| u64::from(kept.needed())).min();
        // what moves is copied
        let moves = is_ceph || !scenario.events.is_empty();
        let needed = if moves { 1 } else { needed.expect("a pool keeps data") };
        assert!(
            count.lost > 0 || count.rebuild_read >= needed * count.rebuilt,
            "seed {seed}: rebuilt {} from {}",
            count.rebuilt,
            count.rebuild_read
        );
        if count.lost == 0 {
            assert_eq!(count.errors, 0, "seed {seed}: nothing is lost");
        }
        let read = pool.report.device_read_mb_per_s * 1e6 * result.duration_s;
        assert!(
            read >= 0.999 * count.scrubbed as f64,
            "seed {seed}: scrubbed {}, but devices read {read}",
            count.scrubbed
        );
        let devices = self.outages.nodes * self.outages.per_node;
        let domains: HashSet<usize> = (0..devices)
            .filter(|&device| self.outages.device_is_up(end, device))
            .map(|device| self.outages.domain(device))
            .collect();
        // Ceph keeps waiting for what it cannot do without
        let is_waiting = is_ceph && (0..devices).any(|device| !self.outages.device_is_up(end, device));
        let nodes = self.outages.nodes as u32;
        let needed = policies(scenario).into_iter().map(|policy| {
            // vSAN has witnesses on other hosts than its copies
            spec.redundancy_of(policy).width() + spec.witnesses(policy, nodes)
        });
        // a host that fails takes several domains at once, and so may take most votes for good
        let is_outvoted = spec.vsan.is_some() && spec.failure_domain == FailureDomain::Disk;
        let enough = !is_waiting && !is_outvoted && needed.into_iter().all(|needed| domains.len() >= needed as usize);
        let mut groups = self.members.chunk_by(|one, next| one.group == next.group);
        let is_readable = groups.all(|members| {
            let whole = members.iter().filter(|member| member.up && member.due == 0).count();
            whole >= self.kept[members[0].layout].needed() as usize
        });
        let all_are_up = (0..devices).all(|device| self.outages.device_is_up(end, device));
        assert!(
            is_readable || !all_are_up || count.lost > 0,
            "seed {seed}: all devices are back, and some data with none of them"
        );
        // a disk without a moment to spare may take long, and so may a thread of Ceph: what clients have reserved comes
        // before the rest
        let threads = ["pool-messengers", "pool-shards", "pool-commit", "pool-cpu-limit"];
        let matters = |name: &str| name == "pool-devices" || is_ceph && threads.contains(&name);
        let mut stations = result.stations.iter().filter(|station| matters(&station.name));
        let spare = stations.all(|station| station.figures.utilization_max_pct < 90.0);
        if enough && is_readable && spare && count.lost == 0 && self.outages.has_majority(end) {
            assert!(self.outages.last_change() < 2_000_000_000);
            // disks get little at a time, or flush long: what is left at the end goes on, and does not stand still
            let moving = self.members.iter().filter(|member| member.moves.is_some()).count();
            let is_whole = pool.report.degraded_pct == 0.0 && pool.report.due_gib == 0.0 && moving == 0;
            let rebuilt = &result.timeline.pools[0].rebuilt_gib;
            let goes_on = rebuilt.len() > 2 && rebuilt[rebuilt.len() - 1] > rebuilt[rebuilt.len() - 3];
            assert!(
                is_whole || goes_on,
                "seed {seed}: all could be whole again, and {moving} groups where they go: {pool:#?}"
            );
            if !is_ceph && is_whole {
                assert_eq!(pool.report.suspended_ios, 0.0, "seed {seed}: nothing need wait");
            }
        }
    }
}

/// The policies of the layouts of the pool: none for VMs without a policy, if there are any, and each that one names.
fn policies(scenario: &Scenario) -> BTreeSet<Option<&str>> {
    let mut policies: BTreeSet<Option<&str>> = BTreeSet::new();
    for vm in scenario.vms.values() {
        let workload = &scenario.workloads[&vm.workload];
        for end in vm.ends(workload).filter(|end| end.is_pool("pool")) {
            policies.extend(vm.policies_of(end, workload).map(|(policy, _)| policy));
        }
    }
    if policies.is_empty() {
        policies.insert(None);
    }
    policies
}

/// What its layouts keep.
fn kept(scenario: &Scenario) -> Vec<Redundancy> {
    let pool = &scenario.storage["pool"];
    policies(scenario)
        .into_iter()
        .map(|policy| pool.redundancy_of(policy))
        .collect()
}

/// Bytes of the I/Os that can be on their way at a time.
fn in_flight(scenario: &Scenario) -> u64 {
    let vms = scenario.vms.values().map(|vm| {
        let workload = &scenario.workloads[&vm.workload];
        let ios = match workload.arrivals {
            hypertwin_cluster::Arrivals::Io { outstanding, .. } => u64::from(outstanding * vm.all_vdisks(workload)),
            hypertwin_cluster::Arrivals::Closed { population, .. } => {
                u64::from(population) * workload.ios.ceil() as u64
            }
            _ => 0,
        };
        u64::from(vm.count) * ios * workload.block.bytes()
    });
    vms.sum()
}

fn watched(seed: u64, scenario: &Scenario) -> Replication {
    let mut checker = Checker::new(seed, scenario);
    let result =
        watched_run(scenario, seed, |view| checker.check(view)).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    checker.check_end(scenario, &result);
    support::check_ios(seed, scenario, &result);
    result
}

#[test]
fn a_member_is_not_given_to_a_device_that_is_away() {
    // it moves to a rack that fails for good, and then its own device fails
    watched(701_817, &random_scenario(701_817, true));
}

#[test]
fn random_failures_lose_nothing_that_the_redundancy_keeps() {
    let (mut rebuilt, mut lost, mut waited, mut whole, mut copied) = (0, 0, 0, 0, 0);
    let (mut joined, mut emptied, mut scrubbed) = (0, 0, 0);
    for seed in seeds(SEEDS) {
        let scenario = random_scenario(seed, true);
        let result = watched(seed, &scenario);
        let pool = &result.pools[0];
        let outages = Outages::new(&scenario);
        for node in 0..outages.nodes {
            let is_it = |host: &&HostResult| host.name == outages.node_name(node);
            let host = result.hosts.iter().find(is_it).expect("every node is reported");
            let off_s = outages.off_ns(node, scenario.run.duration.or_zero().nanos()) as f64 / 1e9;
            assert!(
                (host.down_s - off_s).abs() < 1e-9,
                "seed {seed}: {} was off {off_s} s, not {}",
                host.name,
                host.down_s
            );
        }
        for vm in &result.vms {
            let total = vm.run_pct + vm.ready_pct + vm.costop_pct + vm.wait_pct;
            assert!((total - 100.0).abs() < 1e-9, "seed {seed}: {total} %");
        }
        let copies = |io: &IoResult| io.copied_bytes.is_some() && io.ways[1].count > 0;
        copied += u32::from(result.vms.iter().any(|vm| vm.io.as_ref().is_some_and(copies)));
        rebuilt += u32::from(pool.count.rebuilt > 0);
        lost += u32::from(pool.count.lost > 0);
        waited += u32::from(
            pool.report
                .incidents
                .iter()
                .any(|incident| incident.suspended_pct > 0.0),
        );
        whole += u32::from(pool.report.degraded_pct == 0.0 && pool.count.due > 0);
        scrubbed += u32::from(pool.count.scrubbed > 0);
        joined += u32::from(!scenario.events.is_empty());
        emptied += u32::from(scenario.failures.iter().any(|failure| failure.empty));
    }
    let few = SEEDS as u32 / 20;
    assert!(
        [rebuilt, lost, waited, whole, copied, joined, emptied, scrubbed]
            .iter()
            .all(|&count| count >= few)
            || !usual_seeds(),
        "too few cases: {rebuilt} rebuilt, {lost} lost, {waited} suspended, {whole} whole again, {copied} copied, {joined} joined, \
         {emptied} emptied, {scrubbed} scrubbed"
    );
}

#[test]
fn devices_write_what_clients_write_times_the_redundancy() {
    for seed in seeds(SEEDS) {
        let scenario = random_scenario(seed, false);
        let result = watched(seed, &scenario);
        let (pool, spec) = (&result.pools[0], &scenario.storage["pool"]);
        let count = &pool.count;
        let kept = kept(&scenario);
        assert_eq!(
            (count.due, count.lost, count.retries, count.errors, count.wasted),
            (0, 0, 0, 0, 0),
            "seed {seed}"
        );
        // What is on its way at the end, and of a stream, the stripes that are not full.
        let streams = scenario.vm_names().len() as f64 * 2.0;
        let policies = spec.policies.keys().map(|policy| spec.fragment(Some(policy)));
        let largest = policies.fold(spec.fragment(None), Ord::max).bytes() as f64;
        let (mut low, mut high, mut slack) = (f64::INFINITY, 0.0_f64, 0.0_f64);
        for redundancy in kept {
            let width = f64::from(redundancy.width());
            let (least, most, more) = match redundancy {
                Redundancy::Replicas { copies, .. } => (f64::from(copies), f64::from(copies), 0.0),
                Redundancy::Erasure { parity, .. } => {
                    let small = 1.0 + f64::from(parity);
                    // a small write changes one data fragment and all parity
                    (
                        redundancy.amplification().min(small),
                        small,
                        streams * 16.0 * largest * width,
                    )
                }
            };
            (low, high) = (low.min(least), high.max(most));
            slack = slack.max(in_flight(&scenario) as f64 * width + more);
        }
        let (written, client) = (count.written as f64, count.client[1] as f64);
        assert!(
            written >= low * client - slack && written <= high * client + slack,
            "seed {seed}: {written} bytes written for {client}, {low} to {high} times, {slack} more or less"
        );
        let seconds = result.duration_s;
        let devices = pool.report.device_write_mb_per_s * 1e6 * seconds;
        // with a journal, the devices follow: what it holds is not on them yet
        let journal = spec.flash.as_ref().map_or(0, |flash| flash.journal.bytes()) as f64
            * f64::from(scenario.hosts["node"].count);
        assert!(
            devices <= written + slack && devices >= written - slack - journal,
            "seed {seed}: devices wrote {devices} of {written}"
        );
    }
}

#[test]
fn the_same_seed_fails_the_same_way() {
    for seed in seeds(20) {
        let scenario = random_scenario(seed, true);
        let text = || {
            let result = hypertwin_engine::run(&scenario, seed).unwrap();
            format!("{:?} {:?}", result.pools, result.vms)
        };
        assert_eq!(text(), text(), "seed {seed}");
    }
}
