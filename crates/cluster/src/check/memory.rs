//! Memory of VMs: that what is reserved, active and allowed agree.

use super::sections::{Sections, sound};
use crate::mistake::Issue;

/// That no VM reserves more memory than it has, or may have less than it reserves.
pub(super) fn bounds(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms) {
        if vm.memory_reservation > vm.memory && sections.clean(&["vms", name, "memory"]) {
            found.push(Issue::new(
                ["vms", name, "memory_reservation"],
                "reservation-over-memory",
                vm.memory_reservation.to_string(),
                format!("at most the machine's memory, {}", vm.memory),
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

/// That a VM with huge pages, which are never taken back, may have all of its memory and has no balloon.
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
                    "at least the machine's memory, {}, since huge pages are never taken back",
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
                "false, or nothing: huge pages are never taken back".to_owned(),
                "remove balloon, or huge_pages".to_owned(),
            ));
        }
    }
}
