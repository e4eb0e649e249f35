//! What the result of an island depends on, as a hash: results are kept under it.
//!
//! **The key of a result covers all its inputs.** The key of an island is a hash of the build (the sources of all
//! crates of a run), the simulated time, and the named contents of the island. The key does not include the other hosts
//! of the cluster (`islands/key.rs`). A what-if that changes one host therefore simulates only that host. The bytes of
//! a replication name their build, and a different build rejects these bytes.

use super::Islands;
use crate::measure::BUILD;
use hypertwin_cluster::{HostGroup, RunSettings, VmGroup};
use serde::Serialize;
use sha2::{Digest, Sha256};

type Hash = [u8; 32];

/// Hash of a specification.
fn hash(spec: &impl Serialize) -> Hash {
    let json = serde_json::to_vec(spec).expect("a scenario has no keys or numbers that JSON lacks");
    Sha256::digest(json).into()
}

/// A hash of fields, each with its length.
struct Fields(Sha256);

impl Fields {
    fn add(&mut self, field: impl AsRef<[u8]>) {
        self.0.update((field.as_ref().len() as u64).to_le_bytes());
        self.0.update(field);
    }

    /// How many of something follow.
    fn count(&mut self, count: usize) {
        self.0.update((count as u64).to_le_bytes());
    }
}

impl Islands {
    /// Per island: SHA-256 of all that its result depends on, its seed apart: the build of this crate, how long to
    /// simulate, and what is on it by name. What the rest of the scenario is like, and what was measured of the real
    /// cluster, is not in it.
    #[must_use]
    pub fn keys(&self) -> Vec<Hash> {
        let hosts: Vec<Hash> = (0..self.whole.host_groups.len())
            .map(|group| self.hash_of_hosts(group))
            .collect();
        let vms: Vec<Hash> = (0..self.whole.vm_groups.len())
            .map(|group| self.hash_of_vms(group))
            .collect();
        let run = hash(&RunSettings {
            seed: 0,
            replications: 1,
            ..self.whole.scenario.run.clone()
        });
        let key = |number: usize| {
            let (cut, island) = (&self.cuts[number], self.island(number));
            let mut fields = Fields(Sha256::new());
            fields.add(BUILD);
            fields.add(run);
            fields.count(cut.hosts.len());
            for &host in &cut.hosts {
                let host = &self.whole.hosts[host];
                fields.add(&host.name);
                fields.add(&self.whole.host_groups[host.group]);
                fields.add(hosts[host.group]);
            }
            fields.count(cut.vms.len());
            for (&vm, here) in cut.vms.iter().zip(&island.vms) {
                let vm = &self.whole.vms[vm];
                fields.add(&vm.name);
                fields.add(&self.whole.vm_groups[vm.group]);
                fields.add(vms[vm.group]);
                fields.count(crate::ids::Id::index(here.host));
            }
            fields.add(hash(island.devices));
            fields.count(island.arrays.len());
            for (name, spec) in &island.arrays {
                fields.add(name);
                fields.add(hash(spec));
            }
            fields.count(island.pools.len());
            for pool in &island.pools {
                fields.add(pool.name);
                fields.add(hash(pool.spec));
            }
            fields.count(island.failures.len());
            island.failures.iter().for_each(|failure| fields.add(hash(failure)));
            fields.count(island.clusters.len());
            for cluster in &island.clusters {
                fields.add(cluster.name);
                fields.add(hash(&cluster.spec.map(|spec| (&spec.ha, &spec.drs))));
            }
            fields.count(island.events.len());
            island.events.iter().for_each(|event| fields.add(hash(event)));
            fields.count(island.rules.len());
            island.rules.iter().for_each(|rule| fields.add(hash(rule)));
            fields.0.finalize().into()
        };
        (0..self.len()).map(key).collect()
    }

    /// Hash of what a host of a group is like.
    fn hash_of_hosts(&self, group: usize) -> Hash {
        let spec = self.whole.host_group(group);
        hash(&HostGroup {
            // that of pools which nobody uses, too
            hypervisor_memory: Some(spec.hypervisor_memory()),
            count: 1,
            measured: None,
            ..spec.clone()
        })
    }

    /// Hash of what a VM of a group is like and does.
    fn hash_of_vms(&self, group: usize) -> Hash {
        let spec = self.whole.vm_group(group);
        let one = VmGroup {
            count: 1,
            host: None,
            host_is_guess: false,
            guest_os: None,
            products: Vec::new(),
            measured: None,
            source: None,
            ..spec.clone()
        };
        hash(&(one, self.whole.workload(spec)))
    }
}
