//! Clusters in a report: what belongs to them, and how their figures follow from those of their hosts.

use crate::support;

use hypertwin_engine::PointReport;
use serde_json::{Value, json};

/// Two clusters: `a` has a host of 2 cores and one of 6, `default` one of 4.
fn report(vms: Value, seeds: u64) -> PointReport {
    let host = |cores: u32, more: Value| {
        let mut host = support::host("esxi-7.0", 1, cores, 1);
        support::merge(&mut host, json!({"memory_per_node": "100 GiB"}));
        support::merge(&mut host, more);
        host
    };
    let text = json!({
        "name": "clusters",
        "run": {"duration": "1 s", "warmup": "100 ms", "sample_interval": "100 ms"},
        "hosts": {
            "small": host(2, json!({"cluster": "a", "hypervisor_memory": "10 GiB"})),
            "large": host(6, json!({"cluster": "a"})),
            "other": host(4, json!({})),
        },
        "vms": vms, "workloads": {"busy": support::hungry(1), "two": support::hungry(2)},
    });
    let scenario = support::parse(&text);
    support::report(&scenario, seeds)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.01
}

#[test]
fn a_cluster_is_the_sum_of_its_hosts_each_counted_by_what_it_has() {
    let report = report(
        json!({
            "on-small": support::vm(1, "busy", json!({"host": "small", "count": 3, "memory": "40 GiB", "memory_touched": "5 GiB"})),
            "on-large": support::vm(2, "two", json!({"host": "large", "memory": "50 GiB"})),
        }),
        2,
    );
    assert_eq!(report.clusters.keys().collect::<Vec<_>>(), ["a", "default"]);
    let (cluster, other) = (&report.clusters["a"], &report.clusters["default"]);
    assert_eq!((cluster.hosts, cluster.vms, cluster.vcpus, cluster.cores), (2, 4, 5, 8));
    assert_eq!(cluster.vcpu_per_core, 0.625);
    // both cores of the small host are busy, and two of the large one's six
    assert!(close(report.hosts["small"].usage_pct, 100.0), "{:?}", report.hosts);
    assert!(
        close(report.hosts["large"].usage_pct, 100.0 / 3.0),
        "{:?}",
        report.hosts
    );
    assert!(
        close(cluster.usage_pct, 50.0) && cluster.usage_pct_ci95.is_some(),
        "{cluster:?}"
    );
    assert_eq!(cluster.peak_host, "small");
    assert_eq!(cluster.fullest_host_pct, report.hosts["small"].usage_pct);
    // three vCPUs share two cores, two have one each
    assert!(close(cluster.ready_pct, (3.0 * 100.0 / 3.0) / 5.0), "{cluster:?}");
    let memory = |name: &str| (report.hosts[name].memory_pct, report.hosts[name].memory_usage_pct);
    assert_eq!(memory("small"), (130.0, 25.0));
    assert_eq!(memory("large"), (50.0, 50.0));
    assert_eq!((cluster.memory_pct, cluster.memory_usage_pct), (90.0, 37.5));
    assert_eq!((other.hosts, other.vms, other.vcpus, other.cores), (1, 0, 0, 4));
    assert_eq!((other.usage_pct, other.ready_pct, other.memory_pct), (0.0, 0.0, 0.0));
    assert_eq!(other.peak_host, "other");
}

#[test]
fn hosts_vms_and_groups_say_their_clusters() {
    let report = report(json!({"wide": support::vm(1, "busy", json!({"count": 6}))}), 1);
    let cluster_of = |vm: &str| report.vms[vm].cluster.clone().expect("a VM has a cluster");
    for (name, vm) in &report.vms {
        let host = vm.host.as_ref().expect("a VM has a host");
        assert_eq!(cluster_of(name), report.hosts[host].cluster);
    }
    let clusters = ["a".to_owned(), "default".to_owned()];
    assert_eq!(report.groups["wide"].clusters.as_deref(), Some(clusters.as_slice()));
    assert_eq!(report.groups["wide"].cluster, None);
    assert_eq!(report.hosts["other"].cluster, "default");
}

#[test]
fn what_storage_takes_of_a_nodes_memory_is_no_vms() {
    let mut node = support::host("linux-6.12", 1, 8, 1);
    support::merge(&mut node, json!({"count": 3, "memory_per_node": "100 GiB"}));
    let pool = json!({"kind": "ceph", "nodes": "h", "devices": {"kind": "nvme", "per_node": 5, "capacity": "1 TB"}});
    let text = |said: Value, pool: &Value| {
        let mut node = node.clone();
        support::merge(&mut node, said);
        let text = json!({
            "name": "nodes", "run": {"duration": "1 s", "warmup": "100 ms"}, "hosts": {"h": node},
            "vms": {"v": support::vm(1, "busy", json!({"host": "h-1", "memory": "90 GiB", "memory_active": "90 GiB"}))},
            "workloads": {"busy": support::hungry(1)}, "storage": {"c": pool},
        });
        support::parse(&text)
    };
    // five OSDs of 4 GiB: 80 GiB are left for 90
    let full = support::report(&text(json!({}), &pool), 1);
    assert_eq!(
        (full.hosts["h-1"].memory_pct, full.hosts["h-2"].memory_pct),
        (110.0, 20.0)
    );
    let away = full.vms["v"].memory.as_ref().expect("its host is short").swapped_bytes / f64::from(1 << 30);
    assert!((10.0..13.0).contains(&away), "{away} GiB");
    let said = support::report(&text(json!({"hypervisor_memory": "5 GiB"}), &pool), 1);
    assert_eq!(said.hosts["h-1"].memory_pct, 95.0);
    // also of a pool that no VM uses: results are kept under what they depend on
    let mut fewer = pool.clone();
    fewer["devices"]["per_node"] = json!(1);
    let key = |pool: &Value| {
        hypertwin_engine::Islands::of(text(json!({}), pool))
            .expect("it can be run")
            .keys()
    };
    assert_ne!(key(&pool), key(&fewer));
}
