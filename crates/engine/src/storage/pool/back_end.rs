//! Back ends of vSAN: what lies between where a write is acknowledged and its place, and which devices a component is
//! on.

use super::buffer::DiskGroups;
use super::data_placement::Layout;
use crate::metrics::reports;
use bitcode::{Decode, Encode};
use hypertwin_models::storage::product::vsan::LINE;
use serde::Serialize;

/// What only pools of vSAN have.
pub struct Vsan {
    pub back_end: BackEnd,
    /// Virtual disks so far: of each layout where a VM has several of them, or else of all.
    pub objects: Vec<u64>,
    /// Failure domains are sites: reads go to the copy in the site of the VM.
    pub is_stretched: bool,
}

/// How writes reach their places.
pub enum BackEnd {
    Original(DiskGroups),
    Express(Log),
}

/// The log of the express architecture, as far as it still has to go to its places.
pub struct Log {
    /// Per device: bytes that full stripes will bring it.
    pub due: Vec<f64>,
    /// Bytes of stripes since measuring began.
    pub striped: u64,
}

impl Log {
    pub fn new(devices: usize) -> Self {
        Self {
            due: vec![0.0; devices],
            striped: 0,
        }
    }
}

reports! {
    /// The way of a vSAN pool from where writes are acknowledged to the devices.
    #[derive(Clone, Debug, Serialize, Encode, Decode)]
    pub struct BackEndReport {
        /// vSAN only: `cache-devices` of disk groups, or the mirrored `log` of the express architecture.
        pub acknowledged_from: String = "Writes acknowledged from";
        /// Mean fill level of the write buffers of vSAN's disk groups, at the end of the run or at a sample.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub buffer_pct: Option<f64> = "Write buffer", "%";
        /// Writes to disk groups of vSAN that replaced data still in the write buffer, and so save a write to devices.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub overwritten_pct: Option<f64> = "Overwritten", "%";
        /// vSAN: data that write buffers, or the log as full stripes, wrote to the devices.
        pub destage_mb_per_s: f64 = "Destaged", "MB/s";
    }
}

/// A part of all, in per cent; nothing of nothing.
pub fn share_pct(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| 100.0 * part as f64 / all as f64)
}

/// Numbers by which virtual disks of more than one component spread them: any that shares no factor with the number of
/// groups does.
const NEXT_COMPONENT: u64 = 7_919;

impl Layout {
    /// The group of a place of a virtual disk of vSAN, and the member whose turn it is. A virtual disk has all of a
    /// component's bytes on the same devices; stripes, and copies that are read, take turns on them.
    ///
    /// Groups of an erasure code are the turns of a few: as many after one another have the same devices.
    pub fn component(&self, key: u64, place: u64) -> (u32, u8) {
        let (groups, width) = (self.groups.len() as u64, self.width as u64);
        let object = key.wrapping_add((place / self.span).wrapping_mul(NEXT_COMPONENT));
        let start = self.groups.start as u32;
        match self.code {
            None => (start + (object % groups) as u32, (place / LINE % width) as u8),
            Some(code) => {
                let row = place / (code.fragment * code.data as u64);
                let base = object % (groups / width);
                (start + (base * width + row % width) as u32, 0)
            }
        }
    }
}

/// The devices of groups of an erasure code so that each is followed by its turns.
pub fn with_turns(dealt: &[u32], width: usize) -> Vec<u32> {
    let mut turns = Vec::with_capacity(dealt.len() * width);
    for group in dealt.chunks(width) {
        for turn in 0..width {
            turns.extend((0..width).map(|position| group[(position + turn) % width]));
        }
    }
    turns
}
