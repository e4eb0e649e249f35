//! VMs of failed hosts: they are lost, the loss is noticed, they are powered on elsewhere, boot, and serve again.

use super::history::{MoveKind, Outage, Outcome, Why, seconds};
use super::state::{Dead, DeadStage, Ha, Movement, Order, nanos};
use crate::clock::{Clock, Event, Movement as Due};
use crate::ids::{HostId, VmId};
use crate::ordered::sort_by;
use hypertwin_cluster::{RestartPolicy, RestartPriority};
use hypertwin_kernel::{Nanos, Stream};
use hypertwin_models::restart::{AtOnce, Failed, POWER_ON_S, Place, Policy, has_quorum, policy, votes};

/// From a failure until the first restart by a policy, in seconds: the shortest and the longest time. FDM is taken to
/// have heartbeat datastores.
pub fn detection_s(of: RestartPolicy, is_primary: bool) -> [f64; 2] {
    (policy(of).detection_s)(Failed {
        is_primary,
        has_heartbeat_datastores: true,
    })
}

impl Ha {
    /// From the failure of a host until its VMs restart, at a `phase` from 0 to 1 between the shortest and the longest
    /// time.
    fn detection_ns(&self, host: HostId, phase: f64) -> Nanos {
        let failed = Failed {
            is_primary: self.primary == Some(host),
            has_heartbeat_datastores: self.has_heartbeat_datastores,
        };
        let [shortest, longest] = self.detection_s.unwrap_or_else(|| (self.policy.detection_s)(failed));
        nanos(shortest + phase * (longest - shortest))
    }
}

impl Movement {
    /// The VMs of a host that failed are lost, and `others` that had memory there.
    pub(super) fn lose(&mut self, host: HostId, others: &[VmId], clock: &mut Clock) {
        let Some(cluster) = self.site.hosts[host].cluster else {
            return;
        };
        let Some(ha) = &self.clusters[cluster].ha else {
            // VMs on the host itself stand still with it
            for &vm in others {
                self.stop(vm, host, clock);
            }
            return;
        };
        // one stream for each failure, so that no other failure changes it
        let failure = format!("ha/{}/{}", self.site.hosts[host].name, clock.now);
        let detected = clock.now + ha.detection_ns(host, Stream::named(self.seed, &failure).uniform());
        let is_here = |vm: &VmId| self.site.vms[*vm].place == Some(host);
        let here: Vec<VmId> = self
            .site
            .vms
            .ids()
            .filter(is_here)
            .chain(others.iter().copied())
            .collect();
        if here.is_empty() {
            return;
        }
        for vm in here {
            self.lose_vm(vm, cluster, host, detected, clock);
        }
        clock.at(detected, Event::Movement(Due::Detect(host)));
        self.power_on(cluster, clock);
    }

    /// A VM is lost with a host: where it was, and whether it was up.
    fn stop(&mut self, vm: VmId, host: HostId, clock: &mut Clock) -> (HostId, bool) {
        let was = self.site.vms[vm].place.expect("what is lost was somewhere");
        self.site.leave(vm, was);
        let machine = &mut self.site.vms[vm];
        machine.place = None;
        self.orders.push_back(Order::Stop(vm));
        let was_up = std::mem::replace(&mut machine.is_up, false);
        if was_up {
            self.history.outages.push(Outage {
                vm: machine.name.clone(),
                host: self.site.hosts[host].name.clone(),
                from_s: seconds(clock.now),
                detected_s: None,
                restart_s: None,
                up_s: None,
                up_on: None,
            });
        }
        (was, was_up)
    }

    fn lose_vm(&mut self, vm: VmId, cluster: usize, host: HostId, detected: Nanos, clock: &mut Clock) {
        let (was, was_up) = self.stop(vm, host, clock);
        if was_up {
            self.clusters[cluster].dead.push(Dead {
                vm,
                host,
                detected,
                stage: DeadStage::Unnoticed,
                attempts: 0,
                events: [None; 2],
                outage: self.history.outages.len() - 1,
                restart: None,
            });
            return;
        }
        // it was booting, and is lost again
        if let Some(position) = self.clusters[cluster].power_ons.iter().position(|&other| other == vm) {
            self.clusters[cluster].power_ons.remove(position);
            self.site.hosts[was].power_ons -= 1;
        }
        let dead = self.clusters[cluster].dead(vm);
        (dead.host, dead.detected, dead.stage, dead.attempts) = (host, detected, DeadStage::Unnoticed, 0);
        let outage = &mut self.history.outages[dead.outage];
        (outage.detected_s, outage.restart_s) = (None, None);
        dead.events
            .iter_mut()
            .filter_map(Option::take)
            .for_each(|event| clock.cancel(event));
        if let Some(restart) = dead.restart.take() {
            let note = &mut self.history.moves[restart];
            (note.outcome, note.end_s) = (Outcome::GivenUp, Some(seconds(clock.now)));
        }
    }

    /// That a host failed is noticed.
    pub(super) fn detect(&mut self, host: HostId, clock: &mut Clock) {
        let Some(cluster) = self.site.hosts[host].cluster else {
            return;
        };
        let of = &mut self.clusters[cluster];
        for dead in of.dead.iter_mut() {
            if dead.host == host && dead.stage == DeadStage::Unnoticed && dead.detected <= clock.now {
                dead.stage = DeadStage::Queued;
                self.history.outages[dead.outage].detected_s = Some(seconds(clock.now));
                if self.site.vms[dead.vm].priority != RestartPriority::Disabled {
                    of.queue.push(dead.vm);
                }
            }
        }
        let priority = |vm: VmId| self.site.vms[vm].priority;
        sort_by(&mut of.queue, |&a, &b| priority(a).cmp(&priority(b)));
        self.power_on(cluster, clock);
    }

    /// Powers on what waits, as far as the policy allows now.
    fn power_on(&mut self, cluster: usize, clock: &mut Clock) {
        let Some(ha) = &self.clusters[cluster].ha else { return };
        let policy = ha.policy;
        if let Some(lacks) = self.lacking_quorum(cluster, ha) {
            for vm in std::mem::take(&mut self.clusters[cluster].queue) {
                self.has_no_place(cluster, vm, lacks.clone(), clock);
            }
            return;
        }
        let mut position = 0;
        while let Some(&vm) = self.clusters[cluster].queue.get(position) {
            let of = &self.clusters[cluster];
            let class = |vm: VmId| self.site.vms[vm].priority;
            let is_before = |other: VmId| class(other) < class(vm);
            let waits =
                policy.has_classes && (of.power_ons.iter().any(|&other| is_before(other)) || is_before(of.queue[0]));
            let is_full = matches!(policy.at_once, AtOnce::InCluster(most) if of.power_ons.len() >= most);
            if waits || is_full {
                return;
            }
            match self.site.open_to(vm) {
                Err(lacks) => {
                    self.clusters[cluster].queue.remove(position);
                    self.has_no_place(cluster, vm, lacks, clock);
                }
                Ok(open) => match self.best(policy, vm, &open) {
                    Some(host) => {
                        self.clusters[cluster].queue.remove(position);
                        self.power_on_at(cluster, vm, host, clock);
                    }
                    None if !self.has_free_slot(policy, cluster) => return,
                    None => position += 1,
                },
            }
        }
    }

    /// The missing votes, in words, if HA restarts nothing without a quorum and has none.
    fn lacking_quorum(&self, cluster: usize, ha: &Ha) -> Option<String> {
        let hosts = &self.site.clusters[cluster];
        let up = hosts.iter().filter(|&&host| self.site.hosts[host].is_up).count();
        if !ha.policy.needs_quorum || has_quorum(up, hosts.len(), ha.has_quorum_device) {
            return None;
        }
        let all = votes(hosts.len(), ha.has_quorum_device);
        let there = up + all - hosts.len();
        Some(format!("a quorum: {there} of {all} votes remain"))
    }

    fn is_free(&self, policy: &Policy, host: HostId) -> bool {
        match policy.at_once {
            AtOnce::OnEachHost(most) => self.site.hosts[host].power_ons < most,
            AtOnce::InCluster(_) => true,
        }
    }

    fn has_free_slot(&self, policy: &Policy, cluster: usize) -> bool {
        self.site.clusters[cluster]
            .iter()
            .any(|&host| self.is_free(policy, host))
    }

    /// The host on which a VM is powered on now; `None`: all are busy with others.
    fn best(&self, policy: &Policy, vm: VmId, open: &[HostId]) -> Option<HostId> {
        let count = |host: HostId| match policy.place {
            Place::SpreadEvenly => self.site.hosts[host].restarted,
            Place::FewestVms => self.site.hosts[host].vms,
        };
        let free = open.iter().copied().filter(|&host| self.is_free(policy, host));
        free.min_by_key(|&host| (self.site.violated_should_rules(vm, host), count(host)))
    }

    fn power_on_at(&mut self, cluster: usize, vm: VmId, host: HostId, clock: &mut Clock) {
        let machine = &mut self.site.vms[vm];
        (machine.place, machine.is_restarted) = (Some(host), true);
        self.site.enter(vm, host);
        self.site.hosts[host].power_ons += 1;
        self.orders.push_back(Order::Place(vm, host));
        let of = &mut self.clusters[cluster];
        of.power_ons.push(vm);
        let boot_ns = of.ha.as_ref().map_or(0, |ha| ha.boot_ns);
        let dead = of.dead(vm);
        dead.stage = DeadStage::Booting;
        dead.restart = Some(self.history.moves.len());
        let at = [(nanos(POWER_ON_S), Due::PoweredOn(vm)), (boot_ns, Due::Booted(vm))];
        dead.events = at.map(|(after, due)| Some(clock.at(clock.now + after, Event::Movement(due))));
        let outage = &mut self.history.outages[dead.outage];
        outage.restart_s = Some(seconds(clock.now));
        let from = dead.host;
        self.note_move(vm, [from, host], MoveKind::Restart, Why::Failure, clock);
    }

    fn has_no_place(&mut self, cluster: usize, vm: VmId, lacks: String, clock: &mut Clock) {
        let of = &mut self.clusters[cluster];
        let retries = of.ha.as_ref().map(|ha| ha.policy.retries);
        let dead = of.dead(vm);
        dead.stage = DeadStage::Unplaced;
        dead.attempts += 1;
        let pause_s = retries.and_then(|retries| retries.pause_s(dead.attempts));
        let again = |pause_s| clock.at(clock.now + nanos(pause_s), Event::Movement(Due::TryAgain(vm)));
        dead.events = [pause_s.map(again), None];
        // a storage appliance waits for its host as a matter of course
        if dead.attempts == 1 && self.site.vms[vm].only_on.is_none() {
            self.note_lack(vm, lacks, clock);
        }
    }

    /// A power-on has ended: another can begin.
    pub(super) fn powered_on(&mut self, vm: VmId, clock: &mut Clock) {
        let machine = &self.site.vms[vm];
        let (Some(cluster), Some(host)) = (machine.cluster, machine.place) else {
            unreachable!("what is powered on has a place")
        };
        self.site.hosts[host].power_ons -= 1;
        self.clusters[cluster].power_ons.retain(|&other| other != vm);
        self.power_on(cluster, clock);
    }

    /// A VM serves again.
    pub(super) fn booted(&mut self, vm: VmId, clock: &mut Clock) {
        let machine = &mut self.site.vms[vm];
        let (Some(cluster), Some(host)) = (machine.cluster, machine.place) else {
            unreachable!("what has booted has a place")
        };
        machine.is_up = true;
        self.orders.push_back(Order::Start(vm));
        let dead = &mut self.clusters[cluster].dead;
        let position = dead.iter().position(|dead| dead.vm == vm).expect("it was dead");
        let dead = dead.remove(position);
        let outage = &mut self.history.outages[dead.outage];
        outage.up_s = Some(seconds(clock.now));
        outage.up_on = Some(self.site.hosts[host].name.clone());
        if let Some(restart) = dead.restart {
            let note = &mut self.history.moves[restart];
            (note.outcome, note.end_s) = (Outcome::Done, Some(seconds(clock.now)));
        }
        if self.clusters[cluster].power_ons.contains(&vm) {
            // it booted sooner than a power-on takes
            dead.events.into_iter().flatten().for_each(|event| clock.cancel(event));
            self.powered_on(vm, clock);
        }
        self.go_on_emptying(vm, clock);
    }

    /// Retries a VM that could not restart.
    pub(super) fn try_again(&mut self, vm: VmId, clock: &mut Clock) {
        let Some(cluster) = self.site.vms[vm].cluster else {
            return;
        };
        self.queue_again(cluster, &[vm]);
        self.power_on(cluster, clock);
    }

    /// Retries all VMs that could not restart: one may fit now.
    pub(super) fn try_all_again(&mut self, clock: &mut Clock) {
        for cluster in 0..self.clusters.len() {
            let mut again = Vec::new();
            for dead in self.clusters[cluster]
                .dead
                .iter_mut()
                .filter(|dead| dead.stage == DeadStage::Unplaced)
            {
                if self.site.open_to(dead.vm).is_ok() {
                    dead.events
                        .iter_mut()
                        .filter_map(Option::take)
                        .for_each(|event| clock.cancel(event));
                    again.push(dead.vm);
                }
            }
            self.queue_again(cluster, &again);
            self.power_on(cluster, clock);
        }
    }

    fn queue_again(&mut self, cluster: usize, vms: &[VmId]) {
        let of = &mut self.clusters[cluster];
        for &vm in vms {
            of.dead(vm).stage = DeadStage::Queued;
            of.queue.push(vm);
        }
        let priority = |vm: VmId| self.site.vms[vm].priority;
        sort_by(&mut of.queue, |&a, &b| priority(a).cmp(&priority(b)));
    }
}
