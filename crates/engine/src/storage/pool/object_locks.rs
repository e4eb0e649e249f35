//! Locks of objects in Ceph: a read waits for the writes of its object that are under way, later writes for the read.
//!
//! **Mechanism.** The primary OSD locks the object of an operation. Any number of writes share the lock, and so do any
//! number of reads. A write holds it until all copies or fragments have the data. A read of copies holds it only while
//! a thread of its shard works on it, which no other operation of the object can meet; a read of an erasure code holds
//! it until all parts are there. No operation passes one that waits for the same object.
//!
//! **Source.** Ceph: `RWState` in `src/osd/object_state.h`, which `PrimaryLogPG::get_rw_locks` takes and
//! `release_object_locks` gives back. **Assumptions.** An operation takes the lock when it joins the queue of its
//! shard, and gives it back when its client has the reply: one message later than in Ceph.

use crate::ids::IoId;
use crate::storage::queue::Fifo;
use crate::storage::request::{Io, Requests, Role};
use std::collections::BTreeMap;

/// The objects that operations hold or wait for, by their names.
#[derive(Default)]
pub struct ObjectLocks {
    objects: BTreeMap<u64, Lock>,
}

#[derive(Default)]
struct Lock {
    /// Writes, or reads, that hold it.
    holders: u32,
    is_write: bool,
    waiting: Fifo,
}

impl Lock {
    fn admits(&self, write: bool) -> bool {
        self.holders == 0 || self.is_write == write
    }

    fn admit(&mut self, io: &Io) {
        if holds(io) {
            self.holders += 1;
            self.is_write = io.write;
        }
    }
}

/// Whether an operation still holds the lock of its object when its shard is done with it.
pub fn holds(io: &Io) -> bool {
    io.write || io.role == Role::Primary
}

impl ObjectLocks {
    /// Locks an object for an operation. `false` if the operation has to wait for the lock.
    pub fn take(&mut self, object: u64, id: IoId, requests: &mut Requests) -> bool {
        let io = &requests[id];
        if !holds(io) && !self.objects.contains_key(&object) {
            return true;
        }
        let lock = self.objects.entry(object).or_default();
        if !lock.waiting.is_empty() || !lock.admits(io.write) {
            lock.waiting.push(requests, id);
            return false;
        }
        lock.admit(io);
        true
    }

    /// One that held an object's lock gives it back. Returns the operations that have the lock now.
    pub fn release(&mut self, object: u64, requests: &mut Requests) -> Fifo {
        let mut admitted = Fifo::default();
        let lock = self.objects.get_mut(&object).expect("a lock that is held");
        lock.holders -= 1;
        if lock.holders > 0 {
            return admitted;
        }
        while let Some(first) = lock.waiting.first()
            && lock.admits(requests[first].write)
        {
            lock.waiting.pop(requests);
            lock.admit(&requests[first]);
            admitted.push(requests, first);
        }
        if lock.holders == 0 {
            self.objects.remove(&object);
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::ObjectLocks;
    use crate::ids::{Id, IoId, VdiskId};
    use crate::storage::request::{Issuer, Requests, Role};

    const OBJECT: u64 = 7;

    #[derive(Default)]
    struct Primary {
        locks: ObjectLocks,
        requests: Requests,
    }

    impl Primary {
        /// An operation of the object comes; whether it has the lock.
        fn comes(&mut self, role: Role, write: bool) -> (IoId, bool) {
            let request = self.requests.allocate(Issuer::Nobody, VdiskId::new(0));
            let id = self.requests.part_of(request, role);
            self.requests[id].write = write;
            (id, self.locks.take(OBJECT, id, &mut self.requests))
        }

        /// One that held the lock is over; those that have it now.
        fn ends(&mut self) -> Vec<IoId> {
            let mut admitted = self.locks.release(OBJECT, &mut self.requests);
            std::iter::from_fn(|| admitted.pop(&self.requests)).collect()
        }
    }

    #[test]
    fn writes_share_an_object_and_a_read_waits_for_all_of_them() {
        let mut primary = Primary::default();
        assert!(primary.comes(Role::Leg, false).1, "no write is under way");
        assert!(primary.comes(Role::Leg, true).1 && primary.comes(Role::Leg, true).1);
        let (read, has_it) = primary.comes(Role::Leg, false);
        assert!(!has_it);
        let (write, has_it) = primary.comes(Role::Leg, true);
        assert!(!has_it, "it does not pass the read");
        let (later, _) = primary.comes(Role::Leg, false);
        assert!(primary.ends().is_empty());
        assert_eq!(primary.ends(), [read, write], "a read of copies does not keep the lock");
        assert_eq!(primary.ends(), [later]);
        assert!(primary.locks.objects.is_empty());
    }

    #[test]
    fn a_read_of_a_code_keeps_its_object_from_writes() {
        let mut primary = Primary::default();
        assert!(primary.comes(Role::Primary, false).1 && primary.comes(Role::Primary, false).1);
        let (write, has_it) = primary.comes(Role::Primary, true);
        assert!(!has_it);
        assert!(primary.ends().is_empty());
        assert_eq!(primary.ends(), [write]);
        assert!(primary.ends().is_empty());
        assert!(primary.locks.objects.is_empty());
    }
}
