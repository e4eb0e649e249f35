//! What the schema cannot say of distributed storage and failures.

use crate::mistake::{Found, show_text};
use crate::pool::{Component, Deployment, Failure, StoragePool};
use crate::redundancy::Redundancy;
use crate::scenario::{HostGroup, VmGroup};
use crate::semantics::Parts;

impl Parts {
    /// That a pool has nodes, enough of them, and room for its data.
    pub(crate) fn pool(&self, name: &str, pool: &StoragePool, found: &mut Vec<Found>) {
        let clean = |key: &str| self.clean(&["storage", name, key]);
        if self.readable("hosts") && clean("nodes") && !self.hosts.contains_key(&pool.nodes) {
            found.push(self.unknown(["storage", name, "nodes"], &pool.nodes, "hosts", self.hosts.keys()));
            return;
        }
        let compute = self.hosts.keys().any(|host| *host != pool.nodes);
        let users = || {
            self.vms
                .values()
                .flatten()
                .any(|vm| vm.storage.as_deref() == Some(name))
        };
        if pool.deployment == Deployment::TwoLayer && clean("deployment") && !compute && users() {
            found.push(Found::new(
                ["storage", name, "deployment"],
                "no-compute-layer",
                "two-layer".to_owned(),
                "hci, or mixed: every host is a node of the pool".to_owned(),
                "add a group of hosts for the machines".to_owned(),
            ));
        }
        let redundancy = pool.redundancy();
        if let Redundancy::Erasure { .. } = redundancy
            && pool.fragment > pool.chunk()
            && clean("fragment")
            && clean("chunk")
        {
            found.push(Found::new(
                ["storage", name, "fragment"],
                "fragment-over-chunk",
                pool.fragment.to_string(),
                format!("at most the chunk, {}", pool.chunk()),
                "a chunk of a device holds its fragments of many stripes; lower fragment or raise chunk".to_owned(),
            ));
        }
        let Some(nodes) = self.hosts.get(&pool.nodes).and_then(Option::as_ref) else {
            return;
        };
        let counted = self.clean(&["hosts", &pool.nodes, "count"]) && clean("devices") && clean("racks");
        let (domains, width) = (pool.domains(nodes.count), redundancy.width());
        if domains < width && counted && clean("redundancy") {
            found.push(Found::new(
                ["storage", name, "redundancy"],
                "too-few-domains",
                redundancy.to_string(),
                format!("at most {domains} copies or fragments: the pool has so many failure domains"),
                format!(
                    "{redundancy} needs {width}; add nodes (hosts.{}.count), or choose a smaller failure_domain",
                    pool.nodes
                ),
            ));
        }
        let servers = pool.metadata_servers(nodes.count);
        if servers > nodes.count && counted && clean("metadata_servers") {
            found.push(Found::new(
                ["storage", name, "metadata_servers"],
                "too-many-metadata-servers",
                servers.to_string(),
                format!("at most {}, one on each node", nodes.count),
                "lower it, or add nodes".to_owned(),
            ));
        }
        let raw = pool.raw_capacity(nodes);
        let data = pool
            .stored
            .map_or_else(|| self.working_sets(name), |stored| stored.bytes());
        let needed = data as f64 * redundancy.amplification();
        if needed > raw.bytes() as f64 && counted && clean("stored") && self.clean(&["vms"]) && clean("redundancy") {
            let gib = |bytes: f64| format!("{:.1} GiB", bytes / f64::from(1 << 30));
            let key = if pool.stored.is_some() { "stored" } else { "devices" };
            found.push(Found::new(
                ["storage", name, key],
                "pool-over-capacity",
                format!("{} of data, {} with {redundancy}", gib(data as f64), gib(needed)),
                format!("at most {} of devices, all nodes together", gib(raw.bytes() as f64)),
                "store less, or add nodes, devices or capacity".to_owned(),
            ));
        }
    }

    /// Working sets of all virtual disks on a pool.
    fn working_sets(&self, pool: &str) -> u64 {
        let users = self.vms.values().flatten();
        users
            .filter(|vm| vm.storage.as_deref() == Some(pool))
            .map(|vm| {
                let workload = self.workloads.get(&vm.workload).and_then(Option::as_ref);
                let each = workload.map_or(0, |workload| workload.working_set.bytes());
                each.saturating_mul(u64::from(vm.count) * u64::from(vm.all_vdisks()))
            })
            .fold(0, u64::saturating_add)
    }

    /// That a VM's storage exists, is one, and is where its host allows.
    pub(crate) fn vm_pool(&self, name: &str, vm: &VmGroup, found: &mut Vec<Found>) {
        let Some(wanted) = &vm.storage else { return };
        let clean = |key: &str| self.clean(&["vms", name, key]);
        if !clean("storage") {
            return;
        }
        if vm.array.is_some() && clean("array") {
            found.push(Found::new(
                ["vms", name, "storage"],
                "two-storages",
                wanted.clone(),
                "either array or storage".to_owned(),
                "remove one of the two".to_owned(),
            ));
        }
        if self.readable("storage") && !self.storage.contains_key(wanted) {
            found.push(self.unknown(["vms", name, "storage"], wanted, "storage", self.storage.keys()));
            return;
        }
        let Some(pool) = self.storage.get(wanted).and_then(Option::as_ref) else {
            return;
        };
        if !self.hosts.contains_key(&pool.nodes) {
            return;
        }
        let Some(host) = vm.host.as_ref().filter(|_| clean("host")) else {
            return;
        };
        let Some(hosts) = self.hosts_of(vm) else { return };
        if let Some((group, _)) = hosts
            .iter()
            .find(|(group, _)| !pool.deployment.allows(*group == pool.nodes))
        {
            let (deployment, other) = match pool.deployment {
                Deployment::Hci => ("hci", format!("a host of {}", pool.nodes)),
                _ => ("two-layer", format!("a host that is not of {}", pool.nodes)),
            };
            found.push(Found::new(
                ["vms", name, "host"],
                "wrong-layer",
                host.clone(),
                format!("{other}: storage.{wanted}.deployment is {deployment}"),
                format!("remove host, or set storage.{wanted}.deployment to mixed ({group} is of the other layer)"),
            ));
        }
    }

    /// That what fails exists, and comes back after it failed.
    pub(crate) fn failure(&self, position: usize, failure: &Failure, found: &mut Vec<Found>) {
        let index = position.to_string();
        if let Some(returns) = failure.returns.filter(|returns| *returns <= failure.at) {
            found.push(Found::new(
                ["failures", &index, "returns"],
                "returns-before-failing",
                returns.to_string(),
                format!("later than at, {}", failure.at),
                "both count from the start of the run; remove returns if it never comes back".to_owned(),
            ));
        }
        for (entry, text) in failure.fails.iter().enumerate() {
            let allowed = match Component::parse(text) {
                Some(component) => match self.has(&component) {
                    Ok(()) => continue,
                    Err(allowed) => allowed,
                },
                None => "HOST, HOST/disk-N, HOST/link, POOL/rack-N or POOL/metadata-N, with N from 1".to_owned(),
            };
            found.push(Found::new(
                ["failures", &index, "fails", &entry.to_string()],
                "unknown-component",
                show_text(text),
                allowed,
                "hosts of a group of several are called name-1, name-2 and so on".to_owned(),
            ));
        }
    }

    /// Whether there is such a thing, or what there is instead. What depends on a faulty part is taken for right.
    fn has(&self, component: &Component) -> Result<(), String> {
        match component {
            Component::Host(host) | Component::Link(host) => self.host_group(host).map(|_| ()),
            Component::Disk(host, number) => {
                let Some((group, _)) = self.host_group(host)? else {
                    return Ok(());
                };
                let mut disks = None;
                if !self.readable("storage") {
                    return Ok(());
                }
                for (_, pool) in self.storage.iter() {
                    let Some(pool) = pool.as_ref().filter(|pool| self.hosts.contains_key(&pool.nodes)) else {
                        return Ok(());
                    };
                    if pool.nodes == group {
                        disks = disks.max(Some(pool.devices.per_node));
                    }
                }
                match disks {
                    Some(disks) if *number < disks => Ok(()),
                    Some(disks) => Err(format!("{host}/disk-1 to {host}/disk-{disks}")),
                    None => Err(format!("disks of nodes of a pool, which {host} is not")),
                }
            }
            Component::Rack(pool, number) => self.part_of_pool(pool, *number, "rack", |pool| pool.racks),
            Component::Metadata(pool, number) => {
                let nodes = |pool: &StoragePool| self.hosts.get(&pool.nodes).and_then(Option::as_ref);
                let servers =
                    |pool: &StoragePool| pool.metadata_servers(nodes(pool).map_or(u32::MAX, |nodes| nodes.count));
                self.part_of_pool(pool, *number, "metadata", servers)
            }
        }
    }

    fn part_of_pool(
        &self,
        name: &str,
        number: u32,
        part: &str,
        count: impl Fn(&StoragePool) -> u32,
    ) -> Result<(), String> {
        match self.storage.get(name) {
            None if !self.readable("storage") => Ok(()),
            None => {
                let names: Vec<&str> = self.storage.keys().map(String::as_str).take(12).collect();
                Err(format!("a key of storage: {}", names.join(", ")))
            }
            Some(Some(pool)) if number >= count(pool) => {
                Err(format!("{name}/{part}-1 to {name}/{part}-{}", count(pool)))
            }
            Some(_) => Ok(()),
        }
    }

    /// The group of a host, by the host's name; `None` where it may be hidden by a mistake.
    fn host_group(&self, host: &str) -> Result<Option<(&str, &HostGroup)>, String> {
        for (name, group) in &self.hosts {
            let Some(group) = group else { return Ok(None) };
            let number = || host.strip_prefix(name.as_str())?.strip_prefix('-')?.parse::<u32>().ok();
            let named = match group.count {
                1 => host == name,
                count => number().is_some_and(|number| {
                    (1..=count).contains(&number) && host.len() == name.len() + 1 + number.to_string().len()
                }),
            };
            if named {
                return Ok(Some((name, group)));
            }
        }
        if !self.readable("hosts") {
            return Ok(None);
        }
        let names = self.hosts.iter().take(6).map(|(name, group)| match group {
            Some(group) if group.count > 1 => format!("{name}-1 to {name}-{}", group.count),
            _ => name.clone(),
        });
        Err(format!("a host: {}", names.collect::<Vec<_>>().join(", ")))
    }
}
