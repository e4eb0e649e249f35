//! Settings of pools of `kind: ceph`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::defaults::{is_default, one, one_f64};
use super::shape::plain_enum;
use crate::quantity::{Bytes, Duration};

/// A Ceph cluster. Each device is an OSD. Absent keys have the release's defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ceph {
    /// Ceph release: sets the CPU cost of operations and the defaults of `scheduler`, `min_alloc` and shards.
    pub release: CephRelease,
    /// Client: how VMs access Ceph.
    pub client: CephClient,
    /// Nodes with a gateway, with `client: gateway`.
    #[schemars(range(min = 1, max = 1_000))]
    pub gateways: u32,
    /// I/O threads (reactors) per gateway.
    #[schemars(range(min = 1, max = 256))]
    pub reactors: u32,
    /// OSDs per device: multiplies shards, messengers and commit threads.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 16))]
    pub osds_per_device: u32,
    /// Messenger threads per OSD (`ms_async_op_threads`).
    #[schemars(range(min = 1, max = 24))]
    pub messengers: u32,
    /// Shards per OSD, which share its placement groups (`osd_op_num_shards`). Default: 8 on flash; 1 on hard disks, 5
    /// before Squid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 64))]
    pub shards: Option<u32>,
    /// Threads per shard (`osd_op_num_threads_per_shard`). Default: 2 on flash; 5 on hard disks, 1 before Squid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 64))]
    pub threads_per_shard: Option<u32>,
    /// Factor on the CPU cost of all operations, relative to the table of releases: other processors, other builds.
    #[serde(skip_serializing_if = "is_default_factor")]
    #[schemars(range(min = 0.01, max = 100.0))]
    pub cpu_factor: f64,
    /// Data is encrypted on devices (dm-crypt).
    #[serde(skip_serializing_if = "is_default")]
    pub encrypt_disks: bool,
    /// Messages are encrypted (msgr2 `secure`).
    #[serde(skip_serializing_if = "is_default")]
    pub encrypt_wire: bool,
    /// BlueStore allocation unit. Default: 4 KiB; before Pacific 16 KiB on flash and 64 KiB on hard disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "4 KiB", "x-maximum" = "1 MiB"))]
    pub min_alloc: Option<Bytes>,
    /// Deferred writes: smaller writes go to the log first and to their place later (`bluestore_prefer_deferred_size`).
    /// Default: none on flash, 64 KiB on hard disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bytes", extend("x-minimum" = "0 B", "x-maximum" = "16 MiB"))]
    pub deferred_below: Option<Bytes>,
    /// Erasure coding: reads only the fragments needed and writes partial stripes (`allow_ec_optimizations`, Tentacle
    /// and later).
    #[serde(skip_serializing_if = "is_default")]
    pub ec_optimizations: bool,
    /// Placement groups. Default: about 100 copies or fragments of groups per OSD (autoscaler target).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 200_000))]
    pub placement_groups: Option<u32>,
    /// OSD scheduler. Default: `mclock`; `wpq` before Quincy.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CephScheduler")]
    pub scheduler: Option<CephScheduler>,
    /// mClock profile: split between clients and recovery.
    pub profile: MclockProfile,
    /// Device capacity that mClock assumes for each OSD, in IOPS. Default: 21,500 on flash, 315 on hard disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 1.0, max = 10_000_000.0))]
    pub device_iops: Option<f64>,
    /// Concurrent backfills per device, as target and as source (`osd_max_backfills`).
    #[schemars(range(min = 1, max = 1_000))]
    pub max_backfills: u32,
    /// Concurrent recovery operations per device, in objects. Default: 10 on flash, 3 on hard disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 1_000))]
    pub recovery_max_active: Option<u32>,
    /// WPQ: pause between objects. Default: none on flash, 100 ms on hard disks, 25 ms on hard disks with a log on
    /// flash.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 us", "x-maximum" = "10 s"))]
    pub recovery_sleep: Option<Duration>,
    /// Deep scrub interval: all data of the pool is read once in it (`osd_deep_scrub_interval`; Ceph ships with 7 d).
    /// Default: no deep scrub.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "1 h", "x-maximum" = "365 d"))]
    pub deep_scrub: Option<Duration>,
    /// Nearfull ratio, in % (`mon_osd_nearfull_ratio`). Usable capacity ends there.
    #[schemars(range(min = 1.0, max = 100.0))]
    pub nearfull_pct: f64,
}

impl Default for Ceph {
    fn default() -> Self {
        Self {
            release: CephRelease::Squid,
            client: CephClient::Librbd,
            gateways: 4,
            reactors: 4,
            osds_per_device: one(),
            messengers: 3,
            shards: None,
            threads_per_shard: None,
            cpu_factor: one_f64(),
            encrypt_disks: false,
            encrypt_wire: false,
            min_alloc: None,
            deferred_below: None,
            ec_optimizations: false,
            placement_groups: None,
            scheduler: None,
            profile: MclockProfile::Balanced,
            device_iops: None,
            max_backfills: one(),
            recovery_max_active: None,
            recovery_sleep: None,
            deep_scrub: None,
            nearfull_pct: 85.0,
        }
    }
}

/// Values that follow from the release and the device unless set.
impl Ceph {
    /// Shards of an OSD.
    pub fn shards_on(&self, is_flash: bool) -> u32 {
        self.shards.unwrap_or(match is_flash {
            true => 8,
            // Ceph pull request 58509, 2024.
            false if self.release >= CephRelease::Squid => 1,
            false => 5,
        })
    }

    /// Threads of each shard.
    pub fn threads_per_shard_on(&self, is_flash: bool) -> u32 {
        self.threads_per_shard.unwrap_or(match is_flash {
            true => 2,
            false if self.release >= CephRelease::Squid => 5,
            false => 1,
        })
    }

    /// Threads of an OSD: messengers, shard threads and the commit thread.
    pub fn threads_on(&self, is_flash: bool) -> u32 {
        self.messengers + self.shards_on(is_flash) * self.threads_per_shard_on(is_flash) + 1
    }

    /// BlueStore allocation unit.
    pub fn min_alloc_on(&self, is_flash: bool) -> Bytes {
        self.min_alloc.unwrap_or(Bytes::new(match is_flash {
            _ if self.release >= CephRelease::Pacific => 4 << 10,
            true => 16 << 10,
            false => 64 << 10,
        }))
    }

    /// Size below which a write is deferred: small, or less than the allocation unit.
    pub fn deferred_on(&self, is_flash: bool) -> Bytes {
        let preferred = self.deferred_below.unwrap_or(Bytes::new(match is_flash {
            true => 0,
            false => 64 << 10,
        }));
        preferred.max(self.min_alloc_on(is_flash))
    }

    /// Scheduler of its OSDs.
    pub fn scheduler(&self) -> CephScheduler {
        self.scheduler.unwrap_or(match self.release < CephRelease::Quincy {
            true => CephScheduler::Wpq,
            false => CephScheduler::Mclock,
        })
    }

    /// Objects that an OSD recovers concurrently.
    pub fn recovery_max_active_on(&self, is_flash: bool) -> u32 {
        self.recovery_max_active.unwrap_or(if is_flash { 10 } else { 3 })
    }

    /// Placement groups that an OSD scrubs concurrently (`osd_max_scrubs`).
    pub fn max_scrubs(&self) -> u32 {
        if self.release >= CephRelease::Reef { 3 } else { 1 }
    }

    /// Pause between objects that an OSD recovers; `has_log` if its log is on flash.
    pub fn recovery_sleep_on(&self, is_flash: bool, has_log: bool) -> Duration {
        let shipped = match (is_flash, has_log) {
            (true, _) => 0,
            (false, true) => 25,
            (false, false) => 100,
        };
        match self.scheduler() {
            CephScheduler::Wpq => self.recovery_sleep.unwrap_or(Duration::from_millis(shipped)),
            // Ignores all sleeps.
            CephScheduler::Mclock => Duration::from_millis(0),
        }
    }
}

/// Release of Ceph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum CephRelease {
    /// 12 (2017), of Red Hat Ceph Storage 3.
    Luminous,
    /// 14 (2019), of Red Hat Ceph Storage 4.
    Nautilus,
    /// 15 (2020).
    Octopus,
    /// 16 (2021).
    Pacific,
    /// 17 (2022).
    Quincy,
    /// 18 (2023).
    Reef,
    /// 19 (2024).
    Squid,
    /// 20 (2025).
    Tentacle,
}

/// How VMs access Ceph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum CephClient {
    /// Library in the QEMU process of each VM.
    Librbd,
    /// Driver of the host's kernel.
    Krbd,
    /// NVMe over TCP, through gateways on the nodes.
    Gateway,
}

/// Scheduler of an OSD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum CephScheduler {
    /// Weighted priority queue. Recovery sleeps between objects.
    Wpq,
    /// Reservations, weights and limits for clients, recovery and best-effort work.
    Mclock,
}

/// mClock profile: split between clients and recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum MclockProfile {
    /// 50% each.
    Balanced,
    /// 60% for clients, at twice the weight.
    HighClientOps,
    /// 30% for clients, at half the weight.
    HighRecoveryOps,
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

fn is_default_factor(factor: &f64) -> bool {
    (*factor - 1.0).abs() < f64::EPSILON
}

#[cfg(test)]
mod tests {
    use super::{Ceph, CephRelease};
    use crate::quantity::Bytes;

    #[test]
    fn what_is_not_said_is_as_the_release_ships_it() {
        let of = |release| Ceph {
            release,
            ..Ceph::default()
        };
        let threads = |release, is_flash| {
            let ceph = of(release);
            (ceph.shards_on(is_flash), ceph.threads_per_shard_on(is_flash))
        };
        assert_eq!(threads(CephRelease::Squid, true), (8, 2));
        assert_eq!(threads(CephRelease::Squid, false), (1, 5));
        assert_eq!(threads(CephRelease::Reef, false), (5, 1));
        assert_eq!(of(CephRelease::Reef).threads_on(true), 3 + 16 + 1);
        assert_eq!(of(CephRelease::Reef).max_scrubs(), 3);
        assert_eq!(of(CephRelease::Quincy).max_scrubs(), 1);
        let kib = |bytes: Bytes| bytes.bytes() >> 10;
        let deferred = |release, is_flash| kib(of(release).deferred_on(is_flash));
        assert_eq!(deferred(CephRelease::Pacific, true), 4);
        assert_eq!(deferred(CephRelease::Octopus, true), 16);
        assert_eq!(deferred(CephRelease::Pacific, false), 64);
        let said = Ceph {
            min_alloc: Some(Bytes::new(16 << 10)),
            deferred_below: Some(Bytes::new(8 << 10)),
            shards: Some(4),
            threads_per_shard: Some(3),
            ..Ceph::default()
        };
        assert_eq!((kib(said.deferred_on(true)), said.threads_on(true)), (16, 16));
    }
}
