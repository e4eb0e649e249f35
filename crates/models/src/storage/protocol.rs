//! Host cost of array access, in addition to ports and fabric: protocol software, and multipathing of ESXi.
//!
//! **Mechanism.** Work of the controller's world for each command and each of its bytes, and time of software on both
//! sides that costs this host no CPU. Fibre Channel's work is the adapter's.
//!
//! **Sources.** Latency hardly differs between protocols: NetApp TR-3916 (FC, iSCSI and NFS on ESX 4: within 4% of 4 Gb
//! FC). Default use of the High-Performance Plug-in: VMware's pages on it for 6.7, 7.0 and 8.0 (NVMe over fabrics from
//! 7.0, local NVMe from 7.0 U2). **Assumptions.** No cycles and no microseconds of a protocol are published with their
//! set-up, nor what the plug-in saves. All numbers below are assumed, except the cycles of ESXi with NVMe over TCP,
//! which give the published ratio of a saturated server with ESXi 7.0 to one with Proxmox VE 7.2 (Blockbridge, 2022). A
//! byte of TCP costs as much as one of a pool's network.

use hypertwin_cluster::{DiskKind, Family, Hypervisor, Plugin, Protocol};

/// Cycles that the High-Performance Plug-in saves on a command.
const HPP_SAVES: f64 = 2_000.0;

/// Cycles of ESXi for a command of NVMe over TCP, the network included.
const ESXI_NVME_TCP: f64 = 35_000.0;

/// Cycles of Linux for a command to its own disk, beside what a RAM disk costs: the interrupt, and the completion
/// through block layer and event. A command of NVMe costs 9,100 in all, of which a RAM disk has 2,500 (assumed): the
/// call, and a copy of a page.
const LINUX_LOCAL: f64 = 6_600.0;

/// What a command costs the host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProtocolCost {
    /// Cycles of the controller's world for a command.
    pub cycles: f64,
    /// Likewise for each of its bytes.
    pub cycles_per_byte: f64,
    /// Time there and back.
    pub latency_ns: u64,
}

impl ProtocolCost {
    /// That of a protocol on a host of this family.
    pub fn of(protocol: Protocol, family: Family) -> Self {
        let (cycles, cycles_per_byte, latency_ns) = match protocol {
            Protocol::Local if family == Family::Linux => (LINUX_LOCAL, 0.0, 0),
            Protocol::Fc | Protocol::NvmeFc | Protocol::Local => (0.0, 0.0, 0),
            Protocol::Iscsi => (12_000.0, 0.6, 30_000),
            Protocol::NvmeTcp if family == Family::Esxi => (ESXI_NVME_TCP, 0.6, 20_000),
            Protocol::NvmeTcp => (8_000.0, 0.6, 20_000),
            Protocol::NvmeRdma => (2_000.0, 0.0, 5_000),
        };
        Self {
            cycles,
            cycles_per_byte,
            latency_ns,
        }
    }

    /// The same with the multipathing of a host: cheaper with the High-Performance Plug-in.
    #[must_use]
    pub fn with_plugin(mut self, plugin: Option<Plugin>) -> Self {
        if plugin == Some(Plugin::Hpp) {
            self.cycles -= HPP_SAVES;
        }
        self
    }
}

/// True if a thread of the host handles a completion before the VM hears of it: always of QEMU and of vhost, on ESXi
/// only where TCP is software. An adapter's interrupt brings the others to the VM.
pub fn completes_by_thread(protocol: Protocol, family: Family) -> bool {
    family != Family::Esxi || matches!(protocol, Protocol::Iscsi | Protocol::NvmeTcp)
}

/// The multipathing of a host for disks that it reaches so; `None` where that is not ESXi.
pub fn plugin(asked: Option<Plugin>, host: Hypervisor, protocol: Protocol, kind: DiskKind) -> Option<Plugin> {
    let hpp_since = match protocol {
        Protocol::NvmeFc | Protocol::NvmeTcp | Protocol::NvmeRdma => Some([7, 0, 0]),
        Protocol::Local if kind == DiskKind::Nvme => Some([7, 0, 2]),
        Protocol::Fc | Protocol::Iscsi | Protocol::Local => None,
    };
    let default = match hpp_since {
        Some(since) if host.version() >= since => Plugin::Hpp,
        _ => Plugin::Nmp,
    };
    (host.family() == Family::Esxi).then(|| asked.unwrap_or(default))
}

#[cfg(test)]
mod tests {
    use super::{ProtocolCost, completes_by_thread, plugin};
    use hypertwin_cluster::{DiskKind, Family, Hypervisor, Plugin, Protocol};

    #[test]
    fn fibre_channel_costs_the_host_nothing_beside_the_controller() {
        assert_eq!(ProtocolCost::of(Protocol::Fc, Family::Esxi), ProtocolCost::default());
        let [tcp, iscsi] =
            [Protocol::NvmeTcp, Protocol::Iscsi].map(|protocol| ProtocolCost::of(protocol, Family::Linux));
        assert!(tcp.cycles < iscsi.cycles && tcp.latency_ns < iscsi.latency_ns);
    }

    #[test]
    fn only_software_needs_a_thread_for_completions_on_esxi() {
        assert!(completes_by_thread(Protocol::Fc, Family::Linux));
        assert!(completes_by_thread(Protocol::NvmeTcp, Family::Esxi));
        assert!(!completes_by_thread(Protocol::Fc, Family::Esxi));
        assert!(!completes_by_thread(Protocol::Local, Family::Esxi));
    }

    #[test]
    fn the_plug_in_is_that_of_the_version() {
        let hosts = ["esxi-6.7", "esxi-7.0", "esxi-7.0u2", "esxi-8.0", "linux-6.12"];
        let of = |protocol, kind| {
            hosts.map(|host| {
                let known = Hypervisor::ALL.iter().find(|known| known.as_str() == host);
                plugin(None, *known.expect("a known version"), protocol, kind)
            })
        };
        let (nmp, hpp) = (Some(Plugin::Nmp), Some(Plugin::Hpp));
        assert_eq!(of(Protocol::NvmeTcp, DiskKind::Nvme), [nmp, hpp, hpp, hpp, None]);
        assert_eq!(of(Protocol::Local, DiskKind::Nvme), [nmp, nmp, hpp, hpp, None]);
        assert_eq!(of(Protocol::Local, DiskKind::SataSsd), [nmp, nmp, nmp, nmp, None]);
        assert_eq!(of(Protocol::Fc, DiskKind::Nvme), [nmp, nmp, nmp, nmp, None]);
    }
}
