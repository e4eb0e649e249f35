//! Products of distributed storage: what the engine asks of one, a file or folder each. [`product`] is the only place
//! that asks for the kind of a pool; defaults of its keys are in `crates/cluster/src/spec/pool_kind.rs`.
//!
//! | file | contents |
//! |---|---|
//! | `interface.rs` | the interface |
//! | `mesh.rs`, `chunk_store.rs` | mirrored meshes (ScaleIO); chunk stores (Virtuozzo Storage) |
//! | `ceph/`, `qos.rs` | Ceph: cost of operations; order of service |
//! | `vsan/` | vSAN: sizes and shares, votes, resynchronisation |

pub mod ceph;
mod chunk_store;
mod interface;
mod mesh;
pub mod qos;
pub mod vsan;

pub use interface::{Backfill, CpuCost, Most, Product, Stored};

use hypertwin_cluster::PoolKind;

/// The product of a kind of pool.
pub const fn product(kind: PoolKind) -> &'static Product {
    match kind {
        PoolKind::MirroredMesh => &mesh::MESH,
        PoolKind::ChunkStore => &chunk_store::CHUNK_STORE,
        PoolKind::Ceph => &ceph::CEPH,
        PoolKind::Vsan => &vsan::VSAN,
    }
}
