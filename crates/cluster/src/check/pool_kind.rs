//! Keys of some kinds of pool only, and storage policies of VMs.

use super::sections::{Sections, sound, unknown_among};
use crate::mistake::Issue;
use crate::redundancy::Redundancy;
use crate::spec::ceph::{CephRelease, CephScheduler};
use crate::spec::pool::StoragePool;
use crate::spec::vm::VmGroup;
use crate::spec::vsan::VsanArchitecture;

/// Checks that a pool has no keys of another kind.
pub(super) fn keys(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, pool) in sound(&sections.storage) {
        if !sections.clean(&["storage", name, "kind"]) {
            continue;
        }
        for (path, value, allowed, hint) in foreign(pool) {
            let path: Vec<&str> = ["storage", name].into_iter().chain(path.split('.')).collect();
            if sections.clean(&path) {
                found.push(Issue::new(
                    path,
                    "wrong-kind",
                    value,
                    allowed.to_owned(),
                    hint.to_owned(),
                ));
            }
        }
    }
}

/// RAID-5 of vSAN OSA, of which `raid-5` is the short form.
const RAID_5_OF_OSA: Redundancy = Redundancy::Erasure { data: 3, parity: 1 };
/// RAID-5 of ESA, whose width depends on the size of the cluster (VMware, "Adaptive RAID-5", 2022).
const RAID_5_OF_ESA: &str = "ec-2+1 or ec-4+1 for RAID-5 of ESA";
const NO_RAID_5_OF_OSA: &str = "ESA uses ec-2+1 on three to five hosts and ec-4+1 from six";

/// A key that does not suit the kind, its value, the allowed values, and a hint.
type Foreign = (&'static str, String, &'static str, &'static str);

fn foreign(pool: &StoragePool) -> Vec<Foreign> {
    let mut found: Vec<Foreign> = Vec::new();
    let mut add = |is_foreign: bool, path, value: String, allowed, hint| {
        if is_foreign {
            found.push((path, value, allowed, hint));
        }
    };
    let kind = pool.kind.as_str();
    let (is_ceph, is_vsan) = (pool.kind.facts().takes_ceph, pool.kind.facts().takes_vsan);
    let set = |text: &str| text.to_owned();
    add(
        pool.ceph.is_some() && !is_ceph,
        "ceph",
        format!("with kind: {kind}"),
        "only with kind: ceph",
        "set kind to ceph, or remove ceph",
    );
    add(
        pool.vsan.is_some() && !is_vsan,
        "vsan",
        format!("with kind: {kind}"),
        "only with kind: vsan",
        "set kind to vsan, or remove vsan",
    );
    if is_ceph {
        let (ceph, service) = (pool.ceph(), &pool.service);
        let threads = "none: use ceph.shards, ceph.threads_per_shard and ceph.messengers";
        add(
            service.threads.is_some(),
            "service.threads",
            service.threads.unwrap_or_default().to_string(),
            threads,
            "remove it",
        );
        add(
            service.threads_per_device != 1,
            "service.threads_per_device",
            service.threads_per_device.to_string(),
            threads,
            "remove it",
        );
        add(
            service.cpu_per_io.is_some(),
            "service.cpu_per_io",
            service.cpu_per_io.map_or_else(String::new, |cpu| cpu.to_string()),
            "none: ceph.release sets the cost of Ceph operations",
            "remove it; ceph.cpu_factor scales the cost of all of them",
        );
        let flash = pool.flash.as_ref();
        let caches = flash.is_some_and(|flash| flash.journal.bytes() + flash.read_cache.bytes() > 0);
        add(
            caches,
            "flash",
            set("with a journal or a read cache"),
            "flash without journal and read_cache: it holds the WAL and DB of the OSDs",
            "remove them; ceph.deferred_below sets which data goes to the log",
        );
        add(
            ceph.ec_optimizations && ceph.release < CephRelease::Tentacle,
            "ceph.ec_optimizations",
            set("true"),
            "false before release: tentacle",
            "set ceph.release to tentacle, or remove it",
        );
        add(
            ceph.scheduler == Some(CephScheduler::Mclock) && ceph.release < CephRelease::Quincy,
            "ceph.scheduler",
            set("mclock"),
            "wpq before release: quincy",
            "remove it, or choose a later release",
        );
    }
    if is_vsan {
        let has_cache = pool.flash.is_some();
        let is_osa = !is_esa(pool);
        add(
            has_cache && !is_osa,
            "flash",
            set("with architecture: esa"),
            "none: ESA has no cache devices",
            "set vsan.architecture to osa, or put its devices under devices and more_devices",
        );
        add(
            !is_osa && pool.redundancy == Some(RAID_5_OF_OSA),
            "redundancy",
            format!("{RAID_5_OF_OSA} with architecture: esa"),
            RAID_5_OF_ESA,
            NO_RAID_5_OF_OSA,
        );
        add(
            !has_cache && is_osa,
            "vsan.architecture",
            set("osa"),
            "osa with flash: one cache device per disk group",
            "add flash with kind or device, per_node (disk groups) and capacity",
        );
    }
    found
}

fn is_esa(pool: &StoragePool) -> bool {
    pool.kind.facts().takes_vsan && pool.vsan().architecture == VsanArchitecture::Esa
}

/// Checks that policies fit their pool.
pub(super) fn policies(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, pool) in sound(&sections.storage) {
        let counted = sections.counts_nodes(pool)
            && sections.clean(&["storage", name, "devices"])
            && sections.clean(&["storage", name, "racks"]);
        let domains = sections.node_count(pool).filter(|nodes| *nodes > 0 && counted);
        for (policy, spec) in &pool.policies {
            let path = |key| ["storage", name, "policies", policy, key];
            let width = spec.redundancy.width();
            if let Some(domains) = domains.map(|nodes| pool.domains(nodes)).filter(|most| *most < width) {
                found.push(Issue::new(
                    path("redundancy"),
                    "too-few-domains",
                    spec.redundancy.to_string(),
                    format!("at most {domains} replicas or fragments, one per failure domain of the pool"),
                    format!(
                        "{} needs {width}; add nodes (hosts.{}.count), or choose a smaller failure_domain",
                        spec.redundancy,
                        pool.nodes.written()[0]
                    ),
                ));
            }
            if spec.redundancy == RAID_5_OF_OSA && is_esa(pool) && sections.clean(&path("redundancy")) {
                found.push(Issue::new(
                    path("redundancy"),
                    "wrong-kind",
                    format!("{} with architecture: esa", spec.redundancy),
                    RAID_5_OF_ESA.to_owned(),
                    NO_RAID_5_OF_OSA.to_owned(),
                ));
            }
            let fragment = pool.fragment(Some(policy));
            let is_code = matches!(spec.redundancy, Redundancy::Erasure { .. });
            let clean = sections.clean(&["storage", name, "chunk"]) && sections.clean(&["storage", name, "fragment"]);
            if is_code && fragment > pool.chunk() && clean {
                let at_policy = ["storage", name, "policies", policy, "fragment"];
                let at_pool = ["storage", name, "fragment"];
                let at: &[&str] = if spec.fragment.is_some() { &at_policy } else { &at_pool };
                found.push(Issue::new(
                    at.iter().copied(),
                    "fragment-over-chunk",
                    fragment.to_string(),
                    format!("at most the chunk, {}", pool.chunk()),
                    "a chunk holds fragments of many stripes: lower fragment or raise chunk".to_owned(),
                ));
            }
        }
    }
}

/// Checks that the policies of VMs exist, and that no VM has more of them than virtual disks.
pub(super) fn asked_for(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms) {
        let clean = |key: &str| sections.clean(&["vms", name, key]);
        if let Some(policy) = vm.policy.as_ref().filter(|_| clean("policy")) {
            match vm.storage {
                Some(_) => found.extend(unknown_policy(sections, vm, &["vms", name, "policy"], policy)),
                None => found.extend(without_pool(sections, &["vms", name, "policy"], policy.clone())),
            }
        }
        if vm.vdisk_policies.is_empty() || !clean("vdisk_policies") {
            continue;
        }
        let policies = vm.vdisk_policies.len() as u32;
        let at = ["vms", name, "vdisk_policies"];
        for (position, policy) in vm.vdisk_policies.iter().enumerate() {
            let position = position.to_string();
            let path = [&at[..], &[position.as_str()]].concat();
            found.extend(unknown_policy(sections, vm, &path, policy));
        }
        if vm.storage.is_none() {
            found.extend(without_pool(sections, &at, vm.vdisk_policies.join(", ")));
        }
        if let Some(policy) = &vm.policy {
            found.push(Issue::new(
                at,
                "two-policies",
                format!("with policy: {policy}"),
                "either policy, for all virtual disks, or vdisk_policies".to_owned(),
                "remove one of the two".to_owned(),
            ));
        }
        let vdisks = sections.workload_of(vm).map(|workload| vm.vdisks_of_end(workload));
        let is_sure = ["vdisks", "controllers", "workload"].into_iter().all(clean);
        if let Some(vdisks) = vdisks.filter(|vdisks| is_sure && *vdisks < policies) {
            found.push(Issue::new(
                at,
                "too-many-policies",
                policies.to_string(),
                format!("at most one per virtual disk: {vdisks}"),
                format!("remove some, or raise vms.{name}.vdisks"),
            ));
        }
    }
}

/// A policy of a VM without a pool, unless an error hides the pool.
fn without_pool(sections: &Sections, path: &[&str], value: String) -> Option<Issue> {
    let (name, key) = (path[1], path[2]);
    let is_sure = sections.clean(&["vms", name, "storage"]);
    is_sure.then(|| {
        Issue::new(
            path.iter().copied(),
            "no-pool",
            value,
            "a VM with a storage".to_owned(),
            format!("set vms.{name}.storage to a key of storage, or remove {key}"),
        )
    })
}

/// A policy that the pool of a VM does not have.
fn unknown_policy(sections: &Sections, vm: &VmGroup, path: &[&str], policy: &str) -> Option<Issue> {
    let storage = vm.storage.as_ref()?;
    let pool = sections.storage.get(storage)?.as_ref()?;
    let is_sure = sections.clean(&["storage", storage, "policies"]);
    if pool.policies.contains_key(policy) || !is_sure {
        return None;
    }
    let section = format!("storage.{storage}.policies");
    Some(unknown_among(path, policy, &section, pool.policies.keys()))
}
