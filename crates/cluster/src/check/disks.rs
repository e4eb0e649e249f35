//! Virtual disks: checks that they have storage, and that their controllers can hold them.

use super::sections::{Sections, sound};
use crate::mistake::Issue;
use crate::spec::controller::{ControllerKind, VDISKS_PER_CONTROLLER};
use crate::spec::hypervisor::Family;
use crate::spec::vm::VmGroup;
use crate::spec::workload::Arrivals;
use serde::Serialize;

/// Checks that a VM without disks has no disk keys and no workload that needs disks.
pub(super) fn place(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms) {
        let clean = |key: &str| sections.clean(&["vms", name, key]);
        let workload = sections.workload_of(vm);
        let generator = workload.is_some_and(|workload| matches!(workload.arrivals, Arrivals::Io { .. }));
        if generator && !vm.load_steps.is_empty() && clean("load_steps") {
            found.push(Issue::new(
                ["vms", name, "load_steps"],
                "not-io",
                format!("{} steps", vm.load_steps.len()),
                "none: an io workload keeps its I/Os outstanding throughout".to_owned(),
                "remove it, or sweep vms.NAME.load".to_owned(),
            ));
        }
        if let Some(array) = vm.array.as_ref().filter(|_| clean("array")) {
            sections.reference(&["vms", name, "array"], array, "arrays", &sections.arrays, found);
        }
        if has_disks(sections, vm) {
            continue;
        }
        let without = [
            ("controller", vm.controller.map(|kind| kind.as_str().to_owned())),
            ("controllers", (vm.controllers != 1).then(|| vm.controllers.to_string())),
            ("vdisks", vm.vdisks.map(|count| count.to_string())),
            ("vdisk_depth", vm.vdisk_depth.map(|depth| depth.to_string())),
            ("ring_pages", vm.ring_pages.map(|pages| pages.to_string())),
            ("queues", vm.queues.map(|queues| queues.to_string())),
            ("io_threads", vm.io_threads.map(|threads| threads.to_string())),
            ("disk_cache", changed_name(&vm.disk_cache)),
            ("aio", changed_name(&vm.aio)),
            ("shared_luns", vm.shared_luns.then(|| "true".to_owned())),
            ("workload", generator.then(|| vm.workload.clone())),
        ];
        let without = without.into_iter().filter_map(|(key, value)| Some((key, value?)));
        for (key, value) in without.filter(|(key, _)| clean(key) && clean("array") && clean("storage")) {
            found.push(Issue::new(
                ["vms", name, key],
                "no-array",
                value,
                "a VM with an array or a storage".to_owned(),
                format!("set vms.{name}.array to a key of arrays, or vms.{name}.storage to one of storage"),
            ));
        }
    }
}

/// True if a VM has its own storage, or copies.
fn has_disks(sections: &Sections, vm: &VmGroup) -> bool {
    match sections.workload_of(vm) {
        Some(workload) => vm.has_disks(workload),
        None => vm.has_own_disks(),
    }
}

/// Checks that the controllers of a VM can hold its disks and suit its host.
pub(super) fn controllers(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms).filter(|(_, vm)| has_disks(sections, vm)) {
        let clean = |key: &str| sections.clean(&["vms", name, key]);
        let most = VDISKS_PER_CONTROLLER * vm.controllers;
        let count = match sections.workload_of(vm) {
            Some(workload) => vm.all_vdisks(workload),
            None => vm.vdisks.unwrap_or(0),
        };
        if count > most && clean("vdisks") && clean("controllers") {
            found.push(Issue::new(
                ["vms", name, "vdisks"],
                "too-many-vdisks",
                count.to_string(),
                format!("at most {most}, {VDISKS_PER_CONTROLLER} per controller"),
                "add controllers (4 at most), or use fewer virtual disks".to_owned(),
            ));
        }
        let family = family_of(sections, vm);
        let kind = vm.controller.or(family.map(Family::default_controller));
        let Some(kind) = kind.filter(|_| clean("controller")) else {
            continue;
        };
        let facts = family.map(Family::facts);
        if let Some(facts) = facts.filter(|facts| !facts.controllers.contains(&kind)) {
            let own: Vec<&str> = facts.controllers.iter().map(|kind| kind.as_str()).collect();
            found.push(Issue::new(
                ["vms", name, "controller"],
                "wrong-hypervisor",
                kind.as_str().to_owned(),
                format!("for {}: {}", facts.family_title, own.join(", ")),
                "virtio needs a Linux host; choose another kind or host".to_owned(),
            ));
        }
        let (_, deepest) = kind.vdisk_depth();
        if let Some(depth) = vm.vdisk_depth.filter(|depth| *depth > deepest && clean("vdisk_depth")) {
            found.push(Issue::new(
                ["vms", name, "vdisk_depth"],
                "depth-over-maximum",
                depth.to_string(),
                format!("at most {deepest}, for {}", kind.as_str()),
                "lower it, or change vms.NAME.controller".to_owned(),
            ));
        }
        let pages = vm.ring_pages.filter(|_| kind != ControllerKind::Pvscsi);
        if let Some(pages) = pages.filter(|_| clean("ring_pages")) {
            found.push(Issue::new(
                ["vms", name, "ring_pages"],
                "not-pvscsi",
                pages.to_string(),
                format!("none: {} has no ring pages", kind.as_str()),
                "remove it, or set the controller to pvscsi".to_owned(),
            ));
        }
    }
}

/// Checks that queues, threads and caches suit the kind of controller.
pub(super) fn queues_and_threads(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms).filter(|(_, vm)| has_disks(sections, vm)) {
        let clean = |key: &str| sections.clean(&["vms", name, key]);
        let family = family_of(sections, vm);
        let Some(kind) = vm.controller.or(family.map(Family::default_controller)) else {
            continue;
        };
        for (key, value, allowed) in of_other_kinds(vm, kind).into_iter().filter(|(key, ..)| clean(key)) {
            found.push(Issue::new(
                ["vms", name, key],
                "wrong-controller",
                value,
                allowed.to_owned(),
                format!(
                    "the controller is {}; remove the key, or change vms.NAME.controller",
                    kind.as_str()
                ),
            ));
        }
    }
}

/// Keys of a VM that this kind of controller does not have, with their values and the allowed values.
fn of_other_kinds(vm: &VmGroup, kind: ControllerKind) -> Vec<(&'static str, String, &'static str)> {
    use ControllerKind::{Ahci, Ide, LsiSas, Passthrough, VhostBlk, VhostScsi, VirtioBlk, VirtioScsi};
    let is_of_qemu = !matches!(kind, VhostBlk | VhostScsi | Passthrough);
    let has_queues = !matches!(kind, Ide | Ahci | LsiSas | Passthrough);
    let has_threads = matches!(kind, VirtioBlk | VirtioScsi | VhostBlk | VhostScsi);
    let is_vhost = matches!(kind, VhostBlk | VhostScsi);
    let queues = vm.queues.filter(|queues| !has_queues && *queues > 1);
    let threads = vm.io_threads.filter(|&threads| {
        if has_threads {
            is_vhost && threads == 0
        } else {
            threads > 0 || !is_of_qemu
        }
    });
    let cache = changed_name(&vm.disk_cache).filter(|_| !is_of_qemu);
    let aio = changed_name(&vm.aio).filter(|_| !is_of_qemu);
    let keys = [
        ("queues", queues.map(|count| count.to_string()), "one queue"),
        (
            "io_threads",
            threads.map(|count| count.to_string()),
            if is_vhost {
                "at least one thread of the kernel"
            } else {
                "for virtio-blk, virtio-scsi, vhost-blk and vhost-scsi"
            },
        ),
        ("disk_cache", cache, "for controllers of QEMU, not vhost or passthrough"),
        ("aio", aio, "for controllers of QEMU, not vhost or passthrough"),
    ];
    let set = keys.into_iter();
    set.filter_map(|(key, value, allowed)| Some((key, value?, allowed)))
        .collect()
}

/// A word of the scenario that differs from the default.
fn changed_name<T: Default + PartialEq + Serialize>(value: &T) -> Option<String> {
    let word = serde_json::to_value(value).ok().filter(|_| *value != T::default())?;
    word.as_str().map(str::to_owned)
}

/// The family of all hosts that a VM can be on, if there is exactly one and it is known.
fn family_of(sections: &Sections, vm: &VmGroup) -> Option<Family> {
    let hosts = sections.hosts_of(vm)?;
    let known = hosts
        .iter()
        .all(|(name, _)| sections.clean(&["hosts", name, "hypervisor"]));
    let mut families = hosts.iter().map(|(_, host)| host.hypervisor.family());
    let first = families.next().filter(|_| known)?;
    families.all(|family| family == first).then_some(first)
}
