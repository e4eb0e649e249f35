//! The wire between memory and the rest: bursts that miss pages, pages that come and go, and VMs that are killed for
//! them.

use crate::guest::PagedBy;
use crate::ids::{HostId, VmId};
use crate::reclaim::{Away, DECOMPRESS_NS, Paging, Waiter};
use crate::simulation::Simulation;
use crate::vcpu::Vcpu;

impl Simulation {
    /// A host looks after its memory.
    pub fn on_reclaim(&mut self, host: HostId) {
        let guests = &self.guests;
        let killed = self
            .reclaim
            .on_tick(host, |vm| guests.cpu_begun_ns(vm), &mut self.clock);
        if let Some(vm) = killed {
            self.stop_vm(vm);
        }
        while let Some(fault) = self.reclaim.unblocked(host) {
            let next = self.reclaim.next_page(fault, &mut self.clock);
            self.page(fault, next);
        }
        self.write_pages(host);
    }

    /// The burst on a vCPU has done its work: what it misses of its memory is fetched. Whether the vCPU goes on with
    /// something else meanwhile; `None` if it misses nothing.
    pub fn miss(&mut self, vcpu: Vcpu) -> Option<bool> {
        let (vm, now) = (vcpu.vm, self.clock.now);
        while let Some((by, cpu_ns)) = self.guests.next_misses(vcpu) {
            let away = match by {
                PagedBy::Guest => Away::Ballooned,
                PagedBy::Host => {
                    let compressed = self.reclaim.misses(vm, Away::Compressed, cpu_ns, now);
                    self.guests.owe(vm, compressed as f64 * DECOMPRESS_NS);
                    Away::Swapped
                }
            };
            let pages = self.reclaim.misses(vm, away, cpu_ns, now);
            if pages == 0 {
                continue;
            }
            let (waiter, goes_on) = match by {
                PagedBy::Guest => {
                    let (process, next) = self.guests.wait_for_pages(vcpu, &self.clock);
                    (Waiter::Process(process), self.cpu.go_on_with(vcpu, next))
                }
                PagedBy::Host => {
                    self.cpu.begin_paging(vcpu);
                    (Waiter::Vcpu(vcpu), false)
                }
            };
            let fault = self.reclaim.wait(vm, waiter, away, pages);
            let next = self.reclaim.next_page(fault, &mut self.clock);
            self.page(fault, next);
            return Some(goes_on);
        }
        None
    }

    /// A page of a fault has been read.
    pub fn on_page_read(&mut self, fault: u32) {
        let next = self.reclaim.page_read(fault, &mut self.clock);
        self.page(fault, next);
    }

    /// A host has written pages, and writes more.
    pub fn on_pages_written(&mut self, host: HostId) {
        self.reclaim.written(host);
        self.write_pages(host);
    }

    fn page(&mut self, fault: u32, next: Paging) {
        match next {
            Paging::Nothing => {}
            Paging::Read(host) => self.storage.read_page(host, fault, &mut self.clock),
            Paging::Done(Waiter::Process(process)) => self.clock.wake(process),
            Paging::Done(Waiter::Vcpu(vcpu)) => self.cpu.end_paging(vcpu, &mut self.guests, &mut self.clock),
        }
    }

    fn write_pages(&mut self, host: HostId) {
        while let Some(bytes) = self.reclaim.next_write(host) {
            self.storage.write_pages(host, bytes, &mut self.clock);
        }
    }

    /// A VM that comes to a host has its memory there.
    pub fn give_memory(&mut self, vm: VmId, host: HostId) {
        let cpu_ns = self.guests.cpu_begun_ns(vm);
        self.reclaim.add(vm, host, cpu_ns, &mut self.clock);
        self.write_pages(host);
    }
}
