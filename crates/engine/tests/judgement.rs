//! What a point means: what limits each group, who suffers, and the answer, from reports made up for each case.

use hypertwin_cluster::Scenario;
use hypertwin_engine::{
    History, HostMemoryResult, Islands, Judgement, LatencyReport, LimitKind, Move, MoveKind, Outage, Outcome,
    PointReport, Replication, StationReport, Tone, Unplaced, VmReport, Why, aggregate, judge,
};

const WORKLOADS: &str = r#"
    "paced": {"arrivals": {"open": {"rate": "10 /s"}}, "cpu": {"mean": "1 ms"}},
    "loop": {"arrivals": {"closed": {"population": 8}}, "cpu": {"mean": "1 ms"}, "delay": {"mean": "5 ms"}},
    "thinks": {"arrivals": {"closed": {"population": 8, "think": {"mean": "11 ms"}}}, "cpu": {"mean": "1 ms"}},
    "hurries": {"arrivals": {"closed": {"population": 8, "think": {"mean": "9 ms"}}}, "cpu": {"mean": "1 ms"}},
    "generator": {"arrivals": {"io": {"outstanding": 8}}, "cpu": {"mean": "2 us"}},
    "one-worker": {"arrivals": {"io": {"outstanding": 8, "workers": 1}}, "cpu": {"mean": "2 us"}},
    "slow-generator": {"arrivals": {"io": {"outstanding": 8, "rate": "100 /s"}}, "cpu": {"mean": "2 us"}},
    "reads-memory": {"arrivals": {"closed": {"population": 4}}, "cpu": {"mean": "1 ms"},
      "memory_traffic": "1 GB/s", "memory_intensity": 0.5}"#;

/// A point of db, which does `workload`, and a client of a pool on other hosts, with its first replication.
fn made(workload: &str, client: &str) -> (PointReport, Replication) {
    let host = r#""sockets": 2, "cores_per_socket": 8, "clock": "2.5 GHz", "hypervisor": "esxi-7.0",
      "memory_per_node": "256 GiB""#;
    let vm = r#""vcpus": 4, "memory": "8 GiB""#;
    let text = format!(
        r#"{{"name": "made-up", "run": {{"warmup": "0 s", "duration": "20 ms", "sample_interval": "10 ms"}},
        "hosts": {{"esx": {{"count": 2, {host}}}, "node": {{"count": 3, {host}}}}},
        "vms": {{"db": {{{vm}, "host": "esx-1", "workload": "{workload}", "array": "san"}},
          "other": {{"count": 2, {vm}, "host": "esx-2", "workload": "paced", "array": "far"}},
          "client": {{{vm}, "host": "esx-1", "workload": "{client}", "storage": "pool"}}}},
        "workloads": {{{WORKLOADS}}},
        "arrays": {{"san": {{"disks": {{"kind": "hdd-15k", "count": 10}}, "luns": 1}},
          "far": {{"disks": {{"kind": "hdd-15k", "count": 10}}, "luns": 1}}}},
        "storage": {{"pool": {{"kind": "mirrored-mesh", "nodes": "node", "deployment": "two-layer",
          "devices": {{"kind": "sas-ssd", "per_node": 2, "capacity": "1 TB"}}}}}}}}"#
    );
    let scenario = Scenario::from_json(&text).expect("it has no mistakes");
    let first = Islands::of(scenario).expect("it fits").run_all(1).expect("it runs");
    let mut point = aggregate(&[&first]);
    for vm in point.vms.values_mut().chain(point.groups.values_mut()) {
        quiet(vm);
    }
    // the pace of a generator that has one
    point.vms.values_mut().for_each(|vm| vm.iops = 100.0);
    for host in point.hosts.values_mut() {
        (host.usage_pct, host.utilization_pct, host.memory_usage_pct) = (10.0, 10.0, 1.0);
        host.nodes.values_mut().for_each(|node| node.memory_gb_per_s = 0.0);
    }
    point.storage.clear();
    point.bottleneck = None;
    (point, first)
}

/// A VM that does a little and waits for nothing.
fn quiet(vm: &mut VmReport) {
    let all = [
        &mut vm.run_pct,
        &mut vm.ready_pct,
        &mut vm.costop_pct,
        &mut vm.limited_pct,
        &mut vm.waiting_pct,
        &mut vm.guest_cpu_pct,
        &mut vm.used_pct,
        &mut vm.run_queue,
        &mut vm.iops,
        &mut vm.memory_gb_per_s,
        &mut vm.down_s,
    ];
    all.into_iter().for_each(|figure| *figure = 0.0);
    vm.throughput_per_s = 10.0;
    (vm.response_ms.mean, vm.response_ms.p50, vm.response_ms.p99) = (Some(10.0), Some(8.0), Some(50.0));
    (vm.memory, vm.io_latency_ms) = (None, None);
}

/// Latencies of I/Os with this mean.
fn ios_of(mean_ms: f64) -> Option<LatencyReport> {
    let mean = Some(mean_ms);
    Some(LatencyReport {
        mean,
        ..LatencyReport::default()
    })
}

/// Lets a VM wait this long for a CPU, and for its own limit.
fn ready(vm: &mut VmReport, waiting_pct: f64, limited_pct: f64) {
    (vm.waiting_pct, vm.limited_pct, vm.ready_pct) = (waiting_pct, limited_pct, waiting_pct + limited_pct);
}

type Change = fn(&mut PointReport);
type ChangeOfVm = fn(&mut VmReport);

fn judged(workload: &str, change: Change) -> Judgement {
    let (mut point, first) = made(workload, "generator");
    change(&mut point);
    judge(&point, &first)
}

fn db(point: &mut PointReport) -> &mut VmReport {
    point.groups.get_mut("db").expect("there is db")
}

fn esx(point: &mut PointReport, usage_pct: f64) {
    point.hosts.get_mut("esx-1").expect("there is esx-1").usage_pct = usage_pct;
}

fn node_gb_per_s(point: &mut PointReport, gb_per_s: f64) {
    let host = point.hosts.get_mut("esx-1").expect("there is esx-1");
    host.nodes.get_mut("1").expect("it has two").memory_gb_per_s = gb_per_s;
}

fn station(point: &mut PointReport, name: &str, utilization_pct: f64) {
    let station = StationReport {
        members: 1,
        utilization_pct,
        utilization_max_pct: utilization_pct,
        queue: 0.0,
        wait_ms: 0.0,
        waited_pct: 0.0,
        throughput_per_s: 1.0,
        mb_per_s: None,
        hit_pct: None,
        path_failovers: None,
    };
    point.storage.insert(name.to_owned(), station);
}

/// A station at which I/Os wait for this long on average.
fn waited(point: &mut PointReport, name: &str, wait_ms: f64) {
    station(point, name, 60.0);
    point.storage.get_mut(name).expect("it was put there").wait_ms = wait_ms;
}

/// A queue depth at which half of the I/Os wait.
fn depth(point: &mut PointReport, name: &str, wait_ms: f64) {
    waited(point, name, wait_ms);
    point.storage.get_mut(name).expect("it was put there").waited_pct = 50.0;
}

#[test]
fn a_group_is_limited_by_what_is_full() {
    use LimitKind::{Client, Controller, CpuLimit, Devices, Fabric, GuestCpu, HostCpu, Latency, Memory};
    #[rustfmt::skip]
    let cases: [(&str, Change, LimitKind); 26] = [
        ("nothing", |_| {}, Latency),
        ("full vCPUs", |point| db(point).guest_cpu_pct = 90.1, GuestCpu),
        ("nearly full vCPUs", |point| db(point).guest_cpu_pct = 90.0, Latency),
        ("a full host", |point| esx(point, 90.1), HostCpu),
        ("a nearly full host", |point| esx(point, 90.0), Latency),
        ("both", |point| (esx(point, 90.1), db(point).guest_cpu_pct = 99.0).1, HostCpu),
        ("vCPUs that wait", |point| (db(point).run_pct = 50.0, ready(db(point), 10.1, 0.0)).1, HostCpu),
        ("busy ones that hardly do", |point| (db(point).run_pct = 85.0, ready(db(point), 6.0, 0.0)).1, GuestCpu),
        ("co-stop", |point| (db(point).costop_pct = 4.1, ready(db(point), 6.0, 0.0)).1, HostCpu),
        ("its own limit", |point| ready(db(point), 10.0, 10.0), CpuLimit),
        ("less than half by it", |point| ready(db(point), 10.1, 9.9), HostCpu),
        ("too little to be felt", |point| ready(db(point), 0.0, 5.0), Latency),
        (
            "its own limit on a full host",
            |point| {
                esx(point, 100.0);
                ready(db(point), 0.9, 5.1);
            },
            CpuLimit,
        ),
        ("memory that is not there", |point| point.hosts.get_mut("esx-1").unwrap().memory_usage_pct = 100.1, Memory),
        ("a node's memory", |point| node_gb_per_s(point, 55.7), Memory),
        ("nearly a node's memory", |point| node_gb_per_s(point, 55.5), Latency),
        ("a controller", |point| station(point, "db-controllers", 85.1), Controller),
        ("nearly a controller", |point| station(point, "db-controllers", 85.0), Latency),
        ("the fuller of both", |point| (esx(point, 95.0), station(point, "db-controllers", 97.0)).1, Controller),
        ("the host of both", |point| (esx(point, 97.0), station(point, "db-controllers", 95.0)).1, HostCpu),
        ("ports", |point| (station(point, "esx-1-ports", 92.0), station(point, "san-disks", 91.0)).1, Fabric),
        ("disks", |point| (station(point, "esx-1-ports", 91.0), station(point, "san-disks", 92.0)).1, Devices),
        (
            "what others use",
            |point| {
                for name in [
                    "other-controllers",
                    "esx-2-ports",
                    "far-disks",
                    "db-vcpus",
                    "db-vdisk-depth",
                ] {
                    station(point, name, 100.0);
                }
            },
            Latency,
        ),
        ("a depth", |point| depth(point, "db-vdisk-depth", 0.0), Client),
        ("a depth of others", |point| depth(point, "other-ring", 0.0), Latency),
        (
            "a full server before a depth",
            |point| (depth(point, "db-ring", 0.0), station(point, "san-disks", 91.0)).1,
            Devices,
        ),
    ];
    for (what, change, expected) in cases {
        assert_eq!(judged("loop", change).limits["db"].kind, expected, "{what}");
    }
}

#[test]
fn depths_stand_for_what_they_are_of() {
    for (name, expected) in [
        ("db-ring", LimitKind::Controller),
        ("esx-1-lun-depth", LimitKind::Fabric),
        ("san-cache", LimitKind::Devices),
        ("db-dsnro", LimitKind::Client),
    ] {
        let (mut point, first) = made("loop", "generator");
        depth(&mut point, name, 0.0);
        assert_eq!(judge(&point, &first).limits["db"].kind, expected, "{name}");
    }
}

#[test]
fn a_pool_limits_its_clients_and_nobody_else() {
    for (name, expected) in [
        ("pool-services", LimitKind::StorageCpu),
        ("pool-cpu-limit", LimitKind::StorageCpu),
        ("pool-flash", LimitKind::Devices),
        ("pool-cluster-network", LimitKind::Network),
        ("pool-rack-network", LimitKind::Network),
    ] {
        let (mut point, first) = made("loop", "generator");
        station(&mut point, name, 99.0);
        let limits = judge(&point, &first).limits;
        assert_eq!(limits["client"].kind, expected, "{name}");
        assert_eq!(limits["db"].kind, LimitKind::Latency, "{name}");
    }
}

/// I/Os of 10 ms on average, and where they wait.
#[test]
fn a_generator_is_limited_by_the_servers_that_it_waits_for_half_of_its_latency() {
    type Waits<'w> = &'w [(&'w str, f64)];
    #[rustfmt::skip]
    let cases: [(&str, Waits, LimitKind); 7] = [
        ("generator", &[("pool-services", 5.0)], LimitKind::StorageCpu),
        ("generator", &[("pool-services", 4.9)], LimitKind::Latency),
        ("generator", &[("pool-shards", 2.5), ("pool-messengers", 2.5), ("pool-devices", 4.9)], LimitKind::StorageCpu),
        ("generator", &[("pool-devices", 6.0), ("pool-shards", 2.0)], LimitKind::Devices),
        ("generator", &[("client-ring", 9.0)], LimitKind::Latency),
        ("slow-generator", &[("pool-services", 9.0)], LimitKind::Nothing),
        ("loop", &[("pool-services", 9.0)], LimitKind::Latency),
    ];
    for (workload, waits, expected) in cases {
        let (mut point, first) = made("loop", workload);
        let client = point.groups.get_mut("client").expect("there is a client");
        client.io_latency_ms = ios_of(10.0);
        for &(name, wait_ms) in waits {
            waited(&mut point, name, wait_ms);
        }
        let found = judge(&point, &first).limits["client"].kind;
        assert_eq!(found, expected, "{workload} {waits:?}");
    }
}

/// I/Os of 10 ms on average, 100 a second, of which this many wait at a station of the array with one full member.
fn with_a_full_port(workload: &str, utilization_max_pct: f64, queue: f64) -> (PointReport, Replication) {
    let (mut point, first) = made(workload, "slow-generator");
    let db = db(&mut point);
    (db.iops, db.io_latency_ms) = (100.0, ios_of(10.0));
    station(&mut point, "san-front-end", 25.0);
    let ports = point.storage.get_mut("san-front-end").expect("it was put there");
    (ports.members, ports.utilization_max_pct, ports.queue) = (4, utilization_max_pct, queue);
    (point, first)
}

#[test]
fn a_full_member_limits_whose_ios_wait_there_for_half_of_their_latency() {
    for (workload, utilization_max_pct, queue, expected) in [
        ("loop", 100.0, 0.5, LimitKind::Fabric),
        ("loop", 100.0, 0.49, LimitKind::Latency),
        ("loop", 84.0, 0.9, LimitKind::Latency),
        ("paced", 100.0, 0.5, LimitKind::Fabric),
        ("paced", 100.0, 0.49, LimitKind::Nothing),
    ] {
        let (mut point, first) = with_a_full_port(workload, utilization_max_pct, queue);
        let found = judge(&point, &first);
        let what = format!("{workload}, {utilization_max_pct}%, {queue} in line");
        assert_eq!(found.limits["db"].kind, expected, "{what}");
        let is_limit = expected == LimitKind::Fabric;
        assert_eq!(
            found.full_station.as_deref(),
            is_limit.then_some("san-front-end"),
            "{what}"
        );
        assert_eq!(found.tone, if is_limit { Tone::Warn } else { Tone::Good }, "{what}");
        if is_limit {
            assert_eq!(
                found.text,
                "I/Os of db wait mostly for one of the 4 of san-front-end, at 100%. No VM suffers from waiting for CPU."
            );
            depth(&mut point, "db-vdisk-depth", 0.0);
            assert_eq!(judge(&point, &first).limits["db"].kind, LimitKind::Fabric, "{what}");
        }
    }
}

/// A queue depth, at which I/Os of 10 ms wait for this long.
#[test]
fn a_depth_that_ios_wait_at_for_half_of_their_latency_is_told_first() {
    for (workload, name, wait_ms, is_told) in [
        ("loop", "esx-1-lun-depth", 5.0, true),
        ("loop", "esx-1-lun-depth", 4.9, false),
        ("loop", "db-vdisk-depth", 5.0, true),
        ("generator", "esx-1-lun-depth", 5.0, true),
        ("generator", "db-vdisk-depth", 9.0, false),
    ] {
        let (mut point, first) = with_a_full_port(workload, 25.0, 0.0);
        depth(&mut point, name, wait_ms);
        let found = judge(&point, &first);
        let what = format!("{workload}, {name}, {wait_ms} ms");
        assert_eq!(found.full_station.as_deref(), is_told.then_some(name), "{what}");
        assert_eq!(found.tone, if is_told { Tone::Warn } else { Tone::Good }, "{what}");
        let text = format!("50% of I/Os wait for a slot in {name}. No VM suffers from waiting for CPU.");
        assert_eq!(found.text == text, is_told, "{what}: {}", found.text);
    }
}

#[test]
fn full_vcpus_limit_io_only_of_a_vm_that_does_nothing_else() {
    let loads = [
        (
            r#"{"arrivals": {"io": {"outstanding": 64}}, "cpu": {"mean": "1 ms"}}"#,
            true,
        ),
        (
            r#"{"arrivals": {"closed": {"population": 8}}, "cpu": {"mean": "1 ms"}, "ios": 1}"#,
            false,
        ),
    ];
    for (workload, is_limit) in loads {
        let text = format!(
            r#"{{"name": "full", "run": {{"warmup": "100 ms", "duration": "500 ms"}},
            "hosts": {{"esx": {{"sockets": 1, "cores_per_socket": 8, "clock": "2.5 GHz", "hypervisor": "esxi-7.0",
              "memory_per_node": "64 GiB"}}}},
            "vms": {{"db": {{"vcpus": 1, "memory": "8 GiB", "workload": "w", "array": "san"}}}},
            "workloads": {{"w": {workload}}}, "arrays": {{"san": {{"disks": {{"kind": "nvme", "count": 10}}}}}}}}"#
        );
        let scenario = Scenario::from_json(&text).expect("it has no mistakes");
        let first = Islands::of(scenario).expect("it fits").run_all(1).expect("it runs");
        let point = aggregate(&[&first]);
        assert!(point.storage["db-vcpus"].utilization_pct > 85.0, "{workload}");
        let found = point.bottleneck.as_ref().expect("its I/Os pass some station");
        assert_eq!(
            (found.station == "db-vcpus", found.saturated),
            (is_limit, is_limit),
            "{workload}"
        );
        assert_eq!(judge(&point, &first).full_station.is_some(), is_limit, "{workload}");
    }
}

#[test]
fn an_io_waits_at_the_ports_of_one_of_the_hosts_of_its_group() {
    let (mut point, first) = with_a_full_port("generator", 25.0, 0.0);
    db(&mut point).hosts = Some(vec!["esx-1".to_owned(), "esx-2".to_owned()]);
    for (waits_ms, expected) in [([4.0, 4.0], LimitKind::Latency), ([4.0, 6.5], LimitKind::Fabric)] {
        for (name, wait_ms) in ["esx-1-ports", "esx-2-ports"].into_iter().zip(waits_ms) {
            waited(&mut point, name, wait_ms);
        }
        assert_eq!(judge(&point, &first).limits["db"].kind, expected, "{waits_ms:?}");
    }
}

#[test]
fn each_group_has_the_depth_that_its_own_ios_wait_for() {
    let (mut point, first) = with_a_full_port("loop", 25.0, 0.0);
    point.groups.get_mut("client").expect("there is a client").io_latency_ms = ios_of(10.0);
    for (name, wait_ms) in [("db-ring", 6.0), ("client-ring", 7.0)] {
        depth(&mut point, name, wait_ms);
    }
    let limits = judge(&point, &first).limits;
    assert_eq!([&limits["db"].of, &limits["client"].of], ["db-ring", "client-ring"]);
}

#[test]
fn an_io_waits_for_the_depth_of_one_of_the_hosts_of_its_group() {
    let (mut point, first) = with_a_full_port("loop", 25.0, 0.0);
    db(&mut point).hosts = Some(vec!["esx-1".to_owned(), "esx-2".to_owned()]);
    for (waits_ms, expected) in [([0.1, 9.0], None), ([2.0, 9.0], Some("esx-2-lun-depth"))] {
        for (name, wait_ms) in ["esx-1-lun-depth", "esx-2-lun-depth"].into_iter().zip(waits_ms) {
            depth(&mut point, name, wait_ms);
        }
        let found = judge(&point, &first);
        assert_eq!(found.full_station.as_deref(), expected, "{waits_ms:?}");
        assert_eq!(found.limits["db"].of, "esx-2-lun-depth");
    }
}

#[test]
fn a_generator_outside_of_its_pool_is_a_client() {
    let (mut point, first) = made("generator", "one-worker");
    let client = |point: &PointReport| judge(point, &first).limits["client"].kind;
    for node in ["node-1", "node-2", "node-3"] {
        point.hosts.get_mut(node).unwrap().utilization_pct = 85.1;
    }
    assert_eq!(client(&point), LimitKind::StorageCpu);
    point.hosts.get_mut("node-1").unwrap().utilization_pct = 84.0;
    assert_eq!(client(&point), LimitKind::Latency, "the mean of the nodes counts");
    point.groups.get_mut("client").unwrap().run_pct = 22.6; // one worker on four vCPUs
    assert_eq!(client(&point), LimitKind::Client);
    point.groups.get_mut("client").unwrap().run_pct = 22.5;
    assert_eq!(client(&point), LimitKind::Latency);
    esx(&mut point, 95.0);
    assert_eq!(client(&point), LimitKind::Client);
    let of_an_array = judged("generator", |point| db(point).guest_cpu_pct = 95.0);
    assert_eq!(
        of_an_array.limits["db"].kind,
        LimitKind::GuestCpu,
        "it is what is measured"
    );
}

#[test]
fn load_that_fills_nothing_is_a_loop_or_paced() {
    for (workload, expected) in [
        ("paced", LimitKind::Nothing),
        ("loop", LimitKind::Latency),
        ("thinks", LimitKind::Nothing),
        ("hurries", LimitKind::Latency),
        ("generator", LimitKind::Latency),
        ("slow-generator", LimitKind::Nothing),
    ] {
        assert_eq!(judged(workload, |_| {}).limits["db"].kind, expected, "{workload}");
    }
    // a pace of two I/Os in 20 ms, of which one may come after the end
    for (iops, expected) in [(49.0, LimitKind::Nothing), (47.0, LimitKind::Latency)] {
        let (mut point, first) = made("slow-generator", "generator");
        point.vms.get_mut("db").unwrap().iops = iops;
        assert_eq!(
            judge(&point, &first).limits["db"].kind,
            expected,
            "{iops} of 100 I/Os per second"
        );
    }
    let idle = judged("loop", |point| db(point).throughput_per_s = 0.0);
    assert_eq!(idle.limits["db"].kind, LimitKind::Nothing);
}

#[test]
fn vcpus_that_move_less_memory_than_their_cpu_would_are_held_up_by_it() {
    let busy: Change = |point| (db(point).guest_cpu_pct, db(point).used_pct) = (100.0, 100.0); // 4 vCPUs of 1 GB/s
    let limit = |gb_per_s: f64, node: f64| {
        let (mut point, first) = made("reads-memory", "generator");
        busy(&mut point);
        db(&mut point).memory_gb_per_s = gb_per_s;
        node_gb_per_s(&mut point, node);
        judge(&point, &first).limits["db"].kind
    };
    // half of what a link between nodes carries, 30.6 GB/s
    assert_eq!(limit(3.19, 15.4), LimitKind::Memory);
    assert_eq!(limit(3.21, 15.4), LimitKind::GuestCpu);
    // latency of remote memory, or a busy sibling: nothing is asked of the memory that it does not deliver
    assert_eq!(limit(3.19, 15.2), LimitKind::GuestCpu);
}

/// VMs that reach limits of their own leave their host with much free memory.
#[test]
fn a_host_is_short_of_memory_only_if_it_lacks_it_itself() {
    let with = |state: u8, free_bytes: f64| {
        let (mut point, first) = made("loop", "generator");
        let host = point.hosts.get_mut("esx-1").unwrap();
        host.memory_usage_pct = 120.0;
        host.memory = Some(HostMemoryResult {
            state,
            free_bytes,
            min_free_bytes: 1e9,
            swapped_bytes: 4.0 * f64::from(1 << 30),
            ..HostMemoryResult::default()
        });
        judge(&point, &first)
    };
    let limited = with(0, 9e9);
    assert_eq!(
        limited.more[0],
        "VMs on esx-1 lack memory although it has some free (limits of their own, or not read back yet): 4 GiB swapped."
    );
    assert_eq!(limited.limits["db"].kind, LimitKind::Latency);
    assert!(
        limited.text.starts_with("No VM suffers from waiting for CPU: "),
        "{}",
        limited.text
    );
    for (state, free_bytes) in [(0, 1.9e9), (2, 9e9)] {
        let short = with(state, free_bytes);
        assert!(
            short.more[0].starts_with("esx-1 is short of memory"),
            "{}",
            short.more[0]
        );
        assert_eq!(short.limits["db"].kind, LimitKind::Memory);
    }
}

/// A VM that waited on the host that it left did not wait for the one that it is on.
#[test]
fn a_wait_is_for_the_fullest_host_that_a_vm_was_on() {
    let (mut point, first) = made("loop", "generator");
    ready(db(&mut point), 29.0, 0.0);
    esx(&mut point, 40.0);
    let host = |point: &PointReport| judge(point, &first).limits["other"].of.clone();
    for name in ["other", "db"] {
        ready(point.groups.get_mut(name).unwrap(), 29.0, 0.0);
    }
    assert_eq!(host(&point), "esx-2");
    let left = |end_s: f64| History {
        moves: vec![Move {
            end_s: Some(end_s),
            ..migration("other-1", Outcome::Done)
        }],
        ..History::default()
    };
    point.movement = Some(left(30.0));
    assert_eq!(host(&point), "esx-1");
    // before anything is measured
    point.warmup_s = 30.0;
    assert_eq!(host(&point), "esx-2");
}

/// I/Os to a host that has just failed wait until it is marked down, with replicas enough.
#[test]
fn ios_wait_for_what_the_failure_left() {
    let why = |redundancy: &str| {
        let text = format!(
            r#"{{"name": "made-up", "run": {{"warmup": "0 s", "duration": "1 s", "sample_interval": "100 ms"}},
            "hosts": {{"n": {{"count": 4, "sockets": 1, "cores_per_socket": 8, "clock": "2.5 GHz",
              "hypervisor": "linux-6.12", "memory_per_node": "64 GiB"}}}},
            "vms": {{"db": {{"vcpus": 4, "memory": "8 GiB", "host": "n-1", "workload": "generator", "storage": "pool"}}}},
            "failures": [{{"at": "200 ms", "fails": ["n-2"]}}],
            "workloads": {{{WORKLOADS}}},
            "storage": {{"pool": {{"kind": "ceph", "nodes": "n", "redundancy": "{redundancy}",
              "devices": {{"kind": "nvme", "per_node": 2, "capacity": "1 TB"}}}}}}}}"#
        );
        let scenario = Scenario::from_json(&text).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
        let first = Islands::of(scenario).expect("it fits").run_all(1).expect("it runs");
        let waits = judge(&aggregate(&[&first]), &first).more;
        let waits = waits.iter().find(|text| text.starts_with("At the end"));
        waits
            .expect("some wait")
            .split_once(": ")
            .expect("a reason")
            .1
            .to_owned()
    };
    assert_eq!(why("replicas-3:2"), "the failure is not detected yet.");
    assert_eq!(why("replicas-2:2"), "too few replicas or fragments are available.");
}

/// The judgement of a point whose VM db is changed, and its group alike.
fn of_db(change: ChangeOfVm) -> Judgement {
    let (mut point, first) = made("loop", "generator");
    change(point.vms.get_mut("db").expect("there is db"));
    change(db(&mut point));
    judge(&point, &first)
}

#[test]
fn a_vm_suffers_from_its_bands_on() {
    #[rustfmt::skip]
    let cases: [(&str, ChangeOfVm, Option<Tone>); 20] = [
        ("ready at its limit", |vm| ready(vm, 5.0, 0.0), None),
        ("ready", |vm| ready(vm, 5.1, 0.0), Some(Tone::Warn)),
        ("ready that hurts", |vm| ready(vm, 10.1, 0.0), Some(Tone::Bad)),
        ("its own limit, not ready", |vm| ready(vm, 1.0, 8.0), Some(Tone::Warn)),
        ("its own limit that hurts", |vm| ready(vm, 0.1, 10.1), Some(Tone::Bad)),
        ("co-stop at its limit", |vm| vm.costop_pct = 3.0, None),
        ("co-stop", |vm| vm.costop_pct = 3.1, Some(Tone::Bad)),
        ("full vCPUs without a queue", |vm| (vm.guest_cpu_pct, vm.run_queue) = (100.0, 8.0), None),
        ("full vCPUs with a queue", |vm| (vm.guest_cpu_pct, vm.run_queue) = (91.0, 8.4), Some(Tone::Bad)),
        ("a queue and room", |vm| (vm.guest_cpu_pct, vm.run_queue) = (90.0, 40.0), None),
        ("full for a time", |vm| (vm.guest_cpu_pct, vm.run_queue) = (60.0, 40.4), Some(Tone::Bad)),
        ("a long tail", |vm| vm.response_ms.p99 = Some(161.0), Some(Tone::Warn)),
        ("a tail at its limit", |vm| vm.response_ms.p99 = Some(160.0), None),
        ("no transactions", |vm| (vm.response_ms.p50, vm.response_ms.p99) = (None, None), None),
        ("down", |vm| vm.down_s = 0.01, Some(Tone::Bad)),
        ("I/Os at their limit", |vm| vm.io_latency_ms = ios_of(25.0), None),
        ("slow I/Os", |vm| vm.io_latency_ms = ios_of(25.1), Some(Tone::Warn)),
        ("an I/O that took long", |vm| vm.io_longest_s = Some(5.0), None),
        ("an I/O that took longer", |vm| vm.io_longest_s = Some(5.1), Some(Tone::Warn)),
        ("an I/O that does not come back", |vm| vm.io_longest_s = Some(10.1), Some(Tone::Bad)),
    ];
    for (what, change, expected) in cases {
        let judged = of_db(change);
        let tone = if judged.vms.contains_key("db") {
            Some(judged.tone)
        } else {
            None
        };
        assert_eq!(tone, expected, "{what}: {}", judged.text);
        assert_eq!(judged.groups.contains_key("db"), expected.is_some(), "{what}");
    }
}

#[test]
fn a_generator_without_a_rate_chooses_its_latency() {
    for (client, expected) in [("generator", Tone::Good), ("slow-generator", Tone::Warn)] {
        let (mut point, first) = made("loop", client);
        point.vms.get_mut("client").expect("there is a client").io_latency_ms = ios_of(40.0);
        let judged = judge(&point, &first);
        assert_eq!(judged.tone, expected, "{client}: {}", judged.text);
    }
}

/// A depth decides how long I/Os take, but not that one of them takes ten times as long as nearly all.
#[test]
fn an_io_of_a_generator_is_stuck_if_others_are_much_faster() {
    for (p99_ms, expected) in [
        (Some(2_000.0), Tone::Good),
        (Some(1_100.0), Tone::Bad),
        (None, Tone::Bad),
    ] {
        let (mut point, first) = made("loop", "generator");
        let client = point.vms.get_mut("client").expect("there is a client");
        client.io_latency_ms = ios_of(40.0);
        client.io_latency_ms.as_mut().expect("it has I/Os").p99 = p99_ms;
        client.io_longest_s = Some(12.0);
        let judged = judge(&point, &first);
        assert_eq!(judged.tone, expected, "{p99_ms:?}: {}", judged.text);
    }
}

#[test]
fn the_answer_names_the_worst_first_and_counts_the_others() {
    let (mut point, first) = made("loop", "generator");
    ready(point.vms.get_mut("other-2").unwrap(), 31.0, 0.0);
    ready(point.vms.get_mut("other-1").unwrap(), 12.0, 0.0);
    let judged = judge(&point, &first);
    assert_eq!(
        judged.text,
        "other-2 on esx-2 suffers most: ready 31% per vCPU. 2 of 4 VMs suffer: all 2 of other."
    );
    ready(point.vms.get_mut("other-1").unwrap(), 6.0, 0.0);
    let judged = judge(&point, &first);
    assert_eq!(judged.text, "other-2 on esx-2 suffers: ready 31% per vCPU.");
    assert_eq!(judged.vms["other-1"][0].metric, "ready_pct");
}

#[test]
fn a_calm_point_says_what_is_full() {
    let calm = judged("loop", |_| {});
    assert_eq!(calm.tone, Tone::Good);
    assert_eq!(
        calm.text,
        "No VM suffers: ready is below 0.5% and co-stop below 0.5% per vCPU, and the most loaded host, esx-1, is at 10% CPU."
    );
    let full = judged("loop", |point| esx(point, 100.0));
    assert_eq!(full.tone, Tone::Warn);
    assert!(full.text.starts_with(
        "No VM suffers, but 1 of 5 hosts is above 90% CPU, and the most loaded host, esx-1, is at 100% CPU. Ready"
    ));
    let touched = judged("loop", |point| {
        let host = point.hosts.get_mut("esx-1").unwrap();
        (host.memory_pct, host.memory_usage_pct) = (130.0, 120.0);
    });
    assert_eq!(touched.tone, Tone::Warn);
    assert_eq!(
        touched.more[0],
        "VMs on esx-1 have touched 120% of its memory: a real host would balloon and swap."
    );
}

fn outage(vm: &str, up_s: Option<f64>) -> Outage {
    Outage {
        vm: vm.to_owned(),
        host: "esx-2".to_owned(),
        from_s: 15.0,
        detected_s: Some(33.0),
        restart_s: up_s.map(|_| 33.0),
        up_s,
        up_on: up_s.map(|_| "esx-1".to_owned()),
    }
}

fn migration(vm: &str, outcome: Outcome) -> Move {
    Move {
        at_s: 20.0,
        end_s: (outcome == Outcome::Done).then_some(30.0),
        vm: vm.to_owned(),
        from: "esx-1".to_owned(),
        to: "esx-2".to_owned(),
        kind: MoveKind::Migration,
        why: Why::Event,
        outcome,
        rounds: 3,
        sent_bytes: 1.0,
        downtime_ms: (outcome == Outcome::Done).then_some(500.0),
    }
}

#[test]
fn what_found_no_host_comes_first_then_who_was_down_and_whether_anything_restarts_them() {
    let (mut point, first) = made("loop", "generator");
    point.duration_s = 60.0;
    for (vm, down_s) in [("other-1", 33.0), ("other-2", 50.0)] {
        point.vms.get_mut(vm).unwrap().down_s = down_s;
    }
    point.hosts.get_mut("esx-2").unwrap().down_s = 50.0;
    let still = judge(&point, &first);
    assert_eq!(still.tone, Tone::Bad);
    let said = "2 of 4 VMs stopped for up to 50 s of 60 s, because esx-2 failed: other-2, other-1.";
    assert_eq!(still.text, said);
    assert_eq!(
        still.more[0],
        "No HA policy in cluster default restarts them. Averages count the downtime as idle."
    );
    point.movement = Some(History {
        moves: vec![migration("db", Outcome::Done), migration("client", Outcome::Running)],
        outages: vec![outage("other-1", Some(48.0)), outage("other-2", None)],
        unplaced: Vec::new(),
    });
    let down = judge(&point, &first);
    assert_eq!(down.text, said.replace("stopped", "were down"));
    assert_eq!(
        down.more[0],
        "1 of 2 VMs that went down was up again after at most 33 s. 1 migration took at most 10 s, with at most 500 ms \
         of downtime. 1 migration did not finish or was cancelled."
    );
    let lacks = |vm: &str, lacks: &str| Unplaced {
        vm: vm.to_owned(),
        lacks: lacks.to_owned(),
        at_s: 33.0,
    };
    let history = point.movement.as_mut().unwrap();
    history.unplaced = vec![
        lacks("other-2", "memory"),
        lacks("other-2", "memory"),
        lacks("other-1", "memory"),
        lacks("db", "a host"),
    ];
    let unplaced = judge(&point, &first);
    assert_eq!(
        unplaced.unplaced,
        [
            "1 VM could not restart: other-2 needs memory.",
            "1 VM could not restart at first: other-1 needs memory.",
            "1 VM could not migrate: db needs a host.",
        ]
    );
    assert!(
        unplaced.text.starts_with(
            "1 VM could not restart: other-2 needs memory. 1 VM could not restart at first: other-1 needs"
        )
    );
    assert_eq!(unplaced.more[0], down.text);
}

#[test]
fn a_migration_is_told_and_one_that_does_not_end_is_worth_a_look() {
    let (mut point, first) = made("loop", "generator");
    let history = |outcome| History {
        moves: vec![migration("db", outcome)],
        ..History::default()
    };
    point.movement = Some(history(Outcome::Done));
    let done = judge(&point, &first);
    assert_eq!(done.tone, Tone::Good);
    assert_eq!(
        done.more[0],
        "1 migration took at most 10 s, with at most 500 ms of downtime."
    );
    point.movement = Some(history(Outcome::GivenUp));
    let late = judge(&point, &first);
    assert_eq!(
        (late.tone, late.more[0].as_str()),
        (Tone::Warn, "1 migration did not finish or was cancelled.")
    );
}
