//! Placement: inside a cluster, by memory and CPU, and what becomes of machines whose hosts are taken away.

use std::collections::BTreeMap;

use hypertwin_cluster::{Bytes, HostGroup, Mistake, Scenario, VmGroup};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Hosts of 4 logical CPUs and 64 GiB: `a1` and `a2` of cluster `a`, `b` of cluster `b`.
fn two_clusters(vms: Value) -> Value {
    let host = |cluster: &str| {
        json!({"cluster": cluster, "sockets": 1, "cores_per_socket": 4, "threads_per_core": 1, "clock": "2 GHz",
               "memory_per_node": "64 GiB", "hypervisor": "esxi-8.0"})
    };
    json!({
        "name": "clusters", "hosts": {"a1": host("a"), "a2": host("a"), "b": host("b")}, "vms": vms,
        "workloads": {"w": {"arrivals": {"closed": {"population": 1}}, "cpu": {"mean": "5 ms"}}},
    })
}

fn vm(memory: &str, more: Value) -> Value {
    let mut vm = json!({"vcpus": 1, "memory": memory, "workload": "w"});
    vm.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    vm
}

fn read(scenario: &Value) -> Result<Scenario, Vec<Mistake>> {
    Scenario::from_json(&scenario.to_string())
}

/// Host of each VM, by name.
fn placed(scenario: &Value) -> BTreeMap<String, String> {
    let inventory = read(scenario)
        .unwrap_or_else(|mistakes| panic!("{mistakes:#?}"))
        .inventory();
    let pair = |vm: hypertwin_cluster::VmMember| (vm.name, vm.host);
    inventory.vms.into_iter().map(pair).collect()
}

fn on(hosts: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pair = |(vm, host): &(&str, &str)| ((*vm).to_owned(), (*host).to_owned());
    hosts.iter().map(pair).collect()
}

/// b is on the other host than a. By what is configured a2 would have more room for c than a1, but not for two
/// reservations.
#[test]
fn a_vm_begins_where_what_it_reserves_is_left() {
    let reserves = json!({"cluster": "a", "memory_reservation": "40 GiB"});
    let vms = json!({
        "a": vm("60 GiB", json!({"cluster": "a"})), "b": vm("40 GiB", reserves.clone()), "c": vm("40 GiB", reserves),
    });
    assert_eq!(placed(&two_clusters(vms)), on(&[("a", "a1"), ("b", "a2"), ("c", "a1")]));
}

#[test]
fn vms_without_a_host_begin_where_they_keep_rules() {
    let rule = |kind: &str, hosts: &[&str], mandatory: bool| json!({"name": kind, "kind": kind, "vms": ["v"], "hosts": hosts, "mandatory": mandatory});
    let cases = [
        (4, rule("not-on", &["a1"], true), vec![0, 4]),
        (4, rule("run-on", &["a1"], true), vec![4, 0]),
        (4, rule("run-on", &["a1"], false), vec![4, 0]),
        // 16 of them do not fit the memory of one host: a should rule gives way
        (16, rule("run-on", &["a1"], false), vec![10, 6]),
        (16, rule("run-on", &["a1"], true), vec![16, 0]),
        (
            2,
            json!({"name": "apart", "kind": "keep-apart", "vms": ["v", "w"]}),
            vec![1, 1],
        ),
        (
            4,
            json!({"name": "together", "kind": "keep-together", "vms": ["v"]}),
            vec![4, 0],
        ),
    ];
    for (count, rule, expected) in cases {
        let mut scenario = two_clusters(json!({
            "v": vm("6 GiB", json!({"count": count, "cluster": "a"})),
            // on the other host, or on the same
            "w": vm("1 GiB", json!({"count": 0, "cluster": "a"})),
        }));
        scenario["rules"] = json!([rule]);
        let hosts = placed(&scenario);
        let on = |host: &str| hosts.values().filter(|at| *at == host).count();
        assert_eq!(vec![on("a1"), on("a2")], expected, "{rule}");
    }
    // of VMs that are bound, others keep away
    let mut scenario = two_clusters(json!({
        "a": vm("1 GiB", json!({"host": "a1"})), "b": vm("1 GiB", json!({"cluster": "a"})),
        "c": vm("1 GiB", json!({"host": "a2", "vcpus": 4})),
    }));
    scenario["rules"] = json!([{"name": "r", "kind": "keep-apart", "vms": ["a", "b"], "mandatory": true}]);
    assert_eq!(placed(&scenario)["b"], "a2");
}

#[test]
fn a_vm_without_a_host_stays_in_its_cluster() {
    let scenario = two_clusters(json!({
        "free": vm("1 GiB", json!({"count": 3})),
        "mine": vm("1 GiB", json!({"count": 4, "cluster": "a"})),
    }));
    let hosts = placed(&scenario);
    assert!(
        (1..=4).all(|number| hosts[&format!("mine-{number}")].starts_with('a')),
        "{hosts:?}"
    );
    // one without a cluster may be anywhere
    assert_eq!(hosts["free-3"], "b");
}

#[test]
fn a_vm_whose_host_is_named_comes_before_those_that_look_for_room() {
    let scenario = two_clusters(json!({
        "early": vm("40 GiB", json!({"cluster": "a"})),
        "named": vm("40 GiB", json!({"host": "a1"})),
    }));
    assert_eq!(placed(&scenario), on(&[("early", "a2"), ("named", "a1")]));
}

#[test]
fn memory_counts_before_cpu() {
    // a1 has three vCPUs and 3 GiB, a2 one and 60 GiB
    let vms = |memory: &str| {
        json!({
            "full": vm("60 GiB", json!({"host": "a2"})),
            "idle": vm("1 GiB", json!({"host": "a1", "count": 3})),
            "new": vm(memory, json!({"cluster": "a"})),
        })
    };
    assert_eq!(placed(&two_clusters(vms("4 GiB")))["new"], "a2");
    assert_eq!(placed(&two_clusters(vms("5 GiB")))["new"], "a1");
    // nowhere is room for it: a1 would have 67 GiB of 64, a2 124
    assert_eq!(placed(&two_clusters(vms("64 GiB")))["new"], "a1");
    let mut own = two_clusters(vms("4 GiB"));
    own["hosts"]["a2"]["hypervisor_memory"] = json!("1 GiB");
    assert_eq!(placed(&own)["new"], "a1");
}

#[test]
fn machines_of_a_host_that_is_taken_away_go_elsewhere_in_its_cluster() {
    let mut scenario = two_clusters(json!({
        "named": vm("30 GiB", json!({"host": "a2", "host_is_guess": true})),
        "numbered": vm("30 GiB", json!({"host": "a2-3", "cluster": "a"})),
        "stays": vm("30 GiB", json!({"host": "a1"})),
    }));
    scenario["hosts"]["a2"]["count"] = json!(3);
    let inventory = read(&scenario).unwrap().inventory();
    assert!(inventory.vms.iter().all(|vm| vm.host_is_given));
    scenario["hosts"]["a2"]["count"] = json!(0);
    assert_eq!(
        placed(&scenario),
        on(&[("named", "a1"), ("numbered", "a1"), ("stays", "a1")])
    );
    let inventory = read(&scenario).unwrap().inventory();
    let facts: Vec<_> = inventory
        .vms
        .iter()
        .map(|vm| (vm.host_is_given, vm.host_is_guess))
        .collect();
    assert_eq!(facts, [(false, false), (false, false), (true, false)]);
    let clusters: Vec<_> = inventory.vms.iter().map(|vm| vm.cluster.as_str()).collect();
    assert_eq!(clusters, ["a"; 3]);
    // a number that no host of the group can have had is still a mistake
    scenario["vms"]["numbered"]["host"] = json!("a2-03");
    assert_eq!(read(&scenario).unwrap_err()[0].code, "unknown-reference");
}

#[test]
fn a_cluster_without_hosts_has_no_room() {
    let mut scenario = two_clusters(json!({
        "named": vm("1 GiB", json!({"host": "b"})), "mine": vm("1 GiB", json!({"cluster": "b"})),
    }));
    scenario["hosts"]["b"]["count"] = json!(0);
    let found: Vec<_> = read(&scenario)
        .unwrap_err()
        .into_iter()
        .map(|mistake| (mistake.path, mistake.code))
        .collect();
    let left = |path: &str| (path.to_owned(), "no-host-left".to_owned());
    assert_eq!(found, [left("vms.mine.cluster"), left("vms.named.host")]);
    scenario["vms"] = json!({});
    let inventory = read(&scenario).unwrap().inventory();
    assert_eq!(inventory.clusters.len(), 1);
    for host in ["a1", "a2"] {
        scenario["hosts"][host]["count"] = json!(0);
    }
    assert_eq!(read(&scenario).unwrap_err()[0].code, "no-hosts");
}

/// Hosts of clusters `a` and `b`, and VMs: bound to hosts, to a cluster, or to nothing.
fn scenario(clusters: u32) -> impl Strategy<Value = Scenario> {
    let host = (0..clusters, 0..4_u32, 1..5_u32, 4..40_u64, 0..4_u64);
    let vm = (0..4_u32, 1..5_u32, 1..20_u64, 0..8_usize, 0..4_u32);
    let lists = (
        proptest::collection::vec(host, 1..5),
        proptest::collection::vec(vm, 0..9),
    );
    lists.prop_map(|(hosts, vms)| {
        let mut scenario = read(&two_clusters(json!({"vm": vm_of_defaults()}))).unwrap();
        let (host, vm) = (scenario.hosts["a1"].clone(), scenario.vms["vm"].clone());
        let hosts: Vec<HostGroup> = hosts
            .into_iter()
            .map(|(cluster, count, cores, memory, own)| HostGroup {
                cluster: ["a", "b"][cluster as usize].to_owned(),
                count,
                cores_per_socket: cores,
                memory_per_node: Bytes::from_gib(memory),
                hypervisor_memory: Some(Bytes::from_gib(own)),
                ..host.clone()
            })
            .collect();
        let vms = vms.into_iter().map(|(count, vcpus, memory, host, number)| VmGroup {
            count,
            vcpus,
            memory: Bytes::from_gib(memory),
            host: hosts.get(host).map(|_| match number {
                0 => format!("h{host}"),
                _ => format!("h{host}-{number}"),
            }),
            cluster: (host == 7).then(|| "a".to_owned()),
            ..vm.clone()
        });
        scenario.vms = vms.enumerate().map(|(index, vm)| (format!("v{index}"), vm)).collect();
        let named = hosts.into_iter().enumerate();
        scenario.hosts = named.map(|(index, host)| (format!("h{index}"), host)).collect();
        scenario
    })
}

fn vm_of_defaults() -> Value {
    vm("1 GiB", json!({}))
}

/// The positions of the hosts that a VM may be on, and whether its `host` is one that there is.
fn open_to(scenario: &Scenario, vm: &VmGroup) -> (Vec<usize>, bool) {
    let hosts = scenario.host_names();
    let all = |is_open: &dyn Fn(&str, &HostGroup) -> bool| -> Vec<usize> {
        let open = hosts
            .iter()
            .enumerate()
            .filter(|(_, (name, group))| is_open(name, group));
        open.map(|(position, _)| position).collect()
    };
    let in_cluster = |cluster: &str| all(&|_, group| group.cluster == cluster);
    let Some(wanted) = &vm.host else {
        return (
            vm.cluster
                .as_ref()
                .map_or_else(|| all(&|_, _| true), |name| in_cluster(name)),
            false,
        );
    };
    let group = &scenario.hosts[&wanted[..2]];
    match group.count {
        0 => (in_cluster(vm.cluster.as_ref().unwrap_or(&group.cluster)), false),
        _ if wanted.len() == 2 => (all(&|_, host| std::ptr::eq(host, group)), true),
        _ => (all(&|name, _| name == wanted), true),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Replayed machine by machine: each is where it may be, on a host with memory for it if there is one, and of those
    /// on the one with the fewest vCPUs per logical CPU.
    #[test]
    fn no_machine_leaves_its_cluster_or_overfills_a_host_while_another_has_room(scenario in scenario(2)) {
        let hosts = scenario.host_names();
        let vms = scenario.vm_names();
        let open: Vec<(Vec<usize>, bool)> = vms.iter().map(|(_, vm)| open_to(&scenario, vm)).collect();
        let fits = |vm: &VmGroup, host: usize| {
            vm.vcpus <= hosts[host].1.logical_cpus() && vm.memory <= hosts[host].1.memory()
        };
        let Some(placement) = scenario.placement() else {
            let has_none = |(vm, (open, _)): (&(String, &VmGroup), &(Vec<usize>, bool))| !open.iter().any(|&host| fits(vm.1, host));
            prop_assert!(vms.iter().zip(&open).any(has_none));
            return Ok(());
        };
        prop_assert_eq!(placement.len(), vms.len());
        let mut vcpus = vec![0_u64; hosts.len()];
        let mut taken: Vec<u64> = hosts.iter().map(|(_, host)| host.hypervisor_memory().bytes()).collect();
        let (bound, free): (Vec<usize>, Vec<usize>) = (0..vms.len()).partition(|&index| open[index].1);
        for index in bound.into_iter().chain(free) {
            let (vm, chosen) = (vms[index].1, placement[index]);
            let memory = |host: usize| hosts[host].1.memory().bytes();
            let has_room = |host: usize| taken[host] + vm.memory.bytes() <= memory(host);
            let cpus = |host: usize| u64::from(hosts[host].1.logical_cpus());
            let better = |&host: &usize| {
                let by_cpu = vcpus[host] * cpus(chosen) < vcpus[chosen] * cpus(host);
                let after = |host: usize| u128::from(taken[host] + vm.memory.bytes());
                let by_memory = after(host) * u128::from(memory(chosen)) < after(chosen) * u128::from(memory(host));
                match (has_room(host), has_room(chosen)) {
                    (true, false) => true,
                    (false, true) => false,
                    (true, true) => by_cpu,
                    (false, false) => by_memory,
                }
            };
            let open: Vec<usize> = open[index].0.iter().copied().filter(|&host| fits(vm, host)).collect();
            prop_assert!(open.contains(&chosen), "{} is on {}", vms[index].0, hosts[chosen].0);
            prop_assert!(!open.iter().any(better), "{} is on {}", vms[index].0, hosts[chosen].0);
            vcpus[chosen] += u64::from(vm.vcpus);
            taken[chosen] += vm.memory.bytes();
        }
    }

    /// With memory enough in one cluster, CPU alone decides: group after group, the fewest vCPUs per logical CPU.
    #[test]
    fn with_memory_to_spare_cpu_decides(scenario in scenario(1)) {
        let mut scenario = scenario;
        for host in scenario.hosts.values_mut() {
            host.memory_per_node = Bytes::from_gib(10_000);
        }
        for vm in scenario.vms.values_mut() {
            vm.host = None;
        }
        let hosts = scenario.host_names();
        let mut vcpus = vec![0_u32; hosts.len()];
        let mut expected = Vec::new();
        for (_, vm) in scenario.vm_names() {
            let open = (0..hosts.len()).filter(|&host| vm.vcpus <= hosts[host].1.logical_cpus());
            let ratio = |host: &usize| f64::from(vcpus[*host]) / f64::from(hosts[*host].1.logical_cpus());
            let Some(least) = open.min_by(|a, b| ratio(a).total_cmp(&ratio(b))) else {
                prop_assert_eq!(scenario.placement(), None);
                return Ok(());
            };
            vcpus[least] += vm.vcpus;
            expected.push(least);
        }
        prop_assert_eq!(scenario.placement(), Some(expected));
    }
}
