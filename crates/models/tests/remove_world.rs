//! A world that is taken out of a scheduler leaves its CPU time to those that stay, in every state that it can be in.

use hypertwin_cluster::{Hypervisor, Scenario};
use hypertwin_models::hypervisor;
use hypertwin_models::scheduler::{CpuScheduler, GroupSpec, NumaClient, Placement, SliceEnd, WorldSpec};
use hypertwin_models::topology::{Domain, Occupancy, Topology, WorldId};

const SECOND_NS: u64 = 1_000_000_000;

/// A host with one logical CPU, on which every world that is awake always has something to do.
struct OneCpu {
    scheduler: Box<dyn CpuScheduler>,
    cpus: Occupancy,
    now_ns: u64,
    groups: usize,
    /// Time that each world has run.
    ran_ns: Vec<u64>,
}

impl OneCpu {
    /// VM 0 has worlds 0 and 1, VM 1 has world 2; both have the same shares.
    fn with_two_vms(version: Hypervisor) -> Self {
        let text = format!(
            r#"{{"name": "one", "hosts": {{"h": {{"sockets": 1, "cores_per_socket": 1, "threads_per_core": 1,
                "clock": "2 GHz", "memory_per_node": "64 GiB", "hypervisor": "{version}"}}}},
                "vms": {{"vm": {{"vcpus": 1, "memory": "1 GiB", "workload": "w"}}}},
                "workloads": {{"w": {{"arrivals": {{"open": {{"rate": "1 /s"}}}}, "cpu": {{"mean": "1 ms"}}}}}}}}"#
        );
        let scenario = Scenario::from_json(&text).expect("a good scenario");
        let host = &scenario.hosts["h"];
        let mut one = Self {
            scheduler: hypervisor::model(version).cpu_scheduler(host),
            cpus: Occupancy::new(Topology::of(host)),
            now_ns: 0,
            groups: 0,
            ran_ns: Vec::new(),
        };
        one.add_vm(2);
        one.add_vm(1);
        one
    }

    fn add_vm(&mut self, vcpus: usize) {
        self.scheduler.add_group(GroupSpec {
            shares: 1000.0,
            reservation_cores: 0.0,
            clients: vec![NumaClient { vcpus, home: 0 }],
        });
        for _ in 0..vcpus {
            let world = self.ran_ns.len() as WorldId;
            self.scheduler.add_world(WorldSpec {
                group: self.groups,
                domain: Domain::Any,
                first_cpu: 0,
                helper: false,
            });
            self.ran_ns.push(0);
            self.wake(world);
        }
        self.groups += 1;
    }

    fn wake(&mut self, world: WorldId) {
        match self.scheduler.place(world, true, self.now_ns, &self.cpus) {
            Placement::Run(0) => self.cpus.occupy(0, world),
            Placement::Queue | Placement::QueueAndReview(0) => {}
            Placement::Preempt(0) => {
                let displaced = self.running();
                self.scheduler.withdraw(displaced);
                self.cpus.vacate(0);
                self.cpus.occupy(0, world);
                let again = self.scheduler.place(displaced, false, self.now_ns, &self.cpus);
                assert!(
                    matches!(again, Placement::Queue),
                    "world {displaced}, just displaced: {again:?}"
                );
            }
            other => panic!("world {world}: {other:?}"),
        }
    }

    fn running(&self) -> WorldId {
        self.cpus.running(0).expect("somebody runs")
    }

    fn slice(&mut self) {
        let world = self.running();
        let slice_ns = self.scheduler.slice_ns(world, self.now_ns);
        self.now_ns += slice_ns;
        self.ran_ns[world as usize] += slice_ns;
        self.scheduler.charge(world, 0, self.now_ns, slice_ns, slice_ns as f64);
        if self.scheduler.slice_end(world, 0, self.now_ns, &self.cpus) == SliceEnd::Yield {
            self.cpus.vacate(0);
            self.scheduler.put_back(world, 0);
            self.run_next();
        }
    }

    fn run_next(&mut self) {
        let next = self.scheduler.next(0, self.now_ns, &self.cpus).expect("somebody waits");
        self.cpus.occupy(0, next);
    }

    /// Lets slices pass until `world` runs, or until it waits.
    fn until(&mut self, world: WorldId, runs: bool) {
        while (self.running() == world) != runs {
            self.slice();
        }
    }

    fn remove(&mut self, world: WorldId) {
        let was_running = self.cpus.running(0) == Some(world);
        if was_running {
            self.cpus.vacate(0);
        }
        self.scheduler.remove_world(world);
        if was_running {
            self.run_next();
        }
    }

    /// The part of the next 200 s that each world runs.
    fn parts(&mut self) -> Vec<f64> {
        self.ran_ns.fill(0);
        let start_ns = self.now_ns;
        while self.now_ns < start_ns + 200 * SECOND_NS {
            self.slice();
        }
        let all_ns = (self.now_ns - start_ns) as f64;
        self.ran_ns.iter().map(|ran_ns| *ran_ns as f64 / all_ns).collect()
    }
}

/// Asserts that the worlds have these parts of the CPU time, within one per cent.
#[track_caller]
fn assert_parts(one: &mut OneCpu, expected: &[f64]) {
    let parts = one.parts();
    let close = parts
        .iter()
        .zip(expected)
        .all(|(part, wanted)| (part - wanted).abs() < 0.01);
    assert!(
        parts.len() == expected.len() && close,
        "{parts:?} instead of {expected:?}"
    );
}

/// A host whose worlds have had their shares for a while.
fn hosts() -> impl Iterator<Item = OneCpu> {
    Hypervisor::ALL.iter().map(|version| {
        let mut one = OneCpu::with_two_vms(*version);
        assert_parts(&mut one, &[0.25, 0.25, 0.5]);
        one
    })
}

#[test]
fn a_ready_world_leaves_its_part_to_its_group() {
    for mut one in hosts() {
        one.until(1, false);
        one.remove(1);
        assert_parts(&mut one, &[0.5, 0.0, 0.5]);
    }
}

#[test]
fn a_running_world_leaves_the_cpu_and_its_part_to_its_group() {
    for mut one in hosts() {
        one.until(1, true);
        one.remove(1);
        assert_parts(&mut one, &[0.5, 0.0, 0.5]);
    }
}

#[test]
fn a_world_that_was_stopped_is_not_placed_again() {
    for mut one in hosts() {
        one.until(1, true);
        one.cpus.vacate(0);
        one.scheduler.withdraw(1);
        one.scheduler.remove_world(1);
        one.run_next();
        assert_parts(&mut one, &[0.5, 0.0, 0.5]);
    }
}

#[test]
fn a_waiting_world_changes_nothing_for_the_others() {
    for mut one in hosts() {
        one.until(1, true);
        one.cpus.vacate(0);
        one.scheduler.sleep(1, one.now_ns);
        one.run_next();
        one.slice();
        one.remove(1);
        assert_parts(&mut one, &[0.5, 0.0, 0.5]);
    }
}

#[test]
fn the_last_world_of_a_group_leaves_everything_to_the_others() {
    for mut one in hosts() {
        one.remove(0);
        one.remove(1);
        assert_parts(&mut one, &[0.0, 0.0, 1.0]);
        assert_eq!(one.scheduler.home(0), None);
        one.add_vm(1);
        assert_parts(&mut one, &[0.0, 0.0, 0.5, 0.5]);
    }
}
