//! Numbers of things, each of a type of its own, and tables that take only their own: the number of a host finds no VM.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// The number of an entry in a [`Table`].
pub trait Id: Copy {
    fn new(index: usize) -> Self;
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$about:meta])* $name:ident)+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(u32);

        impl Id for $name {
            fn new(index: usize) -> Self {
                Self(index as u32)
            }

            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

ids! {
    /// A host of the cluster.
    HostId
    /// A VM of the cluster.
    VmId
    /// A schedulable entity of the cluster. Schedulers number those of their host (`topology::WorldId`).
    WorldId
    /// A process of a guest.
    ProcessId
    /// A storage pool.
    PoolId
    /// A virtual disk.
    VdiskId
    /// A queue depth on the way to storage.
    DepthId
    /// A LUN with several paths, as one host reaches it.
    LunId
    /// A virtual controller.
    ControllerId
    /// A world that works for virtual controllers.
    IoThreadId
    /// A worker of a generator of I/Os.
    WorkerId
    /// A disk of an array or a pool.
    DiskId
}

/// An I/O or a part of one.
pub type IoId = u32;

/// Neighbours in a table.
#[derive(Clone, Copy, Debug)]
pub struct Span<I> {
    first: I,
    count: u32,
}

impl<I: Id> Span<I> {
    /// The entries from `first` on, as many as `count`.
    pub fn new(first: I, count: usize) -> Self {
        Self {
            first,
            count: count as u32,
        }
    }

    pub fn len(self) -> usize {
        self.count as usize
    }

    /// The first entry, if there is one.
    pub fn start(self) -> I {
        self.first
    }

    /// The entry after the last one.
    pub fn end(self) -> I {
        I::new(self.first.index() + self.len())
    }

    /// The entry at `position`.
    pub fn at(self, position: usize) -> I {
        debug_assert!(position < self.len(), "beyond the span");
        I::new(self.first.index() + position)
    }

    /// The position of an entry; `None` for one outside.
    pub fn position(self, id: I) -> Option<usize> {
        let position = id.index().checked_sub(self.first.index())?;
        (position < self.len()).then_some(position)
    }

    pub fn iter(self) -> impl ExactSizeIterator<Item = I> + DoubleEndedIterator + Clone {
        (self.first.index()..self.first.index() + self.len()).map(I::new)
    }
}

/// A vector whose entries have numbers of the type `I`.
pub struct Table<I, T> {
    entries: Vec<T>,
    numbers: PhantomData<I>,
}

impl<I: Id, T> Table<I, T> {
    pub fn new() -> Self {
        Vec::new().into()
    }

    /// The number that the next entry will have.
    pub fn next_id(&self) -> I {
        I::new(self.entries.len())
    }

    pub fn push(&mut self, entry: T) -> I {
        let id = self.next_id();
        self.entries.push(entry);
        id
    }

    pub fn ids(&self) -> impl ExactSizeIterator<Item = I> + use<I, T> {
        (0..self.entries.len()).map(I::new)
    }
}

impl<I, T> From<Vec<T>> for Table<I, T> {
    fn from(entries: Vec<T>) -> Self {
        Self {
            entries,
            numbers: PhantomData,
        }
    }
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<I: Id, T> FromIterator<T> for Table<I, T> {
    fn from_iter<E: IntoIterator<Item = T>>(entries: E) -> Self {
        Vec::from_iter(entries).into()
    }
}

impl<I, T> Deref for Table<I, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.entries
    }
}

impl<I, T> DerefMut for Table<I, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.entries
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;

    fn index(&self, id: I) -> &T {
        &self.entries[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.entries[id.index()]
    }
}

impl<I: Id, T> Index<Span<I>> for Table<I, T> {
    type Output = [T];

    fn index(&self, span: Span<I>) -> &[T] {
        &self.entries[span.first.index()..][..span.len()]
    }
}
