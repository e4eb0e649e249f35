//! From an island to hosts, VMs and rules, and what is going to be done to them.

use super::actions::actions;
use super::site::{Host, Machine, Rule, Sender, Site};
use super::state::{Cluster, Drs, Ha, Movement, nanos};
use crate::clock::{Clock, Event, Movement as Due};
use crate::ids::{HostId, Id, VmId, WorldId};
use crate::island::{Island, IslandCluster, IslandGroup, IslandVm};
use crate::migrating::VmFacts;
use hypertwin_cluster::{HostGroup, PlacementRule, VmGroup, fits};
use hypertwin_models::balancing::period_s;
use hypertwin_models::hypervisor;
use hypertwin_models::migration::cpu_cores;
use hypertwin_models::restart::{BOOT_S, policy};

impl Movement {
    /// That of an island; `add_worlds` makes worlds of the hypervisor on a host.
    pub fn new(
        island: &Island,
        seed: u64,
        mut add_worlds: impl FnMut(HostId, usize) -> Vec<WorldId>,
        clock: &mut Clock,
    ) -> Self {
        if island.clusters.is_empty() {
            return Self::default();
        }
        let mut movement = Self {
            seed,
            site: site(island),
            clusters: island.clusters.iter().map(|of| cluster(island, of)).collect(),
            ..Self::default()
        };
        for (position, of) in island.clusters.iter().enumerate() {
            if migrates(island, of) {
                for &host in &of.hosts {
                    let spec = island.hosts[host].spec;
                    // both directions of the link at once
                    let cores = cpu_cores(2.0 * spec.migration.link.bytes_per_s());
                    let worlds = add_worlds(host, (cores.ceil() as usize).min(spec.logical_cpus() as usize));
                    movement.site.hosts[host].sender = Sender {
                        waiting_ns: vec![0.0; worlds.len()],
                        worlds,
                        ..Sender::default()
                    };
                }
            }
            debug_assert!(
                of.hosts
                    .iter()
                    .all(|&host| movement.site.hosts[host].cluster == Some(position))
            );
        }
        for vm in movement.site.vms.ids() {
            let host = movement.site.vms[vm].place.expect("every VM begins on a host");
            movement.site.enter(vm, host);
        }
        movement.schedule(island, clock);
        movement.start_balancing(clock);
        movement
    }

    fn schedule(&mut self, island: &Island, clock: &mut Clock) {
        for event in &island.events {
            for (time, action) in actions(event, island) {
                clock.at(time.nanos(), Event::Movement(Due::Action(self.actions.len() as u32)));
                self.actions.push(Some(action));
            }
        }
    }
}

/// Whether VMs of a cluster migrate.
fn migrates(island: &Island, cluster: &IslandCluster) -> bool {
    let is_here = |name: &String| cluster.hosts.iter().any(|&host| island.hosts[host].name == name);
    let concerned = island
        .events
        .iter()
        .filter_map(|event| event.to.as_ref().or(event.maintenance.as_ref()));
    cluster.spec.is_some_and(|spec| spec.drs.is_some()) || concerned.into_iter().any(is_here)
}

fn site(island: &Island) -> Site {
    let clusters = island.clusters.iter().map(|cluster| cluster.hosts.clone()).collect();
    let rules: Vec<Rule> = island.rules.iter().map(|rule| rule_of(island, rule)).collect();
    let about = |vm: &VmId| (0..rules.len()).filter(|&rule| rules[rule].vms.contains(vm)).collect();
    let fits = island.groups.iter().map(|group| {
        let takes = |host: HostId| takes(island, group, host);
        island.hosts.ids().map(takes).collect()
    });
    Site {
        hosts: island.hosts.ids().map(|host| host_of(island, host)).collect(),
        vms: island.vms.iter().map(|vm| machine(island, vm)).collect(),
        rules_of: (0..island.vms.len()).map(VmId::new).map(|vm| about(&vm)).collect(),
        clusters,
        fits: fits.collect(),
        rules,
    }
}

fn host_of(island: &Island, id: HostId) -> Host {
    let spec = island.hosts[id].spec;
    Host {
        name: island.hosts[id].name.to_owned(),
        family: spec.hypervisor.family(),
        cluster: island.clusters.iter().position(|cluster| cluster.hosts.contains(&id)),
        is_up: true,
        maintenance: 0,
        memory: spec.memory_for_vms().bytes() as f64,
        reserved: 0.0,
        cpu_hz: spec.capacity().whole_hz(),
        reserved_hz: 0,
        vms: 0,
        restarted: 0,
        vcpus: 0,
        logical_cpus: spec.logical_cpus(),
        cores: spec.cores(),
        core_mhz: spec.clock.mhz(),
        power_ons: 0,
        migrating: 0,
        migration: hypervisor::model(spec.hypervisor).migration(spec),
        sender: Sender::default(),
    }
}

fn machine(island: &Island, vm: &IslandVm) -> Machine {
    let (group, host) = (&island.groups[vm.group], island.hosts[vm.host].spec);
    let (spec, workload) = (group.spec, group.workload);
    let sent = VmFacts::of(spec, workload);
    Machine {
        name: vm.name.to_owned(),
        group: vm.group,
        cluster: island
            .clusters
            .iter()
            .position(|cluster| cluster.hosts.contains(&vm.host)),
        family: host.hypervisor.family(),
        vcpus: spec.vcpus,
        reserves: reserves(spec, host),
        reserves_hz: spec.reservation.whole_hz(),
        priority: spec.restart_priority,
        place: Some(vm.host),
        target: None,
        is_live: spec.migrates_live(host.hypervisor.family()),
        only_on: spec.storage_appliance.then_some(vm.host),
        is_restarted: false,
        is_up: true,
        memory: sent.memory_bytes,
        zero: sent.zero_bytes,
        written_set: sent.written_set_bytes,
        touched: spec.touched().bytes() as f64,
        wanted_ns: 0,
        active: spec.active().bytes() as f64,
        page_rate: workload.page_rate.per_second(),
        dirty_rate: sent.dirty_per_cpu_s,
    }
}

/// What a VM reserves of its host's memory, in whole bytes.
fn reserves(vm: &VmGroup, host: &HostGroup) -> f64 {
    let has_balloon = vm.has_balloon(host.hypervisor.family());
    let policy = hypervisor::model(host.hypervisor).reclamation(host, has_balloon);
    let overhead = policy.map_or(0.0, |policy| (policy.overhead)(vm));
    vm.kept_memory().bytes() as f64 + overhead.round()
}

/// Whether a VM can be on a host at all.
fn takes(island: &Island, group: &IslandGroup, host: HostId) -> bool {
    let vm = group.spec;
    let spec = island.hosts[host].spec;
    let uses = |group: &IslandGroup, name: &str| group.spec.ends(group.workload).any(|end| end.is_array(name));
    // disks inside a host stay there
    let stays = |name: &str| {
        let there = |other: &&IslandVm| uses(&island.groups[other.group], name);
        island.vms.iter().find(there).is_none_or(|other| other.host == host)
    };
    let mut local = island
        .arrays
        .iter()
        .filter(|(name, array)| array.is_local() && uses(group, name));
    let mut pools = island
        .pools
        .iter()
        .filter(|pool| vm.ends_on_pool(group.workload, pool.name) > 0);
    spec.hypervisor.family().facts().virtualises
        && local.all(|(name, _)| stays(name))
        && fits(vm, spec)
        && pools.all(|pool| pool.spec.deployment.allows(pool.nodes.contains(&host)))
}

fn rule_of(island: &Island, rule: &PlacementRule) -> Rule {
    let has_vm = |vm: &IslandVm| rule.vms.iter().any(|group| group == island.groups[vm.group].name);
    let has_host = |id: &HostId| {
        let host = &island.hosts[*id];
        let group = match host.spec.count {
            1 => host.name,
            _ => host.name.rsplit_once('-').map_or(host.name, |(group, _)| group),
        };
        rule.hosts.iter().any(|name| name == group)
    };
    Rule {
        name: rule.name.clone(),
        kind: rule.kind,
        is_mandatory: rule.mandatory,
        vms: (0..)
            .map(VmId::new)
            .zip(&island.vms)
            .filter(|(_, vm)| has_vm(vm))
            .map(|(id, _)| id)
            .collect(),
        hosts: island.hosts.ids().filter(has_host).collect(),
    }
}

fn cluster(island: &Island, of: &IslandCluster) -> Cluster {
    let ha = of.spec.and_then(|spec| spec.ha.as_ref()).filter(|ha| ha.restarts());
    let here = island.vms.iter().filter(|vm| of.hosts.contains(&vm.host));
    let ha = ha.and_then(|ha| {
        Some(Ha {
            policy: policy(ha.policy?),
            detection_s: ha.detection.map(|shortest| {
                [shortest, ha.detection_longest.unwrap_or(shortest)].map(hypertwin_cluster::Duration::seconds)
            }),
            boot_ns: ha.boot.map_or(nanos(BOOT_S), hypertwin_cluster::Duration::nanos),
            primary: of
                .hosts
                .iter()
                .copied()
                .find(|&host| ha.primary.as_deref() == Some(island.hosts[host].name)),
            has_quorum_device: ha.quorum_device == Some(true),
            // vSAN datastores cannot be used for heartbeats
            has_heartbeat_datastores: here.clone().any(|vm| island.groups[vm.group].spec.storage.is_none()),
        })
    });
    let drs = of.spec.and_then(|spec| spec.drs.as_ref()).map(|drs| Drs {
        policy: drs.policy,
        threshold: drs.threshold,
        period_ns: drs
            .period
            .map_or(nanos(period_s(drs.policy)), hypertwin_cluster::Duration::nanos),
    });
    Cluster::new(ha, drs)
}
