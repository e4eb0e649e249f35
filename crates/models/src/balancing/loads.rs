//! Loads of hosts and VMs, and what moves make of them.

/// CPU in MHz, and memory in bytes.
pub type Amounts = [f64; 2];

/// What a host has for VMs, and what they want of it.
#[derive(Clone, Copy, Debug)]
pub struct HostLoad {
    /// What it has.
    pub capacity: Amounts,
    /// What they want.
    pub load: Amounts,
}

/// A VM on a host.
#[derive(Clone, Copy, Debug)]
pub struct VmLoad {
    /// Position of its host.
    pub host: usize,
    /// What it wants.
    pub load: Amounts,
    /// CPU that migrating it costs both hosts, in MHz x seconds.
    pub cost: f64,
}

/// A VM and the host that it should migrate to, by their positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The VM.
    pub vm: usize,
    /// The host.
    pub to: usize,
}

/// A cluster after some moves.
pub(super) struct State {
    pub hosts: Vec<HostLoad>,
    pub vms: Vec<VmLoad>,
    pub moved: Vec<Move>,
}

impl State {
    pub fn carry_out(&mut self, next: Move) {
        let vm = &mut self.vms[next.vm];
        for resource in 0..2 {
            self.hosts[vm.host].load[resource] -= vm.load[resource];
            self.hosts[next.to].load[resource] += vm.load[resource];
        }
        vm.host = next.to;
        self.moved.push(next);
    }

    /// The allowed move with the highest worth, of those above `least`; of equals, the first.
    pub fn best(
        &self,
        allowed: &impl Fn(Move, &[Move]) -> bool,
        least: f64,
        worth: impl Fn(Move) -> f64,
    ) -> Option<Move> {
        let mut best = (least, None);
        for vm in 0..self.vms.len() {
            if self.moved.iter().any(|moved| moved.vm == vm) {
                continue;
            }
            for to in (0..self.hosts.len()).filter(|&to| to != self.vms[vm].host) {
                let candidate = Move { vm, to };
                let worth = worth(candidate);
                if worth > best.0 && allowed(candidate, &self.moved) {
                    best = (worth, Some(candidate));
                }
            }
        }
        best.1
    }

    /// Standard deviation over hosts of load over capacity, of each resource, after `then` if there is one.
    pub fn deviation(&self, then: Option<Move>) -> Amounts {
        [0, 1].map(|resource| {
            let of = |(position, host): (usize, &HostLoad)| {
                let shift = then.map_or(0.0, |then| {
                    let vm = &self.vms[then.vm];
                    let comes = f64::from(u8::from(position == then.to)) - f64::from(u8::from(position == vm.host));
                    comes * vm.load[resource]
                });
                (host.load[resource] + shift) / host.capacity[resource]
            };
            let count = self.hosts.len() as f64;
            let sums = self.hosts.iter().enumerate().map(of);
            let (sum, squares) = sums.fold((0.0, 0.0), |(sum, squares), load| (sum + load, squares + load * load));
            (squares / count - (sum / count) * (sum / count)).max(0.0).sqrt()
        })
    }
}
