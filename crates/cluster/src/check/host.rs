//! Hosts: clocks, and options of their hypervisor.

use super::option::{changed, has_option, not_of};
use super::sections::{Sections, sound};
use crate::mistake::Issue;
use crate::spec::host::HostGroup;
use crate::spec::hypervisor::CoreScheduling;

/// Checks that at least one host exists.
pub(super) fn any(sections: &Sections, found: &mut Vec<Issue>) {
    let is_gone = |host: &Option<HostGroup>| host.as_ref().is_some_and(|host| host.count == 0);
    if sections.readable("hosts") && !sections.hosts.is_empty() && sections.hosts.values().all(is_gone) {
        found.push(Issue::new(
            ["hosts"],
            "no-hosts",
            "count 0 for every group".to_owned(),
            "at least one host".to_owned(),
            "raise the count of a group".to_owned(),
        ));
    }
}

/// Checks that a host is not slower when busy.
pub(super) fn turbo(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, host) in sound(&sections.hosts) {
        if let Some(turbo) = host
            .turbo
            .filter(|turbo| *turbo < host.clock && sections.clean(&["hosts", name, "clock"]))
        {
            found.push(Issue::new(
                ["hosts", name, "turbo"],
                "turbo-below-clock",
                turbo.to_string(),
                format!("at least the clock, {}", host.clock),
                "remove turbo, or set it to the clock that all cores sustain when busy".to_owned(),
            ));
        }
    }
}

/// Checks that cores divide evenly into NUMA nodes and last-level caches.
pub(super) fn divisions(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, host) in sound(&sections.hosts) {
        let clean = |key: &str| sections.clean(&["hosts", name, key]);
        if !clean("cores_per_socket") || !clean("nodes_per_socket") {
            continue;
        }
        let mut uneven = |key: &str, parts: u32, cores: u32, whole: &str| {
            if !cores.is_multiple_of(parts) {
                let divisors = (1..=cores).filter(|parts| cores.is_multiple_of(*parts));
                let divisors: Vec<String> = divisors.map(|parts| parts.to_string()).collect();
                found.push(Issue::new(
                    ["hosts", name, key],
                    "uneven-division",
                    parts.to_string(),
                    format!("a divisor of the {cores} cores of a {whole}: {}", divisors.join(", ")),
                    format!("change {key}, or hosts.{name}.cores_per_socket"),
                ));
                return true;
            }
            false
        };
        let (nodes, cores) = (host.nodes_per_socket, host.cores_per_socket);
        if !uneven("nodes_per_socket", nodes, cores, "socket") && clean("l3_per_node") {
            uneven("l3_per_node", host.l3_per_node, cores / nodes, "NUMA node");
        }
    }
}

/// Checks that the hypervisor has the options set.
pub(super) fn options(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, host) in sound(&sections.hosts) {
        if sections.clean(&["hosts", name, "hypervisor"]) {
            let path = ["hosts", name, "scheduler"];
            let remedy = format!("or change hosts.{name}.hypervisor");
            for (key, value) in changed(&host.scheduler) {
                found.extend(not_of(host.hypervisor, &path, &key, &value, &remedy));
            }
        }
    }
}

/// Checks that the hypervisor has the core scheduling set.
pub(super) fn core_scheduling(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, host) in sound(&sections.hosts) {
        let (hypervisor, policy) = (host.hypervisor, host.scheduler.core_scheduling);
        if !policy.is_of(hypervisor) && sections.clean(&["hosts", name, "hypervisor"]) {
            let own = CoreScheduling::ALL
                .into_iter()
                .filter(|policy| policy.is_of(hypervisor));
            let own: Vec<&str> = own.map(CoreScheduling::as_str).collect();
            found.push(Issue::new(
                ["hosts", name, "scheduler", "core_scheduling"],
                "wrong-hypervisor",
                policy.as_str().to_owned(),
                format!("for {hypervisor}: {}", own.join(", ")),
                format!("choose one of these, or change hosts.{name}.hypervisor"),
            ));
        }
    }
}

/// Checks that a co-stopped vCPU does not restart at once.
pub(super) fn costart(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, host) in sound(&sections.hosts) {
        let (costop, costart) = (host.scheduler.costop_threshold(), host.scheduler.costart_threshold());
        let path = ["hosts", name, "scheduler"];
        let clean = sections.clean(&["hosts", name, "scheduler", "costop_threshold"])
            && sections.clean(&["hosts", name, "scheduler", "costart_threshold"]);
        if clean && costart > costop && has_option(host.hypervisor, &path, "costart_threshold") {
            let key = if host.scheduler.costart_threshold.is_some() {
                "costart_threshold"
            } else {
                "costop_threshold"
            };
            found.push(Issue::new(
                ["hosts", name, "scheduler", key],
                "costart-above-costop",
                format!("costart_threshold {costart} with costop_threshold {costop}"),
                "a costart_threshold of at most costop_threshold".to_owned(),
                format!("lower costart_threshold to {costop} or less, or raise costop_threshold"),
            ));
        }
    }
}
