//! What the hypervisor and the guest's drivers do with an I/O: who works on it, and what each kind of controller costs.

use crate::support;

use hypertwin_engine::PointReport;
use serde_json::{Value, json};
use support::{assert_near, merge, vm};

const GHZ: f64 = 2e9;

/// A generator of 4 vCPUs at 2 GHz on a host with room, before an array that answers after 1 us through one port.
fn report(version: &str, machine: Value, workload: Value) -> PointReport {
    with_array(version, machine, workload, json!({}))
}

fn with_array(version: &str, machine: Value, workload: Value, more: Value) -> PointReport {
    on_host(version, json!({}), machine, workload, more)
}

fn on_host(version: &str, of_host: Value, machine: Value, workload: Value, more: Value) -> PointReport {
    let mut host = support::host(version, 1, 16, 1);
    merge(&mut host, of_host);
    merge(
        &mut host,
        json!({"clock": "2 GHz", "adapters": {"ports": 1, "bandwidth": "1 TB/s", "command": 0, "latency": 0}}),
    );
    if version == "none" {
        host.as_object_mut().expect("a mapping").remove("overhead");
    }
    let mut all = vm(4, "w", json!({"array": "san", "vdisks": 4, "vdisk_depth": 32}));
    merge(&mut all, machine);
    let mut load = json!({
        "arrivals": {"io": {"outstanding": 32}}, "cpu": {"mean": 0, "cv": 0}, "working_set": "1 GiB", "block": "4 KiB",
        "wake_up": "0 s",
    });
    merge(&mut load, workload);
    if load["wake_up"].is_null() {
        load.as_object_mut().expect("a mapping").remove("wake_up");
    }
    let mut array = json!({
        "front_end_ports": 1, "port_bandwidth": "1 TB/s", "port_command": 0, "raid": "raid-0",
        "cache": {"size": "1 TiB", "latency": "1 us"}, "disks": {"kind": "nvme", "count": 24},
    });
    if more.get("disks").is_some() {
        array.as_object_mut().expect("a mapping").remove("disks");
    }
    merge(&mut array, more);
    let text = json!({
        "name": "path", "run": {"duration": "200 ms", "warmup": "250 ms", "sample_interval": "50 ms"},
        "hosts": {"h": host}, "vms": {"v": all}, "workloads": {"w": load},
        "arrays": {"san": array},
    });
    support::report_of(&text)
}

fn iops(version: &str, machine: Value) -> f64 {
    report(version, machine, json!({})).groups["v"].iops
}

#[test]
fn one_thread_carries_one_cpu_and_several_carry_as_many() {
    // enough vCPUs that the guest is never what limits
    let of = |more: Value| {
        let mut machine = json!({"vcpus": 8, "controller": "virtio-blk"});
        merge(&mut machine, more);
        iops("linux-6.6", machine)
    };
    let one = GHZ / 9_900.0;
    assert_near(of(json!({})), one, 0.01, "one thread");
    assert_near(of(json!({"io_threads": 2})), 2.0 * one, 0.01, "two threads");
    assert_near(
        of(json!({"io_threads": 4, "queues": 2})),
        2.0 * one,
        0.01,
        "no more threads than queues",
    );
    assert_near(of(json!({"controllers": 2})), 2.0 * one, 0.01, "two controllers");
    assert_near(
        of(json!({"controllers": 2, "io_threads": 0})),
        GHZ / 12_900.0,
        0.01,
        "the main loop is one for all controllers",
    );
    assert_near(
        of(json!({"aio": "threads"})),
        GHZ / 15_900.0,
        0.01,
        "a hand-over to another thread",
    );
    assert_near(
        of(json!({"disk_cache": "writeback"})),
        GHZ / 13_900.0,
        0.01,
        "the host's cache",
    );
}

#[test]
fn the_guest_s_cpus_limit_as_its_driver_and_system_cost() {
    let of = |kind: &str, system: &str| {
        let machine = json!({"vcpus": 1, "controller": kind, "guest": {"kind": system}});
        iops("linux-6.6", machine)
    };
    // a vCPU that always has completions to handle is not interrupted
    assert_near(of("virtio-blk", "linux"), GHZ / 16_500.0, 0.01, "Linux");
    assert_near(of("virtio-blk", "windows"), GHZ / 19_000.0, 0.01, "Windows");
    assert_near(
        of("vhost-blk", "linux"),
        GHZ / 18_500.0,
        0.01,
        "vhost, which is woken for each",
    );
}

#[test]
fn one_thread_of_the_kernel_serves_all_queues_of_vhost() {
    let of = |more: Value| {
        let mut machine = json!({"vcpus": 8, "controller": "vhost-blk"});
        machine
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        iops("linux-6.6", machine)
    };
    assert_near(of(json!({})), GHZ / 6_000.0, 0.01, "by default one");
    assert_near(of(json!({"io_threads": 2})), 2.0 * GHZ / 6_000.0, 0.01, "two");
    let one_queue = of(json!({"io_threads": 2, "queues": 1}));
    assert_near(one_queue, GHZ / 6_000.0, 0.01, "no more than queues");
}

#[test]
fn a_world_of_esxi_carries_what_its_version_says() {
    // 8 vCPUs do more than one world of a controller
    let one = |version| iops(version, json!({"vcpus": 8, "controller": "pvscsi"}));
    assert_near(one("esxi-5.0"), GHZ / 32_000.0, 0.01, "5.0");
    assert_near(one("esxi-5.1"), GHZ / 9_300.0, 0.01, "5.1");
    assert_near(one("esxi-9.0"), one("esxi-5.1"), 1e-9, "the last one known");
    let queues = iops("esxi-5.0", json!({"vcpus": 8, "controller": "pvscsi", "queues": 3}));
    assert_near(queues, 3.0 * GHZ / 32_000.0, 0.01, "a world for each queue");
}

/// Guest, fabric and array, and nothing else.
#[test]
fn nobody_on_the_host_works_for_what_a_machine_drives_itself() {
    for (version, controller) in [
        ("none", json!({"vcpus": 16})),
        ("none", json!({"vcpus": 16, "controller": "passthrough"})),
        ("linux-6.6", json!({"controller": "passthrough"})),
        ("esxi-8.0", json!({"controller": "passthrough"})),
    ] {
        let mut machine = json!({"vdisks": 1});
        merge(&mut machine, controller);
        let load = json!({"arrivals": {"io": {"outstanding": 1}}});
        let report = report(version, machine, load);
        let vm = &report.groups["v"];
        let guest_s = 9_100.0 / GHZ;
        assert_near(
            vm.io_latency_ms.as_ref().unwrap().mean.unwrap(),
            1e3 * guest_s + 1.005e-3,
            0.001,
            "the guest, the array's 1 us, 5 ns in the ports",
        );
        assert_near(vm.iops, 1.0 / (guest_s + 1.005e-6), 0.001, version);
        assert!(!report.storage.contains_key("v-controllers"), "there is no world");
        assert_near(
            report.storage["h-ports"].throughput_per_s,
            vm.iops,
            0.01,
            "the fabric carries it",
        );
    }
}

#[test]
fn an_ide_disk_does_one_request_at_a_time() {
    let load = json!({"arrivals": {"io": {"outstanding": 8}}});
    let report = report(
        "linux-6.6",
        json!({"controller": "ide", "vdisks": 1, "vdisk_depth": 1}),
        load,
    );
    let thread_s = 43_000.0 / GHZ;
    assert_near(
        report.groups["v"].iops,
        1.0 / (thread_s + 1e-6),
        0.02,
        "its thread, and the array",
    );
}

/// 640 I/Os per second come back one after the other, with 64 in flight. PVSCSI of ESX 4.0 asks for commands in flight
/// alone and holds back seven of eight, of which each waits for 1 ms at most; later versions ask for 2,000 per second.
#[test]
fn a_held_completion_does_not_wait_for_the_next() {
    let latency = |version: &str, kind: &str| {
        let load = json!({"arrivals": {"io": {"outstanding": 32, "rate": "640 /s"}}});
        let report = with_array(
            version,
            json!({"controller": kind}),
            load,
            json!({"cache": {"latency": "100 ms"}}),
        );
        let latency = report.groups["v"].io_latency_ms.as_ref().unwrap();
        (latency.mean.unwrap(), latency.p99.unwrap())
    };
    let (mean, most) = latency("esxi-4.0", "pvscsi");
    assert!(
        (100.7..101.1).contains(&mean) && most < 102.5,
        "held for 1 ms at most: {mean} and {most}"
    );
    for (version, kind) in [
        ("esxi-4.0", "lsi-sas"),
        ("esxi-4.1", "pvscsi"),
        ("linux-6.6", "virtio-scsi"),
    ] {
        let (mean, _) = latency(version, kind);
        assert!(
            (100.0..100.2).contains(&mean),
            "{kind} of {version} holds nothing back: {mean}"
        );
    }
}

#[test]
fn qemu_s_cache_decides_which_writes_are_flushed() {
    let iops = |cache: &str, sync_pct: u32| {
        let machine = json!({"controller": "virtio-blk", "vdisks": 1, "disk_cache": cache});
        let load = json!({"arrivals": {"io": {"outstanding": 1}}, "read_pct": 0, "sync_pct": sync_pct});
        let disks = json!({"cache": {"size": 0}, "disks": {"device": "860-EVO", "count": 1}});
        with_array("linux-6.6", machine, load, disks).groups["v"].iops
    };
    let asked = iops("none", 100);
    assert!(
        iops("none", 0) > 2.0 * asked,
        "a flush of a drive without capacitors takes long"
    );
    assert_near(iops("directsync", 0), asked, 1e-9, "every write is flushed");
    assert_near(iops("unsafe", 100), iops("writeback", 0), 1e-9, "no write is flushed");
}

/// What sleep adds to an I/O of which there are few, in microseconds: the wake-ups of the threads of its controller and
/// of its vCPU, by what is given, or by the host's idle states.
#[test]
fn a_thread_that_sleeps_wakes_up_for_a_request_and_again_for_its_completion_unless_it_polls() {
    let few = |version: &str, policy: &str, machine: Value, disk_us: u32, wake_up: Value| {
        let mut machine = machine;
        merge(&mut machine, json!({"vdisks": 1}));
        let load = json!({"arrivals": {"io": {"outstanding": 1, "rate": "100 /s"}}, "wake_up": wake_up});
        let cache = json!({"cache": {"latency": format!("{disk_us} us")}});
        let report = on_host(version, json!({"power_policy": policy}), machine, load, cache);
        report.groups["v"]
            .io_latency_ms
            .as_ref()
            .expect("it has disks")
            .mean
            .expect("I/Os")
            * 1e3
    };
    let [scsi, own_loop, vhost, polling, own] = [
        json!({"controller": "pvscsi"}),
        json!({"controller": "virtio-blk", "io_threads": 0}),
        json!({"controller": "vhost-blk"}),
        json!({"controller": "virtio-blk", "io_threads": 1}),
        json!({"controller": "passthrough"}),
    ];
    // idle for 10 ms, and for as long as the array takes; the main loop needs 6 us more each time
    for (version, machine, disk_us, given, deep, shallow) in [
        ("esxi-8.0", &scsi, 100, 600.0, 43.0 + 46.0, 4.0 + 7.0),
        (
            "linux-6.6",
            &own_loop,
            100,
            900.0,
            43.0 + 12.0 + 12.0 + 46.0,
            8.0 + 12.0 + 7.0,
        ),
        (
            "linux-6.6",
            &own_loop,
            1,
            900.0,
            43.0 + 4.0 + 12.0 + 46.0,
            8.0 + 12.0 + 7.0,
        ),
        ("linux-6.6", &vhost, 100, 900.0, 43.0 + 12.0 + 46.0, 8.0 + 7.0),
        ("linux-6.6", &polling, 100, 900.0, 43.0 + 12.0 + 46.0, 8.0 + 7.0),
        ("linux-6.6", &polling, 1, 600.0, 43.0 + 46.0, 4.0 + 7.0),
        ("none", &own, 100, 300.0, 43.0, 4.0),
    ] {
        let of = |policy: &str, wake_up: Value| few(version, policy, machine.clone(), disk_us, wake_up);
        let none = of("balanced", json!("0 s"));
        let more = [
            of("balanced", json!("300 us")) - none,
            of("balanced", Value::Null) - none,
            of("high-performance", Value::Null) - none,
        ];
        for (found, expected) in more.into_iter().zip([given, deep, shallow]) {
            assert!(
                (found - expected).abs() < 1.0,
                "{version} {machine} {disk_us} us: {found} instead of {expected}"
            );
        }
    }
}

/// What a request alone takes longer, in microseconds, than through virtio-blk of Linux: cycles and wait of the
/// controller, and of Windows. With many in flight only the cycles count.
#[test]
fn scsi_and_windows_make_a_request_wait_but_carry_as_many() {
    let alone = |kind: &str, system: &str, outstanding: u32| {
        let machine = json!({"controller": kind, "vdisks": 1, "guest": {"kind": system}});
        let load = json!({"arrivals": {"io": {"outstanding": outstanding}}});
        1e6 / report("linux-6.6", machine, load).groups["v"].iops
    };
    let blk = alone("virtio-blk", "linux", 1);
    for (kind, system, cycles, wait_us) in [
        ("virtio-scsi", "linux", 4_000.0, 8.5),
        ("virtio-blk", "windows", 2_500.0, 22.0),
        ("virtio-scsi", "windows", 6_500.0, 30.5),
        ("vhost-scsi", "linux", 100.0, 0.0),
    ] {
        let more = alone(kind, system, 1) - blk;
        let expected = cycles / GHZ * 1e6 + wait_us;
        assert!(
            (more - expected).abs() < 0.1,
            "{kind} of {system}: {more} instead of {expected}"
        );
    }
    assert_near(
        alone("virtio-scsi", "windows", 32),
        11_900.0 / GHZ * 1e6,
        0.01,
        "one thread",
    );
}
