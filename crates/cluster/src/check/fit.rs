//! Checks that a VM has a host that exists and fits it.

use super::reservation::no_reservations;
use super::sections::{Sections, sound, unknown};
use crate::mistake::{Issue, show_text};
use crate::placement::{Place, fits};
use crate::spec::host::HostGroup;
use crate::spec::vm::{VmGroup, parse_cpus};
use crate::spec::workload::Workload;

/// Checks that each VM has such a host.
pub(super) fn hosts(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms) {
        if vm.affinity.as_deref().is_some_and(|text| parse_cpus(text).is_none()) {
            found.push(Issue::new(
                ["vms", name, "affinity"],
                "bad-affinity",
                show_text(vm.affinity.as_deref().unwrap_or_default()),
                "numbers and ranges of logical CPUs, such as 0-11,24".to_owned(),
                "write each range from its lower to its higher number".to_owned(),
            ));
        } else if sections.readable("hosts") {
            host_of(sections, name, vm, found);
        }
    }
}

fn host_of(sections: &Sections, name: &str, vm: &VmGroup, found: &mut Vec<Issue>) {
    let Some(hosts) = sections.hosts_of(vm) else { return };
    if hosts.is_empty() {
        found.extend(nowhere(sections, name, vm));
        return;
    }
    let reserves = |(name, host): &(&str, &HostGroup)| {
        let facts = host.hypervisor.family().facts();
        facts.reservations || !facts.virtualises || !sections.clean(&["hosts", name, "hypervisor"])
    };
    if vm.reservation.whole_hz() > 0 && sections.clean(&["vms", name, "reservation"]) && !hosts.iter().any(reserves) {
        found.push(no_reservations(name, vm, hosts[0].0, hosts[0].1));
    }
    // A size that replaces a faulty one does not show what fits.
    let sized = |(name, _): &(&str, _)| {
        let keys = [
            "sockets",
            "cores_per_socket",
            "nodes_per_socket",
            "threads_per_core",
            "memory_per_node",
            "hypervisor",
        ];
        keys.iter().all(|key| sections.clean(&["hosts", name, key]))
    };
    let known = sections.clean(&["vms", name, "vcpus"]) && sections.clean(&["vms", name, "memory"]);
    if known && hosts.iter().all(sized) && !hosts.iter().any(|(_, host)| fits(vm, host)) {
        found.extend(misfits(name, vm, &hosts));
    }
}

/// Why a VM has no possible host, if no other check reports it.
fn nowhere(sections: &Sections, name: &str, vm: &VmGroup) -> Option<Issue> {
    let (key, value) = match (&vm.host, &vm.cluster) {
        (Some(host), _) => ("host", host),
        (None, Some(cluster)) => ("cluster", cluster),
        (None, None) => return None,
    };
    let path = ["vms", name, key];
    let cluster = match sections.place_of(vm) {
        Place::Unknown => return Some(unknown(&path, value, "hosts", &sections.hosts)),
        Place::Cluster(cluster) => cluster,
        Place::Hosts(..) | Place::Anywhere => return None,
    };
    let mut of_cluster = sound(&sections.hosts)
        .filter(|(_, host)| host.cluster == cluster)
        .peekable();
    of_cluster.peek()?;
    let gone = of_cluster.all(|(_, host)| host.count == 0);
    let copies = sections.workload_of(vm).is_some_and(Workload::copies);
    let (allowed, hint) = match &vm.storage {
        _ if gone => (
            format!("a cluster with a host: count is 0 for all of {cluster}"),
            "raise hosts.NAME.count for one of them, or move or remove its VMs (count: 0)".to_owned(),
        ),
        _ if copies => return None,
        Some(pool) => (
            format!("a cluster with hosts that storage.{pool}.deployment allows; {cluster} has none"),
            format!("choose another cluster, or set storage.{pool}.deployment to mixed"),
        ),
        None => return None,
    };
    Some(Issue::new(path, "no-host-left", show_text(value), allowed, hint))
}

/// Why none of these hosts fits a VM.
fn misfits(name: &str, vm: &VmGroup, hosts: &[(&str, &HostGroup)]) -> Vec<Issue> {
    let mut found = Vec::new();
    let widest = hosts.iter().max_by_key(|(_, host)| host.logical_cpus());
    let (widest, host) = widest.expect("not empty");
    let logical = host.logical_cpus();
    let shape = format!(
        "{logical} logical CPUs of host {widest} (sockets x cores x threads: {} x {} x {})",
        host.sockets, host.cores_per_socket, host.threads_per_core
    );
    let takes_wide = |(_, host): &(&str, &HostGroup)| host.hypervisor.family().facts().wider_than_host;
    if vm.vcpus > logical && !hosts.iter().any(takes_wide) {
        found.push(Issue::new(
            ["vms", name, "vcpus"],
            "vm-wider-than-host",
            vm.vcpus.to_string(),
            format!("at most the {shape}"),
            format!(
                "{} does not power on a VM with more vCPUs than logical CPUs of its host (KVM does); use at most {} vCPUs (one per physical core), or a larger host",
                host.hypervisor.family().facts().family_title,
                host.cores()
            ),
        ));
    }
    let most = hosts.iter().map(|(_, host)| host.hypervisor.most_vcpus());
    if let Some(most) = most
        .min_by_key(|most| std::cmp::Reverse(most.unwrap_or(u32::MAX)))
        .flatten()
        && vm.vcpus > most
        && vm.vcpus <= logical
    {
        found.push(Issue::new(
            ["vms", name, "vcpus"],
            "vm-wider-than-host",
            vm.vcpus.to_string(),
            format!("at most {most}, on {}", host.hypervisor),
            "use fewer vCPUs, or a later hypervisor".to_owned(),
        ));
    }
    let last = vm.affinity_cpus().and_then(|cpus| cpus.last().copied());
    if let Some(last) = last.filter(|last| *last >= logical) {
        found.push(Issue::new(
            ["vms", name, "affinity"],
            "affinity-outside-host",
            show_text(vm.affinity.as_deref().unwrap_or_default()),
            format!("numbers from 0 to {}, for the {shape}", logical - 1),
            format!(
                "there is no logical CPU {last}; thread t of core c of socket s is number (s * cores + c) * threads + t"
            ),
        ));
    }
    let (largest, host) = hosts.iter().max_by_key(|(_, host)| host.memory()).expect("not empty");
    if vm.memory > host.memory() {
        found.push(Issue::new(
            ["vms", name, "memory"],
            "memory-exceeds-host",
            vm.memory.to_string(),
            format!("at most the {} of host {largest}", host.memory()),
            "lower memory, or raise memory_per_node of the host".to_owned(),
        ));
    }
    if found.is_empty() {
        found.push(Issue::new(
            ["vms", name],
            "no-host-fits",
            format!("{} vCPUs, {}", vm.vcpus, vm.memory),
            "vCPUs, memory and affinity that fit one host".to_owned(),
            "some hosts have the CPUs and others the memory, but none has both; name a host, or make the VM smaller"
                .to_owned(),
        ));
    }
    found
}
