//! Host cost of array access, in addition to ports and fabric: protocol software, and multipathing of ESXi.
//!
//! **Mechanism.** Work of the controller's world for each command and each of its bytes, and time of software on both
//! sides that costs this host no CPU. Fibre Channel's work is the adapter's.
//!
//! **Sources.** Latency hardly differs between protocols: NetApp TR-3916 (FC, iSCSI and NFS on ESX 4: within 4% of 4 Gb
//! FC). **Assumptions.** No cycles and no microseconds of a protocol are published with their set-up, nor what the
//! High-Performance Plug-in saves: all numbers below are assumed. A byte of TCP costs as much as one of a pool's
//! network. Figures of one hypervisor are in its `storage.rs`.

use hypertwin_cluster::{Plugin, Protocol};

/// Cycles that the High-Performance Plug-in saves on a command.
const HPP_SAVES: f64 = 2_000.0;

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
    /// That of a protocol, where a hypervisor has no figure of its own.
    pub fn of(protocol: Protocol) -> Self {
        let (cycles, cycles_per_byte, latency_ns) = match protocol {
            Protocol::Fc | Protocol::NvmeFc | Protocol::Local => (0.0, 0.0, 0),
            Protocol::Iscsi => (12_000.0, 0.6, 30_000),
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

#[cfg(test)]
mod tests {
    use super::ProtocolCost;
    use hypertwin_cluster::Protocol;

    #[test]
    fn fibre_channel_costs_the_host_nothing_beside_the_controller() {
        assert_eq!(ProtocolCost::of(Protocol::Fc), ProtocolCost::default());
        let [tcp, iscsi] = [Protocol::NvmeTcp, Protocol::Iscsi].map(ProtocolCost::of);
        assert!(tcp.cycles < iscsi.cycles && tcp.latency_ns < iscsi.latency_ns);
    }
}
