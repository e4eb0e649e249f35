//! The parts of the I/O path, one file each: virtual controllers, links, an array's cache and RAID groups, disks,
//! erasure coding. What queues where is the engine's business; these say how long a thing takes and what it costs.

pub mod array;
pub mod coding;
pub mod disk;
pub mod durability;
pub mod link;
pub mod placement;
pub mod stripe;
pub mod virtual_controller;
