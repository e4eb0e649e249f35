//! Pages with waiters.

use super::pages::Away;
use crate::ids::{HostId, ProcessId, VmId};
use crate::vcpu::Vcpu;
use std::ops::{Index, IndexMut};

/// Who waits for pages.
#[derive(Clone, Copy, Debug)]
pub enum Waiter {
    Vcpu(Vcpu),
    Process(ProcessId),
}

/// A fault: pages with a waiter.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub vm: VmId,
    pub life: u32,
    pub waiter: Waiter,
    pub away: Away,
    pub left: u64,
}

/// What follows in a fault.
#[derive(Clone, Copy, Debug)]
pub enum Paging {
    /// A page is read from the swap device of a host.
    Read(HostId),
    /// Nothing until there is memory, or nothing ever.
    Nothing,
    /// All pages are there.
    Done(Waiter),
}

/// All faults, by number.
#[derive(Default)]
pub struct Faults {
    faults: Vec<Fault>,
    free: Vec<u32>,
}

impl Faults {
    pub fn add(&mut self, fault: Fault) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.faults[number as usize] = fault;
                number
            }
            None => {
                self.faults.push(fault);
                (self.faults.len() - 1) as u32
            }
        }
    }
    /// A fault is over.
    pub fn release(&mut self, number: u32) {
        self.free.push(number);
    }
}

impl Index<u32> for Faults {
    type Output = Fault;

    fn index(&self, number: u32) -> &Fault {
        &self.faults[number as usize]
    }
}

impl IndexMut<u32> for Faults {
    fn index_mut(&mut self, number: u32) -> &mut Fault {
        &mut self.faults[number as usize]
    }
}
