//! Ports of a host: to storage arrays, and to other hosts for the traffic of pools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Bandwidth, Duration};

/// Ports by which a host reaches arrays, and how many commands it keeps outstanding. The defaults are two ports of 8 Gb
/// Fibre Channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Adapters {
    /// Ports in all; LUN n uses port n modulo this number.
    #[schemars(range(min = 1, max = 64))]
    pub ports: u32,
    /// Payload that one port carries in each direction.
    #[schemars(extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub bandwidth: Bandwidth,
    /// Shortest time that one command occupies a port, however small.
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "10 ms"))]
    pub command: Duration,
    /// Commands outstanding on one port.
    #[schemars(range(min = 1, max = 65_536))]
    pub depth: u32,
    /// Fabric between host and array: the way there and back, without transfer times.
    #[schemars(extend("x-minimum" = "0 us", "x-maximum" = "1 s"))]
    pub latency: Duration,
    /// Commands that the host keeps outstanding on one LUN.
    #[schemars(range(min = 1, max = 4_096))]
    pub lun_depth: u32,
    /// `DSNRO` (ESXi Disk.SchedNumReqOutstanding): commands of one machine outstanding on a LUN that several machines
    /// share.
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

/// Network ports of a host for the traffic of pools. The default is two ports of 10 Gb Ethernet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// Ports in all; every pair of hosts uses one of them.
    #[schemars(range(min = 1, max = 64))]
    pub ports: u32,
    /// Payload that one port carries in each direction.
    #[schemars(extend("x-minimum" = "1 MB/s", "x-maximum" = "1 TB/s"))]
    pub bandwidth: Bandwidth,
    /// Time of a message to another host without its transfer: network stacks and switches.
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
