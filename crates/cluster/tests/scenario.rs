//! Scenarios: reading, writing, names, placement, and every mistake in one go.
#![allow(clippy::too_many_lines, reason = "tables of mistakes")]

use std::collections::BTreeMap;

use hypertwin_cluster::{
    Adapters, AdmissionPolicy, ArrayCache, Arrivals, AsyncIo, Balancing, BalancingPolicy, Bandwidth, BlockShare, Bytes,
    Cluster, ControllerKind, Convergence, Datastore, Deployment, Device, DiskCache, DiskKind, DiskMode, Disks,
    Duration, Event, Failure, FailureDomain, Family, Firmware, Flushes, Frequency, GuestKind, GuestSystem,
    HighAvailability, HostGroup, Hypervisor, HypervisorOverhead, In, LoadStep, MeasuredCluster, MeasuredHost,
    MeasuredVm, MemorySystem, Migration, Mistake, Network, NumaOptions, PageSharing, PathPolicy, Paths, PlacementRule,
    Plugin, PoolClient, PoolDevices, PoolFlash, PoolKind, PoolNetworks, PoolNodes, PoolService, PowerPolicy,
    PoweredOff, Protocol, RackLink, Raid, Rate, RawMapping, Rebuild, Reclamation, Redundancy, RestartPolicy,
    RestartPriority, RuleKind, RunSettings, RunTime, Scaling, Scenario, SchedulerOptions, Service, Shares,
    SourceCluster, SourceDisk, SourceVm, Stalls, StorageArray, StoragePolicy, StoragePool, SwapDevice, Tools, VmGroup,
    Workload, WriteCache, WritePath, schema_json,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn good() -> Value {
    json!({
        "name": "good",
        "hosts": {
            "esx": {"count": 2, "sockets": 2, "cores_per_socket": 4, "clock": "2.5 GHz", "memory_per_node": "64 GiB",
                    "hypervisor": "esxi-7.0"},
            "kvm": {"sockets": 1, "cores_per_socket": 4, "clock": "3 GHz", "memory_per_node": "32 GiB",
                    "hypervisor": "linux-6.12"},
        },
        "vms": {
            "db": {"count": 3, "vcpus": 4, "memory": "8 GiB", "workload": "oltp"},
            "web": {"vcpus": 2, "memory": "8 GiB", "workload": "oltp", "host": "kvm"},
        },
        "workloads": {"oltp": {"arrivals": {"closed": {"population": 5}}, "cpu": {"mean": "5 ms"}}},
    })
}

/// Puts a value at a JSON pointer.
fn put(scenario: &mut Value, pointer: &str, value: &Value) {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let parent = scenario.pointer_mut(parent).and_then(Value::as_object_mut);
    parent.expect("a mapping").insert(key.to_owned(), value.clone());
}

/// The good scenario with values put at JSON pointers.
fn changed(changes: &[(&str, Value)]) -> Value {
    let mut scenario = good();
    for (pointer, value) in changes {
        put(&mut scenario, pointer, value);
    }
    scenario
}

fn read(scenario: &Value) -> Result<Scenario, Vec<Mistake>> {
    Scenario::from_json(&scenario.to_string())
}

fn codes(scenario: &Value) -> Vec<(String, String)> {
    let mistakes = read(scenario).expect_err("a scenario with mistakes");
    mistakes
        .into_iter()
        .map(|mistake| (mistake.path, mistake.code))
        .collect()
}

#[test]
fn defaults_are_written_out() {
    let scenario = read(&good()).unwrap();
    assert_eq!(scenario.run, RunSettings::default());
    assert_eq!(scenario.hosts["esx"].threads_per_core, 2);
    assert_eq!(scenario.hosts["esx"].overhead, HypervisorOverhead::default());
    assert_eq!(scenario.vms["db"].shares, Shares::Normal);
    assert_eq!(scenario.workloads["oltp"].unit, "transactions");
    let written: Value = serde_json::from_str(&scenario.to_json()).unwrap();
    assert_eq!(written["run"]["duration"], "auto");
    assert_eq!(written["vms"]["db"]["load"], 1.0);
    assert_eq!(written["workloads"]["oltp"]["delay"], json!({"mean": "0 s", "cv": 1.0}));
    assert!(written["vms"]["db"].get("limit").is_none());
}

#[test]
fn times_of_a_run_may_be_left_open() {
    let with = |time: &str| read(&changed(&[("/run", json!({"warmup": time, "duration": "90 s"}))]));
    let run = with("auto").unwrap().run;
    assert_eq!((run.warmup, run.warmup.given()), (RunTime::AUTO, None));
    assert_eq!(run.duration.given(), Some(Duration::from_secs(90)));
    for wrong in ["Auto", "automatic", "auto s"] {
        let mistakes = with(wrong).unwrap_err();
        assert_eq!(mistakes[0].path, "run.warmup");
        assert!(
            mistakes[0].allowed.starts_with("auto, or a duration from 0 s to 30 d"),
            "{mistakes:?}"
        );
    }
}

#[test]
fn groups_of_several_are_numbered() {
    let scenario = read(&good()).unwrap();
    let hosts: Vec<String> = scenario.host_names().into_iter().map(|(name, _)| name).collect();
    let vms: Vec<String> = scenario.vm_names().into_iter().map(|(name, _)| name).collect();
    assert_eq!(hosts, ["esx-1", "esx-2", "kvm"]);
    assert_eq!(vms, ["db-1", "db-2", "db-3", "web"]);
}

#[test]
fn machines_spread_by_vcpus_per_logical_cpu() {
    // 16, 16 and 8 logical CPUs. web is bound to kvm and comes first: 2/8. db-1: the first of the empty ones. db-2: the
    // other. db-3: all have 1/4, the first.
    assert_eq!(read(&good()).unwrap().placement(), Some(vec![0, 1, 0, 2]));
    let on_one = changed(&[("/vms/db/host", json!("esx-2"))]);
    assert_eq!(read(&on_one).unwrap().placement(), Some(vec![1, 1, 1, 2]));
    // A machine wider than kvm goes where it is not.
    let wide = changed(&[("/vms/db/vcpus", json!(12))]);
    assert_eq!(read(&wide).unwrap().placement(), Some(vec![0, 1, 0, 2]));
    let none = changed(&[("/vms/db/count", json!(0))]);
    assert_eq!(read(&none).unwrap().placement(), Some(vec![2]));
    // Wider than every host, it is KVM's: ESXi would not power it on.
    let wider = changed(&[("/vms/db/vcpus", json!(17))]);
    assert_eq!(read(&wider).unwrap().placement(), Some(vec![2, 2, 2, 2]));
    let mut too_wide = read(&good()).unwrap();
    too_wide.vms.get_mut("db").unwrap().vcpus = 17;
    too_wide.vms.get_mut("db").unwrap().host = Some("esx".to_owned());
    assert_eq!(too_wide.placement(), None);
}

#[test]
fn only_kvm_runs_a_machine_wider_than_its_host() {
    let wide = |host: &str| changed(&[("/vms/web/vcpus", json!(17)), ("/vms/web/host", json!(host))]);
    assert!(read(&wide("kvm")).is_ok());
    let refused = Scenario::from_json(&wide("esx").to_string()).unwrap_err();
    let text = format!("{refused:?}");
    assert!(
        text.contains("vm-wider-than-host") && text.contains("ESXi does not power on") && text.contains("KVM does"),
        "{text}"
    );
}

#[test]
fn threads_that_work_for_disks_are_bounded() {
    let array = json!({"san": {"disks": {"kind": "nvme", "count": 4}}});
    let queues = |queues: u32| {
        let mut scenario = changed(&[("/vms/web/array", json!("san")), ("/vms/web/queues", json!(queues))]);
        scenario["arrays"] = array.clone();
        scenario["vms"]["web"]["count"] = json!(2_000);
        scenario["vms"]["web"]["controllers"] = json!(4);
        read(&scenario)
    };
    assert!(queues(200).is_ok());
    let refused = queues(300).unwrap_err();
    assert_eq!(refused.len(), 1);
    assert_eq!(
        (refused[0].code.as_str(), refused[0].value.as_str()),
        ("too-large", "2400000 I/O threads in all")
    );
}

#[test]
fn shares_are_per_vcpu_unless_a_number() {
    let totals = [Shares::Low, Shares::Normal, Shares::High, Shares::Number(7)].map(|shares| shares.total(4));
    assert_eq!(totals, [2_000.0, 4_000.0, 8_000.0, 7.0]);
}

#[test]
fn affinity_is_a_sorted_set() {
    let scenario = read(&changed(&[("/vms/web/affinity", json!("5,0-2,2-3"))])).unwrap();
    assert_eq!(scenario.vms["web"].affinity_cpus(), Some(vec![0, 1, 2, 3, 5]));
    assert_eq!(scenario.vms["db"].affinity_cpus(), None);
}

#[test]
fn hypervisors_are_ordered_within_their_family() {
    for pair in Hypervisor::ALL.windows(2) {
        assert!(pair[0] < pair[1]);
    }
    assert_eq!(Hypervisor::Esxi70u2.as_str(), "esxi-7.0u2");
    assert_eq!(Hypervisor::Linux6_6.family(), Family::Linux);
    for hypervisor in Hypervisor::ALL {
        assert!(hypervisor.as_str().starts_with(hypervisor.family().as_str()));
        assert_eq!(serde_json::to_value(hypervisor).unwrap(), hypervisor.as_str());
    }
}

#[test]
fn every_mistake_is_listed() {
    let scenario = changed(&[
        ("/nme", json!(1)),
        ("/run", json!({"duration": 60, "sample_interval": "1 h", "seed": -1})),
        ("/hosts/esx/turbo", json!("1 GHz")),
        ("/hosts/kvm/scheduler", json!({"quantum": "50 ms"})),
        ("/vms/db/vcpu", json!(2)),
        ("/vms/db/cores_per_socket", json!(3)),
        (
            "/vms/wide",
            json!({"vcpus": 17, "memory": "8 GiB", "workload": "oltp", "host": "esx"}),
        ),
        ("/vms/web/memory", json!("33 GiB")),
        ("/vms/web/affinity", json!("8")),
        ("/vms/web/workload", json!("olpt")),
        ("/vms/web/host", json!("kvm")),
        (
            "/workloads/idle",
            json!({"arrivals": {"closed": {"population": 1}}, "cpu": {"mean": 0}}),
        ),
    ]);
    let expected = [
        ("hosts.esx.turbo", "turbo-below-clock"),
        ("hosts.kvm.scheduler.quantum", "wrong-hypervisor"),
        ("nme", "unknown-key"),
        ("run.duration", "bad-unit"),
        ("run.seed", "out-of-range"),
        ("vms.db.cores_per_socket", "odd-topology"),
        ("vms.db.vcpu", "unknown-key"),
        ("vms.web.affinity", "affinity-outside-host"),
        ("vms.web.memory", "memory-exceeds-host"),
        ("vms.web.workload", "unknown-reference"),
        ("vms.wide.vcpus", "vm-wider-than-host"),
        ("workloads.idle", "zero-cycle"),
    ];
    let expected: Vec<(String, String)> = expected.map(|(path, code)| (path.to_owned(), code.to_owned())).to_vec();
    assert_eq!(codes(&scenario), expected);
}

#[test]
fn a_reservation_must_fit_its_host() {
    // esx has 8 cores x 2.5 GHz = 20 GHz.
    let two = |reservation: &str| {
        changed(&[
            ("/vms/db/host", json!("esx-1")),
            ("/vms/db/count", json!(2)),
            ("/vms/db/reservation", json!(reservation)),
        ])
    };
    assert!(read(&two("10 GHz")).is_ok());
    assert_eq!(
        codes(&two("10.1 GHz")),
        [("vms.db.reservation".to_owned(), "over-reserved".to_owned())]
    );
}

#[test]
fn memory_that_is_never_reclaimed_must_fit_its_host() {
    let esx = read(&changed(&[])).expect("no mistakes").hosts["esx"].memory().bytes();
    let two = |key: &str, each: u64| {
        let size = json!(format!("{each} B"));
        let mut changes = vec![
            ("/vms/db/host", json!("esx-1")),
            ("/vms/db/count", json!(2)),
            ("/vms/db/memory", size.clone()),
            ("/vms/db/memory_reservation", size),
        ];
        if key == "huge_pages" {
            changes.push(("/vms/db/huge_pages", json!(true)));
        }
        changed(&changes)
    };
    for key in ["memory_reservation", "huge_pages"] {
        assert!(read(&two(key, esx / 2)).is_ok(), "{key}");
        assert_eq!(
            codes(&two(key, esx / 2 + (1 << 20))),
            [(format!("vms.db.{key}"), "memory-over-reserved".to_owned())]
        );
    }
}

#[test]
fn a_linux_host_reserves_no_cpu() {
    let mistake = |group: &str| vec![(format!("vms.{group}.reservation"), "wrong-hypervisor".to_owned())];
    assert_eq!(
        codes(&changed(&[("/vms/web/reservation", json!("1 GHz"))])),
        mistake("web")
    );
    // Nothing binds db to the ESXi hosts, and db-5 is placed on kvm.
    let spread = [("/vms/db/reservation", json!("1 GHz")), ("/vms/db/count", json!(5))];
    assert_eq!(codes(&changed(&spread)), mistake("db"));
    let on_esxi = [("/vms/db/reservation", json!("1 GHz")), ("/vms/db/host", json!("esx"))];
    assert!(read(&changed(&on_esxi)).is_ok());
    // One mistake of many, and none where the hypervisor is unknown.
    let unknown = changed(&[
        ("/vms/web/reservation", json!("1 GHz")),
        ("/hosts/kvm/hypervisor", json!("linux-5")),
    ]);
    assert_eq!(
        codes(&unknown),
        [("hosts.kvm.hypervisor".to_owned(), "unknown-value".to_owned())]
    );
    let both = changed(&[
        ("/vms/web/reservation", json!("1 GHz")),
        ("/vms/web/workload", json!("olpt")),
    ]);
    assert_eq!(codes(&both).len(), 2);
}

#[test]
fn a_machine_that_may_be_on_several_kinds_of_host_may_have_the_options_of_each() {
    let numa = json!({"prefer_ht": true, "cells": [2, 2]});
    assert!(read(&changed(&[("/vms/db/numa", numa.clone())])).is_ok());
    let on_esxi = [("/vms/db/numa", numa), ("/vms/db/host", json!("esx"))];
    assert_eq!(
        codes(&changed(&on_esxi)),
        [("vms.db.numa.cells".to_owned(), "wrong-hypervisor".to_owned())]
    );
    // the ESXi hosts have a second node, and kvm, where db may be too, has not
    let nodes = json!({"cells": [2, 2], "nodes": [0, 1]});
    assert_eq!(
        codes(&changed(&[("/vms/db/numa", nodes)])),
        [("vms.db.numa.nodes.1".to_owned(), "node-outside-host".to_owned())]
    );
}

#[test]
fn a_machine_must_fit_one_host_as_a_whole() {
    // esx has 16 logical CPUs and 128 GiB, big has 2 and 1 TiB.
    let big = json!({"sockets": 1, "cores_per_socket": 1, "clock": "1 GHz", "memory_per_node": "1 TiB",
                     "hypervisor": "esxi-7.0"});
    let scenario = changed(&[("/hosts/big", big), ("/vms/db/memory", json!("200 GiB"))]);
    assert_eq!(codes(&scenario), [("vms.db".to_owned(), "no-host-fits".to_owned())]);
}

#[test]
fn a_host_without_hypervisor_has_one_system_and_divides_nothing() {
    let on_bare = |changes: &[(&str, Value)]| {
        let bare = [
            ("/hosts/kvm/hypervisor", json!("none")),
            ("/arrays", json!({"san": {"disks": {"kind": "nvme", "count": 8}}})),
        ];
        let mut scenario = changed(&bare);
        for (pointer, value) in changes {
            let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
            scenario.pointer_mut(parent).expect("a mapping")[key] = value.clone();
        }
        scenario
    };
    assert!(read(&on_bare(&[])).is_ok(), "web alone on kvm, whatever else is on esx");
    for (key, value) in [
        ("shares", json!("high")),
        ("shares", json!(10)),
        ("limit", json!("1 GHz")),
        ("reservation", json!("1 GHz")),
        ("affinity", json!("0")),
    ] {
        let path = format!("/vms/web/{key}");
        let wrong = (format!("vms.web.{key}"), "wrong-hypervisor".to_owned());
        assert_eq!(codes(&on_bare(&[(&path, value.clone())])), std::slice::from_ref(&wrong));
        // the same where the machine might be elsewhere, and is not: it has the name of no host, and esx is too small
        let small = [
            ("/vms/web/host", Value::Null),
            ("/vms/db/host", json!("esx")),
            ("/vms/web/memory", json!("20 GiB")),
            ("/hosts/esx/memory_per_node", json!("10 GiB")),
            ("/hosts/esx/sockets", json!(1)),
        ];
        let mut elsewhere = on_bare(&small);
        let web = elsewhere["vms"]["web"].as_object_mut().expect("a mapping");
        web.remove("host");
        web.insert(key.to_owned(), value);
        assert_eq!(codes(&elsewhere), [wrong]);
    }
    let with_disks = ("/vms/web/array", json!("san"));
    assert!(
        read(&on_bare(std::slice::from_ref(&with_disks))).is_ok(),
        "its own driver"
    );
    for (key, value) in [
        ("controller", json!("virtio-blk")),
        ("io_threads", json!(1)),
        ("disk_cache", json!("writeback")),
        ("aio", json!("threads")),
    ] {
        let virtual_disks = on_bare(&[with_disks.clone(), (&format!("/vms/web/{key}"), value)]);
        assert!(
            codes(&virtual_disks).contains(&(format!("vms.web.{key}"), "wrong-hypervisor".to_owned())),
            "{key}: {:?}",
            codes(&virtual_disks)
        );
    }
    let overhead = on_bare(&[("/hosts/kvm/overhead", json!({"cpu_per_io": "5 us"}))]);
    assert_eq!(
        codes(&overhead),
        [(
            "hosts.kvm.overhead.cpu_per_io".to_owned(),
            "wrong-hypervisor".to_owned()
        )]
    );
    let tick = on_bare(&[("/hosts/kvm/scheduler", json!({"tick": "1 ms"}))]);
    assert_eq!(
        codes(&tick),
        [("hosts.kvm.scheduler.tick".to_owned(), "wrong-hypervisor".to_owned())]
    );
    let wide = on_bare(&[("/vms/web/vcpus", json!(9))]);
    assert_eq!(
        codes(&wide),
        [("vms.web.vcpus".to_owned(), "vm-wider-than-host".to_owned())]
    );
    let twice = on_bare(&[("/vms/web/count", json!(2))]);
    assert_eq!(codes(&twice), [("vms.web".to_owned(), "two-systems".to_owned())]);
    let beside = on_bare(&[("/vms/db/host", json!("kvm")), ("/vms/db/count", json!(1))]);
    let mistakes = read(&beside).expect_err("two systems");
    assert_eq!(mistakes[0].code, "two-systems");
    assert_eq!(
        (mistakes[0].path.as_str(), mistakes[0].value.as_str()),
        ("vms.web", "on host kvm together with db")
    );
    let hosts = on_bare(&[("/hosts/kvm/count", json!(2)), ("/vms/web/count", json!(2))]);
    assert!(read(&hosts).is_ok(), "one on each");
}

#[test]
fn vsphere_4_has_eight_vcpus_at_most() {
    let on_4 = |vcpus: u32| {
        changed(&[
            ("/hosts/esx/hypervisor", json!("esxi-4.1")),
            ("/vms/db/host", json!("esx")),
            ("/vms/db/vcpus", json!(vcpus)),
        ])
    };
    assert!(read(&on_4(8)).is_ok());
    let mistakes = read(&on_4(9)).expect_err("too wide");
    assert_eq!(
        (mistakes[0].code.as_str(), mistakes[0].allowed.as_str()),
        ("vm-wider-than-host", "at most 8, on esxi-4.1")
    );
    let mut numa = on_4(8);
    numa["vms"]["db"]["numa"] = json!({"vcpu_min": 4});
    assert_eq!(
        codes(&numa),
        [("vms.db.numa.vcpu_min".to_owned(), "wrong-hypervisor".to_owned())]
    );
}

#[test]
fn storage_must_be_possible() {
    let with = |changes: Value| {
        let mut scenario = good();
        scenario["hosts"]["node"] = json!({
            "count": 4, "sockets": 1, "cores_per_socket": 4, "clock": "3 GHz", "memory_per_node": "32 GiB",
            "hypervisor": "linux-6.12",
        });
        scenario["storage"] = json!({"pool": {
            "kind": "mirrored-mesh", "nodes": "node", "stored": "1 TiB",
            "devices": {"kind": "nvme", "per_node": 2, "capacity": "1 TiB"},
        }});
        scenario["failures"] = json!([]);
        scenario["arrays"] = json!({"san": {"disks": {"kind": "nvme", "count": 8}}});
        scenario["vms"]["file"] = json!({"vcpus": 1, "memory": "1 GiB", "workload": "oltp", "storage": "pool"});
        for (pointer, value) in changes.as_object().expect("a mapping") {
            put(&mut scenario, pointer, value);
        }
        scenario
    };
    let pool = |key: &str, value: Value| json!({format!("/storage/pool/{key}"): value});
    let fails = |parts: &[&str]| json!({"/failures": [{"at": "5 s", "fails": parts}]});
    for changes in [
        json!({}),
        pool("redundancy", json!("replicas-4:3")),
        pool("redundancy", json!("ec-3+1")),
        json!({"/storage/pool/failure_domain": "disk", "/storage/pool/redundancy": "ec-6+2"}),
        json!({"/storage/pool/failure_domain": "rack", "/storage/pool/racks": 3, "/storage/pool/redundancy": "replicas-3"}),
        pool("stored", json!("4 TiB")),
        // three is the default, and as many as there are nodes are enough
        json!({"/hosts/node/count": 2}),
        json!({"/storage/pool/fragment": "64 MiB", "/storage/pool/chunk": "1 MiB"}),
        json!({"/storage/pool/deployment": "two-layer", "/vms/file/host": "esx-2"}),
        json!({"/storage/pool/deployment": "mixed", "/vms/file/host": "kvm"}),
        fails(&[
            "node-1",
            "node-4/disk-2",
            "esx-2/link",
            "kvm",
            "pool/rack-1",
            "pool/metadata-3",
        ]),
    ] {
        read(&with(changes.clone())).unwrap_or_else(|mistakes| panic!("{changes}: {mistakes:#?}"));
    }
    let two = json!({"/vms/file/array": "san"});
    let no_compute = json!({
        "/storage/pool/deployment": "two-layer",
        "/hosts": {"node": {"count": 4, "sockets": 1, "cores_per_socket": 4, "clock": "3 GHz",
            "memory_per_node": "32 GiB", "hypervisor": "linux-6.12"}},
        "/vms/web": {"vcpus": 1, "memory": "1 GiB", "workload": "oltp"},
        "/vms/db": {"vcpus": 1, "memory": "1 GiB", "workload": "oltp"},
    });
    let early = json!({"/failures": [{"at": "5 s", "fails": ["node-1"], "returns": "5 s"}]});
    #[rustfmt::skip]
    let cases = [
        (pool("redundancy", json!("replicas-5")), "storage.pool.redundancy", "too-few-domains"),
        (pool("redundancy", json!("ec-4+1")), "storage.pool.redundancy", "too-few-domains"),
        (pool("failure_domain", json!("rack")), "storage.pool.redundancy", "too-few-domains"),
        (pool("redundancy", json!("replicas-9")), "storage.pool.redundancy", "bad-redundancy"),
        (pool("redundancy", json!("ec-65+1")), "storage.pool.redundancy", "bad-redundancy"),
        (pool("stored", json!("4.1 TiB")), "storage.pool.stored", "pool-over-capacity"),
        (
            json!({"/hosts/node/count": 2, "/storage/pool/metadata_servers": 3}),
            "storage.pool.metadata_servers",
            "too-many-metadata-servers",
        ),
        (pool("metadata_servers", json!(5)), "storage.pool.metadata_servers", "too-many-metadata-servers"),
        (
            json!({"/storage/pool/redundancy": "ec-2+1", "/storage/pool/chunk": "512 KiB"}),
            "storage.pool.fragment",
            "fragment-over-chunk",
        ),
        (pool("nodes", json!("nodes")), "storage.pool.nodes", "unknown-reference"),
        (pool("nodes", json!(["node", "nodes"])), "storage.pool.nodes.1", "unknown-reference"),
        (pool("nodes", json!([])), "storage.pool.nodes", "out-of-range"),
        (json!({"/storage/pool/nodes": ["esx", "node"], "/vms/file/host": "kvm"}), "vms.file.host", "wrong-layer"),
        (json!({"/vms/file/storage": "san"}), "vms.file.storage", "unknown-reference"),
        (two, "vms.file.storage", "two-storages"),
        (json!({"/vms/file/host": "kvm"}), "vms.file.host", "wrong-layer"),
        (json!({"/storage/pool/deployment": "two-layer", "/vms/file/host": "node-1"}), "vms.file.host", "wrong-layer"),
        (no_compute, "storage.pool.deployment", "no-compute-layer"),
        (early, "failures.0.returns", "returns-before-failing"),
        (
            json!({
                "/vms/file/live_migration": false,
                "/events": [{"at": "1 s", "migrate": "file", "to": "node-1"}],
            }),
            "events.0.migrate",
            "no-live-migration",
        ),
        (fails(&["node-5"]), "failures.0.fails.0", "unknown-component"),
        (fails(&["node-1", "node"]), "failures.0.fails.1", "unknown-component"),
        (fails(&["node-1/disk-3"]), "failures.0.fails.0", "unknown-component"),
        (fails(&["esx-1/disk-1"]), "failures.0.fails.0", "unknown-component"),
        (fails(&["pool/rack-2"]), "failures.0.fails.0", "unknown-component"),
        (fails(&["other/rack-1"]), "failures.0.fails.0", "unknown-component"),
        (fails(&["pool/metadata-4"]), "failures.0.fails.0", "unknown-component"),
        (fails(&["pool/metadata-+1"]), "failures.0.fails.0", "unknown-component"),
        (fails(&["node-1/"]), "failures.0.fails.0", "unknown-component"),
    ];
    for (changes, path, code) in cases {
        assert_eq!(
            codes(&with(changes.clone())),
            [(path.to_owned(), code.to_owned())],
            "{changes}"
        );
    }
}

#[test]
fn rules_name_what_is_there() {
    let rules = |rule: Value| changed(&[("/rules", json!([rule]))]);
    let apart = json!({"name": "apart", "kind": "keep-apart", "vms": ["db", "web"]});
    let on = json!({"name": "on", "kind": "run-on", "vms": ["db"], "hosts": ["esx"], "mandatory": true});
    for rule in [&apart, &on] {
        let read = read(&rules(rule.clone())).expect("a good rule");
        assert_eq!(read.rules.len(), 1);
        assert!(!read.rules[0].kind.names_hosts() || read.rules[0].mandatory);
    }
    // a machine that breaks a mandatory rule is where it is all the same
    let broken = json!({"name": "off", "kind": "not-on", "vms": ["web"], "hosts": ["kvm"], "mandatory": true});
    read(&rules(broken)).expect("a broken rule is no mistake");
    let with = |rule: &Value, key: &str, value: Value| {
        let mut rule = rule.clone();
        rule[key] = value;
        rules(rule)
    };
    #[rustfmt::skip]
    let cases = [
        (with(&apart, "vms", json!(["db", "dbb"])), "rules.0.vms.1", "unknown-reference"),
        (with(&apart, "vms", json!(["db-1"])), "rules.0.vms.0", "unknown-reference"),
        (with(&on, "hosts", json!(["esx", "esy"])), "rules.0.hosts.1", "unknown-reference"),
        (with(&apart, "hosts", json!(["esx"])), "rules.0.hosts", "hosts-of-rule"),
        (with(&on, "hosts", json!([])), "rules.0.hosts", "hosts-of-rule"),
        (with(&on, "kind", json!("keep-together")), "rules.0.hosts", "hosts-of-rule"),
        (with(&on, "kind", json!("run")), "rules.0.kind", "unknown-value"),
        (with(&on, "vms", json!([])), "rules.0.vms", "out-of-range"),
        (with(&on, "name", json!("a\u{7}b")), "rules.0.name", "bad-name"),
        (with(&on, "priority", json!(1)), "rules.0.priority", "unknown-key"),
    ];
    for (scenario, path, code) in cases {
        assert_eq!(codes(&scenario), [(path.to_owned(), code.to_owned())]);
    }
}

#[test]
fn powered_off_vms_have_the_facts_of_vms_and_clusters_their_own() {
    let off = |entry: Value| {
        let mut whole = json!({"vcpus": 2, "memory": "4 GiB"});
        whole
            .as_object_mut()
            .unwrap()
            .extend(entry.as_object().unwrap().clone());
        changed(&[("/powered_off", json!({"old": whole}))])
    };
    let facts = json!({"firmware": "efi", "disks": [{"capacity": "1 GiB"}]});
    let more =
        json!({"cores_per_socket": 2, "snapshot_count": 3, "guest_os": "Debian 12", "source": facts, "host": "esx-1"});
    let scenario = read(&off(more)).unwrap();
    let [found] = &scenario.inventory().powered_off[..] else {
        panic!("one powered-off VM");
    };
    assert_eq!(
        serde_json::to_value(In(found)).unwrap(),
        json!({
            "name": "old", "template": false, "vcpus": 2, "memory_bytes": 4_u64 << 30, "memory_reservation_bytes": 0,
            "cpu_hot_add": false, "shares": 2_000.0, "host": "esx-1", "cores_per_socket": 2, "snapshot_count": 3,
            "guest_os": "Debian 12", "source": {"firmware": "efi", "disks": [{"capacity_bytes": 1_u64 << 30}]}
        })
    );
    let entitled = json!({"shares": "high", "reservation": "1 GHz", "limit": "2 GHz", "memory_reservation": "1 GiB", "cpu_hot_add": true});
    let other = serde_json::to_value(In(&read(&off(entitled)).unwrap().inventory().powered_off[0])).unwrap();
    for (key, value) in [
        ("shares", json!(4_000.0)),
        ("reservation_hz", json!(1_000_000_000)),
        ("limit_hz", json!(2_000_000_000)),
        ("memory_reservation_bytes", json!(1 << 30)),
        ("cpu_hot_add", json!(true)),
    ] {
        assert_eq!(other[key], value, "{key}");
    }
    for (wrong, path, code) in [
        (json!({"host": "esx-9"}), "host", "unknown-reference"),
        (json!({"guest_os": "a\nb"}), "guest_os", "bad-name"),
        (json!({"cores_per_socket": 0}), "cores_per_socket", "out-of-range"),
        (
            json!({"source": {"firmware": "uefi"}}),
            "source.firmware",
            "unknown-value",
        ),
    ] {
        assert_eq!(
            codes(&off(wrong)),
            [(format!("powered_off.old.{path}"), code.to_owned())]
        );
    }
    let of_cluster = |source: Value| changed(&[("/clusters", json!({"default": {"source": source}}))]);
    let known =
        |source: Value| serde_json::to_value(In(&read(&of_cluster(source)).unwrap().inventory().clusters[0].source));
    assert_eq!(known(json!({})).unwrap(), json!({}));
    let all = json!({"drs": true, "dpm": false, "all_rules": true});
    assert_eq!(known(all.clone()).unwrap(), all);
    assert_eq!(
        codes(&of_cluster(json!({"drs": "on"}))),
        [("clusters.default.source.drs".to_owned(), "wrong-type".to_owned())]
    );
}

#[test]
fn facts_of_the_source_are_in_the_inventory() {
    let db = |source: Value| changed(&[("/vms/db/source", source)]);
    let known = |source: Value| -> Value {
        let inventory = read(&db(source)).unwrap().inventory();
        let facts = inventory
            .vms
            .iter()
            .find(|vm| vm.group == "db")
            .map(|vm| In(&vm.source));
        serde_json::to_value(facts).unwrap()
    };
    assert_eq!(known(json!({})), json!({}));
    let same = json!({
        "guest_id": "x".repeat(128), "firmware": "efi", "secure_boot": true, "tpm": false, "hardware_version": 100,
        "tools": "not-installed", "host_name": "", "has_ip": false, "folder": "/a", "tags": ["a", "b"],
        "hot_add_memory": true, "cpu_affinity": true, "numa_affinity": false, "changed_block_tracking": false, "consolidation_needed": true,
        "fault_tolerance": false, "disk_uuid": true, "cds_connected": 1, "usb_devices": 0, "passthrough_devices": 1_000,
        "secret_in_notes": true, "networks": [{"adapter": "e1000", "network": "n", "switch": "s", "vlan": 4_095, "connected": true}]
    });
    assert_eq!(known(same.clone()), same);
    assert_eq!(
        known(json!({"disks": [], "networks": [], "partitions": [], "tags": []})),
        json!({"disks": [], "networks": [], "partitions": [], "tags": []})
    );
    let disk = json!({
        "label": "Hard disk 1", "controller": "LSI", "controller_number": 3, "unit": 15, "mode": "independent-persistent",
        "raw": "physical", "shared": true, "thin": false, "path": ""
    });
    let with_size = |key: &str, size: Value| {
        let mut disk = disk.clone();
        disk[key] = size;
        disk
    };
    assert_eq!(
        known(
            json!({"disks": [with_size("capacity", json!("40 GiB")), {}], "partitions": [{"path": "/", "free": "1 MiB"}, {"capacity": "2 MiB"}]})
        ),
        json!({
            "disks": [with_size("capacity_bytes", json!(40_u64 << 30)), {}],
            "partitions": [{"path": "/", "free_bytes": 1 << 20}, {"capacity_bytes": 2 << 20}]
        })
    );
    #[rustfmt::skip]
    let cases = [
        (json!({"hardware_version": 0}), "hardware_version", "out-of-range"),
        (json!({"firmware": "uefi"}), "firmware", "unknown-value"),
        (json!({"tools": "old"}), "tools", "unknown-value"),
        (json!({"notes": "x"}), "notes", "unknown-key"),
        (json!({"tags": ["a\nb"]}), "tags.0", "bad-name"),
        (json!({"tags": vec!["a"; 33]}), "tags", "out-of-range"),
        (json!({"disks": vec![json!({}); 257]}), "disks", "out-of-range"),
        (json!({"disks": [{"raw": true}]}), "disks.0.raw", "wrong-type"),
        (json!({"disks": [{"path": "a\u{7}"}]}), "disks.0.path", "bad-name"),
        (json!({"disks": [{"unit": 256}]}), "disks.0.unit", "out-of-range"),
        (json!({"networks": vec![json!({}); 33]}), "networks", "out-of-range"),
        (json!({"networks": [{"vlan": 4_096}]}), "networks.0.vlan", "out-of-range"),
        (json!({"partitions": vec![json!({}); 257]}), "partitions", "out-of-range"),
        (json!({"partitions": [{"free": "x"}]}), "partitions.0.free", "bad-quantity"),
    ];
    for (wrong, path, code) in cases {
        assert_eq!(codes(&db(wrong)), [(format!("vms.db.source.{path}"), code.to_owned())]);
    }
}

#[test]
fn software_of_a_guest_is_in_the_inventory() {
    let db = |more: Value| {
        changed(&[
            ("/vms/db/guest_os", more["os"].clone()),
            ("/vms/db/products", more["of"].clone()),
        ])
    };
    let longest = "x".repeat(200);
    let inventory = read(&db(json!({"os": longest, "of": ["sql-server"]})))
        .unwrap()
        .inventory();
    let facts: Vec<_> = inventory
        .vms
        .iter()
        .map(|vm| (vm.group.as_str(), vm.guest_os.as_deref(), &vm.products[..]))
        .collect();
    assert!(
        facts.contains(&("db", Some(longest.as_str()), &["sql-server".to_owned()][..])),
        "{facts:?}"
    );
    assert!(facts.contains(&("web", None, &[][..])), "{facts:?}");
    #[rustfmt::skip]
    let cases = [
        (json!({"os": "x".repeat(201), "of": []}), "vms.db.guest_os", "out-of-range"),
        (json!({"os": "", "of": []}), "vms.db.guest_os", "out-of-range"),
        (json!({"os": "a\nb", "of": []}), "vms.db.guest_os", "bad-name"),
        (json!({"os": "a", "of": ["x".repeat(65)]}), "vms.db.products.0", "out-of-range"),
        (json!({"os": "a", "of": ["x", "a\u{7}"]}), "vms.db.products.1", "bad-name"),
        (json!({"os": "a", "of": vec!["x"; 33]}), "vms.db.products", "out-of-range"),
    ];
    for (wrong, path, code) in cases {
        assert_eq!(codes(&db(wrong)), [(path.to_owned(), code.to_owned())]);
    }
}

#[test]
fn hostile_text_is_one_mistake() {
    for text in [
        "",
        "{",
        "[1]x",
        "\u{0}",
        "{\"name\": 1e999}",
        &"[".repeat(100_000),
        &"{\"a\":".repeat(100_000),
    ] {
        let mistakes = Scenario::from_json(text).expect_err("not a scenario");
        assert_eq!(mistakes.len(), 1);
        assert_eq!(mistakes[0].code, "not-json");
    }
    for value in [json!(null), json!(1), json!("x"), json!([])] {
        assert_eq!(codes(&value), [(String::new(), "wrong-type".to_owned())]);
    }
}

#[test]
fn very_many_mistakes_are_counted() {
    let keys: serde_json::Map<String, Value> = (0..5_000).map(|n| (format!("zz{n}"), json!(n))).collect();
    let mistakes = read(&Value::Object(keys)).expect_err("mistakes");
    assert_eq!(mistakes.len(), 501);
    assert_eq!(mistakes[500].code, "more-mistakes");
}

#[test]
fn sizes_are_bounded() {
    for changes in [
        [("/hosts/esx/count", json!(9_999)), ("/hosts/kvm/count", json!(2))],
        [("/vms/db/count", json!(100_000)), ("/vms/db/vcpus", json!(4))],
        [("/vms/db/load", json!(1e6)), ("/vms/db/count", json!(1))],
        [
            ("/run", json!({"duration": "30 d", "sample_interval": "1 ms"})),
            ("/vms/db/count", json!(1)),
        ],
        [
            ("/workloads/oltp/arrivals", json!({"open": {"rate": "1e9 /s"}})),
            ("/vms/db/count", json!(1)),
        ],
        [
            (
                "/workloads/io",
                json!({"arrivals": {"io": {"outstanding": 4096}}, "cpu": {"mean": "1 us"}}),
            ),
            (
                "/vms/db",
                json!({"count": 50, "vcpus": 1, "memory": "1 MiB", "workload": "io", "array": "san", "controllers": 4}),
            ),
        ],
    ] {
        let mut scenario = changed(&changes);
        scenario["arrays"] = json!({"san": {"disks": {"kind": "nvme", "count": 8}}});
        let found = codes(&scenario);
        assert!(found.iter().all(|(_, code)| code == "too-large"), "{found:?}");
    }
}

/// What of a schema says which hypervisors have an option: its marks, and the keys on the way to them. None without
/// any.
fn marked(root: &Value, schema: &Value) -> Option<Value> {
    let mut found = Map::new();
    for mark in ["x-family", "x-since", "x-until"] {
        found.extend(schema.get(mark).map(|value| (mark.to_owned(), value.clone())));
    }
    let definition = schema["$ref"].as_str().and_then(|name| root.pointer(&name[1..]));
    let whole = definition.unwrap_or(schema);
    let inner: Vec<(&String, Option<Value>)> = whole["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| (key, marked(root, value)))
        .collect();
    if inner.iter().any(|(_, value)| value.is_some()) {
        let keys = inner.into_iter();
        let keys: Map<String, Value> = keys
            .map(|(key, value)| (key.clone(), value.unwrap_or(json!({}))))
            .collect();
        found.insert("properties".to_owned(), keys.into());
    }
    let of_any_name = whole.get("additionalProperties").and_then(|value| marked(root, value));
    found.extend(of_any_name.map(|value| ("additionalProperties".to_owned(), value)));
    (!found.is_empty()).then(|| found.into())
}

#[test]
fn the_options_of_a_core_without_the_schema_are_those_of_the_schema() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/schema/options.json");
    let schema: Value = serde_json::from_str(&schema_json()).unwrap();
    let text = marked(&schema, &schema).expect("options have marks").to_string() + "\n";
    if std::env::var_os("HYPERTWIN_BLESS").is_some() {
        std::fs::write(file, &text).unwrap();
    }
    let written = std::fs::read_to_string(file).unwrap();
    assert!(
        written == text,
        "src/schema/options.json is old: run this test with HYPERTWIN_BLESS=1"
    );
    assert_eq!(
        written.matches("x-family").count(),
        schema_json().matches("x-family").count()
    );
}

#[test]
fn the_schema_is_complete() {
    let schema: Value = serde_json::from_str(&schema_json()).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert!(jsonschema::meta::is_valid(&schema));
    fn check(path: &str, schema: &Value) {
        for (key, value) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{key}");
            assert!(
                value["description"].as_str().is_some_and(|text| text.ends_with('.')),
                "{path}: no description"
            );
            let number = value["type"] == "integer" || value["type"] == "number";
            assert!(
                !number || (value.get("minimum").is_some() && value.get("maximum").is_some()),
                "{path}: no range"
            );
            let quantity = ["Duration", "Frequency", "Bytes", "Rate"].iter().any(|kind| {
                value["$ref"]
                    .as_str()
                    .is_some_and(|reference| reference.ends_with(kind))
            });
            assert!(
                !quantity || (value.get("x-minimum").is_some() && value.get("x-maximum").is_some()),
                "{path}: no range"
            );
            check(&path, value);
        }
        if schema.get("properties").is_some() {
            assert_eq!(schema["additionalProperties"], false, "{path}: takes any key");
        }
    }
    check("", &schema);
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        check(name, definition);
    }
}

fn service() -> impl Strategy<Value = Service> {
    (1..10_000_000_u64, 0.0..3.0_f64).prop_map(|(nanos, cv)| Service {
        mean: Duration::from_nanos(nanos),
        cv,
    })
}

fn workload() -> impl Strategy<Value = Workload> {
    let arrivals = prop_oneof![
        (1..500_u32, service()).prop_map(|(population, think)| Arrivals::Closed { population, think }),
        (0.1..1e4_f64, 0.0..2.0_f64).prop_map(|(rate, cv)| Arrivals::Open {
            rate: Rate::new(rate).unwrap(),
            cv
        }),
    ];
    (
        arrivals,
        service(),
        service(),
        1..9_u32,
        0.0..5.0_f64,
        prop::option::of(100..9_000_u64),
    )
        .prop_map(|(arrivals, cpu, delay, bursts, ios, clock)| Workload {
            read_from: None,
            write_to: None,
            arrivals,
            bursts,
            cpu,
            reference_clock: clock.map(Frequency::from_mhz),
            delay,
            ios,
            block: Bytes::new(4096),
            block_mix: vec![BlockShare {
                block: Bytes::new(65536),
                share_pct: 12.5,
            }],
            read_pct: 70.0,
            random_pct: 62.5,
            sync_pct: 12.5,
            transaction_cv: 0.75,
            working_set: Bytes::from_gib(3),
            smt_yield: Some(1.5),
            scaling: Some(Scaling {
                contention: 0.25,
                coherency: 0.125,
                per_doubling: 0.0625,
            }),
            wake_up: Some(Duration::from_nanos(12_000)),
            memory_intensity: 0.25,
            memory_traffic: Bandwidth::from_bytes_per_s(4_500_000_000),
            shared_core_traffic: 1.25,
            dirty_rate: Bandwidth::from_bytes_per_s(75_000_000),
            written_set: Some(Bytes::from_gib(2)),
            page_rate: Rate::new(12_500.0).unwrap(),
            unit: "pages".to_owned(),
            units_per_transaction: 2.5,
        })
}

fn vm() -> impl Strategy<Value = VmGroup> {
    let shares = prop_oneof![
        Just(Shares::Low),
        Just(Shares::Normal),
        Just(Shares::High),
        (1..=1_000_000_u32).prop_map(Shares::Number)
    ];
    let steps = prop::collection::btree_map(0..100_000_000_u64, 0.0..3.0_f64, 0..4);
    (
        0..4_u32,
        1..5_u32,
        shares,
        steps,
        prop::option::of(1_000..9_000_u64),
        any::<bool>(),
    )
        .prop_map(|(count, vcpus, shares, steps, limit, bound)| VmGroup {
            policy: None,
            vdisk_policies: Vec::new(),
            count,
            vcpus,
            cores_per_socket: bound.then_some(vcpus),
            memory: Bytes::from_gib(1),
            memory_touched: bound.then(|| Bytes::new(1 << 29)),
            memory_active: bound.then(|| Bytes::new(1 << 28)),
            memory_zero_pct: 12.5,
            memory_compressible_pct: 62.5,
            memory_shares: if bound { Shares::High } else { Shares::Number(vcpus) },
            memory_reservation: Bytes::new(1 << 27),
            memory_limit: bound.then(|| Bytes::from_gib(2)),
            huge_pages: !bound,
            balloon: bound.then_some(true),
            restart_priority: if bound {
                RestartPriority::High
            } else {
                RestartPriority::Disabled
            },
            shares,
            label: bound.then(|| "VM 1".to_owned()),
            live_migration: bound,
            storage_appliance: !bound,
            cpu_hot_add: count % 2 == 0,
            numa: NumaOptions {
                vcpu_min: bound.then_some(vcpus),
                ..NumaOptions::default()
            },
            reservation: Frequency::from_mhz(u64::from(count)),
            limit: limit.map(Frequency::from_mhz),
            cluster: None,
            host: bound.then(|| "h".to_owned()),
            host_is_guess: bound,
            affinity: bound.then(|| "0-3".to_owned()),
            guest: GuestSystem {
                kind: Some(GuestKind::Windows),
                time_slice: Duration::from_millis(3),
            },
            guest_os: bound.then(|| "Debian GNU/Linux 12 (64-bit)".to_owned()),
            products: vec!["sql-server".to_owned(); count as usize],
            workload: "w".to_owned(),
            load: 1.5,
            load_steps: steps
                .into_iter()
                .map(|(at, factor)| LoadStep {
                    at: Duration::from_nanos(at),
                    factor,
                })
                .collect(),
            array: bound.then(|| "san".to_owned()),
            storage: (!bound).then(|| "pool".to_owned()),
            controller: bound.then_some(ControllerKind::Nvme),
            controllers: if bound { vcpus.min(4) } else { 1 },
            vdisks: bound.then_some(3 * vcpus.min(4)),
            vdisk_depth: bound.then_some(512),
            ring_pages: None,
            queues: bound.then_some(2),
            io_threads: None,
            disk_cache: DiskCache::None,
            aio: AsyncIo::Native,
            shared_luns: bound,
            measured: bound.then(|| MeasuredVm {
                at: Some("2026-03-01".to_owned()),
                over: Some(Duration::from_secs(600)),
                cpu_mhz: Some(1_250.5),
                memory_consumed: Some(Bytes::from_gib(1)),
                ..MeasuredVm::default()
            }),
            source: bound.then(|| SourceVm {
                firmware: Some(Firmware::Efi),
                tools: Some(Tools::NotRunning),
                tags: Some(vec!["shop".to_owned()]),
                disks: Some(vec![SourceDisk {
                    capacity: Some(Bytes::from_gib(40)),
                    mode: Some(DiskMode::IndependentNonpersistent),
                    raw: Some(RawMapping::None),
                    ..SourceDisk::default()
                }]),
                networks: Some(Vec::new()),
                ..SourceVm::default()
            }),
        })
}

fn cluster() -> Cluster {
    Cluster {
        label: Some("Cluster 1".to_owned()),
        datacenter: Some("DC 1".to_owned()),
        ha: Some(HighAvailability {
            enabled: Some(true),
            admission: None,
            failures: Some(1),
            policy: Some(RestartPolicy::Fdm),
            detection: Some(Duration::from_secs(15)),
            detection_longest: Some(Duration::from_secs(18)),
            primary: None,
            quorum_device: None,
            boot: Some(Duration::from_secs(90)),
            admission_policy: Some(AdmissionPolicy::Percentage),
            admission_pct: Some(12.5),
        }),
        drs: Some(Balancing {
            policy: BalancingPolicy::Drs6,
            period: Some(Duration::from_secs(120)),
            threshold: 4,
        }),
        evc: Some("intel-broadwell".to_owned()),
        measured: Some(MeasuredCluster {
            over: Some(Duration::from_secs(86_400)),
            cpu_p95_mhz: Some(40_000.0),
            ..MeasuredCluster::default()
        }),
        source: Some(SourceCluster {
            drs: Some(true),
            dpm: None,
            all_rules: Some(false),
        }),
    }
}

fn san() -> StorageArray {
    StorageArray {
        front_end_ports: 4,
        port_bandwidth: Bandwidth::from_bytes_per_s(1_600_000_000),
        port_command: Duration::from_micros(3),
        cache: ArrayCache::default(),
        raid: Raid::Raid6,
        protocol: Protocol::NvmeTcp,
        paths: Paths {
            per_lun: 4,
            optimised: Some(2),
            policy: PathPolicy::RoundRobin,
            plugin: Some(Plugin::Hpp),
            ..Paths::default()
        },
        disks: Disks {
            kind: Some(DiskKind::SasSsd),
            device: None,
            used_pct: Some(62.5),
            count: 24,
        },
        luns: Some(7),
    }
}

fn devices() -> BTreeMap<String, Device> {
    let flash = Device {
        kind: DiskKind::Nvme,
        capacity: Some(Bytes::from_gib(1_000)),
        random_read: Some(Rate::new(500_000.0).unwrap()),
        random_write: Some(Rate::new(62_500.0).unwrap()),
        sequential_read: Some(Bandwidth::from_bytes_per_s(3_000_000_000)),
        sequential_write: Some(Bandwidth::from_bytes_per_s(1_000_000_000)),
        read_latency: Some(Duration::from_micros(80)),
        write_latency: Some(Duration::from_micros(15)),
        depth: Some(512),
        power_loss_protection: Some(false),
        flush: Some(Duration::from_millis(2)),
        over_provisioning_pct: Some(12.5),
        write_cache: Some(WriteCache {
            size: Bytes::from_gib(22),
            write: Bandwidth::from_bytes_per_s(2_000_000_000),
        }),
        stalls: Some(Stalls {
            written: Bytes::from_gib(1),
            length: Duration::from_millis(5),
        }),
        rpm: None,
        seek_read: None,
        seek_write: None,
        dwpd: Some(0.5),
        source: Some("a data sheet".to_owned()),
    };
    BTreeMap::from([("own".to_owned(), flash)])
}

fn pool() -> StoragePool {
    StoragePool {
        kind: PoolKind::ChunkStore,
        nodes: PoolNodes::Group("h".to_owned()),
        deployment: Deployment::Mixed,
        redundancy: Some(Redundancy::Erasure { data: 3, parity: 2 }),
        policies: BTreeMap::from([(
            "gold".to_owned(),
            StoragePolicy {
                redundancy: Redundancy::Replicas { copies: 3, minimum: 2 },
                fragment: Some(Bytes::new(1 << 16)),
            },
        )]),
        ceph: None,
        vsan: None,
        networks: PoolNetworks {
            cluster: Some(Network::default()),
            between_racks: Some(RackLink {
                latency: Duration::from_millis(1),
                bandwidth: None,
            }),
        },
        failure_domain: FailureDomain::Disk,
        racks: 2,
        chunk: Some(Bytes::from_gib(1)),
        fragment: Some(Bytes::new(1 << 20)),
        coding: Some(Bandwidth::from_bytes_per_s(9_000_000_000)),
        write_path: Some(WritePath::Primary),
        devices: PoolDevices {
            kind: Some(DiskKind::Hdd7k),
            device: None,
            used_pct: None,
            per_node: 6,
            capacity: Bytes::from_gib(64_000),
            depth: Some(4),
            random_write: None,
        },
        more_devices: vec![PoolDevices {
            kind: None,
            device: Some("own".to_owned()),
            used_pct: Some(50.0),
            per_node: 2,
            capacity: Bytes::from_gib(1_000),
            depth: None,
            random_write: None,
        }],
        flushes: Flushes::Always,
        flash: Some(PoolFlash {
            kind: None,
            device: Some("P4800X".to_owned()),
            per_node: 2,
            capacity: Some(Bytes::from_gib(375)),
            random_write: Some(Bandwidth::from_bytes_per_s(123_000_000)),
            journal: Bytes::from_gib(8),
            read_cache: Bytes::from_gib(100),
        }),
        service: PoolService {
            threads: Some(4),
            limit_cpus: Some(1.5),
            wake_up: Some(Duration::from_micros(7)),
            ..PoolService::default()
        },
        client: PoolClient::default(),
        layer_latency: Duration::from_micros(30),
        exchange_latency: Duration::from_micros(40),
        metadata_servers: Some(1),
        stored: Some(Bytes::from_gib(1_000)),
        rebuild: Rebuild::default(),
    }
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let host = (
        1..4_u32,
        1..3_u32,
        2..5_u32,
        1_000..4_000_u64,
        0..Hypervisor::ALL.len(),
        1.0..2.0_f64,
    );
    let host = host.prop_map(
        |(count, sockets, cores_per_socket, mhz, hypervisor, smt_yield)| HostGroup {
            count,
            sockets,
            cores_per_socket,
            nodes_per_socket: 1,
            l3_per_node: 1,
            label: Some("h.example.com".to_owned()),
            threads_per_core: 2,
            clock: Frequency::from_mhz(mhz),
            turbo: None,
            work_per_cycle: 1.25,
            memory_per_node: Bytes::from_gib(64),
            hypervisor_memory: Some(Bytes::from_gib(2)),
            storage_memory: Bytes::default(),
            swap: Some(SwapDevice {
                kind: Some(DiskKind::SasSsd),
                device: None,
                count: 2,
                size: Some(Bytes::from_gib(100)),
                latency: Duration::from_micros(40),
            }),
            reclamation: Reclamation {
                page_sharing: Some(PageSharing::BetweenVms),
                ..Reclamation::default()
            },
            migration: Migration {
                streams: Some(2),
                convergence: Some(Convergence::AutoConverge),
                ..Migration::default()
            },
            hypervisor: Hypervisor::ALL[hypervisor],
            smt_yield,
            memory_system: MemorySystem::default(),
            scheduler: SchedulerOptions::default(),
            overhead: HypervisorOverhead::default(),
            adapters: Adapters::default(),
            network: Network::default(),
            cluster: if sockets > 1 { "prod" } else { "default" }.to_owned(),
            processors: Some(sockets),
            cpu_model: Some("a model".to_owned()),
            hyper_threading_available: Some(sockets > 1),
            power_policy: Some(PowerPolicy::Balanced),
            evc: None,
            evc_most: None,
            measured: Some(MeasuredHost {
                cpu_usage_pct: Some(12.5),
                ..MeasuredHost::default()
            }),
        },
    );
    let vms = prop::collection::btree_map("[a-z]{1,6}", vm(), 0..4);
    (host, vms, workload()).prop_map(|(mut host, mut vms, workload)| {
        if host.hypervisor.family() == Family::BareMetal {
            host.hypervisor = Hypervisor::Linux6_6;
        }
        if host.hypervisor < Hypervisor::Esxi50 {
            vms.values_mut().for_each(|vm| vm.numa = NumaOptions::default());
        }
        if host.hypervisor.family() == Family::Linux {
            for vm in vms.values_mut() {
                vm.reservation = Frequency::from_mhz(0);
                vm.cpu_hot_add = false;
                vm.numa = NumaOptions {
                    cells: vec![vm.vcpus],
                    ..NumaOptions::default()
                };
            }
        }
        let named: Vec<String> = vms.keys().cloned().collect();
        let first = if host.count > 1 { "h-1" } else { "h" };
        Scenario {
            name: "any".to_owned(),
            description: None,
            calibrated_on: None,
            run: RunSettings::default(),
            clusters: BTreeMap::from([(host.cluster.clone(), cluster())]),
            powered_off: BTreeMap::from([(
                "old".to_owned(),
                PoweredOff {
                    label: None,
                    cluster: Some(host.cluster.clone()),
                    template: host.count > 2,
                    vcpus: 2,
                    memory: Bytes::from_gib(4),
                    storage_provisioned: Some(Bytes::from_gib(100)),
                    storage_used: None,
                    host: (host.count > 1).then(|| first.to_owned()),
                    cores_per_socket: Some(2),
                    memory_reservation: Bytes::from_gib(1),
                    cpu_hot_add: true,
                    shares: Shares::High,
                    reservation: None,
                    limit: Some(Frequency::from_mhz(1_000)),
                    snapshot_count: Some(1),
                    guest_os: Some("Debian 12".to_owned()),
                    source: Some(SourceVm {
                        cpu_affinity: Some(false),
                        ..SourceVm::default()
                    }),
                },
            )]),
            datastores: BTreeMap::from([(
                "vmfs".to_owned(),
                Datastore {
                    label: Some("VMFS 1".to_owned()),
                    clusters: vec![host.cluster.clone()],
                    hosts: Some(host.count),
                    kind: Some("VMFS".to_owned()),
                    capacity: Bytes::from_gib(2_048),
                    free: Some(Bytes::from_gib(100)),
                    provisioned: None,
                },
            )]),
            hosts: BTreeMap::from([("h".to_owned(), host)]),
            vms,
            workloads: BTreeMap::from([("w".to_owned(), workload)]),
            devices: devices(),
            arrays: BTreeMap::from([("san".to_owned(), san())]),
            storage: BTreeMap::from([("pool".to_owned(), pool())]),
            failures: vec![Failure {
                at: Duration::from_secs(1),
                fails: vec!["pool/rack-2".to_owned(), "pool/metadata-1".to_owned()],
                returns: Some(Duration::from_secs(2)),
                empty: true,
            }],
            events: vec![Event {
                at: Duration::from_secs(3),
                migrate: None,
                to: None,
                maintenance: Some(first.to_owned()),
                add: None,
                until: Some(Duration::from_secs(5)),
            }],
            rules: vec![PlacementRule {
                name: "off".to_owned(),
                kind: RuleKind::NotOn,
                vms: named,
                hosts: vec!["h".to_owned()],
                mandatory: true,
            }]
            .into_iter()
            .filter(|rule| !rule.vms.is_empty())
            .collect(),
        }
    })
}

proptest! {
    #[test]
    fn scenarios_survive_text(scenario in scenario()) {
        let text = scenario.to_json();
        let again = Scenario::from_json(&text).map_err(|mistakes| TestCaseError::fail(format!("{mistakes:?}")))?;
        prop_assert_eq!(&again, &scenario);
        prop_assert_eq!(again.to_json(), text);
        prop_assert_eq!(again.placement().map(|hosts| hosts.len()), Some(again.vm_names().len()));
    }

    /// Whatever replaces a value, the answer is a scenario or mistakes with all their parts, never a panic.
    #[test]
    fn any_value_anywhere(place in 0..64_usize, value in any_json()) {
        let mut scenario = good();
        let pointers = pointers(&scenario, String::new());
        *scenario.pointer_mut(&pointers[place % pointers.len()]).unwrap() = value;
        if let Err(mistakes) = read(&scenario) {
            prop_assert!(!mistakes.is_empty());
            for mistake in mistakes {
                prop_assert!(![mistake.code, mistake.value, mistake.allowed, mistake.hint].iter().any(String::is_empty));
            }
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        "[0-9]{1,3} (s|GHz|GiB|/s)".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-z_]{0,8}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn pointers(value: &Value, here: String) -> Vec<String> {
    let mut all = vec![here.clone()];
    for (key, value) in value.as_object().into_iter().flatten() {
        all.extend(pointers(value, format!("{here}/{key}")));
    }
    all
}
