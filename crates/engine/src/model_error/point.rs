//! The areas and intervals of the figures of a point.
//!
//! | figure | area |
//! |---|---|
//! | CPU use and waiting of groups, hosts and clusters | cpu |
//! | I/O latency of a group on a pool; figures of a pool | pools |
//! | I/O latency of a group on an array or a local drive | drives if devices limit it, path if anything before does |
//! | response times and throughput of a group, and its I/Os | area with the largest share of the mean response |
//! | times of migrations | movement |
//!
//! Devices also count as the limit of a local drive where nothing is full. The throughput of a group with its own rate
//! has no interval while nothing limits the group, because the scenario sets it. Neither has a figure of 0.

use super::intervals::Intervals;
use super::kinds::{Area, Kind, around, is_share};
use super::topology::{Storage, StorageKind, Topology};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Sections of a report whose figures have intervals. A VM has the factors of its group.
const SECTIONS: [&str; 4] = ["groups", "hosts", "clusters", "pools"];

/// Limits that an I/O reaches before the devices.
const BEFORE_DEVICES: [&str; 7] = [
    "controller",
    "fabric",
    "host-cpu",
    "guest-cpu",
    "cpu-limit",
    "client",
    "storage-cpu",
];

const IO: [&str; 4] = ["io_", "read_", "write_", "copied_"];
const COPIED: &str = "copied_";
const CLIENTS: [&str; 2] = ["read_", "write_"];

/// The twin's error for the points of one scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelError {
    topology: Arc<Topology>,
    intervals: Arc<Intervals>,
}

impl ModelError {
    /// Of a scenario as JSON, or of its parts `vms`, `arrays` and `workloads`.
    ///
    /// # Errors
    /// If the text is no JSON.
    pub fn new(scenario_json: &str, intervals: Arc<Intervals>) -> Result<Self, serde_json::Error> {
        let scenario = serde_json::from_str(scenario_json)?;
        Ok(Self {
            topology: Arc::new(Topology::of(&scenario)),
            intervals,
        })
    }

    /// The errors of a point, given by its report as JSON.
    ///
    /// # Errors
    /// If the text is no JSON.
    pub fn at(&self, report_json: &str) -> Result<PointErrors, serde_json::Error> {
        let error = self.clone();
        let point = serde_json::from_str(report_json)?;
        Ok(PointErrors { error, point })
    }
}

/// The twin's error for the figures of one point.
#[derive(Clone, Debug)]
pub struct PointErrors {
    error: ModelError,
    point: Value,
}

impl PointErrors {
    /// The report.
    pub fn report(&self) -> &Value {
        &self.point
    }

    /// All intervals of the point: what a result has as `model_error`.
    pub fn document(&self) -> Value {
        let mut used = Vec::new();
        let mut document = Map::new();
        let of_section = |section: &str| self.point[section].as_object().into_iter().flatten();
        let responses: Map<String, Value> = of_section("groups")
            .map(|(name, _)| (name.clone(), self.share(name)))
            .collect();
        document.insert("level_pct".to_owned(), self.error.intervals.level_pct.into());
        document.insert("responses".to_owned(), responses.into());
        for section in SECTIONS {
            let entities: Map<String, Value> = of_section(section)
                .map(|(name, entity)| {
                    let mut found = Map::new();
                    self.of_entity([section, name], entity, String::new(), &mut found, &mut used);
                    (name.clone(), found.into())
                })
                .collect();
            document.insert(section.to_owned(), entities.into());
        }
        let moves = self.point["moves"].as_array().into_iter().flatten();
        let moves: Vec<Value> = moves.map(|each| self.of_move(each, &mut used)).collect();
        document.insert("moves".to_owned(), moves.into());
        let bases: Map<String, Value> = used
            .into_iter()
            .map(|name| {
                let basis = self.error.intervals.basis(&name);
                (name, basis)
            })
            .collect();
        document.insert("bases".to_owned(), bases.into());
        document.into()
    }

    /// The ends of a value of a figure, by its flat key; `None` without error.
    pub fn ends(&self, section: &str, name: &str, key: &str, value: f64) -> Option<(f64, f64)> {
        self.figure([section, name], key, value)
            .map(|(low, high, _)| (low, high))
    }

    /// The area of a figure.
    pub fn area(&self, section: &str, name: &str, key: &str) -> Area {
        let kind = Kind::of(key, None);
        if section == "pools" {
            let is_of_clients = kind == Some(Kind::Throughput) && starts(key, &CLIENTS);
            return if is_of_clients {
                self.of_clients(name)
            } else {
                Area::Pools
            };
        }
        if !matches!(section, "groups" | "vms") || kind == Some(Kind::Usage) {
            return Area::Cpu;
        }
        let is_of_storage = kind != Some(Kind::Throughput) || key.starts_with(COPIED);
        match self.error.topology.storage(name) {
            Some(storage) if starts(key, &IO) && is_of_storage => self.of_storage(storage, name),
            _ => self.response(name).0,
        }
    }

    /// Adds the intervals of the numbers in `entity`, whose keys follow `prefix`.
    fn of_entity(
        &self,
        place: [&str; 2],
        entity: &Value,
        prefix: String,
        found: &mut Map<String, Value>,
        used: &mut Vec<String>,
    ) {
        for (key, value) in entity.as_object().into_iter().flatten() {
            let key = format!("{prefix}{key}");
            if let Some(number) = value.as_f64() {
                if let Some(interval) = self.figure(place, &key, number) {
                    found.insert(key, entry(interval, used));
                }
            } else {
                self.of_entity(place, value, format!("{key}_"), found, used);
            }
        }
    }

    /// The intervals of a migration. Restarts follow published times, and have no evidence.
    fn of_move(&self, each: &Value, used: &mut Vec<String>) -> Value {
        let mut found = Map::new();
        if each["kind"] == "migration" && each["outcome"] == "done" {
            let seconds = each["end_s"]
                .as_f64()
                .zip(each["at_s"].as_f64())
                .map(|(end, at)| end - at);
            for (key, value) in [("seconds", seconds), ("downtime_ms", each["downtime_ms"].as_f64())] {
                let value = value.filter(|value| *value != 0.0);
                if let Some(interval) = value.and_then(|value| self.around(Area::Movement, Kind::Duration, key, value))
                {
                    found.insert(key.to_owned(), entry(interval, used));
                }
            }
        }
        found.into()
    }

    /// The ends of a figure, and the name of their basis.
    fn figure(&self, [section, name]: [&str; 2], key: &str, value: f64) -> Option<(f64, f64, String)> {
        let area = self.area(section, name, key);
        let kind = Kind::of(key, Some(area))?;
        if value == 0.0 || (kind == Kind::Throughput && self.is_given(section, name)) {
            return None;
        }
        self.around(area, kind, key, value)
    }

    fn around(&self, area: Area, kind: Kind, key: &str, value: f64) -> Option<(f64, f64, String)> {
        let factors = self.error.intervals.factors(area, kind)?;
        let (low, high) = around(value, factors.low, factors.high, is_share(key));
        Some((low, high, factors.name))
    }

    /// The area of the throughput of the group with the most I/Os on a pool.
    fn of_clients(&self, pool: &str) -> Area {
        let groups = &self.point["groups"];
        let on_pool = self
            .error
            .topology
            .storages
            .iter()
            .filter(|storage| storage.name == pool);
        let mut most: Option<(f64, &str)> = None;
        for group in on_pool.map(|storage| storage.group.as_str()) {
            let Some(of_group) = groups.get(group) else { continue };
            let iops = number(&of_group["iops"]);
            if most.is_none_or(|(so_far, _)| iops > so_far) {
                most = Some((iops, group));
            }
        }
        most.map_or(Area::Pools, |(_, group)| self.response(group).0)
    }

    /// Whether the scenario sets the throughput of a group: its load has a rate, and nothing limits it.
    fn is_given(&self, section: &str, name: &str) -> bool {
        matches!(section, "groups" | "vms") && self.error.topology.is_paced(name) && self.limit(name) == "nothing"
    }

    /// The kind of limit of a group, or of the group of a VM.
    fn limit(&self, name: &str) -> &str {
        let limits = &self.point["judgement"]["limits"];
        let limit = limits.get(name).or_else(|| limits.get(self.error.topology.group(name)));
        limit.and_then(|limit| limit["kind"].as_str()).unwrap_or("nothing")
    }

    fn of_storage(&self, storage: &Storage, name: &str) -> Area {
        let limit = self.limit(name);
        match storage.kind {
            StorageKind::Pool => Area::Pools,
            _ if limit == "devices" => Area::Drives,
            StorageKind::Local if !BEFORE_DEVICES.contains(&limit) => Area::Drives,
            _ => Area::Path,
        }
    }

    /// The area with the largest share of a group's mean response, and that share.
    fn response(&self, group: &str) -> (Area, f64) {
        let vm = ["groups", "vms"]
            .iter()
            .find_map(|section| self.point[section].get(group));
        let vm = vm.unwrap_or(&Value::Null);
        let [mean, per_s, latency] = [
            &vm["response_ms"]["mean"],
            &vm["throughput_per_s"],
            &vm["io_latency_ms"]["mean"],
        ]
        .map(number);
        let io = if mean != 0.0 && per_s != 0.0 && latency != 0.0 {
            (number(&vm["iops"]) * latency / (per_s * mean)).min(1.0)
        } else {
            0.0
        };
        let [run, ready, costop] = ["run_pct", "ready_pct", "costop_pct"].map(|key| number(&vm[key]));
        let swapped = number(&vm["memory"]["swap_wait_pct"]);
        let memory = if swapped == 0.0 {
            0.0
        } else {
            (1.0 - io) * swapped / (run + ready + costop + swapped)
        };
        let of_storage = self.error.topology.storage(group);
        let shares = [
            Some((Area::Memory, memory)),
            Some((Area::Cpu, 1.0 - io - memory)),
            of_storage.map(|storage| (self.of_storage(storage, group), io)),
        ];
        let mut largest = (Area::Memory, memory);
        for share in shares.into_iter().flatten() {
            if share.1 > largest.1 {
                largest = share;
            }
        }
        largest
    }

    fn share(&self, group: &str) -> Value {
        let (area, share) = self.response(group);
        json!({"area": area.name(), "share_pct": 100.0 * share})
    }
}

/// An interval as data; its basis is remembered.
fn entry((low, high, basis): (f64, f64, String), used: &mut Vec<String>) -> Value {
    if !used.contains(&basis) {
        used.push(basis.clone());
    }
    json!({"low": low, "high": high, "basis": basis})
}

fn starts(key: &str, with: &[&str]) -> bool {
    with.iter().any(|start| key.starts_with(start))
}

/// A figure; 0 if it was not measured.
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}
