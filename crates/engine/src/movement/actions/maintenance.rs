//! Maintenance: hosts are emptied, and take no VM until it ends.

use super::super::history::Why;
use super::super::state::{Action, Machines, Movement};
use crate::clock::Clock;
use crate::ids::{HostId, VmId};
use hypertwin_kernel::Nanos;

/// Maintenance of a host begins or ends.
pub(super) struct Maintenance {
    pub host: HostId,
    pub begins: bool,
}

impl Action for Maintenance {
    fn act(&mut self, movement: &mut Movement, _: &dyn Machines, clock: &mut Clock) -> Option<Nanos> {
        let reasons = &mut movement.site.hosts[self.host].maintenance;
        if self.begins {
            *reasons += 1;
            movement.empty(self.host, true, clock);
        } else {
            *reasons -= 1;
            movement.room_was_made(clock);
        }
        None
    }
}

impl Movement {
    /// Has the VMs of a host leave it, heeding rules; `notes` those that cannot. Its storage appliance is part of it.
    fn empty(&mut self, host: HostId, notes: bool, clock: &mut Clock) {
        let is_here = |vm: &VmId| {
            let machine = &self.site.vms[*vm];
            machine.place == Some(host) && machine.target.is_none() && machine.is_up && machine.only_on.is_none()
        };
        for vm in self.site.vms.ids().filter(is_here).collect::<Vec<VmId>>() {
            self.send_away(vm, notes, clock);
        }
    }

    fn send_away(&mut self, vm: VmId, notes: bool, clock: &mut Clock) {
        let open = match self.site.vms[vm].is_live {
            true => self.site.open_to(vm),
            false => Err("to be powered off to move (live_migration: false, or affinity on ESXi)".to_owned()),
        };
        match open {
            Ok(open) => {
                let to = self.least_loaded(vm, &open);
                self.migrate(vm, to, Why::Maintenance, clock);
            }
            Err(lacks) if notes => self.note_lack(vm, lacks, clock),
            Err(_) => {}
        }
    }

    /// The host with the fewest vCPUs per logical CPU, of those where a VM breaks the fewest wishes.
    fn least_loaded(&self, vm: VmId, open: &[HostId]) -> HostId {
        let rank = |&&host: &&HostId| (self.site.violated_should_rules(vm, host), self.load_rank(host));
        *open.iter().min_by_key(rank).expect("there is one")
    }

    /// vCPUs per logical CPU, in units of 2^-32.
    pub(in super::super) fn load_rank(&self, host: HostId) -> u64 {
        let there = &self.site.hosts[host];
        (u64::from(there.vcpus) << 32) / u64::from(there.logical_cpus)
    }

    /// Hosts in maintenance are emptied of what could not leave before.
    pub(in super::super) fn empty_hosts(&mut self, clock: &mut Clock) {
        let in_maintenance = |host: &HostId| self.site.hosts[*host].maintenance > 0 && self.site.hosts[*host].is_up;
        for host in self.site.hosts.ids().filter(in_maintenance).collect::<Vec<HostId>>() {
            self.empty(host, false, clock);
        }
    }

    /// A VM that came to a host which is being emptied leaves it again.
    pub(in super::super) fn go_on_emptying(&mut self, vm: VmId, clock: &mut Clock) {
        let machine = &self.site.vms[vm];
        if machine.place.is_some_and(|host| self.site.hosts[host].maintenance > 0)
            && machine.is_up
            && machine.target.is_none()
        {
            self.send_away(vm, true, clock);
        }
    }
}
