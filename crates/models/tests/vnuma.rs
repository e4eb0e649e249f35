//! Virtual NUMA by version: the published layouts, worked cases, advice, and any VM on any host.

use hypertwin_cluster::{Bytes, HostGroup, Hypervisor, NumaOptions, Scenario, SizedOn, VmGroup};
use hypertwin_models::hypervisor;
use hypertwin_models::layout::{Layout, layouts};
use hypertwin_models::vnuma::Topology;

/// One VM on one host; each test changes what it is about.
fn scenario(hypervisor: &str, sockets: u32, cores: u32, vcpus: u32, cores_per_socket: u32) -> Scenario {
    let text = format!(
        r#"{{"name": "one",
            "hosts": {{"esx": {{"sockets": 2, "cores_per_socket": 12, "clock": "2.5 GHz",
                                "memory_per_node": "1 TiB", "hypervisor": "{hypervisor}"}}}},
            "vms": {{"vm": {{"vcpus": 1, "memory": "96 GiB", "workload": "w"}}}},
            "workloads": {{"w": {{"arrivals": {{"open": {{"rate": "1 /s"}}}}, "cpu": {{"mean": "1 ms"}}}}}}}}"#
    );
    let mut scenario = Scenario::from_json(&text).expect("a good scenario");
    let host = scenario.hosts.get_mut("esx").expect("the host");
    (host.sockets, host.cores_per_socket) = (sockets, cores);
    let vm = scenario.vms.get_mut("vm").expect("the VM");
    (vm.vcpus, vm.cores_per_socket) = (vcpus, Some(cores_per_socket));
    scenario
}

fn with(mut scenario: Scenario, numa: NumaOptions) -> Scenario {
    scenario.vms.get_mut("vm").expect("the VM").numa = numa;
    scenario
}

fn hot_add(mut scenario: Scenario) -> Scenario {
    scenario.vms.get_mut("vm").expect("the VM").cpu_hot_add = true;
    scenario
}

fn topology(host: &HostGroup, vm: &VmGroup) -> Topology {
    hypervisor::model(host.hypervisor).virtual_numa(host, vm)
}

fn one(scenario: &Scenario) -> Layout {
    layouts(scenario).expect("it fits").remove("vm").expect("the VM")
}

fn codes(layout: &Layout) -> Vec<&'static str> {
    layout.warnings.iter().map(|warning| warning.code).collect()
}

fn prefer_ht() -> NumaOptions {
    NumaOptions {
        prefer_ht: true,
        ..NumaOptions::default()
    }
}

fn sized_on(sockets: u32, cores_per_socket: u32) -> NumaOptions {
    NumaOptions {
        sized_on: Some(SizedOn {
            sockets,
            cores_per_socket,
        }),
        ..NumaOptions::default()
    }
}

/// Version, vCPUs, cores per virtual socket and virtual nodes that were seen on 2 x 12 cores ("VMware ESXi 6.5.
/// Улучшение NUMA").
const SEEN: [(&str, u32, u32, usize); 33] = [
    ("esxi-6.5", 12, 1, 1),
    ("esxi-6.5", 12, 2, 1),
    ("esxi-6.5", 16, 1, 2),
    ("esxi-6.5", 16, 2, 2),
    ("esxi-6.5", 20, 1, 2),
    ("esxi-6.5", 20, 10, 2),
    ("esxi-6.5", 20, 5, 2),
    ("esxi-6.5", 24, 1, 2),
    ("esxi-6.5", 24, 4, 2),
    ("esxi-6.5", 24, 6, 2),
    ("esxi-6.5", 24, 8, 3),
    ("esxi-6.5", 25, 1, 2),
    ("esxi-6.5", 32, 1, 2),
    ("esxi-6.5", 32, 4, 2),
    ("esxi-6.5", 36, 6, 2),
    ("esxi-6.5", 48, 1, 2),
    ("esxi-6.5", 48, 4, 2),
    ("esxi-6.0", 12, 1, 1),
    ("esxi-6.0", 12, 2, 6),
    ("esxi-6.0", 16, 1, 2),
    ("esxi-6.0", 16, 8, 2),
    ("esxi-6.0", 20, 1, 2),
    ("esxi-6.0", 20, 10, 2),
    ("esxi-6.0", 20, 5, 4),
    ("esxi-6.0", 24, 1, 2),
    ("esxi-6.0", 24, 2, 2),
    ("esxi-6.0", 24, 4, 6),
    ("esxi-6.0", 24, 8, 3),
    ("esxi-6.0", 32, 8, 4),
    ("esxi-6.0", 36, 1, 3),
    ("esxi-6.0", 36, 6, 6),
    ("esxi-6.0", 48, 1, 4),
    ("esxi-6.0", 48, 2, 24),
];

/// The one row that contradicts its neighbours: 12 and 48 vCPUs in sockets of two have a node per socket, 24 do not.
const CONTRADICTION: (&str, u32, u32) = ("esxi-6.0", 24, 2);

#[test]
fn the_number_of_virtual_nodes_is_what_was_seen() {
    for (version, vcpus, cores, seen) in SEEN {
        let layout = one(&scenario(version, 2, 12, vcpus, cores));
        let expected = if (version, vcpus, cores) == CONTRADICTION {
            12
        } else {
            seen
        };
        assert_eq!(
            layout.vpds.len(),
            expected,
            "{version} {vcpus} vCPUs, {cores} per socket"
        );
        assert_eq!(layout.ppds, layout.vpds);
    }
}

/// F. Denneman, "NUMA Deep Dive" and the articles named above.
#[test]
fn worked_cases_hold() {
    #[rustfmt::skip]
    let cases: [(Scenario, &[u32], &[u32]); 15] = [
        (scenario("esxi-6.0", 2, 10, 10, 5), &[5, 5], &[5, 5]),
        (scenario("esxi-6.0", 2, 10, 16, 2), &[2; 8], &[2; 8]),
        (with(scenario("esxi-6.0", 2, 10, 12, 1), prefer_ht()), &[12], &[12]),
        (scenario("esxi-6.5", 2, 10, 16, 2), &[8, 8], &[8, 8]),
        (scenario("esxi-6.5", 2, 12, 24, 8), &[8, 8, 8], &[8, 8, 8]),
        (scenario("esxi-6.5", 2, 12, 25, 1), &[13, 12], &[13, 12]),
        (scenario("esxi-7.0", 2, 20, 30, 2), &[16, 14], &[16, 14]),
        (with(scenario("esxi-7.0", 4, 14, 36, 1), sized_on(2, 20)), &[18, 18], &[12, 12, 12]),
        (scenario("esxi-8.0", 2, 20, 12, 1), &[12], &[12]),
        // 6 cores per node, numa.vcpu.min 9: EPYC 7401, F. Denneman, "AMD EPYC and vSphere vNUMA" (2019)
        (scenario("esxi-6.7", 4, 6, 8, 1), &[8], &[4, 4]),
        (scenario("esxi-6.7", 4, 6, 9, 1), &[5, 4], &[5, 4]),
        (with(scenario("esxi-6.7", 4, 6, 8, 1), NumaOptions { vcpu_min: Some(6), ..NumaOptions::default() }),
         &[4, 4], &[4, 4]),
        // preferHT set after the first power-on changes the clients only
        (with(scenario("esxi-6.0", 2, 10, 12, 1), NumaOptions { prefer_ht: true, ..sized_on(2, 10) }),
         &[6, 6], &[12]),
        (with(scenario("esxi-6.5", 2, 10, 16, 2), NumaOptions {
            follow_cores_per_socket: true, ..NumaOptions::default() }), &[2; 8], &[2; 8]),
        (with(scenario("esxi-8.0", 2, 20, 24, 1), NumaOptions {
            cores_per_node: Some(6), ..NumaOptions::default() }), &[6; 4], &[6; 4]),
    ];
    for (scenario, vpds, ppds) in cases {
        let layout = one(&scenario);
        assert_eq!((&layout.vpds[..], &layout.ppds[..]), (vpds, ppds), "{scenario:?}");
    }
}

#[test]
fn memory_beyond_the_home_node_is_remote() {
    let mut scenario = scenario("esxi-8.0", 2, 20, 12, 1);
    scenario.hosts.get_mut("esx").expect("the host").memory_per_node = Bytes::from_gib(256);
    scenario.vms.get_mut("vm").expect("the VM").memory = Bytes::from_gib(384);
    let layout = one(&scenario);
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    assert_eq!(layout.clients.len(), 1);
    assert!((gib(layout.clients[0].local_bytes) - 226.0).abs() < 3.0);
    assert!((gib(layout.clients[0].remote_bytes) - 155.0).abs() < 3.0);
    assert_eq!(codes(&layout), ["memory-spill"]);
}

#[test]
fn hot_add_hides_the_nodes_and_spreads_memory() {
    let layout = one(&hot_add(scenario("esxi-6.5", 2, 12, 24, 1)));
    assert_eq!((&layout.vpds[..], &layout.ppds[..]), (&[24][..], &[12, 12][..]));
    assert!(!layout.vnuma);
    for client in &layout.clients {
        assert_eq!(client.local_bytes, client.remote_bytes);
    }
    assert_eq!(codes(&layout), ["hot-add-wide"]);
    let narrow = one(&hot_add(scenario("esxi-6.5", 2, 12, 12, 1)));
    assert_eq!(codes(&narrow), [""; 0], "a VM that fits a node loses nothing");
    let shown = NumaOptions {
        expose_on_cpu_hot_add: true,
        ..NumaOptions::default()
    };
    assert_eq!(
        one(&with(hot_add(scenario("esxi-8.0", 2, 12, 24, 1)), shown)).vpds,
        [12, 12]
    );
}

#[test]
fn linux_guests_see_the_nodes_that_they_are_given() {
    let none = one(&scenario("linux-6.6", 2, 12, 24, 12));
    assert_eq!((&none.vpds[..], &none.homes[..]), (&[24][..], &[0, 1][..]));
    assert_eq!(codes(&none), ["hidden-numa"]);
    let cells = |cells: &[u32], nodes: &[u32]| {
        let (cells, nodes) = (cells.to_vec(), nodes.to_vec());
        let options = NumaOptions {
            cells,
            nodes,
            ..NumaOptions::default()
        };
        one(&with(scenario("linux-6.6", 2, 12, 24, 1), options))
    };
    let bound = cells(&[12, 12], &[1, 0]);
    assert_eq!(
        (&bound.vpds[..], &bound.settled_homes[..]),
        (&[12, 12][..], &[1, 0][..])
    );
    assert_eq!(codes(&bound), [""; 0]);
    assert_eq!(codes(&cells(&[12, 12], &[1, 1])), ["collapse"]);
    assert_eq!(codes(&cells(&[16, 8], &[])), ["imbalance"]);
}

#[test]
fn a_warning_says_what_is_wrong() {
    #[rustfmt::skip]
    let cases: [(Scenario, &[&str]); 14] = [
        (scenario("esxi-6.5", 2, 12, 12, 1), &[]),
        (scenario("esxi-6.5", 2, 12, 24, 12), &[]),
        (scenario("esxi-6.5", 2, 12, 16, 2), &[]),
        (scenario("esxi-7.0", 4, 14, 28, 14), &[]),
        (scenario("esxi-6.5", 2, 12, 11, 1), &[]),
        (scenario("esxi-6.5", 2, 12, 23, 1), &["odd-wide"]),
        (scenario("esxi-6.5", 2, 12, 26, 1), &["more-vcpus-than-cores"]),
        (scenario("esxi-6.5", 2, 12, 24, 8), &["cores-per-socket-splits", "imbalance", "collapse"]),
        (scenario("esxi-6.5", 2, 12, 20, 4), &["cores-per-socket-splits", "imbalance"]),
        (scenario("esxi-6.0", 2, 12, 12, 2), &["cores-per-socket-splits"]),
        (scenario("esxi-6.0", 2, 24, 48, 2), &["cores-per-socket-splits", "proximity-domains"]),
        (scenario("esxi-6.5", 2, 12, 24, 24), &["hidden-numa"]),
        (with(scenario("esxi-7.0", 4, 14, 36, 1), sized_on(2, 20)), &["stale-topology"]),
        (with(scenario("esxi-6.5", 2, 12, 24, 1), prefer_ht()), &[]),
    ];
    for (scenario, expected) in cases {
        let layout = one(&scenario);
        assert_eq!(codes(&layout), expected, "{scenario:?}");
    }
}

#[test]
fn later_vms_go_where_there_is_room() {
    let mut scenario = scenario("esxi-6.5", 2, 12, 8, 1);
    scenario.vms.get_mut("vm").expect("the VM").count = 3;
    let homes: Vec<usize> = layouts(&scenario)
        .expect("they fit")
        .into_values()
        .flat_map(|layout| layout.homes)
        .collect();
    assert_eq!(homes, [0, 1, 0]);
}

#[test]
fn virtual_nodes_beyond_the_limit_use_the_memory_of_the_first() {
    let scenario = scenario("esxi-6.0", 2, 12, 48, 2);
    let domains = topology(&scenario.hosts["esx"], &scenario.vms["vm"]).memory_domains();
    assert_eq!(domains[28..36], [14, 14, 15, 15, 0, 0, 0, 0]);
    assert_eq!(domains.len(), 48);
}

/// One of 256 combinations of settings.
fn settings(bits: u32, vcpus: u32) -> NumaOptions {
    NumaOptions {
        prefer_ht: bits & 1 > 0,
        follow_cores_per_socket: bits & 2 > 0,
        expose_on_cpu_hot_add: bits & 4 > 0,
        vcpu_min: (bits & 16 > 0).then_some(1),
        max_per_virtual_node: (bits & 32 > 0).then_some(vcpus / 3 + 1),
        cores_per_node: (bits & 64 > 0).then_some(5),
        ..if bits & 128 > 0 {
            sized_on(3, 7)
        } else {
            NumaOptions::default()
        }
    }
}

/// Memory is where the CPUs are that a VM is pinned to, however busy their nodes.
#[test]
fn a_pinned_vm_is_at_home_on_the_nodes_of_its_cpus() {
    let scenario = scenario("esxi-7.0", 1, 1, 1, 1);
    let (mut host, mut vm) = (scenario.hosts["esx"].clone(), scenario.vms["vm"].clone());
    (host.sockets, host.cores_per_socket, host.threads_per_core) = (4, 8, 2);
    for (affinity, vcpus, homes) in [
        ("16-31", 2, vec![1]),
        ("63", 1, vec![3]),
        ("0-15", 2, vec![0]),
        ("32-63", 16, vec![2, 3]),
        ("16-31", 16, vec![1, 1]),
    ] {
        (vm.affinity, vm.vcpus) = (Some(affinity.to_owned()), vcpus);
        let topology = topology(&host, &vm);
        let load = |node: usize| if node == 1 || node == 3 { 3.0 } else { 1.0 };
        assert_eq!(
            topology.homes(&host, &vm, &[u64::MAX; 4], load),
            homes,
            "{affinity}: {topology:?}"
        );
    }
}

/// Every vCPU count and the sockets it can have.
fn shapes() -> impl Iterator<Item = (u32, u32)> {
    let sockets = |vcpus: u32| (1..=vcpus).filter(move |cores| vcpus.is_multiple_of(*cores));
    (1..=256).flat_map(move |vcpus| sockets(vcpus).map(move |cores| (vcpus, cores)))
}

/// The parts make the whole, every client has a home, and virtual nodes hold whole sockets where the version says so.
#[test]
fn any_vm_on_any_host() {
    let scenario = scenario("esxi-5.5", 1, 1, 1, 1);
    let (mut host, mut vm) = (scenario.hosts["esx"].clone(), scenario.vms["vm"].clone());
    for (vcpus, cores) in shapes() {
        for (sockets, room) in (1..=8).flat_map(|sockets| (1..=128).map(move |room| (sockets, room))) {
            for &hypervisor in Hypervisor::ALL {
                // no settings at every other shape, and all their combinations over the rest
                let mixed = vcpus * 37 + cores * 11 + sockets * 5 + room * 3 + hypervisor as u32;
                let bits = if mixed.is_multiple_of(2) { 0 } else { mixed / 2 % 256 };
                (host.hypervisor, host.sockets, host.cores_per_socket) = (hypervisor, sockets, room);
                (vm.vcpus, vm.cores_per_socket, vm.numa) = (vcpus, Some(cores), settings(bits, vcpus));
                vm.cpu_hot_add = bits & 8 > 0;
                let topology = topology(&host, &vm);
                let homes = topology.homes(&host, &vm, &[u64::MAX; 8][..sockets as usize], |_| 0.0);
                let whole = |parts: &[u32]| parts.iter().sum::<u32>() == vcpus && !parts.contains(&0);
                let sound = whole(&topology.vpds)
                    && whole(&topology.ppds)
                    && homes.len() == topology.ppds.len()
                    && homes.iter().all(|home| *home < sockets as usize);
                let whole_sockets = bits > 0
                    || !(Hypervisor::Esxi65..=Hypervisor::Esxi90).contains(&hypervisor)
                    || topology.vpds.iter().all(|vpd| vpd.is_multiple_of(cores));
                assert!(
                    sound && whole_sockets,
                    "{hypervisor}, {vcpus} vCPUs, {cores} per socket, on {sockets} x {room}, settings {bits:b}: {topology:?}"
                );
            }
        }
    }
}

#[test]
fn all_memory_has_a_place() {
    let mut scenario = scenario("esxi-5.5", 4, 32, 1, 1);
    let has_wide_vms = |hypervisor: &Hypervisor| hypervisor.most_vcpus().is_none();
    let hypervisors: Vec<Hypervisor> = Hypervisor::ALL.iter().copied().filter(has_wide_vms).collect();
    for (vcpus, cores) in shapes() {
        let host = scenario.hosts.get_mut("esx").expect("the host");
        host.hypervisor = hypervisors[(vcpus + cores) as usize % hypervisors.len()];
        host.memory_per_node = Bytes::from_gib(32);
        let vm = scenario.vms.get_mut("vm").expect("the VM");
        (vm.vcpus, vm.cores_per_socket) = (vcpus, Some(cores));
        vm.memory = Bytes::new(120_000_000_007 + u64::from(vcpus));
        vm.cpu_hot_add = cores % 5 == 0;
        let layout = one(&scenario);
        let placed = layout.clients.iter().flat_map(|client| &client.memory);
        assert_eq!(
            placed.map(|part| part.bytes).sum::<u64>(),
            layout.memory_bytes,
            "{layout:?}"
        );
        for client in &layout.clients {
            let bytes: u64 = client.memory.iter().map(|part| part.bytes).sum();
            assert_eq!(client.local_bytes + client.remote_bytes, bytes, "{layout:?}");
        }
    }
}

/// The hosts that firmware divides: EPYC with four nodes per socket, Xeon with two sub-NUMA clusters.
fn divided(hypervisor: &str, nodes_per_socket: u32, vcpus: u32) -> Scenario {
    let mut scenario = scenario(hypervisor, 2, 32, vcpus, 1);
    scenario.hosts.get_mut("esx").expect("the host").nodes_per_socket = nodes_per_socket;
    scenario
}

#[test]
fn every_node_of_a_divided_socket_is_a_node() {
    for (nodes_per_socket, vcpus, clients) in [
        (1, 32, vec![32]),
        (2, 32, vec![16, 16]),
        (4, 32, vec![8; 4]),
        (4, 8, vec![8]),
        // over all eight nodes
        (4, 64, vec![8; 8]),
        (32, 9, vec![1; 9]),
    ] {
        for hypervisor in ["esxi-6.5", "esxi-7.0u2", "esxi-8.0"] {
            let found = one(&divided(hypervisor, nodes_per_socket, vcpus));
            assert_eq!(
                (&found.ppds, &found.vpds),
                (&clients, &clients),
                "{hypervisor}, {nodes_per_socket} nodes per socket"
            );
        }
    }
    let found = one(&divided("esxi-8.0", 4, 64));
    assert_eq!(found.homes, (0..8).collect::<Vec<_>>(), "a client on each node");
    let host = &found.host_topology;
    assert_eq!(
        (host.sockets, host.cores_per_socket, host.nodes, host.cores_per_node),
        (2, 32, 8, 8)
    );
}

#[test]
fn cells_are_bound_to_the_nodes_of_divided_sockets() {
    let cells = NumaOptions {
        cells: vec![4, 4],
        nodes: vec![7, 5],
        ..NumaOptions::default()
    };
    let found = one(&with(divided("linux-6.12", 4, 8), cells));
    assert_eq!((found.homes, found.ppds), (vec![7, 5], vec![4, 4]));
}
