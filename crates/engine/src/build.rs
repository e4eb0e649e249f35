//! From an island to the initial state of a simulation: the order in which its components are made.

use crate::clock::{Clock, Event};
use crate::cpu::Processors;
use crate::faults::{Action, Faults, Part};
use crate::guest::Guests;
use crate::ids::{HostId, Id, IoThreadId, PoolId, VmId, WorldId};
use crate::island::Island;
use crate::lives::Lives;
use crate::measure::Recorder;
use crate::movement::Movement;
use crate::plan::Blueprint;
use crate::reclaim::Reclaim;
use crate::simulation::Simulation;
use crate::storage::{Site, SiteVm, Storage, service_queues};
use hypertwin_cluster::{Component, Failure};

/// Builds the initial state of `island` with the random streams of `seed`.
pub fn build(island: &Island, seed: u64) -> Simulation {
    let warmup_ns = island.run.warmup.or_zero().nanos();
    let mut clock = Clock::new(warmup_ns + island.run.duration.or_zero().nanos());
    let mut cpu = Processors::new(&island.hosts);
    let mut guests = Guests::new();
    let mut faults = Faults::new(island.hosts.len());
    let blueprint = Blueprint::of(island, seed);
    let mut site_vms = Vec::with_capacity(island.vms.len());
    let mut io_threads = 0;
    for (position, vm) in island.vms.iter().enumerate() {
        let group = &island.groups[vm.group];
        let plan = blueprint.plan(VmId::new(position), vm.host, 0);
        let worlds = cpu.add_vm(&plan, IoThreadId::new(io_threads));
        let first_process = guests.add_vm(&plan, worlds.helpers, &mut clock);
        io_threads += worlds.io_threads.len();
        site_vms.push(SiteVm {
            name: vm.name,
            spec: group.spec,
            workload: group.workload,
            group: vm.group,
            host: vm.host,
            io_threads: worlds.io_threads.iter().collect(),
            first_process,
        });
    }
    let services = add_services(&mut cpu, island);
    let mut storage = Storage::new(&Site {
        island,
        seed,
        vms: &site_vms,
        services: &services,
    });
    let movement = Movement::new(island, seed, |host, count| cpu.add_senders(host, count), &mut clock);
    schedule_failures(&mut faults, island, &storage, &mut clock);
    storage.start(&mut clock);
    cpu.start_balancing(&mut clock);
    let reclaim = Reclaim::new(island, &mut clock);
    for (position, host) in island.hosts.iter().enumerate() {
        let id = HostId::new(position);
        if reclaim.concerns(id) || !island.clusters.is_empty() {
            storage.add_swap(id, host.name, &reclaim.swap_device(id), island.devices, seed);
        }
    }
    clock.measure_at(warmup_ns, Event::StartMeasuring);
    Simulation {
        clock,
        cpu,
        guests,
        storage,
        faults,
        lives: Lives::new(island.vms.len()),
        movement,
        reclaim,
        recorder: Recorder::new(island),
        blueprint,
        failure: None,
    }
}

/// The worlds of the services of all pools.
fn add_services(cpu: &mut Processors, island: &Island) -> Vec<Vec<WorldId>> {
    let pools = island.pools.iter().enumerate();
    pools
        .map(|(index, pool)| {
            let mut worlds: Vec<WorldId> = Vec::new();
            for (node, &host) in pool.nodes.iter().enumerate() {
                let queues = service_queues(pool.spec, island.devices, node);
                let threads: usize = queues.iter().map(|queue| queue.threads).sum();
                let numbers = worlds.len()..worlds.len() + threads;
                let threads = cpu.add_service(host, PoolId::new(index), numbers, pool.spec);
                worlds.extend(threads.iter());
            }
            worlds
        })
        .collect()
}

/// Turns the island's failures into events.
fn schedule_failures(faults: &mut Faults, island: &Island, storage: &Storage, clock: &mut Clock) {
    for (entry, failure) in island.failures.iter().enumerate() {
        let parts = parts(failure, island, storage);
        let action = |fails| Action {
            entry,
            parts: parts.clone(),
            fails,
            is_forever: failure.returns.is_none(),
            empties: failure.empty && !fails,
            what: failure.fails.join(", "),
        };
        faults.schedule(failure.at.nanos(), action(true), clock);
        if let Some(returns) = failure.returns {
            faults.schedule(returns.nanos(), action(false), clock);
        }
    }
    for event in &island.events {
        let Some(part) = &event.add else { continue };
        let action = Action {
            entry: 0,
            parts: joining(part, island, storage),
            fails: false,
            is_forever: false,
            empties: false,
            what: part.clone(),
        };
        faults.schedule(event.at.nanos(), action, clock);
    }
}

/// The devices that join a pool: of a node, or one disk of it.
fn joining(part: &str, island: &Island, storage: &Storage) -> Vec<Part> {
    let (name, disk) = match Component::parse(part) {
        Some(Component::Host(host)) => (host, None),
        Some(Component::Disk(host, number)) => (host, Some(number as usize)),
        _ => return Vec::new(),
    };
    let Some(host) = island.hosts.iter().position(|host| host.name == name) else {
        return Vec::new();
    };
    let pools = storage.pools();
    let devices = |pool: PoolId| Some((pool, pools[pool].devices_of(HostId::new(host), disk)?));
    let joining = pools.ids().filter_map(devices);
    joining
        .map(|(pool, devices)| Part::Joining(pool, devices.start, devices.len()))
        .collect()
}

/// What fails, by numbers.
fn parts(failure: &Failure, island: &Island, storage: &Storage) -> Vec<Part> {
    let pools = storage.pools();
    let host_of = |name: &str| island.hosts.iter().position(|host| host.name == name).map(HostId::new);
    let pool_of = |name: &str| pools.ids().find(|&pool| pools[pool].name == name);
    let part = |text: &String| {
        Some(match Component::parse(text)? {
            Component::Host(host) => Part::Host(host_of(&host)?),
            Component::Link(host) => Part::Link(host_of(&host)?),
            Component::Disk(host, number) => {
                let host = host_of(&host)?;
                let device = |pool: PoolId| Some((pool, pools[pool].device_in(host, number as usize)?));
                let (pool, device) = pools.ids().find_map(device)?;
                Part::Device(pool, device)
            }
            Component::Port(name, number) => {
                let array = island.arrays.iter().position(|(array, _)| **array == name);
                let of_array = array.map(|array| Part::ArrayPort(array, number as usize));
                of_array.or_else(|| Some(Part::HostPort(host_of(&name)?, number as usize)))?
            }
            Component::Rack(pool, number) => Part::Rack(pool_of(&pool)?, number),
            Component::Metadata(pool, number) => Part::Metadata(pool_of(&pool)?, number as usize),
        })
    };
    failure.fails.iter().filter_map(part).collect()
}
