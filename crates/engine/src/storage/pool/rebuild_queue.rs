//! What is copied from device to device: which of it is copied now, and whose turn it is next.

use super::data_placement::{DataPlacement, Job};
use hypertwin_cluster::StoragePool;
use hypertwin_kernel::Nanos;
use hypertwin_models::storage::product::{self, product};
use std::collections::{BTreeMap, BTreeSet};

/// A job that is done now.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// The devices that count it: the one written to, and the first that is read from.
    ends: [u32; 2],
    /// Its pieces on their way, and their bytes.
    pub pieces: u32,
    pub bytes: u64,
    /// No more pieces follow: it waits for another turn when these are back.
    pub stops: bool,
}

/// Jobs, and how many may be done at a time.
pub struct RebuildQueue {
    /// How long a device is away before its members are replaced.
    pub delay_ns: Nanos,
    /// What the devices of a node may read, and write, for rebuilding.
    pub bytes_per_s: f64,
    /// Bytes of one piece, and pieces of one job at a time.
    pub unit: u64,
    pub at_a_time: u32,
    /// Pause between the pieces that one device is read for.
    pub sleep_ns: Nanos,
    /// Part of a device up to which it takes members of others.
    pub full: f64,
    most: Most,
    working: BTreeMap<Job, Work>,
    /// By how many more members their group may lose, fewest first, and then by number; what moves comes last. Always
    /// up to date.
    waiting: BTreeSet<(isize, Job)>,
    /// Since when some member is rebuilt, and how long some was before.
    busy_since: Option<Nanos>,
    busy_ns: Nanos,
    /// How many jobs were done since when, and the time of all jobs before.
    noted: (usize, Nanos),
    jobs_ns: f64,
}

/// How many jobs are done at a time.
enum Most {
    InAll(usize),
    /// Of those that write to one device, and of those that read from one. Per device: how many there are.
    OfDevice {
        most: u32,
        now: [Vec<u32>; 2],
    },
}

impl RebuildQueue {
    /// For the pool of `nodes` nodes; whether it is on flash, as defaults can depend on it.
    pub fn new(spec: &StoragePool, nodes: usize, is_flash: bool) -> Self {
        let product = product(spec.kind);
        let backfill = (product.backfill)(spec, is_flash);
        let most = match backfill.most {
            product::Most::PerNode(streams) => Most::InAll(streams as usize * nodes),
            product::Most::PerDevice(most) => {
                let devices = vec![0; nodes * spec.devices_per_node() as usize];
                let now = [devices.clone(), devices];
                Most::OfDevice { most, now }
            }
        };
        Self {
            delay_ns: spec.rebuild_delay().nanos(),
            bytes_per_s: spec.rebuild_bandwidth().bytes_per_s(),
            unit: spec.rebuild_unit().bytes(),
            at_a_time: backfill.at_a_time,
            sleep_ns: backfill.sleep.nanos(),
            full: product.recovery_pct(spec) / 100.0,
            most,
            working: BTreeMap::new(),
            waiting: BTreeSet::new(),
            busy_since: None,
            busy_ns: 0,
            noted: (0, 0),
            jobs_ns: 0.0,
        }
    }

    /// How long some member was rebuilt.
    pub fn busy_ns(&self, now: Nanos) -> Nanos {
        self.busy_ns + self.busy_since.map_or(0, |since| now - since)
    }

    /// How long the rest takes, of which `copied` bytes are done, where devices take part in few jobs at a time: until
    /// the last of them has done its own, one after another.
    pub fn rest_ns(&self, data: &DataPlacement, copied: u64, now: Nanos) -> f64 {
        let (jobs, since) = self.noted;
        let jobs_ns = self.jobs_ns + jobs as f64 * (now - since) as f64;
        let Most::OfDevice { most, .. } = self.most else {
            return 0.0;
        };
        let mut due = [vec![0; data.capacities.len()], vec![0; data.capacities.len()]];
        for (member, state) in data.members.iter().enumerate() {
            let source = data.sources(member).first().copied();
            if let Some(source) = source.filter(|_| state.is_up && state.due > 0) {
                due[0][data.device(member) as usize] += state.due;
                due[1][data.device(source) as usize] += state.due;
            }
        }
        let longest = due.iter().flatten().copied().max().unwrap_or(0);
        longest as f64 / f64::from(most) * jobs_ns / copied.max(1) as f64
    }

    /// Keeps when rebuilding began and ended.
    pub fn note(&mut self, now: Nanos) {
        let (jobs, since) = std::mem::replace(&mut self.noted, (self.working.len(), now));
        self.jobs_ns += jobs as f64 * (now - since) as f64;
        if self.working.is_empty() {
            self.busy_ns = self.busy_ns(now);
            self.busy_since = None;
        } else {
            self.busy_since.get_or_insert(now);
        }
    }

    /// Queues a job if there is something to do, its device `is_there` and it is not done already.
    pub fn queue(&mut self, job: Job, data: &DataPlacement, is_there: impl Fn(u32) -> bool) {
        let (state, group) = (data.members[job.member], data.group_of(job.member));
        if data.is_lost(group) || self.working.contains_key(&job) {
            return;
        }
        let spare = data.spare(group);
        if !job.moves && state.is_up && state.due > 0 {
            self.waiting.insert((spare, job));
        }
        let can_be_read = state.is_whole() || spare >= 0;
        if job.moves && can_be_read && data.moves.get(&job.member).is_some_and(|to| is_there(to.device)) {
            self.waiting.insert((isize::MAX, job));
        }
    }

    /// Queues all jobs again.
    pub fn queue_all(&mut self, data: &DataPlacement, is_there: impl Fn(u32) -> bool + Copy) {
        self.waiting.clear();
        for member in 0..data.members.len() {
            self.queue(Job { member, moves: false }, data, is_there);
        }
        for &member in data.moves.keys() {
            self.queue(Job { member, moves: true }, data, is_there);
        }
    }

    /// The next job, if one more may be done and its group has enough whole members to read from.
    pub fn start(&mut self, data: &DataPlacement) -> Option<Job> {
        let waiting = self.waiting.range(
            (
                0,
                Job {
                    member: 0,
                    moves: false,
                },
            )..,
        );
        let (first, ends) = match &mut self.most {
            Most::InAll(most) if self.working.len() >= *most => return None,
            Most::InAll(_) => (*waiting.into_iter().next()?, [0; 2]),
            Most::OfDevice { most, now } => waiting.copied().find_map(|first| {
                let ends = [data.target(first.1), data.device(*data.sources_of(first.1).first()?)];
                let may = (0..2).all(|end| now[end][ends[end] as usize] < *most);
                may.then(|| {
                    (0..2).for_each(|end| now[end][ends[end] as usize] += 1);
                    (first, ends)
                })
            })?,
        };
        self.waiting.remove(&first);
        let work = Work {
            ends,
            pieces: 0,
            bytes: 0,
            stops: false,
        };
        self.working.insert(first.1, work);
        Some(first.1)
    }

    /// A job that is done now.
    pub fn work(&mut self, job: Job) -> &mut Work {
        self.working.get_mut(&job).expect("its pieces are on their way")
    }

    /// A job is not done any more.
    pub fn stop(&mut self, job: Job) {
        let work = self.working.remove(&job).expect("it was done");
        if let Most::OfDevice { now, .. } = &mut self.most {
            (0..2).for_each(|end| now[end][work.ends[end] as usize] -= 1);
        }
    }

    /// A member of a group has become whole, so that the group may lose `spare`: the others of the group wait among
    /// others.
    pub fn promote(&mut self, members: std::ops::Range<usize>, spare: isize) {
        for member in members {
            let job = Job { member, moves: false };
            if self.waiting.remove(&(spare - 1, job)) {
                self.waiting.insert((spare, job));
            }
        }
    }
}
