//! Memory of VMs: reservation, active memory and limit agree.

use super::sections::{Sections, sound};
use crate::mistake::Issue;

/// Checks that no VM reserves more memory than it has, or more than its limit.
pub(super) fn bounds(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms) {
        if vm.memory_reservation > vm.memory && sections.clean(&["vms", name, "memory"]) {
            found.push(Issue::new(
                ["vms", name, "memory_reservation"],
                "reservation-over-memory",
                vm.memory_reservation.to_string(),
                format!("at most the VM's memory, {}", vm.memory),
                "lower it, or raise memory".to_owned(),
            ));
        }
        if let Some(limit) = vm.memory_limit
            && limit < vm.memory_reservation
            && sections.clean(&["vms", name, "memory_reservation"])
        {
            found.push(Issue::new(
                ["vms", name, "memory_limit"],
                "limit-below-reservation",
                limit.to_string(),
                format!("at least the reservation, {}", vm.memory_reservation),
                "raise the limit or lower the reservation".to_owned(),
            ));
        }
    }
}

/// Checks that a VM with huge pages, which are never reclaimed, has no limit below its memory and no balloon.
pub(super) fn huge_pages(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms).filter(|(_, vm)| vm.huge_pages) {
        if let Some(limit) = vm.memory_limit
            && limit < vm.memory
            && sections.clean(&["vms", name, "memory"])
        {
            found.push(Issue::new(
                ["vms", name, "memory_limit"],
                "huge-pages-limited",
                limit.to_string(),
                format!(
                    "at least the VM's memory, {}: huge pages are never reclaimed",
                    vm.memory
                ),
                "remove the limit, or huge_pages".to_owned(),
            ));
        }
        if vm.balloon == Some(true) {
            found.push(Issue::new(
                ["vms", name, "balloon"],
                "huge-pages-ballooned",
                "true".to_owned(),
                "false, or absent: huge pages are never reclaimed".to_owned(),
                "remove balloon, or huge_pages".to_owned(),
            ));
        }
    }
}
