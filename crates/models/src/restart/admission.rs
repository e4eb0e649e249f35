//! Admission control: whether a cluster keeps room for the VMs of hosts that fail.
//!
//! **Mechanism.** By *slots*: the largest CPU reservation and the largest memory reservation with overhead are a slot; a host has
//! as many as fit by both, and so many of the largest hosts may fail as leave a slot for each VM. By *percentage*: what is not
//! reserved, over all, for each resource. Both look at reservations, never at use. Source: VMware, "vSphere Availability" 6.7,
//! pp. 23-25; a VM without CPU reservation counts as 32 MHz, without memory reservation as its overhead.

/// CPU that a VM without reservation counts as, in MHz.
pub const LEAST_MHZ: f64 = 32.0;

/// CPU in MHz and memory in bytes: of a host for VMs, or reserved by a VM, overhead included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// CPU.
    pub mhz: f64,
    /// Memory.
    pub bytes: f64,
}

/// A cluster in slots.
#[derive(Clone, Debug, PartialEq)]
pub struct Slots {
    /// What each VM counts as.
    pub slot: Amount,
    /// Slots of each host.
    pub of_hosts: Vec<u64>,
    /// Hosts that may fail, the largest first, while there is a slot for each VM.
    pub capacity: usize,
    /// Slots that are left when `failures` hosts have failed and each VM has one.
    pub free: i64,
}

/// `hosts` in slots of `vms` that are on; `failures` is what admission control keeps room for.
pub fn slots(hosts: &[Amount], vms: &[Amount], failures: usize) -> Slots {
    let slot = vms.iter().fold(
        Amount {
            mhz: LEAST_MHZ,
            bytes: 0.0,
        },
        |slot, vm| Amount {
            mhz: slot.mhz.max(vm.mhz),
            bytes: slot.bytes.max(vm.bytes),
        },
    );
    let slots = |host: &Amount| {
        let by_memory = if slot.bytes > 0.0 {
            host.bytes / slot.bytes
        } else {
            f64::INFINITY
        };
        (host.mhz / slot.mhz).min(by_memory) as u64
    };
    let of_hosts: Vec<u64> = hosts.iter().map(slots).collect();
    let mut sorted = of_hosts.clone();
    sorted.sort_unstable();
    let left = |failed: usize| sorted.iter().rev().skip(failed).sum::<u64>();
    let capacity = (1..hosts.len())
        .take_while(|&failed| left(failed) >= vms.len() as u64)
        .count();
    Slots {
        slot,
        capacity,
        free: left(failures) as i64 - vms.len() as i64,
        of_hosts,
    }
}

/// What is not reserved of CPU and of memory, in per cent; each has to be at least what is configured.
pub fn unreserved_pct(hosts: &[Amount], vms: &[Amount]) -> [f64; 2] {
    let pct = |of: fn(&Amount) -> f64, least: f64| {
        let total: f64 = hosts.iter().map(of).sum();
        let reserved: f64 = vms.iter().map(|vm| of(vm).max(least)).sum();
        if total > 0.0 {
            100.0 * (total - reserved) / total
        } else {
            0.0
        }
    };
    [pct(|amount| amount.mhz, LEAST_MHZ), pct(|amount| amount.bytes, 0.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(all: &[(f64, f64)]) -> Vec<Amount> {
        let amount = |&(ghz, gb): &(f64, f64)| Amount {
            mhz: 1e3 * ghz,
            bytes: 1e9 * gb,
        };
        all.iter().map(amount).collect()
    }

    /// The example of "vSphere Availability".
    fn example() -> (Vec<Amount>, Vec<Amount>) {
        let vms = amounts(&[(2.0, 1.0), (2.0, 1.0), (1.0, 2.0), (1.0, 1.0), (1.0, 1.0)]);
        (amounts(&[(9.0, 9.0), (9.0, 6.0), (6.0, 6.0)]), vms)
    }

    #[test]
    fn slots_are_as_in_vmwares_example() {
        let (hosts, vms) = example();
        let found = slots(&hosts, &vms, 1);
        assert_eq!(found.slot, amounts(&[(2.0, 2.0)])[0]);
        assert_eq!(found.of_hosts, [4, 3, 3]);
        assert_eq!((found.capacity, found.free), (1, 1));
    }

    #[test]
    fn percentages_are_as_in_vmwares_example() {
        // 24 GHz and 21 GB, of which 7 GHz and 6 GB are reserved
        let (hosts, vms) = example();
        let [cpu, memory] = unreserved_pct(&hosts, &vms);
        assert!(
            (cpu - 70.833).abs() < 1e-3 && (memory - 71.429).abs() < 1e-3,
            "{cpu} {memory}"
        );
    }

    #[test]
    fn without_reservations_a_slot_is_32_mhz_and_overhead() {
        let vms = vec![Amount { mhz: 0.0, bytes: 0.1e9 }; 4];
        let found = slots(&amounts(&[(3.2, 64.0); 2]), &vms, 1);
        assert_eq!(found.of_hosts, [100, 100]);
        assert_eq!((found.capacity, found.free), (1, 96));
        assert_eq!(
            slots(&amounts(&[(3.2, 64.0)]), &vms, 1).capacity,
            0,
            "the only host may not fail"
        );
    }

    #[test]
    fn of_equal_hosts_one_failure_is_an_equal_part() {
        let hosts = amounts(&[(10.0, 100.0); 4]);
        let [cpu, memory] = unreserved_pct(&hosts, &amounts(&[(10.0, 100.0); 3]));
        assert_eq!((cpu, memory), (25.0, 25.0), "three full hosts of four");
    }
}
