//! The way of an I/O through a pool: legs to the devices that work on it, and back.

use super::Pool;
use crate::ids::Id;
use crate::io::{IoId, NONE, Role, Step, Target};
use crate::simulation::Simulation;
use hypertwin_cluster::{PoolKind, Redundancy, WritePath};
use hypertwin_kernel::Nanos;
use hypertwin_models::storage::stripe::{Update, completed, update};

impl Simulation {
    /// Work of the client's driver for an I/O of a pool, in nanoseconds at nominal clock; 0 for another.
    pub fn client_work_ns(&self, id: IoId) -> f64 {
        let io = &self.io.ios[id as usize];
        let Target::Pool { pool, .. } = self.io.vdisks[io.vdisk as usize].target else {
            return 0.0;
        };
        let pool = &self.pools[pool as usize];
        let whole = io.sequential || u64::from(io.bytes) >= pool.fragment * pool.needed as u64;
        let coding = match (io.write, whole) {
            (false, _) => 0.0,
            (true, true) => pool.coding.stripe_ns_per_byte,
            (true, false) => pool.coding.update_ns_per_byte,
        };
        pool.client.of(io.bytes) + coding * f64::from(io.bytes)
    }

    // ---- from the client

    /// An I/O leaves the host for its pool: where its data are.
    pub fn send_to_pool(&mut self, index: usize, id: IoId) {
        let io = self.io.ios[id as usize];
        let Some(vm) = &mut self.vms[io.vm as usize].io else {
            return;
        };
        let Target::Pool { offset, key, .. } = &mut self.io.vdisks[io.vdisk as usize].target else {
            return;
        };
        let bytes = u64::from(io.bytes);
        let place = if io.sequential {
            let place = *offset;
            *offset = (place + bytes) % vm.working_set;
            place
        } else {
            vm.stream.below((vm.working_set / bytes).max(1)) * bytes
        };
        let cached = !io.write && !io.sequential && vm.cached > 0.0 && vm.stream.uniform() < vm.cached;
        let pool = &mut self.pools[index];
        let (groups, width) = (pool.groups as u64, pool.width as u64);
        let chunk = mix(*key, place / pool.span);
        let record = &mut self.io.ios[id as usize];
        record.group = (chunk % groups) as u32;
        // chunks of a group take turns in which of its copies comes first
        record.member = (chunk / groups % width) as u8;
        record.place = place;
        record.writing = false;
        pool.count.reads += u64::from(!io.write);
        if cached && let Some(disk) = pool.cache_of(self.vms[io.vm as usize].host, *key) {
            pool.count.cache_hits += 1;
            self.io.ios[id as usize].parts = 1;
            let leg = self.io.part_of(id, Role::Leg);
            self.io.ios[leg as usize].write = false;
            self.queue_on_disk(disk, leg, false);
            return;
        }
        self.attempt(index, id);
    }

    /// Sends the legs of an I/O, or lets it wait until enough is there.
    fn attempt(&mut self, index: usize, id: IoId) {
        let io = self.io.ios[id as usize];
        let group = io.group as usize;
        let pool = &mut self.pools[index];
        let record = &mut self.io.ios[id as usize];
        (record.failed, record.writing) = (false, false);
        if pool.lost[group] {
            pool.count.errors += 1;
            let at = self.clock.now + pool.timeout_ns;
            self.step(id, Step::Host, at);
            return;
        }
        let enough = if io.write { pool.minimum } else { pool.needed };
        let blocked = pool.kind == PoolKind::ChunkStore && !pool.has_majority(&self.hosts);
        if blocked || pool.degraded > 0 && pool.whole(group) < enough {
            pool.suspended.push(&mut self.io.ios, id);
            return;
        }
        match (pool.redundancy, io.write) {
            (Redundancy::Replicas { .. }, false) => {
                let members = pool.members(group);
                if let Some(member) = pool.in_turn(io.member).find(|&member| members[member].is_whole()) {
                    self.io.ios[id as usize].parts = 1;
                    self.send_read(index, id, member, io.bytes);
                }
            }
            (Redundancy::Replicas { .. }, true) => self.write_replicas(index, id),
            (Redundancy::Erasure { data, .. }, false) => self.read_fragments(index, id, data as usize),
            (Redundancy::Erasure { data, parity }, true) => {
                self.write_fragments(index, id, data as usize, parity as usize);
            }
        }
    }

    fn send_read(&mut self, index: usize, parent: IoId, member: usize, bytes: u32) {
        let leg = self.new_leg(index, parent, member, bytes, false);
        let from = self.vms[self.io.vm_of(parent)].host;
        let to = self.pools[index].host_of(self.io.ios[leg as usize].device);
        let arrival = self.clock.now + self.way_ns(index, from, to);
        self.step(leg, Step::Arrive, arrival);
    }

    fn new_leg(&mut self, index: usize, parent: IoId, member: usize, bytes: u32, write: bool) -> IoId {
        let leg = self.io.part_of(parent, Role::Leg);
        let whole = &self.io.ios[parent as usize];
        let device = self.pools[index].members(whole.group as usize)[member].device;
        let (node, client) = (self.pools[index].host_of(device), self.vms[whole.vm as usize].host);
        let back_ns = self.way_ns(index, node, client);
        let record = &mut self.io.ios[leg as usize];
        record.device = device;
        record.member = member as u8;
        record.bytes = bytes;
        record.write = write;
        record.chain = NONE;
        record.back_ns = back_ns;
        leg
    }

    fn write_replicas(&mut self, index: usize, id: IoId) {
        let io = self.io.ios[id as usize];
        let mut legs = [NONE; Redundancy::MAX_COPIES as usize];
        let mut count = 0;
        for member in self.pools[index].in_turn(io.member) {
            if !self.takes_write(index, io.group as usize, member, u64::from(io.bytes)) {
                continue;
            }
            let leg = self.new_leg(index, id, member, io.bytes, true);
            legs[count] = leg;
            count += 1;
        }
        self.io.ios[id as usize].parts = count as u32;
        self.io.ios[id as usize].writing = true;
        let pool = &mut self.pools[index];
        pool.count.below_minimum += u64::from(count < pool.minimum);
        let client = self.vms[io.vm as usize].host;
        if self.pools[index].write_path == WritePath::Client {
            for &leg in &legs[..count] {
                self.send_data(index, leg, client);
            }
            return;
        }
        for pair in legs[..count].windows(2) {
            self.io.ios[pair[0] as usize].chain = pair[1];
        }
        self.send_data(index, legs[0], client);
    }

    /// Whether a member gets a write; one whose device is away lacks it from then on.
    fn takes_write(&mut self, index: usize, group: usize, member: usize, bytes: u64) -> bool {
        let pool = &mut self.pools[index];
        let state = &mut pool.members[group * pool.width + member];
        if !state.up {
            let missed = bytes.min(pool.member_bytes - state.due.min(pool.member_bytes));
            state.due += missed;
            pool.count.due += missed;
        }
        state.up
    }

    /// The data of a leg go from a host to the leg's node.
    fn send_data(&mut self, index: usize, leg: IoId, from: usize) {
        let io = self.io.ios[leg as usize];
        let to = self.pools[index].host_of(io.device);
        let arrival = self.transmit(from, to, u64::from(io.bytes)) + self.way_ns(index, from, to);
        self.step(leg, Step::Arrive, arrival);
    }

    /// Reads the fragments that an I/O touches, or enough others where one of them is not there.
    fn read_fragments(&mut self, index: usize, id: IoId, data: usize) {
        let io = self.io.ios[id as usize];
        let pool = &self.pools[index];
        let fragment = pool.fragment;
        let first = (io.place / fragment) as usize % data;
        let touched = (u64::from(io.bytes).div_ceil(fragment) as usize).min(data);
        let range = u64::from(io.bytes).div_ceil(touched as u64) as u32;
        let wanted = (0..touched).map(|n| (first + n) % data);
        let members = pool.members(io.group as usize);
        let chosen: Vec<usize> = if wanted.clone().all(|member| members[member].is_whole()) {
            wanted.collect()
        } else {
            let whole = (0..members.len()).filter(|&member| members[member].is_whole());
            whole.take(data).collect()
        };
        self.io.ios[id as usize].parts = chosen.len() as u32;
        for member in chosen {
            self.send_read(index, id, member, range);
        }
    }

    /// Writes data and parity: a stream as its stripes fill, anything else after the reads that its parity needs.
    fn write_fragments(&mut self, index: usize, id: IoId, data: usize, parity: usize) {
        let io = self.io.ios[id as usize];
        let pool = &self.pools[index];
        let touched = (u64::from(io.bytes).div_ceil(pool.fragment) as usize).min(data);
        if io.sequential || u64::from(io.bytes) >= pool.fragment * data as u64 {
            self.write_stripes(index, id, data, parity);
            return;
        }
        if touched == data {
            // all that parity needs is written
            self.write_touched(index, id, data);
            return;
        }
        let first = (io.place / pool.fragment) as usize % data;
        let range = u64::from(io.bytes).div_ceil(touched as u64) as u32;
        let (way, _) = update(touched as u32, data as u32, parity as u32);
        let is_touched = |member: usize| (member + data - first) % data < touched && member < data;
        let wanted = |member: usize| match way {
            Update::ParityDelta => is_touched(member) || member >= data,
            _ => member < data && !is_touched(member),
        };
        let members = pool.members(io.group as usize);
        let mut reads: Vec<usize> = (0..members.len()).filter(|&member| wanted(member)).collect();
        if !reads.iter().all(|&member| members[member].is_whole()) {
            let whole = (0..members.len()).filter(|&member| members[member].is_whole());
            reads = whole.take(data).collect();
        }
        self.io.ios[id as usize].parts = reads.len() as u32;
        for member in reads {
            self.send_read(index, id, member, range);
        }
    }

    /// The reads of a small write are done: its data and parity go out.
    fn write_touched(&mut self, index: usize, id: IoId, data: usize) {
        let io = self.io.ios[id as usize];
        let pool = &self.pools[index];
        let touched = (u64::from(io.bytes).div_ceil(pool.fragment) as usize).min(data);
        let first = (io.place / pool.fragment) as usize % data;
        let range = u64::from(io.bytes).div_ceil(touched as u64) as u32;
        let writes = (0..pool.width).filter(|&member| member >= data || (member + data - first) % data < touched);
        let writes: Vec<(usize, u32)> = writes.map(|member| (member, range)).collect();
        self.send_writes(index, id, &writes);
    }

    /// Whole stripes, or the part of a stream that this I/O is.
    fn write_stripes(&mut self, index: usize, id: IoId, data: usize, parity: usize) {
        let io = self.io.ios[id as usize];
        let (fragment, bytes) = (self.pools[index].fragment, u64::from(io.bytes));
        let mut writes: Vec<(usize, u32)> = Vec::new();
        let mut at = io.place;
        let end = io.place + bytes;
        while at < end {
            let next = ((at / fragment + 1) * fragment).min(end);
            writes.push(((at / fragment) as usize % data, (next - at) as u32));
            at = next;
        }
        let stripes = completed(io.place, bytes, fragment * data as u64);
        for _ in 0..stripes {
            writes.extend((data..data + parity).map(|member| (member, fragment as u32)));
        }
        self.send_writes(index, id, &writes);
    }

    fn send_writes(&mut self, index: usize, id: IoId, writes: &[(usize, u32)]) {
        let io = self.io.ios[id as usize];
        let client = self.vms[io.vm as usize].host;
        let record = &mut self.io.ios[id as usize];
        (record.writing, record.parts) = (true, 1);
        for &(member, bytes) in writes {
            if self.takes_write(index, io.group as usize, member, u64::from(bytes)) {
                let leg = self.new_leg(index, id, member, bytes, true);
                self.io.ios[id as usize].parts += 1;
                self.send_data(index, leg, client);
            }
        }
        let pool = &mut self.pools[index];
        let sent = pool
            .members(io.group as usize)
            .iter()
            .filter(|member| member.up)
            .count();
        pool.count.below_minimum += u64::from(sent < pool.minimum);
        // the part that stands for having sent all
        if self.part_done(id) {
            self.all_legs_done(index, id);
        }
    }

    // ---- network

    /// Time of a message between two hosts, without its transfer.
    pub fn way_ns(&self, index: usize, from: usize, to: usize) -> Nanos {
        if from == to {
            return 0;
        }
        let pool = &self.pools[index];
        let crosses = pool.node_of[from].is_some() != pool.node_of[to].is_some();
        let layer_ns = if crosses { pool.layer_ns } else { 0 };
        self.hosts[from].message_ns.max(self.hosts[to].message_ns) + layer_ns
    }

    /// When data that leave a host now have passed its port and that of another.
    pub fn transmit(&mut self, from: usize, to: usize, bytes: u64) -> Nanos {
        if from == to {
            return self.clock.now;
        }
        let port = |host: usize, peer: usize, hosts: &[crate::state::Host]| {
            let nics = &hosts[host].nics;
            nics.start + peer % nics.len()
        };
        let (out, into) = (port(from, to, &self.hosts), port(to, from, &self.hosts));
        let out = &mut self.io.nics[out];
        let (wait, left) = out.up.pass(self.clock.now, bytes);
        out.waits.add(wait);
        out.bytes[0] += bytes;
        let into = &mut self.io.nics[into];
        let (wait, passed) = into.down.pass(self.clock.now, bytes);
        into.waits.add(wait);
        into.bytes[1] += bytes;
        left.max(passed)
    }

    // ---- at a node

    /// A leg reaches its node.
    pub fn arrive(&mut self, id: IoId) {
        let io = self.io.ios[id as usize];
        let index = self.pool_of(id);
        if io.role == Role::RebuildRead {
            self.rebuild_part_arrived(index, id);
            return;
        }
        let pool = &self.pools[index];
        let device = io.device as usize;
        let client = self.vms[io.vm as usize].host;
        if !pool.states[device].available || self.hosts[client].cut_off(pool.host_of(io.device) == client) {
            self.fail_leg(index, id);
            return;
        }
        self.queue_on_service(index, pool.desk_of(device), id);
    }

    /// The service of a node has worked on an operation, which goes on to its device.
    pub fn served(&mut self, index: usize, id: IoId) {
        let io = self.io.ios[id as usize];
        let pool = &self.pools[index];
        let device = io.device as usize;
        if !pool.states[device].available {
            self.fail_operation(index, id);
            return;
        }
        let disk = pool.devices.start + device;
        match io.role {
            // its throttle holds it back, not the line: a disk that is always busy would never let it pass
            Role::Rebuild | Role::RebuildRead => self.queue_on_disk(disk, id, false),
            _ if io.write => {
                self.pass_on(index, id);
                match pool_journal(&self.pools[index]) {
                    Some(_) => self.write_journal(index, id),
                    None => self.queue_on_disk(disk, id, false),
                }
            }
            _ => self.queue_on_disk(disk, id, false),
        }
    }

    /// A node sends a write on to the next node, or to all others.
    fn pass_on(&mut self, index: usize, id: IoId) {
        let from = self.pools[index].host_of(self.io.ios[id as usize].device);
        let mut next = std::mem::replace(&mut self.io.ios[id as usize].chain, NONE);
        while next != NONE {
            // its answer comes back the way that it goes
            let to = self.pools[index].host_of(self.io.ios[next as usize].device);
            self.io.ios[next as usize].back_ns = self.way_ns(index, to, from) + self.io.ios[id as usize].back_ns;
            self.send_data(index, next, from);
            if self.pools[index].write_path == WritePath::Chain {
                return;
            }
            next = std::mem::replace(&mut self.io.ios[next as usize].chain, NONE);
        }
    }

    // ---- journals

    fn write_journal(&mut self, index: usize, id: IoId) {
        let io = self.io.ios[id as usize];
        let pool = &mut self.pools[index];
        let node = pool.node_of_device(io.device as usize);
        if pool.nodes[node].journal_line.length > 0 || !pool.has_room(node, io.bytes) {
            pool.nodes[node].journal_line.push(&mut self.io.ios, id);
            return;
        }
        pool.nodes[node].pending += u64::from(io.bytes);
        if let Some(disk) = pool.flash_of(node, io.device as usize) {
            self.queue_on_disk(disk, id, false);
        }
    }

    /// A write has left a journal: room for those that wait.
    fn leave_journal(&mut self, index: usize, node: usize, bytes: u32) {
        self.pools[index].nodes[node].pending -= u64::from(bytes);
        loop {
            let pool = &mut self.pools[index];
            let Some(first) = pool.nodes[node].journal_line.first() else {
                return;
            };
            let io = self.io.ios[first as usize];
            if !pool.has_room(node, io.bytes) {
                return;
            }
            pool.nodes[node].journal_line.pop(&self.io.ios);
            pool.nodes[node].pending += u64::from(io.bytes);
            if let Some(disk) = pool.flash_of(node, io.device as usize) {
                self.queue_on_disk(disk, first, false);
            }
        }
    }

    /// What waits for a journal's room is given up.
    pub fn drop_journal_line(&mut self, index: usize, node: usize) -> Vec<IoId> {
        let line = &mut self.pools[index].nodes[node].journal_line;
        std::iter::from_fn(|| line.pop(&self.io.ios)).collect()
    }

    // ---- back

    /// A device or journal of a pool is done with an operation.
    pub fn pool_disk_done(&mut self, index: usize, id: IoId) {
        let io = self.io.ios[id as usize];
        let pool = &self.pools[index];
        let flash = pool.is_flash(io.disk);
        match io.role {
            Role::Destage => {
                let node = pool.node_of_device(io.device as usize);
                self.io.free.push(id);
                self.leave_journal(index, node, io.bytes);
                return;
            }
            Role::Leg if flash && !io.write => {
                self.leg_back(id);
                return;
            }
            _ => {}
        }
        let device = io.device as usize;
        if flash && io.write {
            // what is in the journal reaches the device, if that is still there
            let destage = self.io.part_of(id, Role::Destage);
            self.io.ios[destage as usize].parent = NONE;
            let disk = pool.devices.start + device;
            if self.io.disks[disk].failed {
                let node = pool.node_of_device(device);
                self.io.free.push(destage);
                self.leave_journal(index, node, io.bytes);
            } else {
                self.queue_on_disk(disk, destage, true);
            }
        }
        if !self.pools[index].states[device].available {
            self.fail_operation(index, id);
            return;
        }
        match io.role {
            Role::Rebuild => self.rebuilt(index, id),
            Role::RebuildRead => self.send_rebuild_part(index, id),
            _ => self.answer(index, id),
        }
    }

    /// The answer of a leg goes back to the client: data that were read, or that a write is done, by the way it came.
    fn answer(&mut self, index: usize, id: IoId) {
        let io = self.io.ios[id as usize];
        let node = self.pools[index].host_of(io.device);
        let client = self.vms[io.vm as usize].host;
        let mut at = self.clock.now;
        if !io.write {
            at = self.transmit(node, client, u64::from(io.bytes));
        }
        self.step(id, Step::Back, at + io.back_ns);
    }

    /// The answer of a leg is back.
    pub fn leg_back(&mut self, id: IoId) {
        let io = self.io.ios[id as usize];
        let index = self.pool_of(id);
        if io.write {
            self.pools[index].count.written += u64::from(io.bytes);
            self.io.ios[io.parent as usize].sent += u64::from(io.bytes);
        }
        self.end_leg(index, id);
    }

    fn end_leg(&mut self, index: usize, id: IoId) {
        let parent = self.io.ios[id as usize].parent;
        self.io.free.push(id);
        if self.part_done(parent) {
            self.all_legs_done(index, parent);
        }
    }

    fn all_legs_done(&mut self, index: usize, id: IoId) {
        let io = self.io.ios[id as usize];
        let pool = &mut self.pools[index];
        if io.failed {
            pool.count.retries += 1;
            pool.count.wasted += io.sent;
            self.io.ios[id as usize].sent = 0;
            let at = self.clock.now + pool.timeout_ns;
            self.step(id, Step::Retry, at);
            return;
        }
        if io.write && !io.writing {
            // while it read, what it writes to may have gone
            if pool.degraded > 0 && pool.whole(io.group as usize) < pool.minimum {
                self.attempt(index, id);
            } else if let Redundancy::Erasure { data, .. } = pool.redundancy {
                self.write_touched(index, id, data as usize);
            }
            return;
        }
        pool.count.client[usize::from(io.write)] += u64::from(io.bytes);
        self.io.ios[id as usize].sent = 0;
        self.complete(id);
    }

    /// A leg has come to nothing, and with it those that its node would have sent on.
    fn fail_leg(&mut self, index: usize, id: IoId) {
        let mut next = id;
        while next != NONE {
            let leg = self.io.ios[next as usize];
            self.io.ios[leg.parent as usize].failed = true;
            self.end_leg(index, next);
            next = leg.chain;
        }
    }

    /// An operation that a node or a device had at hand has come to nothing.
    pub fn fail_operation(&mut self, index: usize, id: IoId) {
        let io = self.io.ios[id as usize];
        match io.role {
            Role::Leg => self.fail_leg(index, id),
            Role::Destage => {
                let node = self.pools[index].node_of_device(io.device as usize);
                self.io.free.push(id);
                self.leave_journal(index, node, io.bytes);
            }
            Role::Rebuild => self.stop_rebuilding(index, id),
            Role::RebuildRead => {
                self.io.ios[io.parent as usize].failed = true;
                self.rebuild_part_arrived(index, id);
            }
            Role::Request | Role::Operation => {}
        }
    }

    /// An I/O is tried again, or a piece of rebuilding may begin.
    pub fn retry(&mut self, id: IoId) {
        let index = self.pool_of(id);
        match self.io.ios[id as usize].role {
            Role::Rebuild => self.begin_rebuild(index, id),
            _ => self.attempt(index, id),
        }
    }

    /// I/Os that were suspended are tried again.
    pub fn resume_suspended(&mut self, index: usize) {
        let mut line = std::mem::take(&mut self.pools[index].suspended);
        while let Some(id) = line.pop(&self.io.ios) {
            self.attempt(index, id);
        }
    }

    /// The pool that a record belongs to.
    fn pool_of(&self, id: IoId) -> usize {
        let io = &self.io.ios[id as usize];
        if io.vm == NONE {
            return io.owner.index();
        }
        match self.io.vdisks[io.vdisk as usize].target {
            Target::Pool { pool, .. } => pool as usize,
            Target::Array { .. } => 0,
        }
    }
}

impl Pool {
    /// All members of a group, beginning with one of them.
    fn in_turn(&self, first: u8) -> impl Iterator<Item = usize> + use<> {
        let (first, width) = (usize::from(first), self.width);
        (0..width).map(move |step| (first + step) % width)
    }

    /// Host of a device.
    pub fn host_of(&self, device: u32) -> usize {
        self.nodes[self.node_of_device(device as usize)].host
    }

    /// The flash disk that is the journal of a device.
    fn flash_of(&self, node: usize, device: usize) -> Option<usize> {
        let flash = self.flash.as_ref()?;
        Some(flash.disks.start + node * flash.per_node + device % flash.per_node)
    }

    /// The flash disk that caches for machines on a host.
    fn cache_of(&self, host: usize, key: u64) -> Option<usize> {
        let flash = self.flash.as_ref()?;
        let node = self.node_of[host]? as usize;
        Some(flash.disks.start + node * flash.per_node + key as usize % flash.per_node)
    }

    fn has_room(&self, node: usize, bytes: u32) -> bool {
        let pending = self.nodes[node].pending;
        let journal = self.flash.as_ref().map_or(0, |flash| flash.journal);
        pending == 0 || pending + u64::from(bytes) <= journal
    }

    /// Probability that a random read of a machine on `host` hits the node's cache, by all working sets there.
    pub fn cached(&self, host: usize, working_sets: u64) -> f64 {
        match (&self.flash, self.node_of[host]) {
            (Some(flash), Some(_)) => hypertwin_models::storage::array::hit_ratio(flash.read_cache, working_sets),
            _ => 0.0,
        }
    }
}

fn pool_journal(pool: &Pool) -> Option<u64> {
    pool.flash
        .as_ref()
        .map(|flash| flash.journal)
        .filter(|journal| *journal > 0)
}

/// A number that is as good as random for every pair, and always the same for it (the finalizer of MurmurHash3).
fn mix(one: u64, other: u64) -> u64 {
    let mut bits = one.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ other;
    bits = (bits ^ bits >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits = (bits ^ bits >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ bits >> 33
}
