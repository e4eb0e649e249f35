//! Checks that the scenario as a whole is small enough to simulate.

use super::sections::{Groups, Sections, sound};
use crate::limits;
use crate::mistake::Issue;
use crate::spec::controller::SPLIT_BYTES;
use crate::spec::vm::VmGroup;
use crate::spec::workload::{Arrivals, Workload};

/// Checks all totals.
pub(super) fn in_all(sections: &Sections, found: &mut Vec<Issue>) {
    let hosts = sum(&sections.hosts, |host| u64::from(host.count));
    let threads = sum(&sections.hosts, |host| {
        u64::from(host.count) * u64::from(host.logical_cpus())
    });
    let vms = sum(&sections.vms, |vm| u64::from(vm.count));
    let vcpus = sum(&sections.vms, |vm| u64::from(vm.count) * u64::from(vm.vcpus));
    let disks = sum(&sections.arrays, |array| u64::from(array.disks.count));
    let pooled = sum(&sections.storage, |pool| {
        let flash = pool.flash.as_ref().map_or(0, |flash| flash.per_node);
        let nodes = u64::from(sections.node_count(pool).unwrap_or(0));
        nodes * u64::from(pool.devices_per_node() + flash)
    });
    let io_threads = sum(&sections.vms, |vm| {
        let each = vm.queues.unwrap_or(vm.vcpus).max(vm.io_threads.unwrap_or(1));
        let copies = sections.workload_of(vm).is_some_and(Workload::copies);
        let controllers = if vm.has_own_disks() || copies {
            vm.controllers
        } else {
            0
        };
        u64::from(vm.count) * u64::from(controllers) * u64::from(each)
    });
    let service_threads = sum(&sections.storage, |pool| {
        let each = match pool.kind.facts().takes_ceph {
            // As many as on flash, which has the most.
            true => pool.ceph().threads_on(true).saturating_mul(pool.ceph().osds_per_device),
            false => pool.service.threads_per_device,
        };
        let of_devices = pool.devices_per_node().saturating_mul(each);
        let nodes = u64::from(sections.node_count(pool).unwrap_or(0));
        nodes * u64::from(pool.service.threads.unwrap_or(of_devices))
    });
    let mut work = Work::default();
    for (_, vm) in sound(&sections.vms) {
        if let Some(workload) = sections.workload_of(vm) {
            work.add(vm, workload);
        }
    }
    let run = sections.run.as_ref().filter(|run| !run.sample_interval.is_zero());
    let samples = run.map_or(0.0, |run| {
        run.duration.or_zero().seconds() / run.sample_interval.seconds() * (hosts + vms) as f64
    });
    let per_entity = "samples (duration / sample_interval, per host and VM)";
    for (section, what, value, most) in [
        ("hosts", "hosts", hosts as f64, limits::HOSTS as f64),
        ("hosts", "logical CPUs", threads as f64, limits::LOGICAL_CPUS as f64),
        ("vms", "vCPUs", vcpus as f64, limits::VCPUS as f64),
        ("arrays", "disks", disks as f64, limits::DISKS as f64),
        ("storage", "disks", pooled as f64, limits::DISKS as f64),
        ("vms", "I/O threads", io_threads as f64, limits::IO_THREADS as f64),
        (
            "storage",
            "service threads",
            service_threads as f64,
            limits::IO_THREADS as f64,
        ),
        ("vms", "virtual disks", work.vdisks, limits::VDISKS),
        ("vms", "processes", work.processes, limits::PROCESSES),
        ("vms", "I/Os outstanding", work.outstanding, limits::OUTSTANDING),
        (
            "vms",
            "arrivals per second",
            work.arrivals_per_s,
            limits::ARRIVALS_PER_SECOND,
        ),
        ("run", per_entity, samples.round(), limits::SAMPLES),
    ] {
        if value > most {
            found.push(Issue::new(
                [section],
                "too-large",
                format!("{value} {what} in all"),
                format!("at most {most} {what} in all"),
                "lower the counts, or split the scenario".to_owned(),
            ));
        }
    }
}

fn sum<T>(groups: &Groups<T>, of: impl Fn(&T) -> u64) -> u64 {
    sound(groups).map(|(_, group)| of(group)).sum()
}

/// Work of all VMs at once, at the highest load step.
#[derive(Default)]
struct Work {
    vdisks: f64,
    processes: f64,
    /// I/Os, in parts of [`SPLIT_BYTES`].
    outstanding: f64,
    arrivals_per_s: f64,
}

impl Work {
    fn add(&mut self, vm: &VmGroup, workload: &Workload) {
        let peak = f64::from(vm.count) * vm.peak_load();
        let vdisks = if vm.has_disks(workload) {
            vm.vdisks_of_end(workload)
        } else {
            0
        };
        self.vdisks += f64::from(vm.count) * f64::from(vdisks * workload.ends());
        let parts = workload.largest_block().bytes().div_ceil(SPLIT_BYTES) as f64;
        match &workload.arrivals {
            Arrivals::Closed { population, .. } => {
                let processes = peak * f64::from(*population);
                self.processes += processes;
                if vm.has_disks(workload) {
                    self.outstanding += processes * workload.ios / f64::from(workload.bursts) * parts;
                }
            }
            Arrivals::Open { rate, .. } => self.arrivals_per_s += peak * rate.per_second(),
            Arrivals::Parallel { .. } => self.processes += f64::from(vm.count) * f64::from(vm.vcpus),
            Arrivals::Io {
                outstanding, workers, ..
            } => {
                self.processes += f64::from(vm.count) * f64::from(workers.unwrap_or(vm.vcpus));
                self.outstanding += peak * f64::from(vdisks) * f64::from(*outstanding) * parts;
            }
        }
    }
}
