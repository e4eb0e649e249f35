//! Chunk stores: large chunks, whose metadata servers need a majority (Virtuozzo Storage); else as a mirrored mesh.

use super::interface::Product;
use super::mesh;

/// A chunk store.
pub(super) const CHUNK_STORE: Product = Product {
    needs_majority: true,
    replaces_failed_disks: false,
    ..mesh::MESH
};
