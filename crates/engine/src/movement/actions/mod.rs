//! What the events of a scenario do to VMs and hosts: migrations, and in `maintenance.rs` maintenance.

mod maintenance;

use super::history::Why;
use super::state::{Action, Machines, Movement};
use crate::clock::Clock;
use crate::ids::{HostId, Id, VmId};
use crate::island::Island;
use hypertwin_cluster::{Duration, Event};
use hypertwin_kernel::Nanos;
use maintenance::Maintenance;

/// What an event does, and when; nothing if it is not about VMs and hosts of the island.
pub(super) fn actions(event: &Event, island: &Island) -> Vec<(Duration, Box<dyn Action>)> {
    let host_of = |name: &String| island.hosts.iter().position(|host| host.name == name).map(HostId::new);
    let vm_of = |name: &String| island.vms.iter().position(|vm| vm.name == name).map(VmId::new);
    let mut found: Vec<(Duration, Box<dyn Action>)> = Vec::new();
    let vm = event.migrate.as_ref().and_then(vm_of);
    if let Some((vm, to)) = vm.zip(event.to.as_ref().and_then(host_of)) {
        found.push((event.at, Box::new(Migrate { vm, to })));
    }
    if let Some(host) = event.maintenance.as_ref().and_then(host_of) {
        let moment = |begins| Box::new(Maintenance { host, begins });
        found.push((event.at, moment(true)));
        found.extend(event.until.map(|until| (until, moment(false) as Box<dyn Action>)));
    }
    found
}

/// A VM migrates.
struct Migrate {
    vm: VmId,
    to: HostId,
}

impl Action for Migrate {
    fn act(&mut self, movement: &mut Movement, _: &dyn Machines, clock: &mut Clock) -> Option<Nanos> {
        if movement.can_leave(self.vm) {
            movement.migrate(self.vm, self.to, Why::Event, clock);
        } else {
            let lacks = "to be powered on and not already migrating".to_owned();
            movement.note_lack(self.vm, lacks, clock);
        }
        None
    }
}
