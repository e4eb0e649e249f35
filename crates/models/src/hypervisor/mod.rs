//! What the families of hypervisors decide differently, one folder each. [`model`] is the only place that asks for the
//! family; everything else asks the object that it returns. `interface.rs` says what a family decides; `esxi/`,
//! `linux/` and `bare_metal/` are the families.
//!
//! **A hypervisor is an object, and a storage product too.** A hypervisor has its family's rules of CPU, NUMA, memory,
//! controllers, protocols and migration. Other code asks the object, or the facts beside the kind in
//! `crates/cluster/src/spec`. No answer has a default: the compiler asks a new family for each.

pub mod bare_metal;
pub mod esxi;
pub mod interface;
pub mod linux;

use crate::storage::virtual_controller::{IoThreads, VirtualController};
use hypertwin_cluster::{Family, HostGroup, Hypervisor, VmGroup};
use interface::HypervisorModel;

/// The model of a hypervisor: that of its family, which knows its versions.
pub fn model(hypervisor: Hypervisor) -> &'static dyn HypervisorModel {
    match hypervisor.family() {
        Family::Esxi => &esxi::Esxi,
        Family::Linux => &linux::Linux,
        Family::BareMetal => &bare_metal::BareMetal,
    }
}

/// What a controller of `vm` costs on `host`.
pub fn virtual_controller(host: &HostGroup, vm: &VmGroup) -> VirtualController {
    let (model, version) = (model(host.hypervisor), host.hypervisor);
    let kind = vm.controller_kind(version.family());
    VirtualController::of(
        vm,
        kind,
        model.controller_cycles(version, kind),
        model.coalesces(version, kind),
        model.io_threads(vm, kind).is_shared,
    )
}

/// Worlds for the controllers of `vm` on `host`.
pub fn io_threads(host: &HostGroup, vm: &VmGroup) -> IoThreads {
    let kind = vm.controller_kind(host.hypervisor.family());
    model(host.hypervisor).io_threads(vm, kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migration::Settings;
    use hypertwin_cluster::{Bandwidth, Convergence, Protocol, Scenario};

    fn host(hypervisor: &str, gbps: u64) -> Settings {
        let json = format!(
            r#"{{"name": "one", "run": {{"duration": "1 s"}}, "hosts": {{"h": {{"sockets": 1, "cores_per_socket": 4, "clock": "2 GHz",
            "memory_per_node": "64 GiB", "hypervisor": "{hypervisor}"}}}}, "vms": {{}}, "workloads": {{}}}}"#
        );
        let mut scenario = Scenario::from_json(&json).expect("a sound scenario");
        let host = scenario.hosts.get_mut("h").unwrap();
        host.migration.link = Bandwidth::from_bytes_per_s(gbps * 125_000_000);
        model(host.hypervisor).migration(host)
    }

    #[test]
    fn defaults_of_migration_follow_the_version_and_the_link() {
        // version, Gb/s; at a time, most in Gb/s, downtime
        for (version, gbps, concurrent, most, downtime) in [
            ("esxi-6.7", 1, 4, 1.0, 0.5),
            ("esxi-6.7", 10, 8, 10.0, 0.5),
            ("esxi-7.0", 40, 8, 15.0, 0.5),
            ("esxi-7.0u2", 100, 8, 100.0, 0.5),
            ("linux-6.6", 40, 1, 15.0, 0.3),
        ] {
            let found = host(version, gbps);
            assert_eq!(found.concurrent, concurrent, "{version}");
            assert!((found.most * 8e-9 - most).abs() < 1e-9, "{version}: {}", found.most);
            assert_eq!(found.downtime_s, downtime, "{version}");
            let slows = found.convergence == Convergence::SlowDown;
            assert_eq!(slows, version.starts_with("esxi"), "{version}");
        }
    }
    #[test]
    fn only_software_needs_a_thread_for_completions_on_esxi() {
        let of = |version, protocol| model(version).completes_by_thread(protocol);
        assert!(of(Hypervisor::Linux6_6, Protocol::Fc));
        assert!(of(Hypervisor::Esxi80, Protocol::NvmeTcp));
        assert!(!of(Hypervisor::Esxi80, Protocol::Fc));
        assert!(!of(Hypervisor::Esxi80, Protocol::Local));
    }

    #[test]
    fn only_esxi_has_a_choice_of_multipathing() {
        use hypertwin_cluster::{DiskKind, Plugin};
        let of = |version| model(version).plugin(version, Some(Plugin::Hpp), Protocol::Fc, DiskKind::SataSsd);
        assert_eq!(of(Hypervisor::Esxi67), Some(Plugin::Hpp));
        assert_eq!(of(Hypervisor::Linux6_12), None);
        assert_eq!(of(Hypervisor::BareMetal), None);
    }
}
