//! VMs: virtual topology, load, limit and workload.

use super::sections::{Sections, sound};
use crate::mistake::Issue;
use crate::spec::vm::VmGroup;
use crate::spec::workload::{Arrivals, sessions};

/// Checks that all virtual sockets have the same number of cores.
pub(super) fn topology(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms) {
        if let Some(cores) = vm
            .cores_per_socket
            .filter(|cores| !vm.vcpus.is_multiple_of(*cores) && sections.clean(&["vms", name, "vcpus"]))
        {
            let divisors: Vec<String> = (1..=vm.vcpus)
                .filter(|d| vm.vcpus.is_multiple_of(*d))
                .map(|d| d.to_string())
                .collect();
            found.push(Issue::new(
                ["vms", name, "cores_per_socket"],
                "odd-topology",
                cores.to_string(),
                format!("a divisor of vcpus ({}): {}", vm.vcpus, divisors.join(", ")),
                "every virtual socket has the same number of cores; change cores_per_socket or vcpus".to_owned(),
            ));
        }
    }
}

/// Checks that a VM with load has a session at its highest load, and that a VM whose workload keeps every vCPU busy has
/// no other load.
pub(super) fn load(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms) {
        match sections.workload_of(vm).map(|workload| &workload.arrivals) {
            Some(&Arrivals::Closed { population, .. }) => found.extend(no_session(sections, name, vm, population)),
            Some(Arrivals::Parallel { .. }) => found.extend(not_parallel(sections, name, vm)),
            _ => {}
        }
    }
}

fn no_session(sections: &Sections, name: &str, vm: &VmGroup, population: u32) -> Option<Issue> {
    let clean =
        sections.clean(&["vms", name, "load_steps"]) && sections.clean(&["workloads", &vm.workload, "arrivals"]);
    let is_idle = vm.load > 0.0 && sessions(population, vm.peak_load()) == 0;
    let least = 0.5 / f64::from(population) * vm.load / vm.peak_load();
    (is_idle && clean).then(|| {
        Issue::new(
            ["vms", name, "load"],
            "no-session",
            vm.load.to_string(),
            format!("at least {least}, half a session of {population}, or 0"),
            format!(
                "raise it, or workloads.{}.arrivals.closed.population; or use open arrivals, which take any load",
                vm.workload
            ),
        )
    })
}

fn not_parallel(sections: &Sections, name: &str, vm: &VmGroup) -> Vec<Issue> {
    let steps = vm.load_steps.len();
    let loads = [
        ("load", vm.load != 1.0, vm.load.to_string()),
        ("load_steps", steps > 0, format!("{steps} steps")),
    ];
    let issue = |(key, _, value)| {
        Issue::new(
            ["vms", name, key],
            "not-parallel",
            value,
            "none: a parallel workload keeps every vCPU busy".to_owned(),
            "remove it, or use closed arrivals".to_owned(),
        )
    };
    let is_wrong = |(key, wrong, _): &(&str, bool, String)| *wrong && sections.clean(&["vms", name, key]);
    loads.into_iter().filter(is_wrong).map(issue).collect()
}

/// Checks that a VM can use its reservation.
pub(super) fn limit(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms) {
        if let Some(limit) = vm
            .limit
            .filter(|limit| *limit < vm.reservation && sections.clean(&["vms", name, "reservation"]))
        {
            found.push(Issue::new(
                ["vms", name, "limit"],
                "limit-below-reservation",
                limit.to_string(),
                format!("at least the reservation, {}", vm.reservation),
                "raise the limit or lower the reservation".to_owned(),
            ));
        }
    }
}

/// Checks that load steps are in order of time.
pub(super) fn load_steps(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms) {
        for (position, pair) in vm.load_steps.windows(2).enumerate() {
            if pair[1].at <= pair[0].at && sections.clean(&["vms", name, "load_steps"]) {
                found.push(Issue::new(
                    ["vms", name, "load_steps", &(position + 1).to_string(), "at"],
                    "unordered-steps",
                    pair[1].at.to_string(),
                    format!("later than the previous step, {}", pair[0].at),
                    "sort load_steps by time".to_owned(),
                ));
            }
        }
    }
}

/// Checks that the workload of a VM exists.
pub(super) fn workload(sections: &Sections, found: &mut Vec<Issue>) {
    for (name, vm) in sound(&sections.vms) {
        let path = ["vms", name, "workload"];
        if sections.clean(&path) {
            sections.reference(&path, &vm.workload, "workloads", &sections.workloads, found);
        }
    }
}
