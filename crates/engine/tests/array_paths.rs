//! Ways between hosts and arrays: disks inside a host, several paths to a LUN, ports that fail, protocols.

use crate::support;

use hypertwin_cluster::Scenario;
use hypertwin_engine::{Replication, Tone, watched_run};
use serde_json::{Value, json};
use support::{Dice, assert_near, host, io, merge, parse, replications, report, seeds, vm};

/// A fast host with a generator of next to no CPU on an array that answers from its cache at once; `more` is merged
/// over all.
fn text(more: Value) -> Value {
    let mut host = host("linux-6.12", 1, 8, 1);
    host["clock"] = json!("20 GHz");
    host["adapters"] = json!({"ports": 4, "bandwidth": "1 GB/s", "command": 0, "latency": 0, "lun_depth": 4096});
    let mut text = json!({
        "name": "paths", "run": {"duration": "1 s", "warmup": "200 ms", "sample_interval": "100 ms"},
        "hosts": {"h": host},
        "vms": {"v": vm(4, "w", json!({"array": "san", "controller": "nvme", "vdisks": 1, "vdisk_depth": 1024}))},
        "workloads": {"w": {
            "arrivals": {"io": {"outstanding": 64}}, "cpu": {"mean": 0, "cv": 0}, "working_set": "1 GiB",
            "block": "64 KiB", "wake_up": "0 s",
        }},
        "arrays": {"san": {
            "front_end_ports": 4, "port_bandwidth": "1 TB/s", "port_command": 0, "raid": "raid-0",
            "disks": {"kind": "nvme", "count": 1},
        }},
    });
    if more["arrays"]["san"]["protocol"] != "local" {
        text["arrays"]["san"]["cache"] = json!({"latency": 0});
    }
    merge(&mut text, more);
    text
}

fn scenario(more: Value) -> Scenario {
    parse(&text(more))
}

fn of(more: Value) -> (f64, f64) {
    io(&replications(&scenario(more), 1)[0])
}

fn stations(run: &Replication) -> Vec<&str> {
    run.stations.iter().map(|station| station.name.as_str()).collect()
}

#[test]
fn a_local_drive_costs_its_own_time_only() {
    let local = |outstanding: u32, more: Value| {
        let mut all = json!({
            "arrays": {"san": {"protocol": "local"}},
            "workloads": {"w": {"arrivals": {"io": {"outstanding": outstanding}}, "block": "4 KiB"}},
        });
        merge(&mut all, more);
        all
    };
    // 90 us of flash, beside some 2 us of CPU at 20 GHz
    let (_, latency_ms) = of(local(1, json!({})));
    assert!((0.090..0.094).contains(&latency_ms), "{latency_ms}");
    let slower = of(local(1, json!({"arrays": {"san": {"cache": {"latency": "100 us"}}}})));
    assert_near(slower.1 - latency_ms, 0.1, 0.01, "the scenario's own latency counts");

    // the LUN depth of a fabric does not hold back a drive of depth 1,024, whose 32 channels take 90 us each
    let hosts = json!({"hosts": {"h": {"adapters": {"lun_depth": 1}}}, "vms": {"v": {"vcpus": 8}}});
    let busy = scenario(local(1024, hosts));
    let run = &replications(&busy, 1)[0];
    let (rate, _) = io(run);
    assert_near(rate, 32.0 / 90e-6, 0.05, "what its channels do");
    assert_eq!(
        stations(run)
            .iter()
            .filter(|name| name.contains("port") || name.starts_with("san"))
            .collect::<Vec<_>>(),
        [&"san-disks"],
        "no ports, no cache"
    );
}

#[test]
fn local_drives_share_the_work_and_protect_each_other() {
    let run = |raid: &str, count: u32| {
        let more = json!({
            "arrays": {"san": {"protocol": "local", "raid": raid, "disks": {"kind": "hdd-15k", "count": count}}},
            "workloads": {"w": {"read_pct": 0, "block": "4 KiB", "arrivals": {"io": {"outstanding": 64 * count}}}},
        });
        of(more).0
    };
    let one = run("raid-0", 1);
    assert_near(run("raid-0", 4), 4.0 * one, 0.05, "four disks");
    assert_near(
        run("raid-1", 4),
        2.0 * one,
        0.05,
        "each write on two: no cache takes it before",
    );
}

/// MB per second of a generator on one LUN, of which a port of the host carries 1,000.
fn rate_with(paths: Value, outstanding: u32) -> f64 {
    let (rate, _) = of(json!({
        "arrays": {"san": {"paths": paths}}, "workloads": {"w": {"arrivals": {"io": {"outstanding": outstanding}}}},
    }));
    rate * 65_536.0 / 1e6
}

#[test]
fn round_robin_carries_as_much_as_all_ports_if_it_changes_often() {
    let robin = |per_lun: u32, limit: u32| json!({"per_lun": per_lun, "policy": "round-robin", "iops_limit": limit});
    assert_near(rate_with(json!({}), 64), 1_000.0, 0.01, "one path");
    for paths in [2, 3, 4] {
        let all = 1_000.0 * f64::from(paths);
        assert_near(rate_with(robin(paths, 1), 64), all, 0.01, "a path for each I/O");
        let shortest = json!({"per_lun": paths, "policy": "queue-length"});
        assert_near(rate_with(shortest, 64), all, 0.01, "the shortest queue");
        for policy in ["fixed", "most-recently-used"] {
            let paths = json!({"per_lun": paths, "policy": policy});
            assert_near(rate_with(paths, 64), 1_000.0, 0.01, "one at a time");
        }
    }
    // "basically the same as a single path": only while it changes over are two busy
    let mut thousand = robin(4, 1_000);
    thousand["bytes_limit"] = json!("1 GiB");
    assert_near(
        rate_with(thousand, 8),
        1_008.0,
        0.005,
        "a thousand on one path, then on the next",
    );
    // the default limit of 10 MiB is 160 I/Os of 64 KiB
    assert_near(
        rate_with(robin(4, 1_000), 8),
        1_050.0,
        0.02,
        "160 on one path, then on the next",
    );
    let by_bytes = json!({"per_lun": 4, "policy": "round-robin", "iops_limit": 1_000_000, "bytes_limit": "64 KiB"});
    assert_near(rate_with(by_bytes, 64), 4_000.0, 0.01, "changed by bytes");
}

#[test]
fn each_port_carries_the_same_and_its_depth_counts() {
    // the port's depth limits what is under way on it: 4 of 64 on each path
    let paths = json!({"per_lun": 2, "policy": "round-robin", "iops_limit": 1});
    let busy = scenario(json!({
        "hosts": {"h": {"adapters": {"ports": 2, "depth": 4, "latency": "1 ms", "bandwidth": "1 TB/s"}}},
        "arrays": {"san": {"paths": paths}},
    }));
    let run = &replications(&busy, 1)[0];
    assert_near(io(run).0, 8.0 / 1e-3, 0.03, "eight commands, each of a millisecond");
    let depth = run
        .stations
        .iter()
        .find(|station| station.name == "h-port-depth")
        .expect("a port depth");
    assert_near(depth.figures.utilization_pct, 100.0, 0.01, "all slots are taken");
    // a few are complete and wait for an interrupt
    assert_near(depth.figures.queue, 54.0, 0.04, "the others wait for them");
}

#[test]
fn paths_that_are_not_optimised_are_used_when_no_other_works_and_take_longer() {
    let latency_ms = |fails: Value| {
        let failures: Vec<Value> = fails
            .as_array()
            .unwrap()
            .iter()
            .map(|port| json!({"at": "1 ms", "fails": [port]}))
            .collect();
        of(json!({
            "workloads": {"w": {"arrivals": {"io": {"outstanding": 1}}, "block": "512 B"}}, "failures": failures,
            "arrays": {"san": {"paths": {
                "per_lun": 4, "optimised": 2, "policy": "round-robin", "iops_limit": 1, "non_optimised_latency": "300 us", "timeout": 0,
            }}},
        }))
        .1
    };
    let optimised = latency_ms(json!([]));
    assert!(optimised < 0.05, "{optimised}");
    assert_near(
        latency_ms(json!(["san/port-1"])),
        optimised,
        0.01,
        "another optimised path",
    );
    let longer = latency_ms(json!(["san/port-1", "h/port-2"])) - optimised;
    assert_near(longer, 0.3, 0.01, "none is left");
}

#[test]
fn an_io_on_a_path_that_fails_comes_back_after_the_timeout() {
    // 1 ms each way: at 500 ms all 3 are under way, and none is answered before it is sent again at 600 ms
    let failing = |more: Value| {
        let mut all = json!({
            "hosts": {"h": {"adapters": {"latency": "2 ms"}}},
            "workloads": {"w": {"arrivals": {"io": {"outstanding": 3}}, "block": "512 B"}},
            "arrays": {"san": {"paths": {"per_lun": 2, "policy": "fixed", "timeout": "100 ms"}}},
            "run": {"warmup": "0 s"},
        });
        merge(&mut all, more);
        replications(&scenario(all), 1).remove(0)
    };
    let count = |run: &Replication| run.vms[0].io.as_ref().unwrap().all.count;
    let whole = count(&failing(json!({})));
    let one = failing(json!({"failures": [{"at": "500.5 ms", "fails": ["h/port-1"]}]}));
    // what could have been done in the timeout, and in the half of its way that each had behind it
    let lost = (whole - count(&one)) as f64;
    let ports = one.stations.iter().find(|station| station.name == "h-ports");
    assert_eq!(ports.and_then(|ports| ports.figures.path_failovers), Some(3.0));
    assert_near(lost, 0.101 * whole as f64, 0.02, "I/Os that were not done meanwhile");
    // without any path they wait until one returns
    let both = failing(json!({"failures": [
        {"at": "500.5 ms", "fails": ["h/port-1", "san/port-2"], "returns": "800.5 ms"},
    ]}));
    let lost = (whole - count(&both)) as f64;
    assert_near(lost, 0.301 * whole as f64, 0.02, "I/Os while no path worked");
}

/// The path of one of two virtual disks fails for good: its I/Os never come back, whatever those of the other do.
#[test]
fn an_io_without_a_path_is_the_longest() {
    for (returns, at_least, at_most) in [(None, 11.48, 11.6), (Some("8.5 s"), 7.9, 8.1)] {
        let mut failure = json!({"at": "500 ms", "fails": ["h/port-1"]});
        if let Some(returns) = returns {
            failure["returns"] = json!(returns);
        }
        let run = report(
            &scenario(json!({
                "run": {"duration": "12 s", "warmup": "0 s"}, "failures": [failure],
                "hosts": {"h": {"adapters": {"ports": 2}}}, "vms": {"v": {"vdisks": 2}},
                "arrays": {"san": {"paths": {"per_lun": 1, "policy": "fixed"}}},
                "workloads": {"w": {"arrivals": {"io": {"outstanding": 3, "rate": "100 /s"}}, "block": "512 B"}},
            })),
            1,
        );
        let longest_s = run.vms["v"].io_longest_s.expect("it has disks");
        assert!((at_least..=at_most).contains(&longest_s), "{returns:?}: {longest_s}");
        assert!(run.vms["v"].iops > 10.0, "the other disk goes on");
        let judged = &run.judgement;
        let expected = if returns.is_none() { Tone::Bad } else { Tone::Warn };
        assert_eq!(judged.tone, expected, "{}", judged.text);
    }
}

/// Sessions that write a known number of I/Os a transaction, and stop before the end: each I/O is answered once.
#[test]
fn ports_that_fail_and_return_lose_no_io_and_no_slot() {
    for seed in seeds(60) {
        let mut dice = Dice::new(seed, "array paths");
        let ports = dice.range(1, 4);
        let mut text = text(json!({
            "run": {"duration": "2 s", "warmup": "0 s"},
            "hosts": {"h": {"adapters": {
                "ports": ports, "depth": dice.range(1, 12), "lun_depth": dice.range(1, 8), "dsnro": dice.range(1, 4),
                "latency": format!("{} us", dice.range(0, 3_000)), "bandwidth": format!("{} MB/s", dice.range(20, 800)),
            }}},
            "vms": {"v": {
                "count": dice.range(1, 3), "vdisks": dice.range(1, 3), "shared_luns": dice.one_in(2),
                "load_steps": [{"at": "350 ms", "factor": 0}],
            }},
            "arrays": {"san": {
                "front_end_ports": dice.range(1, 4), "port_bandwidth": format!("{} MB/s", dice.range(20, 800)),
                "cache": {"write_back": dice.one_in(2)}, "luns": dice.range(1, 3),
            }},
            "failures": [],
        }));
        text["workloads"]["w"] = json!({
            "arrivals": {"closed": {"population": dice.range(1, 6), "think": {"mean": "2 ms"}}}, "cpu": {"mean": "50 us"},
            "bursts": 2, "ios": 6, "block": "16 KiB", "read_pct": dice.pick(&[0, 50, 100]), "working_set": "1 GiB",
        });
        support::random_paths(seed, &mut text, &[("h".to_owned(), ports)], (1, 400), true);
        let scenario = parse(&text);
        let mut left = Vec::new();
        let result = watched_run(&scenario, seed, |view| {
            left = view.depths().collect();
            let fits = |&(slots, used, queued): &(u32, u32, u32)| used <= slots && (queued == 0 || used == slots);
            assert!(left.iter().all(fits), "seed {seed} at {}: {left:?}", view.now());
        })
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(
            left.iter().all(|&(_, used, queued)| used == 0 && queued == 0),
            "seed {seed}: {left:?}"
        );
        for vm in &result.vms {
            let ios = vm.io.as_ref().expect("it has disks").all.count;
            assert!(
                ios > 0 && ios == 6 * vm.response_count,
                "seed {seed}: {ios} of {} transactions",
                vm.response_count
            );
        }
    }
}

#[test]
fn a_protocol_costs_latency_and_cpu_of_the_host() {
    let with = |protocol: &str, more: Value| {
        let mut all = json!({
            "workloads": {"w": {"arrivals": {"io": {"outstanding": 1, "rate": "2000 /s"}}, "block": "4 KiB"}},
            "arrays": {"san": {"protocol": protocol}},
        });
        merge(&mut all, more);
        let run = replications(&scenario(all), 1).remove(0);
        (io(&run).1, run.hosts[0].usage_pct)
    };
    let (fc_ms, fc_pct) = with("fc", json!({}));
    let (iscsi_ms, iscsi_pct) = with("iscsi", json!({}));
    // 12,000 cycles, and 0.6 for each of 4,096 bytes, at 20 GHz; and 30 us of software
    let cycles = 12_000.0 + 0.6 * 4_096.0;
    assert_near(iscsi_ms - fc_ms, 0.030 + cycles / 20e6, 0.01, "latency");
    assert_near(iscsi_pct - fc_pct, 100.0 * 2_000.0 * cycles / (8.0 * 20e9), 0.02, "CPU");
    let (tcp_ms, rdma_ms) = (with("nvme-tcp", json!({})).0, with("nvme-rdma", json!({})).0);
    assert!(fc_ms < rdma_ms && rdma_ms < tcp_ms && tcp_ms < iscsi_ms);
    // the High-Performance Plug-in saves 2,000 cycles, and is the default of NVMe from 7.0 on
    let on = |host: &str, plugin: Option<&str>| {
        let mut more = json!({"hosts": {"h": {"hypervisor": host}}});
        if let Some(plugin) = plugin {
            more["arrays"] = json!({"san": {"paths": {"plugin": plugin}}});
        }
        with("nvme-fc", more).0
    };
    let saved = on("esxi-7.0", Some("nmp")) - on("esxi-7.0", None);
    assert_near(saved, 2_000.0 / 20e6, 0.02, "HPP");
}
