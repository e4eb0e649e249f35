//! The parts of the I/O path, one file each: virtual controllers, links, paths, an array's cache and RAID groups,
//! disks, erasure coding. What queues where is the engine's business; these say how long a thing takes and what it
//! costs.
//!
//! - `virtual_controller/`: what a request costs guest and hypervisor, by kind and version; who works on it; when a
//!   completion interrupts
//! - `link.rs`, `array.rs`: links; an array's cache and RAID groups
//! - `disk/`: disks by kind and by model
//! - `multipath.rs`, `protocol.rs`: which path to a LUN an I/O takes; what its protocol costs the host
//! - `placement.rs`, `stripe.rs`, `coding.rs`: where copies and fragments go; what a small write reads; what coding
//!   costs
//! - `product/`: products of distributed storage, with what only one of them does
//! - `destaging.rs`: a write buffer that is overwritten and swept in order of address
//! - `durability.rs`: loss of data in closed form

pub mod array;
pub mod coding;
pub mod destaging;
pub mod disk;
pub mod durability;
pub mod link;
pub mod multipath;
pub mod placement;
pub mod product;
pub mod protocol;
pub mod stripe;
pub mod virtual_controller;
