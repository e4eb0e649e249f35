//! Virtual controllers, protocols and multipathing of ESXi.
//!
//! **Sources.** Cycles of controllers: `crates/models/src/storage/virtual_controller/table.rs`. PVSCSI of ESX 4.0
//! coalesces at any rate (VMware KB 1017652). NVMe over TCP: the cycles give the published ratio of a saturated server
//! with ESXi 7.0 to one with Proxmox VE 7.2 (Blockbridge, 2022). Default use of the High-Performance Plug-in: VMware's
//! pages on it for 6.7, 7.0 and 8.0 (NVMe over fabrics from 7.0, local NVMe from 7.0 U2).

use crate::storage::protocol::ProtocolCost;
use crate::storage::virtual_controller::{Cycles, HeedsRate, PVSCSI_OF_ESXI_5_0};
use hypertwin_cluster::{ControllerKind, DiskKind, Hypervisor, Plugin, Protocol};

/// Cycles of PVSCSI from 5.1 on: of the guest, and of the hypervisor.
const PVSCSI: [f64; 2] = [11_600.0, 9_300.0];

/// Cycles for a command of NVMe over TCP, the network included.
const NVME_TCP: f64 = 35_000.0;

/// What a request through a controller costs. The path below NVMe is that of PVSCSI.
pub fn controller_cycles(version: Hypervisor, kind: ControllerKind) -> Cycles {
    let pvscsi = match version < Hypervisor::Esxi51 {
        true => PVSCSI_OF_ESXI_5_0,
        false => PVSCSI,
    };
    Cycles::of(kind, pvscsi, pvscsi[1])
}

/// Whether coalescing exists, and if so whether it begins at a rate.
pub fn coalesces(version: Hypervisor, kind: ControllerKind) -> Option<HeedsRate> {
    match kind {
        ControllerKind::Pvscsi => Some(version > Hypervisor::Esxi40),
        ControllerKind::LsiSas => Some(true),
        _ => None,
    }
}

/// What a command costs the host.
pub fn protocol_cost(protocol: Protocol) -> ProtocolCost {
    let general = ProtocolCost::of(protocol);
    match protocol {
        Protocol::NvmeTcp => ProtocolCost {
            cycles: NVME_TCP,
            ..general
        },
        _ => general,
    }
}

/// The multipathing of a version for disks that it reaches so.
pub fn default_plugin(version: Hypervisor, protocol: Protocol, disks: DiskKind) -> Plugin {
    let hpp_since = match protocol {
        Protocol::NvmeFc | Protocol::NvmeTcp | Protocol::NvmeRdma => Some(Hypervisor::Esxi70),
        Protocol::Local if disks == DiskKind::Nvme => Some(Hypervisor::Esxi70u2),
        Protocol::Fc | Protocol::Iscsi | Protocol::Local => None,
    };
    match hpp_since {
        Some(since) if version >= since => Plugin::Hpp,
        _ => Plugin::Nmp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plug_in_is_that_of_the_version() {
        use Hypervisor::{Esxi67, Esxi70, Esxi70u2, Esxi80};
        let of = |protocol, kind| {
            [Esxi67, Esxi70, Esxi70u2, Esxi80].map(|version| default_plugin(version, protocol, kind) == Plugin::Hpp)
        };
        assert_eq!(of(Protocol::NvmeTcp, DiskKind::Nvme), [false, true, true, true]);
        assert_eq!(of(Protocol::Local, DiskKind::Nvme), [false, false, true, true]);
        assert_eq!(of(Protocol::Local, DiskKind::SataSsd), [false; 4]);
        assert_eq!(of(Protocol::Fc, DiskKind::Nvme), [false; 4]);
    }

    #[test]
    fn each_version_has_the_figures_of_the_last_one_that_is_known() {
        let pvscsi = |version| controller_cycles(version, ControllerKind::Pvscsi);
        for version in [Hypervisor::Esxi40, Hypervisor::Esxi41, Hypervisor::Esxi50] {
            assert_eq!(
                pvscsi(version).hypervisor_cycles,
                2.4e9 / 75_000.0,
                "{version}: 75,000 a second at 2.4 GHz"
            );
        }
        for version in [Hypervisor::Esxi51, Hypervisor::Esxi70, Hypervisor::Esxi90] {
            let row = pvscsi(version);
            assert!(
                row.hypervisor_cycles < 4.0 * 2.9e9 / 1e6,
                "{version}: a million through four worlds"
            );
            assert!(
                row.guest_cycles < 8.0 * 2.9e9 / 1e6,
                "{version}: a million on eight vCPUs"
            );
        }
    }

    #[test]
    fn kinds_are_in_the_order_of_their_sources() {
        for version in [Hypervisor::Esxi50, Hypervisor::Esxi80] {
            let cost = |kind| {
                let row = controller_cycles(version, kind);
                row.guest_cycles + row.hypervisor_cycles
            };
            let ratio = cost(ControllerKind::LsiSas) / cost(ControllerKind::Pvscsi);
            assert!(
                (1.1..1.5).contains(&ratio),
                "{version}: LSI SAS costs {ratio} times PVSCSI"
            );
            assert!(cost(ControllerKind::Ide) > cost(ControllerKind::LsiSas));
        }
    }
}
