//! Drives and array paths: existing kinds and models, matching figures, consistent paths, and local disks used only
//! from their host.

use super::sections::{Sections, owned, sound};
use crate::drives::misspelt_drive;
use crate::mistake::{Issue, show_text};
use crate::spec::array::Raid;
use crate::spec::array::{ArrayCache, DiskKind};
use crate::spec::device::Device;
use std::collections::BTreeMap;

/// Location, `kind` and `device` of some disks.
type Said<'s> = (Vec<String>, Option<DiskKind>, Option<&'s String>);

/// Checks that each disk has an existing kind or model, and not both.
pub(super) fn drives(sections: &Sections, found: &mut Vec<Issue>) {
    for (path, kind, device) in disks(sections) {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        if !sections.clean(&path) {
            continue;
        }
        let at = |key| path.iter().copied().chain([key]);
        match (kind, device) {
            (Some(_), None) => {}
            (Some(kind), Some(name)) => found.push(Issue::new(
                at("device"),
                "kind-and-device",
                format!("{} and a kind", show_text(name)),
                "either kind or device".to_owned(),
                format!("a device has its own kind; remove kind ({kind:?}) or device"),
            )),
            (None, None) => found.push(Issue::new(
                at("kind"),
                "missing-key",
                "(missing)".to_owned(),
                "a kind, such as nvme; or device, the name of a drive".to_owned(),
                "hypertwin devices lists the known drives".to_owned(),
            )),
            (None, Some(name)) => found.extend(unknown(sections, name).map(|hint| {
                let allowed = "a key of devices, or a drive of the table".to_owned();
                Issue::new(at("device"), "unknown-reference", show_text(name), allowed, hint)
            })),
        }
    }
}

/// A hint if no drive has this name.
fn unknown(sections: &Sections, name: &str) -> Option<String> {
    let own = sections.devices.keys();
    if !sections.readable("devices")
        || own
            .clone()
            .chain(crate::drives::TABLE.keys())
            .any(|known| known == name)
    {
        return None;
    }
    let known = own.chain(crate::drives::TABLE.keys()).map(String::as_str);
    Some(match misspelt_drive(name, known) {
        Some(near) => format!("did you mean {near}? hypertwin devices lists them"),
        None => "hypertwin devices lists them; describe another under devices".to_owned(),
    })
}

/// All disks of a scenario.
fn disks(sections: &Sections) -> Vec<Said<'_>> {
    let path = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect();
    let mut said: Vec<Said<'_>> = Vec::new();
    for (name, array) in sound(&sections.arrays) {
        let disks = &array.disks;
        said.push((path(&["arrays", name, "disks"]), disks.kind, disks.device.as_ref()));
    }
    for (name, pool) in sound(&sections.storage) {
        let devices = &pool.devices;
        said.push((
            path(&["storage", name, "devices"]),
            devices.kind,
            devices.device.as_ref(),
        ));
        for (number, more) in pool.more_devices.iter().enumerate() {
            let path = path(&["storage", name, "more_devices", &number.to_string()]);
            said.push((path, more.kind, more.device.as_ref()));
        }
        if let Some(flash) = &pool.flash {
            said.push((path(&["storage", name, "flash"]), flash.kind, flash.device.as_ref()));
        }
    }
    for (name, host) in sound(&sections.hosts) {
        if let Some(swap) = &host.swap {
            said.push((path(&["hosts", name, "swap"]), swap.kind, swap.device.as_ref()));
        }
    }
    said
}

/// Checks that a drive has no figures of another kind of drive.
pub(super) fn figures(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, device) in sound(&sections.devices).filter(|(name, _)| sections.clean(&["devices", name, "kind"])) {
        let (has, other) = match device.kind.is_flash() {
            true => (rotating(device), "a hard disk"),
            false => (flash(device), "flash"),
        };
        for (key, _) in has
            .into_iter()
            .filter(|(key, is_set)| *is_set && sections.clean(&["devices", name, key]))
        {
            found.push(Issue::new(
                ["devices", name, key],
                "wrong-drive",
                key.to_owned(),
                format!("none: only {other} has this key"),
                "remove it, or change kind".to_owned(),
            ));
        }
    }
}

fn rotating(device: &Device) -> Vec<(&'static str, bool)> {
    vec![
        ("rpm", device.rpm.is_some()),
        ("seek_read", device.seek_read.is_some()),
        ("seek_write", device.seek_write.is_some()),
    ]
}

fn flash(device: &Device) -> Vec<(&'static str, bool)> {
    vec![
        ("random_read", device.random_read.is_some()),
        ("random_write", device.random_write.is_some()),
        ("read_latency", device.read_latency.is_some()),
        ("write_latency", device.write_latency.is_some()),
        ("power_loss_protection", device.power_loss_protection.is_some()),
        ("over_provisioning_pct", device.over_provisioning_pct.is_some()),
        ("write_cache", device.write_cache.is_some()),
        ("stalls", device.stalls.is_some()),
        ("dwpd", device.dwpd.is_some()),
    ]
}

/// Checks that disks inside a host have no array cache, and that all their users are on one host.
pub(super) fn local(sections: &Sections, found: &mut Vec<Issue>) {
    let local: Vec<&str> = sound(&sections.arrays)
        .filter(|(name, array)| array.is_local() && sections.clean(&["arrays", name]))
        .map(|(name, array)| {
            let cache = &array.cache;
            let plain = ArrayCache {
                latency: cache.latency,
                ..ArrayCache::default()
            };
            if cache.size.bytes() > 0 && *cache != plain {
                found.push(Issue::new(
                    ["arrays", name, "cache"],
                    "not-local",
                    "a cache of disks inside a host".to_owned(),
                    "latency only: the protocol is local".to_owned(),
                    "remove the cache's other keys, or choose another protocol".to_owned(),
                ));
            }
            name
        })
        .collect();
    if local.is_empty() || !sections.whole() {
        return;
    }
    let (hosts, vms) = (owned(&sections.hosts), owned(&sections.vms));
    let Some(placed) = sections.placed(&hosts, &vms) else {
        return;
    };
    let mut host_of: BTreeMap<&str, usize> = BTreeMap::new();
    let mut machines = placed.into_iter();
    for (name, vm) in &vms {
        let here: Vec<usize> = machines.by_ref().take(vm.count as usize).collect();
        let Some(workload) = sections.workload_of(vm) else {
            continue;
        };
        let used = |array: &&str| vm.ends(workload).any(|end| end.is_array(array));
        let mut used = local.iter().copied().filter(used);
        let apart = used.find(|&array| here.iter().any(|host| host_of.entry(array).or_insert(*host) != host));
        if let Some(array) = apart {
            let key = if vm.array.as_deref() == Some(array) {
                "array"
            } else {
                "workload"
            };
            found.push(Issue::new(
                ["vms", name, key],
                "not-local",
                format!("{array} from several hosts"),
                "VMs on one host: the array is its internal disks".to_owned(),
                format!("set host of all VMs that use {array} to the same host, such as NAME-1"),
            ));
        }
    }
}

/// Checks that an array has no more optimised paths than paths, and that disks inside a host have none.
pub(super) fn paths(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, array) in sound(&sections.arrays) {
        let (paths, clean) = (&array.paths, |key: &str| {
            sections.clean(&["arrays", name, "paths", key])
        });
        if let Some(optimised) = paths
            .optimised
            .filter(|optimised| *optimised > paths.per_lun && clean("per_lun"))
        {
            found.push(Issue::new(
                ["arrays", name, "paths", "optimised"],
                "too-many-paths",
                optimised.to_string(),
                format!("at most per_lun, {}", paths.per_lun),
                "optimised is part of per_lun; lower it, or raise per_lun".to_owned(),
            ));
        }
        if array.is_local() && *paths != Default::default() && sections.clean(&["arrays", name]) {
            found.push(Issue::new(
                ["arrays", name, "paths"],
                "not-local",
                "paths to disks inside a host".to_owned(),
                "none: the protocol is local".to_owned(),
                "remove it, or choose another protocol".to_owned(),
            ));
        }
    }
}

/// Checks that an array has the disks that its RAID level needs.
pub(super) fn raid(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, array) in sound(&sections.arrays) {
        let (least, level) = match array.raid {
            Raid::Raid0 | Raid::Raid1 => continue,
            Raid::Raid5 => (3, "raid-5"),
            Raid::Raid6 => (4, "raid-6"),
        };
        let count = array.disks.count;
        if count < least && sections.clean(&["arrays", name, "disks", "count"]) {
            found.push(Issue::new(
                ["arrays", name, "disks", "count"],
                "too-few-disks",
                count.to_string(),
                format!("at least {least}: {level} has parity on other disks"),
                "add disks, or choose raid-1 or raid-0".to_owned(),
            ));
        }
    }
}
