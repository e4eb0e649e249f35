//! What a disk is asked to do.

/// An operation for a disk, and what waits behind it.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Bytes to transfer.
    pub bytes: u64,
    /// A write.
    pub write: bool,
    /// It begins where the operation before it of the same kind ended.
    pub sequential: bool,
    /// The disk has done something else since.
    pub is_interrupted: bool,
    /// Operations waiting behind it.
    pub waiting: u32,
}
