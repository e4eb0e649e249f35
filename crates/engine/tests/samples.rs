//! A run looked at sample by sample: it is the same run, its samples add up to the report, and their parts to a whole.

use crate::support;

use hypertwin_cluster::Scenario;
use hypertwin_engine::{DeviceSample, HostSample, Sample, SampledRun, WorldSamples, run};
use serde_json::{Value, json};

const SEED: u64 = 11;

/// Two hosts with an array, on which machines share LUNs with queues of two, and a pool on one of them.
fn scenario() -> Scenario {
    let host = |more: Value| {
        let mut host = json!({
            "sockets": 2, "cores_per_socket": 2, "threads_per_core": 2, "clock": "3 GHz", "memory_per_node": "64 GiB",
            "hypervisor": "esxi-7.0", "adapters": {"ports": 2, "lun_depth": 4, "dsnro": 2},
        });
        support::merge(&mut host, more);
        host
    };
    let text = json!({
        "name": "sampled",
        "run": {"duration": "8 s", "warmup": "1 s", "sample_interval": "2 s"},
        "hosts": {"a": host(json!({})), "b": host(json!({"count": 2}))},
        "vms": {
            "cpu": {"host": "a", "count": 3, "vcpus": 4, "memory": "8 GiB", "workload": "busy", "limit": "4 GHz"},
            "san": {"host": "a", "count": 2, "vcpus": 1, "memory": "8 GiB", "workload": "io", "array": "array",
                    "shared_luns": true, "vdisks": 3},
            "hci": {"count": 2, "vcpus": 2, "memory": "8 GiB", "workload": "io", "storage": "pool", "vdisks": 2},
        },
        "workloads": {
            "busy": {"arrivals": {"closed": {"population": 8}}, "cpu": {"mean": "5 ms"}, "delay": {"mean": "5 ms"}, "ios": 2},
            "io": {"arrivals": {"io": {"outstanding": 8}}, "cpu": {"mean": "10 us"}, "read_pct": 60, "working_set": "8 GiB"},
        },
        "arrays": {"array": {"front_end_ports": 2, "luns": 2, "disks": {"kind": "sas-ssd", "count": 4}}},
        "storage": {"pool": {"kind": "mirrored-mesh", "nodes": "b", "deployment": "hci", "redundancy": "replicas-2",
                             "devices": {"kind": "sas-ssd", "per_node": 2, "capacity": "800 GB"}}},
    });
    support::parse(&text)
}

fn samples(scenario: &Scenario) -> Vec<Sample> {
    let mut run = SampledRun::new(scenario, SEED).expect("the scenario can run");
    std::iter::from_fn(|| run.next_sample().expect("the run succeeds")).collect()
}

#[track_caller]
fn assert_near(actual: f64, expected: f64, tolerance: f64, what: &str) {
    let allowed = tolerance * expected.abs().max(1e-3);
    assert!(
        (actual - expected).abs() <= allowed,
        "{what}: {actual}, expected {expected}"
    );
}

fn mean(samples: &[Sample], get: impl Fn(&HostSample) -> f64, host: usize) -> f64 {
    samples.iter().map(|sample| get(&sample.hosts[host])).sum::<f64>() / samples.len() as f64
}

fn all_worlds(sample: &Sample) -> impl Iterator<Item = &WorldSamples> {
    let hosts = || sample.hosts.iter();
    let vms = hosts().flat_map(|host| host.vms.iter().map(|vm| &vm.worlds));
    vms.chain(hosts().flat_map(|host| host.services.iter().map(|service| &service.worlds)))
}

#[test]
fn samples_add_up_to_the_report_of_the_same_run() {
    let scenario = scenario();
    let (samples, report) = (samples(&scenario), run(&scenario, SEED).expect("the run succeeds"));
    assert_eq!(
        samples.iter().map(|sample| sample.time_s).collect::<Vec<_>>(),
        [2.0, 4.0, 6.0, 8.0]
    );
    for (index, host) in report.hosts.iter().enumerate() {
        let of = |get: fn(&HostSample) -> f64| mean(&samples, get, index);
        assert_near(of(|host| host.usage_pct), host.usage_pct, 1e-9, &host.name);
        assert_near(of(|host| host.utilization_pct), host.utilization_pct, 1e-9, &host.name);
        assert_near(
            of(|host| host.core_utilization_pct),
            host.core_utilization_pct,
            1e-9,
            &host.name,
        );
        let cpus =
            |host: &HostSample| host.cpu_utilization_pct.iter().sum::<f64>() / host.cpu_utilization_pct.len() as f64;
        // what is missing is what idle logical CPUs spent on interrupts
        assert_near(of(cpus), host.utilization_pct, 0.01, &host.name);
    }
    for vm in &report.vms {
        let host = (0..3)
            .find(|&host| samples[0].hosts[host].vms.iter().any(|one| one.name == vm.name))
            .expect("it is somewhere");
        let find = |host: &HostSample| {
            host.vms
                .iter()
                .find(|one| one.name == vm.name)
                .expect("it stays there")
                .clone()
        };
        let vcpus = |pick: fn(&WorldSamples) -> &[f64]| {
            mean(
                &samples,
                |host| pick(&find(host).worlds)[..vm.vcpus as usize].iter().sum::<f64>(),
                host,
            ) / f64::from(vm.vcpus)
        };
        assert_near(vcpus(|worlds| &worlds.run_pct), vm.run_pct, 1e-9, &vm.name);
        assert_near(vcpus(|worlds| &worlds.ready_pct), vm.ready_pct, 1e-9, &vm.name);
        assert_near(vcpus(|worlds| &worlds.costop_pct), vm.costop_pct, 1e-9, &vm.name);
        assert_near(vcpus(|worlds| &worlds.wait_pct), vm.wait_pct, 1e-9, &vm.name);
        assert_near(vcpus(|worlds| &worlds.limited_pct), vm.limited_pct, 1e-9, &vm.name);
        assert_near(vcpus(|worlds| &worlds.overlap_pct), vm.overlap_pct, 1e-9, &vm.name);
        let system = mean(&samples, |host| find(host).system_pct, host) / f64::from(vm.vcpus);
        assert_near(vcpus(|worlds| &worlds.used_pct) + system, vm.used_pct, 1e-9, &vm.name);
        assert_near(mean(&samples, |host| find(host).iops, host), vm.iops, 1e-9, &vm.name);
        assert_near(
            mean(&samples, |host| find(host).numa_local_pct, host),
            vm.numa_local_pct,
            1e-9,
            &vm.name,
        );
        if let Some(io) = &vm.io {
            let disks = |host: &HostSample| find(host).disks.iter().flat_map(|disk| disk.mb_per_s).sum::<f64>();
            assert_near(mean(&samples, disks, host) * 1.048_576, io.all.mb_per_s, 1e-9, &vm.name);
        }
    }
}

#[test]
fn every_world_is_in_one_state_all_the_time() {
    let samples = samples(&scenario());
    let mut limited = 0.0;
    for worlds in samples.iter().flat_map(all_worlds) {
        for world in 0..worlds.run_pct.len() {
            let sum =
                worlds.run_pct[world] + worlds.ready_pct[world] + worlds.costop_pct[world] + worlds.wait_pct[world];
            assert!((sum - 100.0).abs() < 1e-9, "{sum}");
            limited += worlds.limited_pct[world];
        }
    }
    assert!(limited > 0.0, "the limit of these machines is hit");
}

#[test]
fn devices_obey_littles_law_and_latencies_have_parts() {
    let samples = samples(&scenario());
    let of = |get: fn(&DeviceSample) -> f64, host: usize, device: usize| {
        mean(&samples, |host| get(&host.devices[device]), host)
    };
    // LUNs of the array on host a: a place in the queue is held from the hypervisor's line to the answer
    let luns = &samples[0].hosts[0].devices;
    assert_eq!(luns.len(), 2);
    for (device, lun) in luns.iter().enumerate() {
        let name = format!("array-shared-lun-{device}");
        assert_eq!((lun.name.as_str(), lun.queue_depth), (name.as_str(), 4));
        let (rate, device_ms) = (
            of(|one| one.commands_per_s, 0, device),
            of(|one| one.device_ms.unwrap(), 0, device),
        );
        assert_near(of(|one| one.active, 0, device), rate * device_ms / 1e3, 0.02, "active");
        assert_near(
            of(|one| one.queued, 0, device),
            rate * of(|one| one.queue_ms.unwrap(), 0, device) / 1e3,
            0.02,
            "queued",
        );
        assert!(
            of(|one| one.queued, 0, device) > 1.0,
            "24 I/Os on queues of 2 for each machine"
        );
    }
    let host = &samples[3].hosts[0];
    let disks: Vec<_> = host.vms.iter().flat_map(|vm| &vm.disks).collect();
    let guest: f64 = disks
        .iter()
        .flat_map(|disk| [0, 1].map(|way| disk.iops[way] * disk.latency_ms[way].unwrap()))
        .sum();
    let below: f64 = host
        .devices
        .iter()
        .map(|one| one.commands_per_s * (one.device_ms.unwrap() + one.kernel_ms.unwrap()))
        .sum();
    // completions that wait for a coalesced interrupt are the rest
    assert!(
        (1.0..1.05).contains(&(guest / below)),
        "guests wait for hypervisor and device: {}",
        guest / below
    );
    let through = |devices: &[DeviceSample]| devices.iter().map(|one| one.commands_per_s).sum::<f64>();
    assert_near(
        through(&host.adapters),
        through(&host.devices),
        1e-9,
        "every command goes through an adapter",
    );
    // devices of the pool on the hosts b
    for host in [1, 2] {
        let devices = samples[0].hosts[host].devices.iter();
        let first = 2 * (host - 1);
        let expected = [first, first + 1].map(|number| format!("pool-disk-{number}"));
        assert!(devices.map(|device| &device.name).eq(&expected));
        assert!(of(|one| one.device_ms.unwrap(), host, 0) > 0.0);
        assert_eq!(samples[0].hosts[host].services[0].pool, "pool");
    }
}
