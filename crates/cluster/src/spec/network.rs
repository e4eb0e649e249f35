//! Ports of a host: to storage arrays, and to other hosts for pool traffic.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Bandwidth, Duration};

/// Ports of a host to storage arrays, and their queue depths. Default: two ports of 8 Gb Fibre Channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Adapters {
    /// Number of ports; LUN n uses port n modulo this number.
    #[schemars(range(min = 1, max = 64))]
    pub ports: u32,
    /// Payload that one port carries in each direction.
    #[schemars(extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub bandwidth: Bandwidth,
    /// Minimum time that a command occupies a port.
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "10 ms"))]
    pub command: Duration,
    /// Outstanding commands per port.
    #[schemars(range(min = 1, max = 65_536))]
    pub depth: u32,
    /// Round-trip latency of the fabric between host and array, without transfer times.
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "1 s"))]
    pub latency: Duration,
    /// Outstanding commands of the host per LUN.
    #[schemars(range(min = 1, max = 4_096))]
    pub lun_depth: u32,
    /// `DSNRO` (ESXi Disk.SchedNumReqOutstanding): outstanding commands of one VM on a LUN that several VMs share.
    #[schemars(range(min = 1, max = 256))]
    pub dsnro: u32,
}

impl Default for Adapters {
    fn default() -> Self {
        Self {
            ports: 2,
            bandwidth: port_bandwidth(),
            command: port_command(),
            depth: 2_048,
            latency: Duration::from_micros(20),
            lun_depth: 64,
            dsnro: 32,
        }
    }
}

/// Network ports of a host for pool traffic. Default: two ports of 10 Gb Ethernet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// Number of ports; each pair of hosts uses one of them.
    #[schemars(range(min = 1, max = 64))]
    pub ports: u32,
    /// Payload that one port carries in each direction.
    #[schemars(extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub bandwidth: Bandwidth,
    /// Latency of a message to another host, without its transfer time: network stacks and switches.
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "1 s"))]
    pub latency: Duration,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            ports: 2,
            bandwidth: Bandwidth::from_bytes_per_s(1_180_000_000),
            latency: Duration::from_micros(50),
        }
    }
}

/// Payload of 8 Gb Fibre Channel.
pub(super) fn port_bandwidth() -> Bandwidth {
    Bandwidth::from_bytes_per_s(800_000_000)
}

/// What one command costs such a port.
pub(super) fn port_command() -> Duration {
    Duration::from_micros(5)
}
