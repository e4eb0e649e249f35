//! What the benchmarks of the kernel and its theory tests share: a queueing network built on the kernel, and the same
//! models as bare loops over `std::collections::BinaryHeap`.

pub mod bare;
pub mod network;
