//! The I/O path in the twin, against closed forms and what each part can do.

use crate::support;

use hypertwin_cluster::Scenario;
use hypertwin_engine::{LatencyReport, PointReport};
use hypertwin_sharing as exact;
use serde_json::{Value, json};
use support::{assert_near, host, merge, of, parse, vm};

/// A host so fast that its CPUs hardly matter, with one port of 10 GB/s.
fn fast() -> Value {
    let mut host = host("esxi-5.0", 1, 8, 1);
    host["clock"] = json!("20 GHz");
    host["adapters"] = json!({"ports": 1, "bandwidth": "10 GB/s", "command": 0, "latency": 0});
    host
}

/// An array that answers everything from its cache, at once, through one port of 1 TB/s.
fn array(more: Value) -> Value {
    let mut array = json!({
        "front_end_ports": 1, "port_bandwidth": "1 TB/s", "port_command": 0, "raid": "raid-0",
        "cache": {"size": "1 TiB", "latency": 0}, "disks": {"kind": "hdd-15k", "count": 24},
    });
    merge(&mut array, more);
    array
}

/// A generator that needs next to no CPU; `more` is merged over it.
fn generator(outstanding: u32, more: Value) -> Value {
    let mut workload = json!({
        "arrivals": {"io": {"outstanding": outstanding}}, "cpu": {"mean": 0, "cv": 0}, "working_set": "1 GiB",
    });
    merge(&mut workload, more);
    workload
}

/// One VM of 4 vCPUs, which begin at once when they are woken, with one vdisk; `more` is merged over the VM.
fn build(host: Value, array: Value, mut workload: Value, more: Value, duration: &str, warmup: &str) -> Scenario {
    let mut machine = vm(4, "w", json!({"array": "san", "vdisks": 1}));
    merge(&mut machine, more);
    workload["wake_up"] = json!("0 s");
    let text = json!({
        "name": "io", "run": {"duration": duration, "warmup": warmup, "sample_interval": "100 ms"},
        "hosts": {"h": host}, "vms": {"v": machine}, "workloads": {"w": workload}, "arrays": {"san": array},
    });
    parse(&text)
}

fn run(host: Value, array: Value, workload: Value, more: Value) -> PointReport {
    support::report(&build(host, array, workload, more, "2 s", "500 ms"), 2)
}

/// Each of the outstanding I/Os is waited for at any time, whatever limits: the disks, the controller, or the worker.
#[test]
fn iops_times_latency_of_a_generator_is_its_depth() {
    for (outstanding, workers, cpu_us, latency) in [(1, 1, 2, "90 us"), (7, 2, 30, "1 ms"), (64, 1, 20, "0 us")] {
        let load = generator(
            outstanding,
            json!({"cpu": {"mean": format!("{cpu_us} us"), "cv": 1}, "read_pct": 70,
              "arrivals": {"io": {"workers": workers}}}),
        );
        let report = run(fast(), array(json!({"cache": {"latency": latency}})), load, json!({}));
        let vm = of(&report);
        let latency_ms = vm.io_latency_ms.as_ref().unwrap().mean.unwrap();
        let what = format!("{workers} workers and {latency}");
        assert_near(vm.iops * latency_ms / 1e3, f64::from(outstanding), 2e-3, &what);
        assert_near(
            vm.response_ms.mean.unwrap(),
            latency_ms,
            1e-4,
            "a transaction is an I/O",
        );
    }
}

#[test]
fn a_port_is_an_m_d_1_station() {
    for rate in [3_000.0, 5_000.0, 8_000.0] {
        let mut host = fast();
        host["adapters"]["bandwidth"] = json!("81.92 MB/s"); // 100 us for 8 KiB
        let workload = json!({
            "arrivals": {"open": {"rate": format!("{rate} /s")}}, "cpu": {"mean": "1 us", "cv": 0}, "ios": 1,
            "working_set": "1 GiB",
        });
        let scenario = build(
            host,
            array(json!({})),
            workload,
            json!({"vdisk_depth": 254}),
            "20 s",
            "1 s",
        );
        let report = support::report(&scenario, 4);
        let port = &report.storage["h-ports"];
        let expected = exact::mg1(rate, 100e-6, 0.0).unwrap();
        assert_near(
            port.wait_ms,
            (expected.response - 100e-6) * 1e3,
            0.06,
            &format!("wait at {rate}/s"),
        );
        assert_near(port.utilization_pct, rate * 100e-6 * 100.0, 0.02, "utilisation law");
        assert_near(port.mb_per_s.unwrap(), rate * 8192e-6, 0.02, "payload");
        assert_near(of(&report).iops, rate, 0.02, "what comes goes");
    }
}

#[test]
fn a_worker_before_an_array_is_the_machine_repair_model() {
    // Guest 20,000 + 8,000 cycles and controller 32,000 cycles at 20 GHz; fewer than four in flight are not coalesced.
    let (computing_s, controller_s, array_s) = (100e-6 + 28_000.0 / 20e9, 32_000.0 / 20e9, 400e-6);
    for outstanding in 1..=4 {
        let workload = generator(outstanding, json!({"cpu": {"mean": "100 us", "cv": 1}}));
        let slow = array(json!({"cache": {"latency": "400 us"}}));
        let scenario = build(fast(), slow, workload, json!({"vcpus": 1}), "20 s", "1 s");
        let report = support::report(&scenario, 2);
        let expected = exact::closed_network(&[computing_s], array_s + controller_s, outstanding);
        assert_near(
            of(&report).iops,
            expected.throughput,
            0.01,
            &format!("{outstanding} outstanding"),
        );
        let busy = report.storage["v-vcpus"].utilization_pct / 100.0;
        assert_near(
            busy,
            of(&report).iops * computing_s,
            0.01,
            "the guest's CPU is that of its I/Os",
        );
    }
}

#[test]
fn a_depth_that_binds_is_named_and_costs_throughput_as_the_bounds_say() {
    let slow = || array(json!({"cache": {"latency": "1 ms"}}));
    let iops = |depth: u32| {
        let workload = generator(32, json!({"cpu": {"mean": "20 us", "cv": 1}}));
        let report = run(fast(), slow(), workload, json!({"vdisk_depth": depth}));
        let bound = exact::throughput_bound(&[1e-3], 0.0, 1) * f64::from(depth);
        let found = of(&report).iops;
        let mva = f64::from(depth) * exact::closed_network(&[1e-3, 21.4e-6 * f64::from(depth)], 0.0, 32).throughput;
        assert!(
            found <= bound * 1.001 && found >= mva * 0.9,
            "{found} of {bound} with depth {depth}, MVA {mva}"
        );
        (found, report.bottleneck.unwrap().binding_depth)
    };
    let results = [1, 4, 16].map(iops);
    assert!(
        results
            .iter()
            .all(|(_, binding)| binding.as_deref() == Some("v-vdisk-depth")),
        "{results:?}"
    );
    assert_near(
        results[1].0 / results[0].0,
        4.0,
        0.02,
        "four places do four times the work of one",
    );
}

#[test]
fn a_tandem_with_limited_depth_is_as_fast_as_its_places_or_its_slowest_station() {
    // Constant services: the array thinks for 200 us; 8 KiB pass its port and the host's frame by frame, so together
    // they take the 100 us of the slower one.
    let (services_s, slowest_s) = (300e-6, 100e-6);
    for depth in [1, 2, 5, 16] {
        let mut host = fast();
        merge(
            &mut host["adapters"],
            json!({"bandwidth": "81.92 MB/s", "lun_depth": depth}),
        );
        let tandem = array(json!({"port_bandwidth": "163.84 MB/s", "cache": {"latency": "200 us"}}));
        let report = run(host, tandem, generator(32, json!({})), json!({}));
        let expected = (f64::from(depth) / services_s).min(1.0 / slowest_s);
        assert_near(of(&report).iops, expected, 0.005, &format!("{depth} places"));
        let limit = report.bottleneck.expect("a bottleneck");
        assert_eq!(limit.saturated, depth > 3, "{depth} places: {limit:?}");
        assert_eq!(
            limit.binding_depth.as_deref(),
            Some("h-lun-depth"),
            "{depth} places, where requests wait"
        );
    }
}

#[test]
fn a_controller_carries_the_work_of_one_cpu() {
    let mut host = fast();
    host["clock"] = json!("2.4 GHz");
    // With LSI SAS the ring binds too: 256 outstanding for 128 places.
    for (controllers, kind, cycles) in [
        (1, "pvscsi", 32e3),
        (2, "pvscsi", 32e3),
        (2, "nvme", 32e3),
        (1, "lsi-sas", 37e3),
    ] {
        let more = json!({"controllers": controllers, "vdisks": 8, "controller": kind});
        let report = run(host.clone(), array(json!({})), generator(32, json!({})), more);
        assert_near(of(&report).iops, f64::from(controllers) * 2.4e9 / cycles, 0.01, kind);
        assert_eq!(report.bottleneck.unwrap().station, "v-controllers");
    }
}

#[test]
fn cpu_of_an_io_is_what_its_parts_cost() {
    let mut host = fast();
    host["clock"] = json!("2 GHz");
    let workload = generator(1, json!({"cpu": {"mean": "10 us", "cv": 0}}));
    let report = run(host, array(json!({"cache": {"latency": "1 ms"}})), workload, json!({}));
    let cycles = 10e-6 * 2e9 + 20_000.0 + 8_000.0 + 32_000.0;
    assert_near(
        of(&report).io_cpu_cycles_per_io.unwrap(),
        cycles,
        1e-3,
        "cycles per I/O",
    );
    let latency = of(&report).io_latency_ms.as_ref().unwrap();
    assert_near(
        latency.mean.unwrap(),
        1.0 + 0.024 + 0.016 + 0.000_819,
        1e-3,
        "the guest, the controller's world, the array, the port",
    );
}

#[test]
fn littles_law_holds_at_every_station() {
    let mut host = fast();
    host["adapters"] = json!({"ports": 2, "bandwidth": "100 MB/s", "depth": 12, "lun_depth": 3, "dsnro": 2});
    let workload = generator(8, json!({"read_pct": 70, "random_pct": 80, "working_set": "2 GiB"}));
    let slow = array(json!({
        "cache": {"size": "4 GiB", "write_pending": "1 MiB"}, "raid": "raid-5", "port_bandwidth": "100 MB/s", "luns": 6,
    }));
    let more = json!({"count": 2, "vdisks": 6, "vdisk_depth": 4, "ring_pages": 1, "shared_luns": true});
    let report = support::report(&build(host, slow, workload, more, "10 s", "1 s"), 1);
    let waiting = report.storage.iter().filter(|(_, station)| station.queue > 0.01);
    assert!(waiting.clone().count() >= 7, "{:#?}", report.storage);
    for (name, station) in waiting {
        assert_near(
            station.queue,
            station.throughput_per_s * station.wait_ms / 1e3,
            0.02,
            name,
        );
    }
    // Every I/O passes every station of the host, whatever holds it up, and its reads or writes each of the ports.
    for (name, station) in report.storage.iter().filter(|(name, _)| !name.starts_with("san-")) {
        assert_near(station.throughput_per_s, of(&report).iops, 0.01, name);
    }
    // And over the whole path: what is outstanding is throughput x (latency + what the worker still has of it).
    let latency_s = of(&report).io_latency_ms.as_ref().unwrap().mean.unwrap() / 1e3;
    assert_near(
        of(&report).iops * latency_s,
        2.0 * 6.0 * 8.0,
        0.02,
        "all I/Os outstanding",
    );
}

/// Disks inside a host, of 150 MB/s each, that are written in sequence.
#[test]
fn full_stripes_write_their_parity() {
    for (raid, count, data) in [
        ("raid-0", 4, 4.0),
        ("raid-1", 4, 2.0),
        ("raid-5", 4, 3.0),
        ("raid-6", 4, 2.0),
        ("raid-6", 10, 8.0),
    ] {
        let load = generator(64, json!({"read_pct": 0, "random_pct": 0, "block": "512 KiB"}));
        let disks = json!({"kind": "hdd-10k", "count": count});
        let report = run(
            fast(),
            array(json!({"cache": {"size": 0}, "raid": raid, "disks": disks})),
            load,
            json!({"vdisk_depth": 254}),
        );
        let mb_per_s = of(&report).io_mb_per_s.unwrap();
        assert_near(mb_per_s, 150.0 * data, 0.06, &format!("{raid} of {count}"));
    }
}

/// A head that random reads move has to return to what is read in sequence: half of the operations are such.
#[test]
fn a_hard_disk_seeks_back_to_a_sequential_stream() {
    let iops = |random_pct: u32| {
        let load = generator(
            1,
            json!({"read_pct": 100, "random_pct": random_pct, "working_set": "1 TiB"}),
        );
        let disks = json!({"kind": "hdd-15k", "count": 1});
        of(&run(
            fast(),
            array(json!({"cache": {"size": 0, "latency": 0}, "disks": disks})),
            load,
            json!({}),
        ))
        .iops
    };
    // a random one after any, and a sequential one after a random one: 3/4 of all
    let seek_s = 1.0 / iops(100) - 1.0 / iops(0);
    let expected = 1.0 / (1.0 / iops(0) + 0.75 * seek_s);
    assert_near(iops(50), expected, 0.04, "half at random");
}

#[test]
fn without_a_cache_the_disks_are_what_is_left() {
    let workload = || generator(72, json!({"working_set": "100 GiB"}));
    let iops = |size: &str| {
        let report = run(
            fast(),
            array(json!({"cache": {"size": size}})),
            workload(),
            json!({"vdisk_depth": 254}),
        );
        (of(&report).iops, report.bottleneck.unwrap().station)
    };
    let (cached, _) = iops("100 GiB");
    let (bare, limits) = iops("0 B");
    assert_eq!(limits, "san-disks");
    assert!(cached > 50.0 * bare, "{cached} against {bare}");
    // Three for each disk: somewhat over what a disk does one at a time, and under what it does with 32 to choose from.
    assert!(bare > 0.85 * 24.0 * 185.0 && bare < 24.0 * 360.0, "{bare}");
}

#[test]
fn half_the_working_set_in_the_cache_answers_half_of_the_reads() {
    let workload = generator(16, json!({"working_set": "8 GiB"}));
    let report = run(fast(), array(json!({"cache": {"size": "4 GiB"}})), workload, json!({}));
    assert_near(report.storage["san-cache"].hit_pct.unwrap(), 50.0, 0.03, "hits");
}

#[test]
fn writes_cost_the_raid_levels_penalty_with_and_without_a_cache() {
    for (raid, penalty) in [("raid-0", 1.0), ("raid-1", 2.0), ("raid-5", 4.0), ("raid-6", 6.0)] {
        for size in ["0 B", "1 TiB"] {
            let workload = generator(32, json!({"read_pct": 0}));
            let small = array(json!({"raid": raid, "cache": {"size": size, "write_pending": "2 MiB"}}));
            let report = run(fast(), small, workload, json!({}));
            let operations = report.storage["san-disks"].throughput_per_s;
            assert_near(
                operations / of(&report).iops,
                penalty,
                0.03,
                &format!("{raid}, cache {size}"),
            );
        }
    }
}

#[test]
fn a_write_back_cache_hides_the_disks_until_it_is_full() {
    let of_rate = |rate: u32| {
        let workload = generator(
            32,
            json!({"read_pct": 0, "arrivals": {"io": {"rate": format!("{rate} /s")}}}),
        );
        let report = run(
            fast(),
            array(json!({"cache": {"write_pending": "2 MiB"}})),
            workload,
            json!({}),
        );
        (
            of(&report).iops,
            of(&report).io_latency_ms.as_ref().unwrap().mean.unwrap(),
        )
    };
    let (slow, hidden) = of_rate(2_000);
    assert_near(slow, 2_000.0, 1e-3, "the rate that was asked for");
    assert!(hidden < 0.1, "{hidden} ms");
    let (full, shown) = of_rate(100_000);
    assert!(full < 24.0 * 360.0 && full > 24.0 * 185.0, "destaging limits: {full}");
    assert_near(full * shown / 1e3, 32.0, 0.02, "and writes wait for it");
}

#[test]
fn pvscsi_splits_large_requests() {
    for (kind, commands) in [("pvscsi", 2.0), ("lsi-sas", 1.0)] {
        let workload = generator(4, json!({"block": "1 MiB"}));
        let report = run(fast(), array(json!({})), workload, json!({"controller": kind}));
        assert_near(
            report.storage["h-ports"].throughput_per_s / of(&report).iops,
            commands,
            0.01,
            kind,
        );
        assert_near(of(&report).io_mb_per_s.unwrap(), 10_000.0, 0.01, "the port's line rate");
    }
}

#[test]
fn a_mix_of_sizes_has_its_mean() {
    let mix = json!({"block": "4 KiB", "block_mix": [{"block": "64 KiB", "share_pct": 25}]});
    let report = run(fast(), array(json!({})), generator(4, mix), json!({}));
    let bytes = of(&report).io_mb_per_s.unwrap() * 1e6 / of(&report).iops;
    assert_near(bytes, 0.75 * 4096.0 + 0.25 * 65536.0, 0.02, "bytes per I/O");
}

/// Reads come from the cache in a millisecond, writes go through to one slow disk each.
fn reads_and_writes(read_pct: u32, count: u32, replications: u64) -> PointReport {
    let array = array(json!({"cache": {"latency": "1 ms", "write_back": false}, "disks": {"count": 400}}));
    let workload = generator(
        16,
        json!({"read_pct": read_pct, "block": "16 KiB", "arrivals": {"io": {"rate": format!("{} /s", 4_000 / count)}}}),
    );
    let scenario = build(fast(), array, workload, json!({"count": count}), "2 s", "500 ms");
    support::report(&scenario, replications)
}

#[test]
fn reads_and_writes_are_told_apart_and_add_up() {
    for count in [1, 2, 257] {
        let report = reads_and_writes(70, count, if count > 2 { 1 } else { 2 });
        let rows = report.vms.values().chain([of(&report)]);
        for vm in rows {
            let (read, write) = (vm.read.as_ref().unwrap(), vm.write.as_ref().unwrap());
            let all = vm.io_latency_ms.as_ref().unwrap();
            assert_near(read.iops + write.iops, vm.iops, 1e-9, "reads and writes");
            assert_near(
                read.mb_per_s + write.mb_per_s,
                vm.io_mb_per_s.unwrap(),
                1e-9,
                "their payload",
            );
            assert_near(write.mb_per_s, write.iops * 16_384e-6, 1e-9, "payload of writes");
            let sum = [read, write]
                .map(|way| way.iops * way.latency_ms.mean.unwrap())
                .iter()
                .sum::<f64>();
            assert_near(sum, vm.iops * all.mean.unwrap(), 1e-9, "time of all");
            assert_near(
                read.latency_ms.mean.unwrap(),
                1.08,
                0.1,
                "a hit, and a little for the guest and the way",
            );
            assert!(
                write.latency_ms.mean.unwrap() > 3.0 * read.latency_ms.mean.unwrap(),
                "{write:?}"
            );
            assert!(read.latency_ms.p99.is_some() && write.latency_ms.p50.is_some());
        }
        let (read, all) = (of(&report).read.as_ref().unwrap(), of(&report));
        assert_near(read.iops, 0.7 * all.iops, 0.02, "70 % are reads");
        // of all I/Os the fastest 70 % are the reads
        let at = |latency: &LatencyReport, percentile: f64| {
            let curve = latency.curve.as_ref().unwrap();
            curve
                .iter()
                .find(|(at, _)| *at == percentile)
                .expect("a percentile that so many I/Os resolve")
                .1
        };
        let latency = all.io_latency_ms.as_ref().unwrap();
        assert_near(at(latency, 50.0), 1.12, 0.12, "the median is a read");
        assert!(at(latency, 75.0) > 3.0, "from 70 % on it is a write: {latency:?}");
        assert_eq!(at(latency, 100.0), at(&all.write.as_ref().unwrap().latency_ms, 100.0));
        assert_eq!(at(latency, 0.0), at(&read.latency_ms, 0.0));
    }
    for (read_pct, none) in [(0, "read"), (100, "write")] {
        let report = reads_and_writes(read_pct, 1, 1);
        let vm = of(&report);
        let (none, all) = match none {
            "read" => (vm.read.as_ref().unwrap(), vm.write.as_ref().unwrap()),
            _ => (vm.write.as_ref().unwrap(), vm.read.as_ref().unwrap()),
        };
        let latency = &none.latency_ms;
        assert_eq!(
            (none.iops, none.mb_per_s, latency.mean, latency.p99, &latency.curve),
            (0.0, 0.0, None, None, &None)
        );
        assert_eq!(Some(all.mb_per_s), vm.io_mb_per_s);
        assert_eq!(all.latency_ms.curve, vm.io_latency_ms.as_ref().unwrap().curve);
    }
}

#[test]
fn the_timeline_of_ios_adds_up_to_the_report() {
    let report = reads_and_writes(70, 2, 1);
    for (name, vm) in &report.vms {
        let line = &report.timeline.vms[name];
        let rates = &line.iops;
        assert_eq!((rates.len(), line.io_latency_ms_mean.len()), (20, 20));
        assert_near(rates.iter().sum::<f64>() / 20.0, vm.iops, 1e-9, "I/Os");
        let busy = rates
            .iter()
            .zip(&line.io_latency_ms_mean)
            .map(|(rate, latency)| rate * latency.unwrap() / 20.0);
        assert_near(
            busy.sum::<f64>(),
            vm.iops * vm.io_latency_ms.as_ref().unwrap().mean.unwrap(),
            1e-9,
            "their time",
        );
    }
}

#[test]
fn a_curve_has_the_percentiles_that_its_values_resolve() {
    let percentiles = [0.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.99, 100.0];
    for (rate, replications) in [
        (0, 1),
        (1, 1),
        (2, 1),
        (5, 1),
        (10, 1),
        (50, 2),
        (500, 1),
        (500, 10),
        (2_000, 3),
    ] {
        let workload = generator(8, json!({"arrivals": {"io": {"rate": format!("{} /s", rate.max(1))}}}));
        let more = json!({"load": f64::from(rate.min(1))});
        let scenario = build(
            fast(),
            array(json!({"cache": {"latency": "3 ms"}})),
            workload,
            more,
            "1 s",
            "500 ms",
        );
        let report = support::report(&scenario, replications);
        let response = &of(&report).response_ms;
        let n = of(&report).response_count as f64;
        assert_near(n, rate as f64 * replications as f64, 0.02, "I/Os in a second");
        let Some(curve) = &response.curve else {
            assert_eq!(n, 0.0);
            continue;
        };
        let resolved = |&at: &f64| at == 100.0 || at <= 100.0 - 100.0 / n + 1e-9;
        let expected: Vec<f64> = percentiles.into_iter().filter(resolved).collect();
        assert_eq!(
            curve.iter().map(|point| point.0).collect::<Vec<_>>(),
            expected,
            "{n} responses"
        );
        assert!(curve.is_sorted_by(|a, b| a.1 <= b.1), "{curve:?}");
        let value = |at: f64| curve.iter().find(|point| point.0 == at).map(|point| point.1);
        assert_eq!(value(100.0), response.max);
        for (at, named) in [(50.0, response.p50), (95.0, response.p95), (99.0, response.p99)] {
            assert!(value(at).is_none() || value(at) == named, "{at}");
        }
        assert_eq!(report.vms["v"].response_ms.curve, None);
    }
}

#[test]
fn latencies_of_microseconds_keep_three_digits() {
    // one I/O at a time: all take equally long, so every percentile is the mean, which is exact
    let report = run(
        fast(),
        array(json!({"cache": {"latency": "37 us"}})),
        generator(1, json!({})),
        json!({}),
    );
    let latency = of(&report).io_latency_ms.as_ref().unwrap();
    let mean = latency.mean.unwrap();
    assert!(mean > 0.037 && mean < 0.045, "{mean} ms");
    for (at, value) in latency.curve.as_ref().unwrap() {
        assert_near(*value, mean, 1e-3, &format!("percentile {at}"));
    }
}

#[test]
fn dsnro_binds_only_where_machines_share_a_lun() {
    let binding = |shared: bool| {
        let mut host = fast();
        host["adapters"]["dsnro"] = json!(4);
        let slow = array(json!({"cache": {"latency": "1 ms"}, "luns": 1}));
        let more = json!({"count": 2, "shared_luns": shared});
        let report = run(host, slow, generator(16, json!({})), more);
        (of(&report).iops, report.bottleneck.unwrap().binding_depth)
    };
    let (apart, free) = binding(false);
    let (together, bound) = binding(true);
    assert_eq!((free, bound.as_deref()), (None, Some("v-dsnro")));
    assert_near(together, 2.0 * 4.0 / 1e-3, 0.02, "four at a time for each machine");
    assert!(apart > 3.0 * together);
}

#[test]
fn ios_of_a_transaction_go_down_the_path() {
    let workload = json!({
        "arrivals": {"closed": {"population": 2, "think": {"mean": "10 ms"}}}, "cpu": {"mean": "100 us", "cv": 0},
        "bursts": 2, "ios": 5, "delay": {"mean": "4 ms", "cv": 0}, "working_set": "1 GiB",
    });
    let slow = array(json!({"cache": {"latency": "3 ms"}}));
    let scenario = build(fast(), slow, workload, json!({}), "20 s", "1 s");
    let report = support::report(&scenario, 1);
    let vm = of(&report);
    assert_near(vm.iops, 5.0 * vm.throughput_per_s, 0.01, "five I/Os each");
    // Two bursts, each followed by its I/Os together (a few us apart) and its part of the delay.
    let response = vm.response_ms.mean.unwrap();
    assert!(response > 0.1 + 6.0 + 4.0 && response < 10.3, "{response} ms");
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_array_changes_nothing() {
    let text = |more: bool| {
        let workload = generator(
            8,
            json!({"read_pct": 50, "working_set": "8 GiB", "cpu": {"mean": "10 us", "cv": 1}}),
        );
        let scenario = build(
            fast(),
            array(json!({"cache": {"size": "4 GiB"}})),
            workload,
            json!({"host": "h"}),
            "1 s",
            "0 s",
        );
        let mut value = serde_json::from_str::<Value>(&scenario.to_json()).unwrap();
        if more {
            value["hosts"]["other"] = value["hosts"]["h"].clone();
            value["arrays"]["other"] = value["arrays"]["san"].clone();
            value["vms"]["w"] = value["vms"]["v"].clone();
            merge(&mut value["vms"]["w"], json!({"host": "other", "array": "other"}));
        }
        let scenario = Scenario::from_json(&value.to_string()).unwrap();
        let report = support::report(&scenario, 1);
        serde_json::to_string(&(
            &report.vms["v"],
            &report.storage["san-disks"],
            &report.storage["v-ring"],
        ))
        .unwrap()
    };
    assert_eq!(text(false), text(false));
    assert_eq!(text(false), text(true));
}
