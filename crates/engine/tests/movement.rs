//! VMs that restart where a host failed, and that migrate: times by hand, rules, and random clusters under laws that
//! are checked from the report alone.

use crate::support;

use hypertwin_cluster::Scenario;
use hypertwin_engine::{Replication, aggregate, watched_run};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use support::{Dice, merge, merged, parse, seeds};

/// A cluster of ESXi hosts of 8 cores whose VMs have nothing to do; `more` is laid over it.
fn cluster(hosts: u32, vms: Value, more: Value) -> Value {
    let mut host = support::host("esxi-7.0", 1, 8, 1);
    merge(&mut host, json!({"count": hosts, "memory_per_node": "1 TiB"}));
    let mut text = json!({
        "name": "movement",
        "run": {"duration": "60 s", "warmup": "0 s", "sample_interval": "1 s"},
        "hosts": {"h": host},
        "clusters": {"default": {"ha": {"policy": "fdm", "detection": "18 s", "boot": "10 s"}}},
        "vms": vms,
        "workloads": {
            "idle": {"arrivals": {"closed": {"population": 1, "think": {"mean": "1 d"}}}, "cpu": {"mean": "1 ms"}},
            "busy": support::hungry(1),
        },
    });
    merge(&mut text, more);
    text
}

fn vms(count: u32, more: Value) -> Value {
    let mut vm = support::vm(1, "idle", json!({"count": count}));
    merge(&mut vm, more);
    vm
}

fn report(text: &Value) -> Value {
    let scenario = parse(text);
    serde_json::to_value(support::report(&scenario, 1)).expect("a report is JSON")
}

/// A figure of the outages of these VMs.
fn outages(report: &Value, key: &str, prefix: &str) -> Vec<f64> {
    let all = report["outages"].as_array().expect("a list").iter();
    let of = all.filter(|outage| outage["vm"].as_str().expect("a name").starts_with(prefix));
    of.filter_map(|outage| outage[key].as_f64()).collect()
}

fn count(all: &[f64], value: f64) -> usize {
    all.iter().filter(|&&one| one == value).count()
}

#[test]
fn vms_of_a_failed_host_restart_after_18_s_32_at_a_time_each_when_a_power_on_ends() {
    let text = cluster(
        2,
        json!({"a": vms(100, json!({"host": "h-1"})), "b": vms(1, json!({"host": "h-2"}))}),
        json!({"failures": [{"at": "5 s", "fails": ["h-1"]}]}),
    );
    let report = report(&text);
    let restarts = outages(&report, "restart_s", "a");
    assert_eq!(restarts.len(), 100);
    let found = [23.0, 25.0, 27.0, 29.0].map(|time| count(&restarts, time));
    assert_eq!(found, [32, 32, 32, 4], "18 s after the failure, and every 2 s");
    for (restart, up) in restarts.iter().zip(outages(&report, "up_s", "a")) {
        assert_eq!(up, restart + 10.0, "boot");
    }
    // detection + queue + boot
    for (vm, down_s) in [
        ("a-1", 28.0),
        ("a-32", 28.0),
        ("a-33", 30.0),
        ("a-100", 34.0),
        ("b", 0.0),
    ] {
        assert_eq!(report["vms"][vm]["down_s"], json!(down_s), "{vm}");
    }
    assert_eq!(report["steady"], json!(false));
    assert_eq!(report["unplaced"], json!([]));
    let to: Vec<&Value> = report["outages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|outage| &outage["up_on"])
        .collect();
    assert!(to.iter().all(|host| **host == json!("h-2")));
}

/// What a VM uses is counted at the clock of the host where it uses it.
#[test]
fn megahertz_of_a_vm_are_those_of_each_host_on_which_it_was() {
    let cores = |clock: &str, turbo: &str| {
        let mut host = support::host("esxi-7.0", 1, 4, 1);
        merge(
            &mut host,
            json!({"clock": clock, "turbo": turbo, "migration": {"link": "2 GB/s"}}),
        );
        host
    };
    let mut text = cluster(
        1,
        json!({
            "open": support::vm(2, "open", json!({"host": "slow", "memory": "2 GiB"})),
            "limited": support::vm(2, "hungry", json!({"host": "slow", "memory": "2 GiB", "limit": "1 GHz"})),
        }),
        json!({
            "run": {"duration": "200 s", "sample_interval": "10 s"},
            "events": [
                {"at": "96 s", "migrate": "open", "to": "fast"}, {"at": "96 s", "migrate": "limited", "to": "fast"},
            ],
            "workloads": {
                "open": {
                    "arrivals": {"open": {"rate": "50 /s", "cv": 0.5}}, "cpu": {"mean": "10 ms", "cv": 0},
                    "reference_clock": "2 GHz", "dirty_rate": "1 MB/s",
                },
                "hungry": {
                    "arrivals": {"closed": {"population": 60}}, "cpu": {"mean": "10 ms", "cv": 0},
                    "dirty_rate": "1 MB/s",
                },
            },
        }),
    );
    text["hosts"] = json!({"slow": cores("2 GHz", "2.2 GHz"), "fast": cores("4 GHz", "4.8 GHz")});
    let report = report(&text);
    for (name, key) in [("open", "used_mhz"), ("open", "demand_mhz"), ("limited", "used_mhz")] {
        assert_eq!(report["vms"][name]["host"], json!("fast"));
        let mhz = report["vms"][name][key].as_f64().unwrap();
        assert!((mhz / 1000.0 - 1.0).abs() < 0.02, "{name}: {key} {mhz}");
    }
}

/// Times until the failure of `h-1` is noticed, with several seeds, under these settings of HA.
fn noticed_after(ha: &Value) -> Vec<f64> {
    let mut text = cluster(
        3,
        json!({"a": vms(1, json!({"host": "h-1"}))}),
        json!({"run": {"duration": "290 s", "sample_interval": "10 s"}, "failures": [{"at": "5 s", "fails": ["h-1"]}]}),
    );
    text["clusters"]["default"]["ha"] = ha.clone();
    let scenario = parse(&text);
    let noticed = |run: &Replication| {
        let report = serde_json::to_value(aggregate(&[run])).expect("a report is JSON");
        assert_eq!(
            outages(&report, "restart_s", "a"),
            outages(&report, "detected_s", "a"),
            "{ha}"
        );
        outages(&report, "detected_s", "a")[0] - 5.0
    };
    support::replications(&scenario, 40).iter().map(noticed).collect()
}

#[test]
fn detection_is_that_of_the_policy_the_primary_or_the_scenario_at_any_phase() {
    for (ha, shortest, longest) in [
        (json!({"policy": "fdm"}), 17.0, 18.0),
        (json!({"policy": "fdm", "primary": "h-1"}), 35.0, 50.0),
        (json!({"policy": "fdm", "primary": "h-2"}), 17.0, 18.0),
        (
            json!({"policy": "fdm", "primary": "h-1", "detection": "35 s"}),
            35.0,
            35.0,
        ),
        (
            json!({"policy": "fdm", "detection": "1 s", "detection_longest": "9 s"}),
            1.0,
            9.0,
        ),
        (json!({"policy": "proxmox"}), 110.0, 140.0),
        (json!({"policy": "proxmox", "primary": "h-1"}), 170.0, 200.0),
        (json!({"policy": "masakari"}), 210.0, 270.0),
    ] {
        let found = noticed_after(&ha);
        let (least, most) = found.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), &time| {
            (least.min(time), most.max(time))
        });
        let length = longest - shortest;
        assert!(
            shortest - 1e-6 <= least && most <= longest + 1e-6,
            "{ha}: {least} to {most}"
        );
        assert!(
            most - least >= 0.8 * length,
            "{ha}: {least} to {most}: 40 failures nearly fill the range"
        );
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        assert!(
            (mean - (shortest + longest) / 2.0).abs() <= 0.15 * length + 1e-6,
            "{ha}: {mean}"
        );
    }
}

#[test]
fn downtimes_spread_over_replications_and_each_failure_has_its_own_phase() {
    let mut text = cluster(
        3,
        json!({"a": vms(1, json!({"host": "h-1"})), "b": vms(1, json!({"host": "h-2"}))}),
        json!({
            "clusters": {"default": {"ha": {"detection": "2 s", "detection_longest": "12 s"}}},
            "failures": [{"at": "5 s", "fails": ["h-1"]}],
        }),
    );
    let of = |text: &Value| {
        let scenario = Scenario::from_json(&text.to_string()).expect("a sound scenario");
        serde_json::to_value(support::report(&scenario, 8)).expect("a report is JSON")
    };
    let alone = of(&text);
    let downtime = &alone["downtimes"]["a"];
    let [least, mean, most] = ["min_s", "mean_s", "max_s"].map(|key| downtime[key].as_f64().unwrap());
    assert!(
        12.0 <= least && least < mean && mean < most && most <= 22.0,
        "{downtime}: detection and 10 s of boot"
    );
    text["failures"] = json!([{"at": "5 s", "fails": ["h-1"]}, {"at": "5 s", "fails": ["h-2"]}]);
    let both = of(&text);
    assert_eq!(&both["downtimes"]["a"], downtime, "another failure changes nothing");
    assert_ne!(both["downtimes"]["b"], both["downtimes"]["a"]);
}

#[test]
fn proxmox_starts_four_at_a_time_on_each_node_and_masakari_three_in_all() {
    for (policy, hosts, by_time) in [("proxmox", 3, [8, 2, 0]), ("masakari", 3, [3, 3, 3])] {
        let text = cluster(
            hosts,
            json!({"a": vms(10, json!({"host": "h-1"}))}),
            json!({
                "clusters": {"default": {"ha": {"policy": policy, "detection": "1 s"}}},
                "failures": [{"at": "5 s", "fails": ["h-1"]}],
            }),
        );
        let restarts = outages(&report(&text), "restart_s", "a");
        assert_eq!([6.0, 8.0, 10.0].map(|time| count(&restarts, time)), by_time, "{policy}");
    }
}

#[test]
fn proxmox_restarts_only_with_a_majority_of_votes() {
    let cases = [
        (2, vec!["h-1"], None, false),
        (2, vec!["h-1"], Some(true), true),
        (3, vec!["h-1"], Some(false), true),
        (3, vec!["h-1", "h-2"], None, false),
        (3, vec!["h-1", "h-2"], Some(true), true),
        (4, vec!["h-1", "h-2"], Some(false), false),
        (4, vec!["h-1", "h-2"], Some(true), true),
    ];
    for (hosts, fail, device, restarts) in cases {
        let failures: Vec<Value> = fail
            .iter()
            .map(|host| json!({"at": "5 s", "fails": [host], "returns": "40 s"}))
            .collect();
        let mut text = cluster(
            hosts,
            json!({"a": vms(1, json!({"host": "h-1"}))}),
            json!({"clusters": {"default": {"ha": {"policy": "proxmox", "detection": "1 s"}}}, "failures": failures}),
        );
        if let Some(device) = device {
            text["clusters"]["default"]["ha"]["quorum_device"] = json!(device);
        }
        let found = report(&text);
        // else with the hosts that return
        let at = if restarts { 6.0 } else { 40.0 };
        assert_eq!(outages(&found, "restart_s", "a"), [at], "{hosts} hosts, {device:?}");
        let lacks = found["unplaced"].as_array().map_or(0, Vec::len);
        assert_eq!(lacks, usize::from(!restarts), "{found}");
    }
}

#[test]
fn a_class_waits_for_the_power_ons_of_those_before_it() {
    let of = |priority: &str| vms(2, json!({"host": "h-1", "restart_priority": priority}));
    let text = cluster(
        2,
        json!({"z": of("high"), "m": of("medium"), "a": of("low"), "never": of("disabled")}),
        json!({"failures": [{"at": "5 s", "fails": ["h-1"]}]}),
    );
    let report = report(&text);
    for (group, restarts) in [
        ("z", vec![23.0; 2]),
        ("m", vec![25.0; 2]),
        ("a", vec![27.0; 2]),
        ("never", vec![]),
    ] {
        assert_eq!(outages(&report, "restart_s", group), restarts, "{group}");
    }
    assert_eq!(report["vms"]["never-1"]["down_s"], json!(55.0));
}

#[test]
fn vms_are_spread_evenly() {
    let text = cluster(
        4,
        json!({"a": vms(9, json!({"host": "h-1"})), "b": vms(5, json!({"host": "h-3"}))}),
        json!({"failures": [{"at": "5 s", "fails": ["h-1"]}]}),
    );
    let report = report(&text);
    let all = report["outages"].as_array().unwrap();
    for host in ["h-2", "h-3", "h-4"] {
        let here = all.iter().filter(|outage| outage["up_on"] == json!(host)).count();
        assert_eq!(here, 3, "{host}: whatever is there already");
    }
}

#[test]
fn what_finds_no_place_says_what_it_lacks_and_restarts_when_there_is_one() {
    let apart = json!([{"name": "apart", "kind": "keep-apart", "vms": ["a"], "mandatory": true}]);
    let by_rule = cluster(2, json!({"a": vms(2, json!({}))}), json!({"rules": apart}));
    let big = json!({"host": "h-1", "memory": "600 GiB", "memory_reservation": "600 GiB"});
    let also = json!({"host": "h-2", "memory": "600 GiB", "memory_reservation": "600 GiB"});
    let by_memory = cluster(2, json!({"a-1": vms(1, big), "b": vms(1, also)}), json!({}));
    let reserving = |host: &str| json!({"host": host, "vcpus": 8, "reservation": "11 GHz"});
    let by_cpu = cluster(
        2,
        json!({"a-1": vms(1, reserving("h-1")), "b": vms(1, reserving("h-2"))}),
        json!({"hosts": {"h": {"clock": "2.6 GHz"}}}),
    );
    let wide = json!({"host": "h-1", "affinity": "0-7"});
    let mut by_size = cluster(1, json!({"a-1": vms(1, wide)}), json!({}));
    by_size["hosts"]["small"] = support::host("esxi-7.0", 1, 4, 1);
    by_size["hosts"]["h"]["count"] = json!(1);
    by_size["vms"]["a-1"]["host"] = json!("h");
    for (mut text, failing, lacks) in [
        (by_rule, "h-1", "rule apart"),
        (by_memory, "h-1", "unreserved memory"),
        (by_cpu, "h-1", "1.2 GHz more unreserved CPU"),
        (by_size, "h", "a compatible host"),
    ] {
        text["failures"] = json!([{"at": "5 s", "fails": [failing], "returns": "40 s"}]);
        let report = report(&text);
        let unplaced = &report["unplaced"][0];
        assert_eq!(unplaced["vm"], json!("a-1"), "{lacks}");
        assert_eq!(unplaced["at_s"], json!(23.0), "{lacks}");
        assert!(unplaced["lacks"].as_str().unwrap().contains(lacks), "{unplaced}");
        assert_eq!(
            outages(&report, "restart_s", "a"),
            [40.0],
            "{lacks}: on the host that returned"
        );
        assert_eq!(report["vms"]["a-1"]["down_s"], json!(45.0), "{lacks}");
    }
}

#[test]
fn a_restart_on_hosts_at_80_per_cent_memory_reaches_reclamation() {
    let vm = |host: &str| vms(10, json!({"host": host, "memory": "8 GiB", "workload": "serving"}));
    let run = |memory: &str, failures: Value| {
        let text = cluster(
            3,
            json!({"a": vm("h-1"), "b": vm("h-2"), "c": vm("h-3")}),
            json!({
                "hosts": {"h": {"memory_per_node": memory, "cores_per_socket": 16}},
                "workloads": {"serving": {"arrivals": {"closed": {"population": 1}}, "cpu": {"mean": "10 ms"}}},
                "failures": failures,
            }),
        );
        report(&text)
    };
    let before = run("100 GiB", json!([]));
    let is_short = |host: &Value| !host["memory"].is_null() && host["memory"]["state"] != json!("high");
    assert!(!is_short(&before["hosts"]["h-2"]), "80 of 100 GiB are no shortage");
    let fails = json!([{"at": "5 s", "fails": ["h-1"]}]);
    let (after, roomy) = (run("100 GiB", fails.clone()), run("200 GiB", fails));
    assert_eq!(
        outages(&after, "up_s", "a").len(),
        10,
        "reservations are none, so all are powered on"
    );
    for host in ["h-2", "h-3"] {
        let memory = &after["hosts"][host]["memory"];
        assert!(
            !["high", "clear"].contains(&memory["state"].as_str().expect("a state")),
            "{memory}"
        );
        let figure = |key: &str| memory[key].as_f64().expect("a number");
        assert!(figure("ballooned_bytes") + figure("swapped_bytes") > 1e9, "{memory}");
    }
    let throughput = |report: &Value| report["groups"]["b"]["throughput_per_s"].as_f64().expect("a number");
    let slower = throughput(&after) / throughput(&roomy);
    assert!(slower < 0.9, "what may be powered on does not perform: {slower}");
}

#[test]
fn without_a_policy_vms_stand_still_until_their_host_returns() {
    let text = cluster(
        2,
        json!({"a": vms(1, json!({"host": "h-1"}))}),
        json!({
            "clusters": {"default": {"ha": {"enabled": false}}},
            "failures": [{"at": "5 s", "fails": ["h-1"], "returns": "40 s"}],
        }),
    );
    let report = report(&text);
    assert_eq!(report["vms"]["a"]["down_s"], json!(35.0));
    assert!(report.get("moves").is_none() && report.get("outages").is_none());
}

#[test]
fn how_long_its_earlier_host_was_down_goes_with_a_vm() {
    let text = cluster(
        2,
        json!({"a": vms(1, json!({"host": "h-1"}))}),
        json!({
            "clusters": {"default": {"ha": {"enabled": false}}},
            "failures": [
                {"at": "5 s", "fails": ["h-1"], "returns": "10 s"},
                {"at": "50 s", "fails": ["h-2"], "returns": "52 s"},
            ],
            "events": [{"at": "20 s", "migrate": "a", "to": "h-2"}],
        }),
    );
    let report = report(&text);
    assert_eq!(report["moves"][0]["outcome"], json!("done"));
    assert_eq!(report["vms"]["a"]["down_s"], json!(7.0));
}

#[test]
fn a_vm_that_boots_on_a_host_that_fails_too_is_noticed_again() {
    let text = cluster(
        3,
        json!({"a": vms(1, json!({"host": "h-1"}))}),
        json!({"failures": [{"at": "5 s", "fails": ["h-1"]}, {"at": "24 s", "fails": ["h-2"]}]}),
    );
    let report = report(&text);
    assert_eq!(outages(&report, "up_s", "a"), [24.0 + 18.0 + 10.0]);
    assert_eq!(
        report["outages"].as_array().unwrap().len(),
        1,
        "it was not up in between"
    );
    let moves = report["moves"].as_array().unwrap();
    let told: Vec<(&Value, &Value)> = moves.iter().map(|one| (&one["to"], &one["outcome"])).collect();
    assert_eq!(
        told,
        [(&json!("h-2"), &json!("given-up")), (&json!("h-3"), &json!("done"))]
    );
}

/// A migration of VM `a` from the first host to the second after 5 s, of hosts that are set like `migration`.
fn migration(workload: &str, vm: Value, dirty_rate: &str, migration: Value) -> Value {
    let mut all =
        json!({"link": "1.1 GiB/s", "setup": "0 s", "resume": "0 s", "downtime": "300 ms", "convergence": "nothing"});
    merge(&mut all, migration);
    let mut a = support::vm(1, workload, json!({"host": "h-1", "memory": "8 GiB"}));
    merge(&mut a, vm);
    cluster(
        2,
        json!({"a": a}),
        json!({
            "hosts": {"h": {"migration": all}}, "workloads": {workload: {"dirty_rate": dirty_rate}},
            "events": [{"at": "5 s", "migrate": "a", "to": "h-2"}],
        }),
    )
}

fn near(found: &Value, expected: f64, within: f64) {
    let found = found.as_f64().expect("a number");
    assert!((found / expected - 1.0).abs() < within, "{found} instead of {expected}");
}

#[test]
fn a_migration_takes_what_its_passes_take_by_hand() {
    let report = report(&migration("busy", json!({}), "0.3 GiB/s", json!({})));
    let one = &report["moves"][0];
    assert_eq!((&one["outcome"], &one["rounds"]), (&json!("done"), &json!(3)));
    near(&json!(one["end_s"].as_f64().unwrap() - 5.0), 9.945, 1e-3);
    near(&one["sent_bytes"], 10.939 * f64::from(1 << 30), 1e-3);
    let downtime_ms = one["downtime_ms"].as_f64().unwrap();
    assert!(
        (147.4..149.0).contains(&downtime_ms),
        "{downtime_ms}: the last copy, and at most 1 ms until it is quiet"
    );
    assert_eq!(report["vms"]["a"]["down_s"], json!(0.0));
    assert_eq!(report["vms"]["a"]["host"], json!("h-2"));
    // 1.1 GiB/s are 9.45 Gb/s: 0.945 of the 8 cores while it lasts
    near(
        &report["hosts"]["h-1"]["migration_cpu_pct"],
        100.0 * 0.9449 / 8.0 * 9.945 / 60.0,
        0.01,
    );
    near(
        &report["hosts"]["h-2"]["migration_cpu_pct"],
        100.0 * 0.9449 / 8.0 * 9.945 / 60.0,
        0.01,
    );
}

#[test]
fn zero_pages_stay_an_idle_vm_is_sent_once_and_fixed_costs_are_added() {
    let vm = json!({"memory_touched": "4 GiB", "memory_zero_pct": 25});
    let report = report(&migration(
        "idle",
        vm,
        "0.3 GiB/s",
        json!({"setup": "2.5 s", "resume": "20 ms"}),
    ));
    let one = &report["moves"][0];
    near(&one["end_s"], 5.0 + 2.5 + 3.0 / 1.1 + 0.02, 1e-6);
    near(&one["downtime_ms"], 20.0, 1e-3);
    assert_eq!(one["rounds"], json!(1));
}

#[test]
fn qemu_reads_all_pages_of_a_vm_to_find_what_is_zero() {
    // of 64 GiB, 1 is sent, at 1.25 GB/s; 100 GB of the others take 9.629 s
    let gib = f64::from(1 << 30);
    let scan_s = 63.0 * gib * 9.629 / 100e9;
    for (hypervisor, scan_s) in [("linux-6.6", scan_s), ("esxi-8.0", 0.0)] {
        let vm = json!({"host": "h-1", "memory": "64 GiB", "memory_touched": "1 GiB"});
        let mut text = cluster(
            2,
            json!({"a": vms(1, vm)}),
            json!({"events": [{"at": "5 s", "migrate": "a", "to": "h-2"}], "hosts": {"h": {"hypervisor": hypervisor}}}),
        );
        text["workloads"]["idle"]["dirty_rate"] = json!("0 B/s");
        text["hosts"]["h"]["migration"] = json!({"setup": "1 s", "resume": "0 s", "link": "10 Gb/s"});
        let one = &report(&text)["moves"][0];
        near(&one["end_s"], 5.0 + 1.0 + scan_s + gib / 1.25e9, 0.01);
        near(&one["sent_bytes"], gib, 0.01);
    }
}

#[test]
fn a_vm_that_writes_too_fast_never_ends_unless_it_is_slowed() {
    let with = |convergence: &str| {
        let how = json!({"convergence": convergence});
        report(&migration("busy", json!({}), "3 GiB/s", how))
    };
    let never = with("nothing");
    assert_eq!(never["moves"][0]["outcome"], json!("running"));
    assert_eq!(never["vms"]["a"]["host"], json!("h-1"));
    let slowed = with("slow-down");
    let one = &slowed["moves"][0];
    assert_eq!(one["outcome"], json!("done"));
    assert!(one["downtime_ms"].as_f64().unwrap() < 302.0);
    let moved_first = with("post-copy");
    let one = &moved_first["moves"][0];
    assert_eq!(one["outcome"], json!("done"));
    // 8 GiB, then what was written of it meanwhile: all
    near(&one["sent_bytes"], 16.0 * f64::from(1 << 30), 1e-6);
    near(&json!(one["end_s"].as_f64().unwrap() - 5.0), 16.0 / 1.1, 1e-3);
    assert!(one["downtime_ms"].as_f64().unwrap() < 2.0);
    let throttled = report(&migration(
        "busy",
        json!({"memory": "1 GiB"}),
        "3 GiB/s",
        json!({"convergence": "auto-converge", "link": "1.1 GiB/s"}),
    ));
    // passes of 1 GiB; from 90 % on fewer bytes are written than 300 ms send, in two passes more at each step
    let one = &throttled["moves"][0];
    assert_eq!(one["outcome"], json!("done"));
    assert!(one["rounds"].as_u64().unwrap() >= 16, "{one}");
    for timeout_s in [3, 20] {
        let timeout = json!({"timeout": format!("{timeout_s} s")});
        let given_up = report(&migration("busy", json!({}), "3 GiB/s", timeout));
        let one = &given_up["moves"][0];
        assert_eq!(
            (&one["outcome"], &one["end_s"]),
            (&json!("given-up"), &json!(5.0 + f64::from(timeout_s)))
        );
        assert_eq!(given_up["vms"]["a"]["host"], json!("h-1"));
    }
}

/// 1.1 GiB/s are sent, of 8 GiB that a VM writes again and again.
#[test]
fn a_vm_that_is_slowed_moves_the_later_the_more_it_writes() {
    let end_s = |gib_per_s: f64| {
        let slowed = json!({"convergence": "slow-down"});
        let report = report(&migration("busy", json!({}), &format!("{gib_per_s} GiB/s"), slowed));
        assert_eq!(report["moves"][0]["outcome"], json!("done"), "{gib_per_s} GiB/s");
        report["moves"][0]["end_s"].as_f64().unwrap() - 5.0
    };
    let ends = [0.3, 0.5, 0.7, 1.0, 1.09, 1.15, 1.9, 2.19, 2.4, 6.0].map(end_s);
    assert!(ends.is_sorted_by(|one, next| *next > one - 0.1), "{ends:?}");
    // all, all again, and from then on half of what was sent before
    assert!(ends[9] < 3.0 * 8.0 / 1.1, "{ends:?}");
}

/// Its work stays what it was on the host that it began on.
#[test]
fn a_vm_does_half_as_much_on_a_host_of_half_the_clock() {
    let throughput = |to: &str| {
        let mut text = migration("busy", json!({}), "0 B/s", json!({}));
        text["hosts"]["h"]["clock"] = json!("3.6 GHz");
        text["hosts"]["slow"] = merged(&text["hosts"]["h"], json!({"count": 1, "clock": "1.8 GHz"}));
        text["workloads"]["busy"]["cpu"]["mean"] = json!("10 ms");
        text["events"][0]["to"] = json!(to);
        text["run"] = json!({"duration": "20 s", "warmup": "20 s", "sample_interval": "1 s"});
        let report = report(&text);
        assert_eq!(report["vms"]["a"]["host"], json!(to));
        report["vms"]["a"]["throughput_per_s"].as_f64().unwrap()
    };
    near(&json!(throughput("slow")), throughput("h-2") / 2.0, 0.01);
}

/// Half of its memory is missing when the host fails that has it.
#[test]
fn post_copy_loses_a_vm_with_the_host_it_came_from_with_ha_and_without() {
    for (is_enabled, down_s) in [(true, 28.0), (false, 45.0)] {
        let mut text = migration("busy", json!({}), "3 GiB/s", json!({"convergence": "post-copy"}));
        text["failures"] = json!([{"at": "15 s", "fails": ["h-1"]}]);
        text["clusters"]["default"]["ha"]["enabled"] = json!(is_enabled);
        let report = report(&text);
        assert_eq!(report["moves"][0]["outcome"], json!("given-up"), "{is_enabled}");
        assert_eq!(report["vms"]["a"]["down_s"], json!(down_s), "HA: {is_enabled}");
    }
}

#[test]
fn migrations_share_a_link_and_wait_for_a_place() {
    let both = |concurrent: u32| {
        let mut text = migration("idle", json!({"count": 2}), "0 B/s", json!({"concurrent": concurrent}));
        text["events"] =
            json!([{"at": "5 s", "migrate": "a-1", "to": "h-2"}, {"at": "5 s", "migrate": "a-2", "to": "h-2"}]);
        let report = report(&text);
        [0, 1].map(|index| report["moves"][index]["end_s"].as_f64().unwrap())
    };
    let alone = 8.0 / 1.1;
    for (concurrent, by_hand) in [(1, [alone, 2.0 * alone]), (2, [2.0 * alone; 2])] {
        for (found, by_hand) in both(concurrent).iter().zip(by_hand) {
            near(&json!(found - 5.0), by_hand, 1e-3);
        }
    }
}

#[test]
fn maintenance_empties_a_host_and_says_what_cannot_leave() {
    let mut text = migration("idle", json!({}), "0 B/s", json!({}));
    text["vms"] = json!({
        "a": vms(3, json!({"host": "h-1"})), "b": vms(1, json!({"host": "h-2"})),
        "stays": vms(1, json!({"host": "h-1"})),
    });
    text["hosts"]["h"]["count"] = json!(3);
    text["rules"] = json!([
        {"name": "licence", "kind": "not-on", "vms": ["stays"], "hosts": ["other"], "mandatory": true},
        {"name": "apart", "kind": "keep-apart", "vms": ["a", "b"], "mandatory": false},
    ]);
    let mut other = support::host("esxi-7.0", 1, 8, 1);
    other["cluster"] = json!("default");
    text["hosts"]["other"] = other;
    text["failures"] =
        json!([{"at": "1 s", "fails": ["h-3"], "returns": "50 s"}, {"at": "1 s", "fails": ["h-2"], "returns": "50 s"}]);
    text["events"] = json!([{"at": "5 s", "maintenance": "h-1", "until": "45 s"}]);
    let report = report(&text);
    let moves: Vec<&Value> = report["moves"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["why"] == json!("maintenance"))
        .collect();
    assert_eq!(moves.len(), 3);
    assert!(
        moves
            .iter()
            .all(|one| one["to"] == json!("other") && one["outcome"] == json!("done"))
    );
    assert_eq!(report["unplaced"][0]["vm"], json!("stays"));
    assert!(
        report["unplaced"][0]["lacks"]
            .as_str()
            .unwrap()
            .contains("rule licence")
    );
    assert_eq!(report["vms"]["stays"]["host"], json!("h-1"));
}

#[test]
fn what_cannot_migrate_stays_and_restarts_elsewhere_after_a_failure() {
    let mut text = cluster(
        2,
        json!({"ct": vms(2, json!({"host": "h-1", "live_migration": false})), "b": vms(1, json!({"host": "h-1"}))}),
        json!({"events": [{"at": "5 s", "maintenance": "h-1", "until": "15 s"}]}),
    );
    let mut pinned = text.clone();
    pinned["vms"]["ct"] = vms(2, json!({"host": "h-1", "affinity": "0-1"}));
    for (hypervisor, stay) in [("esxi-7.0", 2), ("linux-6.6", 0)] {
        pinned["hosts"]["h"]["hypervisor"] = json!(hypervisor);
        let found = report(&pinned);
        let unplaced = found["unplaced"].as_array().map_or(0, Vec::len);
        assert_eq!(unplaced, stay, "{hypervisor}: vMotion refuses VMs with an affinity");
    }
    let emptied = report(&text);
    let moved: Vec<&Value> = emptied["moves"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["vm"])
        .collect();
    assert_eq!(moved, [&json!("b")]);
    let unplaced = emptied["unplaced"].as_array().unwrap();
    assert_eq!(unplaced.len(), 2, "each is told once: {unplaced:?}");
    assert!(unplaced[0]["lacks"].as_str().unwrap().contains("live_migration"));
    text["events"] = json!([]);
    text["failures"] = json!([{"at": "5 s", "fails": ["h-1"]}]);
    let failed = report(&text);
    assert_eq!(outages(&failed, "up_s", "ct").len(), 2);
    assert_eq!(failed["vms"]["ct-1"]["host"], json!("h-2"));
}

#[test]
fn balancing_leaves_what_cannot_migrate() {
    let mut text = cluster(
        2,
        json!({
            "ct": support::vm(2, "twice", json!({"host": "h-1", "count": 6, "live_migration": false})),
            "vm": support::vm(2, "twice", json!({"host": "h-1", "count": 2})),
        }),
        json!({
            "clusters": {"default": {"drs": {"policy": "drs-7", "threshold": 5, "period": "10 s"}}},
            "hosts": {"h": {"migration": {"setup": "0 s"}}},
            "rules": [{"name": "apart", "kind": "keep-apart", "vms": ["ct"], "mandatory": false}],
        }),
    );
    text["clusters"]["default"].as_object_mut().unwrap().remove("ha");
    text["workloads"]["twice"] = support::hungry(2);
    let report = report(&text);
    let moved: Vec<&Value> = report["moves"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["vm"])
        .collect();
    assert_eq!(moved, [&json!("vm-1"), &json!("vm-2")]);
}

#[test]
fn a_storage_appliance_waits_for_its_host() {
    let appliance = json!({"host": "h-1", "storage_appliance": true});
    let mut text = cluster(
        2,
        json!({"cvm": vms(1, appliance)}),
        json!({"failures": [{"at": "5 s", "fails": ["h-1"], "returns": "40 s"}]}),
    );
    let failed = report(&text);
    assert_eq!(
        failed["vms"]["cvm"]["down_s"],
        json!(45.0),
        "until its host is back, and has booted it"
    );
    assert_eq!(failed["unplaced"], json!([]));
    assert_eq!(failed["vms"]["cvm"]["host"], json!("h-1"));
    text["failures"] = json!([]);
    text["events"] = json!([{"at": "5 s", "maintenance": "h-1"}]);
    let emptied = report(&text);
    assert_eq!(emptied["unplaced"], json!([]));
    assert_eq!(emptied["vms"]["cvm"]["host"], json!("h-1"));
}

#[test]
fn a_migration_whose_host_fails_is_given_up() {
    for (failing, on, outages) in [("h-2", "h-1", 0), ("h-1", "h-2", 1)] {
        let mut text = migration("busy", json!({}), "0.3 GiB/s", json!({}));
        text["failures"] = json!([{"at": "8 s", "fails": [failing]}]);
        let report = report(&text);
        let one = &report["moves"][0];
        assert_eq!(
            (&one["outcome"], &one["end_s"]),
            (&json!("given-up"), &json!(8.0)),
            "{failing}"
        );
        assert_eq!(report["outages"].as_array().unwrap().len(), outages, "{failing}");
        assert_eq!(report["vms"]["a"]["host"], json!(on), "{failing}");
    }
}

#[test]
fn a_cluster_is_balanced_after_each_period_and_rules_are_mended_at_every_level() {
    let with = |policy: &str, threshold: u32, rules: Value| {
        let mut text = cluster(
            2,
            json!({"a": support::vm(2, "twice", json!({"host": "h-1", "count": 8, "memory_touched": "100 MiB"}))}),
            json!({
                "clusters": {"default": {"drs": {"policy": policy, "threshold": threshold, "period": "10 s"}}},
                "hosts": {"h": {"migration": {"setup": "0 s"}}}, "rules": rules,
            }),
        );
        text["clusters"]["default"].as_object_mut().unwrap().remove("ha");
        text["workloads"]["twice"] = support::hungry(2);
        report(&text)
    };
    let count = |report: &Value, why: &str| {
        let moves = report["moves"].as_array().unwrap().iter();
        moves
            .filter(|one| one["why"] == json!(why) && one["outcome"] == json!("done"))
            .count()
    };
    // 16 hungry vCPUs on 8 cores, and 8 idle ones: half of the VMs go, in the first period
    for policy in ["drs-6", "drs-7", "watcher"] {
        let report = with(policy, 5, json!([]));
        assert_eq!(count(&report, "balance"), 4, "{policy}");
        let first = report["moves"][0]["at_s"].as_f64();
        assert_eq!(first, Some(10.0), "{policy}");
        let ready = report["vms"]["a-1"]["ready_pct"].as_f64().unwrap();
        assert!(
            ready < 15.0,
            "{policy}: {ready} % ready after a sixth of the time at 50 %"
        );
    }
    let apart = json!([{"name": "apart", "kind": "not-on", "vms": ["a"], "hosts": ["h"], "mandatory": false}]);
    assert_eq!(count(&with("drs-6", 1, apart), "rule"), 0, "no host is better");
    let mut pair = json!({"name": "pair", "kind": "keep-apart", "vms": ["one", "two"]});
    pair["mandatory"] = json!(true);
    let mut text = cluster(
        2,
        json!({"one": vms(1, json!({"host": "h-1"})), "two": vms(1, json!({"host": "h-1"}))}),
        json!({"clusters": {"default": {"drs": {"policy": "drs-7", "threshold": 1, "period": "10 s"}}}, "rules": [pair]}),
    );
    text["clusters"]["default"].as_object_mut().unwrap().remove("ha");
    let report = report(&text);
    assert_eq!(
        (count(&report, "rule"), report["moves"].as_array().unwrap().len()),
        (1, 1),
        "one of the two goes"
    );
}

const SWARM_S: f64 = 100.0;

/// A cluster `default` in which VMs restart and migrate, and one `other` in which they do not.
fn random_cluster(seed: u64) -> Value {
    let mut dice = Dice::new(seed, "movement");
    let hypervisor = dice.pick(&["esxi-6.7", "esxi-8.0", "linux-6.6"]);
    let hosts = dice.range(2, 5) as u32;
    let policy = dice.pick(&["fdm", "proxmox", "masakari"]);
    let mut host = support::host(hypervisor, 1, dice.range(2, 4) as u32, 2);
    let convergence = dice.pick(&["nothing", "slow-down", "auto-converge", "auto-converge-4", "post-copy"]);
    let migration = json!({
        "link": format!("{} Gb/s", dice.range(1, 40)), "concurrent": dice.range(1, 4), "convergence": convergence,
        "setup": format!("{} ms", dice.range(0, 3_000)),
    });
    merge(
        &mut host,
        json!({"count": hosts, "memory_per_node": "64 GiB", "migration": migration}),
    );
    let mut still = host.clone();
    merge(&mut still, json!({"count": 2, "cluster": "other"}));
    let mut groups = json!({"still": {"vcpus": 1, "memory": "1 GiB", "workload": "w", "cluster": "other", "count": 2}});
    let count = dice.range(1, 4);
    let mut names = Vec::new();
    for group in 0..count {
        let reserved = if dice.one_in(2) { dice.range(1, 24) } else { 0 };
        let members = dice.range(1, 4);
        let name = format!("g{group}");
        names.extend((1..=members).map(|number| {
            if members == 1 {
                name.clone()
            } else {
                format!("{name}-{number}")
            }
        }));
        groups[&name] = json!({
            "vcpus": dice.range(1, 4), "memory": "24 GiB", "memory_active": "2 GiB", "workload": "w", "cluster": "default",
            "memory_reservation": format!("{reserved} GiB"), "count": members,
            "restart_priority": dice.pick(&["highest", "high", "medium", "low", "lowest", "disabled"]),
        });
    }
    groups["container"] = json!({
        "vcpus": 1, "memory": "2 GiB", "workload": "w", "cluster": "default", "count": 2, "live_migration": false,
    });
    let mut rules = Vec::new();
    for number in 0..dice.range(0, 2) {
        let kind = dice.pick(&["keep-together", "keep-apart", "run-on", "not-on"]);
        let about = [
            format!("g{}", dice.range(0, count - 1)),
            format!("g{}", dice.range(0, count - 1)),
        ];
        let mut rule = json!({"name": format!("r{number}"), "kind": kind, "vms": about, "mandatory": !dice.one_in(4)});
        if kind.ends_with("on") {
            // those of the cluster are all one group
            rule["hosts"] = json!(["h"]);
        }
        rules.push(rule);
    }
    let at = |dice: &mut Dice, last: u64| dice.range(1_000, last);
    let mut failures = Vec::new();
    for _ in 0..dice.range(0, 3) {
        let from = at(&mut dice, 50_000);
        let mut failure =
            json!({"at": format!("{from} ms"), "fails": [format!("h-{}", dice.range(1, u64::from(hosts)))]});
        if dice.one_in(2) {
            failure["returns"] = json!(format!("{} ms", from + at(&mut dice, 15_000)));
        }
        failures.push(failure);
    }
    failures.push(json!({"at": "20 s", "fails": ["still-1"], "returns": "30 s"}));
    let mut events = Vec::new();
    for _ in 0..dice.range(0, 4) {
        let from = at(&mut dice, 50_000);
        let host = format!("h-{}", dice.range(1, u64::from(hosts)));
        let mut event = json!({"at": format!("{from} ms")});
        if dice.one_in(3) {
            event["maintenance"] = json!(host);
            if dice.one_in(2) {
                event["until"] = json!(format!("{} ms", from + at(&mut dice, 20_000)));
            }
        } else {
            event["migrate"] = json!(names[dice.range(0, names.len() as u64 - 1) as usize]);
            event["to"] = json!(host);
        }
        events.push(event);
    }
    let mut drs =
        json!({"policy": dice.pick(&["drs-6", "drs-7", "watcher"]), "threshold": dice.range(1, 5), "period": "7 s"});
    if dice.one_in(2) {
        drs = Value::Null;
    }
    let mut text = json!({
        "name": "swarm", "run": {"duration": format!("{SWARM_S} s"), "warmup": "0 s", "sample_interval": "10 s"},
        "hosts": {"h": host, "still": still}, "vms": groups, "rules": rules, "failures": failures, "events": events,
        "clusters": {"default": {"ha": {
            "policy": policy, "quorum_device": dice.one_in(2), "boot": format!("{} ms", dice.range(0, 6_000)), "detection": format!("{} ms", dice.range(0, 9_000)),
        }}},
        "workloads": {"w": {
            "arrivals": {"closed": {"population": 2, "think": {"mean": "200 ms"}}}, "cpu": {"mean": "20 ms"}, "ios": 1,
            "delay": {"mean": "5 ms"}, "dirty_rate": format!("{} MB/s", dice.range(0, 3_000)),
        }},
    });
    if dice.one_in(3) {
        // virtual disks on an array
        text["arrays"] = json!({"san": {"disks": {"kind": "sata-ssd", "count": 4}}});
        text["vms"]["g0"]["array"] = json!("san");
    }
    if !drs.is_null() {
        text["clusters"]["default"]["drs"] = drs;
    }
    // rules can force more reservations onto a host than it has
    let is_over_reserved = |text: &Value| Scenario::from_json(&text.to_string()).is_err();
    for group in 0..count {
        if is_over_reserved(&text) {
            text["vms"][format!("g{group}")]["memory_reservation"] = json!("0 GiB");
        }
    }
    text
}

/// Where VMs are by the report, time by time.
struct Replay<'t> {
    text: &'t Value,
    places: BTreeMap<String, Option<String>>,
}

impl Replay<'_> {
    fn group<'v>(&self, vm: &'v str) -> &'v str {
        vm.split('-').next().unwrap_or(vm)
    }

    /// Other VMs that a rule is about.
    fn others<'r>(&'r self, rule: &'r Value, vm: &'r str) -> impl Iterator<Item = &'r Option<String>> {
        let about = rule["vms"].as_array().unwrap();
        let is_other =
            move |(name, _): &(&String, &Option<String>)| *name != vm && about.contains(&json!(self.group(name)));
        self.places.iter().filter(is_other).map(|(_, place)| place)
    }

    /// Which mandatory rule forbids a VM to be on a host.
    fn broken(&self, vm: &str, host: &str) -> Option<&Value> {
        let rules = self.text["rules"].as_array().unwrap().iter();
        let mut about = rules.filter(|rule| {
            rule["mandatory"] == json!(true) && rule["vms"].as_array().unwrap().contains(&json!(self.group(vm)))
        });
        about.find(|rule| {
            let is_there = |place: &Option<String>| place.as_deref() == Some(host);
            match rule["kind"].as_str().unwrap() {
                "not-on" => true,
                "keep-apart" => self.others(rule, vm).any(is_there),
                _ => false,
            }
        })
    }

    /// Memory that VMs reserve on a host, in GiB.
    fn reserved(&self, host: &str) -> u64 {
        let here = self.places.iter().filter(|(_, place)| place.as_deref() == Some(host));
        here.map(|(vm, _)| self.reserves(vm)).sum()
    }

    fn reserves(&self, vm: &str) -> u64 {
        let text = self.text["vms"][self.group(vm)]["memory_reservation"]
            .as_str()
            .unwrap_or("0 GiB");
        text.trim_end_matches(" GiB").parse().unwrap()
    }
}

/// Milliseconds of a time such as `250 ms`, in seconds.
fn seconds(time: &Value) -> f64 {
    let text = time.as_str().unwrap();
    match text.strip_suffix(" ms") {
        Some(ms) => ms.parse::<f64>().unwrap() / 1e3,
        None => text.trim_end_matches(" s").parse().unwrap(),
    }
}

/// Whether HA may restart VMs at a time: with Proxmox only while most votes are there.
fn may_restart(text: &Value, at_s: f64) -> bool {
    let ha = &text["clusters"]["default"]["ha"];
    let hosts = text["hosts"]["h"]["count"].as_u64().unwrap();
    let is_down = |host: &u64| {
        text["failures"].as_array().unwrap().iter().any(|one| {
            let lasts = one.get("returns").is_none_or(|returns| at_s < seconds(returns));
            one["fails"] == json!([format!("h-{host}")]) && seconds(&one["at"]) <= at_s && lasts
        })
    };
    let down = (1..=hosts).filter(is_down).count() as u64;
    let has_device = ha["quorum_device"] == json!(true);
    let votes = match (has_device, hosts % 2) {
        (false, _) => hosts,
        (true, 0) => hosts + 1,
        (true, _) => 2 * hosts - 1,
    };
    ha["policy"] != json!("proxmox") || 2 * (votes - down) > votes
}

/// The hosts of the cluster that are up at the end and take VMs.
fn open_hosts(text: &Value) -> Vec<String> {
    let hosts = (1..=text["hosts"]["h"]["count"].as_u64().unwrap()).map(|number| format!("h-{number}"));
    let is_open = |host: &String| {
        let failures = text["failures"].as_array().unwrap();
        let events = text["events"].as_array().unwrap();
        let is_down = |one: &Value| one["fails"] == json!([host]) && one.get("returns").is_none();
        let is_emptied = |one: &Value| one["maintenance"] == json!(host) && one.get("until").is_none();
        !failures.iter().any(is_down) && !events.iter().any(is_emptied)
    };
    hosts.filter(is_open).collect()
}

fn check(seed: u64) {
    let text = random_cluster(seed);
    let scenario =
        Scenario::from_json(&text.to_string()).unwrap_or_else(|found| panic!("seed {seed}: {found:#?}\n{text:#}"));
    let mut events = 0_u64;
    let run = watched_run(&scenario, seed, |view| {
        events += 1;
        if events.is_multiple_of(64) {
            let mut hosts: BTreeMap<usize, usize> = BTreeMap::new();
            for world in view.worlds().filter(|world| world.is_placed) {
                let Some(vm) = world.vm else { continue };
                let host = *hosts.entry(vm).or_insert(world.host);
                assert_eq!(host, world.host, "seed {seed}: VM {vm} is in two places");
            }
        }
    });
    let run = run.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let report = serde_json::to_value(aggregate(&[&run])).expect("a report is JSON");
    let names = scenario.vm_names().into_iter().map(|(name, _)| name);
    let hosts: Vec<String> = scenario.host_names().into_iter().map(|(name, _)| name).collect();
    let places = names
        .zip(scenario.placement().unwrap())
        .map(|(vm, host)| (vm, Some(hosts[host].clone())));
    let mut replay = Replay {
        text: &text,
        places: places.collect(),
    };

    // what happened, by time: VMs go down, and arrive
    let (outages, moves) = (
        report["outages"].as_array().unwrap(),
        report["moves"].as_array().unwrap(),
    );
    let mut story: Vec<(f64, usize, &Value)> = outages
        .iter()
        .map(|one| (one["from_s"].as_f64().unwrap(), 0, one))
        .collect();
    for one in moves {
        assert!(
            !one["vm"].as_str().unwrap().starts_with("still"),
            "seed {seed}: nothing moves without a policy"
        );
        let is_restart = one["kind"] == json!("restart");
        assert!(
            is_restart || !one["vm"].as_str().unwrap().starts_with("container"),
            "seed {seed}: it has no live migration"
        );
        if is_restart || one["outcome"] == json!("done") && one["end_s"].is_number() {
            let at = if is_restart { &one["at_s"] } else { &one["end_s"] };
            story.push((at.as_f64().unwrap(), 1, one));
        }
        if is_restart && one["outcome"] == json!("given-up") {
            story.push((one["end_s"].as_f64().unwrap(), 0, one));
        }
    }
    story.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for (at, kind, what) in story {
        let vm = what["vm"].as_str().unwrap().to_owned();
        if kind == 0 {
            replay.places.insert(vm, None);
            continue;
        }
        let to = what["to"].as_str().unwrap();
        assert!(
            what["kind"] != json!("restart") || may_restart(&text, at),
            "seed {seed} at {at}: {vm} without a quorum"
        );
        let before = replay.places.insert(vm.clone(), None).flatten();
        assert_ne!(before.as_deref(), Some(to), "seed {seed}: {vm} is there");
        assert_eq!(replay.broken(&vm, to), None, "seed {seed} at {at}: {vm} on {to}");
        replay.places.insert(vm.clone(), Some(to.to_owned()));
        assert!(replay.reserved(to) <= 64, "seed {seed} at {at}: {to} with {vm}");
    }

    // down time is detection, queue and boot
    let ha = &text["clusters"]["default"]["ha"];
    let (boot, detection) = (seconds(&ha["boot"]), seconds(&ha["detection"]));
    let mut down: BTreeMap<&str, f64> = BTreeMap::new();
    for one in outages {
        let (from, up) = (one["from_s"].as_f64().unwrap(), one["up_s"].as_f64());
        let vm = one["vm"].as_str().unwrap();
        *down.entry(vm).or_default() += up.unwrap_or(SWARM_S) - from;
        let Some(restart) = one["restart_s"].as_f64() else {
            continue;
        };
        let detected = one["detected_s"].as_f64().unwrap();
        assert!(
            detected + 1e-9 >= from + detection && restart >= detected,
            "seed {seed}: {one}"
        );
        if let Some(up) = up {
            assert!((up - restart - boot).abs() < 1e-6, "seed {seed}: {one}");
        }
    }
    for (vm, place) in &replay.places {
        if vm.starts_with("still") {
            continue;
        }
        let down_s = report["vms"][vm]["down_s"].as_f64().unwrap();
        let by_outages = down.get(vm.as_str()).copied().unwrap_or(0.0);
        assert!(
            (down_s - by_outages).abs() < 1e-6,
            "seed {seed}: {vm} is down for {down_s} s, {by_outages} by outages"
        );
        // what can restart does: all was over long before the end
        if place.is_none()
            && may_restart(&text, SWARM_S)
            && text["vms"][replay.group(vm)]["restart_priority"] != json!("disabled")
        {
            // what is on its way holds its room
            let is_taken = |host: &String| {
                moves
                    .iter()
                    .any(|one| one["outcome"] == json!("running") && one["to"] == json!(host))
            };
            for host in open_hosts(&text).into_iter().filter(|host| !is_taken(host)) {
                let has_room = replay.reserved(&host) + replay.reserves(vm) + 4 < 64;
                let lonely = replay.text["rules"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|rule| rule["kind"] != json!("keep-together"));
                assert!(
                    !has_room || !lonely || replay.broken(vm, &host).is_some(),
                    "seed {seed}: {vm} could be on {host}\n{text:#}"
                );
            }
        }
    }
    // VMs of a host without a policy stand still as long as it is down
    assert!(
        [0.0, 10.0].contains(&report["vms"]["still-1"]["down_s"].as_f64().unwrap()),
        "seed {seed}"
    );
}

#[test]
fn random_clusters_keep_rules_and_lose_no_vm() {
    for seed in seeds(40) {
        check(seed);
    }
}
