//! What fails and what comes back: hosts, their network, devices and metadata servers of pools.

use crate::clock::Event;
use crate::ids::{HostId, Id, PoolId, Table};
use crate::simulation::Simulation;
use crate::storage::{HostState, Pool, What};
use hypertwin_cluster::{Component, Failure, Scenario};
use std::collections::BTreeMap;

/// Something that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Host(HostId),
    Link(HostId),
    /// A device of a pool, by its number there.
    Device(PoolId, usize),
    Rack(PoolId, u32),
    Metadata(PoolId, usize),
}

/// Parts that fail or return together.
#[derive(Clone, Debug)]
pub struct Action {
    parts: Vec<Part>,
    fails: bool,
    /// They never return.
    is_forever: bool,
    what: String,
}

/// A schedule of what fails and returns.
pub type Schedule = Vec<Action>;

impl Simulation {
    /// Turns the scenario's failures into events.
    pub fn schedule_failures(&mut self, scenario: &Scenario) {
        for failure in &scenario.failures {
            let parts = self.parts(failure, scenario);
            let action = |fails| Action {
                parts: parts.clone(),
                fails,
                is_forever: failure.returns.is_none(),
                what: failure.fails.join(", "),
            };
            let times = [(true, Some(failure.at)), (false, failure.returns)];
            for (fails, at) in times.into_iter().filter_map(|(fails, at)| Some((fails, at?))) {
                let index = self.schedule.len() as u32;
                self.schedule.push(action(fails));
                self.clock.at(at.nanos(), Event::Failure(index));
            }
        }
    }

    fn parts(&self, failure: &Failure, scenario: &Scenario) -> Vec<Part> {
        let hosts = scenario.host_names();
        let hosts: BTreeMap<&str, HostId> = hosts
            .iter()
            .enumerate()
            .map(|(position, (name, _))| (name.as_str(), HostId::new(position)))
            .collect();
        let pools: &Table<PoolId, Pool> = self.storage.pools();
        let pool_of = |name: &str| pools.ids().find(|&pool| pools[pool].name == name);
        let part = |text: &String| {
            Some(match Component::parse(text)? {
                Component::Host(host) => Part::Host(*hosts.get(host.as_str())?),
                Component::Link(host) => Part::Link(*hosts.get(host.as_str())?),
                Component::Disk(host, number) => {
                    let host = *hosts.get(host.as_str())?;
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

    /// The next entry of the schedule of failures happens.
    pub fn on_failure(&mut self, index: usize) {
        let action = self.schedule[index].clone();
        for &part in &action.parts {
            self.change(part, &action);
        }
        let what = What {
            parts: &action.what,
            fails: action.fails,
        };
        for pool in self.storage.pools().ids() {
            if action.parts.iter().any(|part| self.concerns(*part, pool)) {
                self.storage.reassess(pool, what, &mut self.clock);
                self.act_on_replies();
            }
        }
    }

    /// Whether a part matters to a pool.
    fn concerns(&self, part: Part, pool: PoolId) -> bool {
        match part {
            Part::Host(host) | Part::Link(host) => self.storage.pools()[pool].has_node(host),
            Part::Device(of, _) | Part::Rack(of, _) | Part::Metadata(of, _) => of == pool,
        }
    }

    fn change(&mut self, part: Part, action: &Action) {
        match part {
            Part::Host(host) => self.change_host(host, action),
            Part::Link(host) => {
                count(&mut self.hosts[host.index()].link_failures, action.fails);
                self.note_host(host);
            }
            Part::Device(pool, device) => {
                self.storage
                    .change_device(pool, device, action.fails, action.fails && action.is_forever);
            }
            Part::Rack(pool, rack) => {
                let hosts: Vec<HostId> = self.storage.pools()[pool].hosts_in_rack(rack).collect();
                for host in hosts {
                    self.change_host(host, action);
                }
            }
            Part::Metadata(pool, server) => self.storage.change_metadata_server(pool, server, action.fails),
        }
    }

    fn change_host(&mut self, id: HostId, action: &Action) {
        let host = &mut self.hosts[id.index()];
        let was_up = host.failures == 0;
        count(&mut host.failures, action.fails);
        host.gone += u32::from(action.is_forever);
        let is_up = host.failures == 0;
        self.note_host(id);
        match (was_up, is_up) {
            (true, false) => self.power_off(id.index()),
            (false, true) => self.power_on_again(id.index()),
            _ => {}
        }
    }

    /// Tells storage what works of a host.
    fn note_host(&mut self, id: HostId) {
        let host = &self.hosts[id.index()];
        let state = HostState {
            is_up: host.failures == 0,
            is_linked: host.link_failures == 0,
            is_gone: host.gone > 0,
        };
        self.storage.set_host(id, state);
    }
}

fn count(failures: &mut u32, fails: bool) {
    match fails {
        true => *failures += 1,
        false => {
            debug_assert!(*failures > 0, "what returns has failed before");
            *failures -= 1;
        }
    }
}
