//! From a scenario to the initial state of a simulation: the order in which its components are made.

use crate::clock::{Clock, Event};
use crate::cpu::Processors;
use crate::error::RunError;
use crate::faults::{Action, Faults, Part};
use crate::guest::Guests;
use crate::ids::{ControllerId, HostId, Id, PoolId, VmId, WorldId};
use crate::measure::{Allocation, Recorder};
use crate::plan::VmPlan;
use crate::simulation::Simulation;
use crate::storage::{Site, SiteVm, Storage, nodes_of, service_threads};
use hypertwin_cluster::{Component, Failure, HostGroup, Scenario};
use hypertwin_models::hypervisor;

/// Builds the initial state of `scenario` with the random streams of `seed`.
pub fn build(scenario: &Scenario, seed: u64) -> Result<Simulation, RunError> {
    let placement = scenario.placement().ok_or(RunError::NoPlacement)?;
    let (hosts, vms) = (scenario.host_names(), scenario.vm_names());
    let warmup_ns = scenario.run.warmup.nanos();
    let mut clock = Clock::new(warmup_ns + scenario.run.duration.nanos());
    let mut cpu = Processors::new(&hosts);
    let mut guests = Guests::new();
    let mut faults = Faults::new(hosts.len());
    let mut site_vms = Vec::with_capacity(vms.len());
    let mut controllers = 0;
    for (position, (name, spec)) in vms.iter().enumerate() {
        let host_spec = hosts[placement[position]].1;
        let mut groups = scenario.vms.values();
        let plan = VmPlan {
            vm: VmId::new(position),
            name,
            group: groups
                .position(|group| std::ptr::eq(group, *spec))
                .expect("every VM is of a group of the scenario"),
            spec,
            workload: &scenario.workloads[&spec.workload],
            host: HostId::new(placement[position]),
            host_spec,
            numa: hypervisor::model(host_spec.hypervisor).virtual_numa(host_spec, spec),
            first_controller: ControllerId::new(controllers),
            seed,
        };
        let worlds = cpu.add_vm(&plan);
        let first_process = guests.add_vm(&plan, worlds.helpers, &mut clock);
        cpu.start_limit(plan.vm, &mut clock);
        controllers += worlds.controllers.len();
        site_vms.push(SiteVm {
            name,
            spec,
            group: plan.group,
            host: plan.host,
            controllers: worlds.controllers.iter().collect(),
            first_process,
        });
    }
    let services = add_services(&mut cpu, scenario, &hosts);
    let mut storage = Storage::new(&Site {
        scenario,
        seed,
        hosts: &hosts,
        vms: &site_vms,
        services: &services,
    });
    schedule_failures(&mut faults, scenario, &hosts, &storage, &mut clock);
    storage.start(&mut clock);
    cpu.start_balancing(&mut clock);
    clock.measure_at(warmup_ns, Event::StartMeasuring);
    Ok(Simulation {
        clock,
        cpu,
        guests,
        storage,
        faults,
        recorder: Recorder::new(scenario, Allocation::of(&hosts, &vms, &placement)),
        failure: None,
    })
}

/// The worlds of the services of all pools.
fn add_services(cpu: &mut Processors, scenario: &Scenario, hosts: &[(String, &HostGroup)]) -> Vec<Vec<WorldId>> {
    let pools = scenario.storage.values().enumerate();
    pools
        .map(|(pool, spec)| {
            let (queues, threads) = service_threads(spec);
            let mut worlds: Vec<WorldId> = Vec::new();
            for host in nodes_of(spec, scenario, hosts) {
                let numbers = worlds.len()..worlds.len() + queues * threads;
                let threads = cpu.add_service(host, PoolId::new(pool), numbers, spec.service.in_kernel);
                worlds.extend(threads.iter());
            }
            worlds
        })
        .collect()
}

/// Turns the scenario's failures into events.
fn schedule_failures(
    faults: &mut Faults,
    scenario: &Scenario,
    hosts: &[(String, &HostGroup)],
    storage: &Storage,
    clock: &mut Clock,
) {
    for failure in &scenario.failures {
        let parts = parts(failure, hosts, storage);
        let action = |fails| Action {
            parts: parts.clone(),
            fails,
            is_forever: failure.returns.is_none(),
            what: failure.fails.join(", "),
        };
        faults.schedule(failure.at.nanos(), action(true), clock);
        if let Some(returns) = failure.returns {
            faults.schedule(returns.nanos(), action(false), clock);
        }
    }
}

/// What fails, by numbers.
fn parts(failure: &Failure, hosts: &[(String, &HostGroup)], storage: &Storage) -> Vec<Part> {
    let pools = storage.pools();
    let host_of = |name: &str| hosts.iter().position(|(host, _)| host == name).map(HostId::new);
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
            Component::Rack(pool, number) => Part::Rack(pool_of(&pool)?, number),
            Component::Metadata(pool, number) => Part::Metadata(pool_of(&pool)?, number as usize),
        })
    };
    failure.fails.iter().filter_map(part).collect()
}
