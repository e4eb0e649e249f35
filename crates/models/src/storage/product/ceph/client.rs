//! CPU cost of a Ceph client on its host.
//!
//! **Sources.** One VM did 123,000 reads of 16 KiB per second through librbd, and 64,100 writes (ceph.io, "QEMU/KVM
//! performance with librbd", 2022). Its threads work beside QEMU's, so an I/O thread is held up for less than the total
//! cost of librbd. krbd queues the work of a request on the CPU of the thread that submits it (`rbd_queue_rq` in
//! drivers/block/rbd.c), so QEMU's I/O thread pays for it: one VM did 61,500 reads of 4 KiB per second
//! (studies/ceph-vm-tails), which sets krbd's cycles. **Assumptions.** No client publishes cycles: librbd's and the
//! gateway's are assumed.

use hypertwin_cluster::CephClient;

/// Cycles of a client's host for an I/O without its bytes. Of a gateway's client: of NVMe over TCP, the rest is the
/// gateway's.
pub const fn client_cycles(client: CephClient) -> f64 {
    match client {
        CephClient::Librbd => 25_000.0,
        CephClient::Krbd => 27_000.0,
        CephClient::Gateway => 8_000.0,
    }
}
