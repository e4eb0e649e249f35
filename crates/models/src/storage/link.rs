//! A link in one direction: commands pass one after the other, in the order in which they come.
//!
//! **Mechanism.** A command occupies the link for its transfer, or for the least time that the port needs for any
//! command, whichever is longer: ports overlap the two. A first-come-first-served server whose service times are known
//! on arrival needs no event: the departure follows from when the link is free.
//!
//! Connections share a port ([`SharedLink`]) segment by segment. A command of at most one segment waits for others like
//! it, and of longer ones for the segment on its way. While longer ones wait, short ones have half of the link.
//!
//! **Source.** A segment is what TCP hands to a port at once, at most 64 KiB (`GSO_LEGACY_MAX_SIZE` of Linux).
//!
//! **Assumptions.** No loss and no retransmission; bandwidth is payload, after the coding and headers of the wire. A
//! short command is of another connection than the longer ones that it passes. Frames of Fibre Channel take turns
//! likewise. A longer command on its way is not held up by shorter ones that come later, but the next one is.

/// One direction of a port.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    bytes_per_ns: f64,
    command_ns: u64,
    free_at_ns: u64,
    /// Service given, unfinished work included.
    busy_ns: u64,
}

impl Link {
    /// A link with this payload bandwidth, which any command occupies for `command_ns` at least.
    pub fn new(bytes_per_s: f64, command_ns: u64) -> Self {
        Self {
            bytes_per_ns: bytes_per_s / 1e9,
            command_ns,
            free_at_ns: 0,
            busy_ns: 0,
        }
    }

    fn transfer_ns(&self, bytes: u64) -> u64 {
        (bytes as f64 / self.bytes_per_ns).ceil() as u64
    }

    /// A command of `bytes` comes at `now_ns`: how long it waits, and when it has passed.
    pub fn pass(&mut self, now_ns: u64, bytes: u64) -> (u64, u64) {
        self.occupy(now_ns, self.transfer_ns(bytes))
    }

    /// A command that takes `service_ns` comes at `now_ns`: how long it waits, and when it has passed.
    pub fn occupy(&mut self, now_ns: u64, service_ns: u64) -> (u64, u64) {
        let service_ns = self.command_ns.max(service_ns);
        let start_ns = self.free_at_ns.max(now_ns);
        self.free_at_ns = start_ns + service_ns;
        self.busy_ns += service_ns;
        (start_ns - now_ns, self.free_at_ns)
    }

    /// Time that it was busy since the last reset.
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        self.busy_ns - self.left_ns(now_ns)
    }

    /// Counts busy time from `now_ns`.
    pub fn reset(&mut self, now_ns: u64) {
        self.busy_ns = self.left_ns(now_ns);
    }

    /// Service that is not given yet, at most: it may begin later than `now_ns`.
    fn left_ns(&self, now_ns: u64) -> u64 {
        self.busy_ns.min(self.free_at_ns.saturating_sub(now_ns))
    }
}

/// A link that connections share segment by segment.
#[derive(Clone, Copy, Debug)]
pub struct SharedLink {
    link: Link,
    /// When it has passed all commands of one segment.
    short_free_at_ns: u64,
}

/// Bytes of a segment.
const SEGMENT: u64 = 64 << 10;

impl SharedLink {
    /// As [`Link::new`].
    pub fn new(bytes_per_s: f64, command_ns: u64) -> Self {
        Self {
            link: Link::new(bytes_per_s, command_ns),
            short_free_at_ns: 0,
        }
    }

    /// A command of `bytes` comes at `now_ns`: how long it waits, and when it has passed.
    #[inline]
    pub fn pass(&mut self, now_ns: u64, bytes: u64) -> (u64, u64) {
        let behind_ns = self.link.free_at_ns;
        let (wait_ns, end_ns) = self.link.pass(now_ns, bytes);
        if bytes > SEGMENT {
            return (wait_ns, end_ns);
        }
        if behind_ns <= self.short_free_at_ns.max(now_ns) {
            self.short_free_at_ns = end_ns;
            return (wait_ns, end_ns);
        }
        // in turn with the segments of longer ones, which have the other half of the link
        let on_its_way_ns = now_ns + self.link.transfer_ns(SEGMENT);
        let service_ns = end_ns - now_ns - wait_ns;
        let start_ns = self.short_free_at_ns.max(on_its_way_ns).min(behind_ns);
        self.short_free_at_ns = (start_ns + 2 * service_ns).min(end_ns);
        (start_ns - now_ns, start_ns + service_ns)
    }

    /// As [`Link::busy_ns`].
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        self.link.busy_ns(now_ns)
    }

    /// As [`Link::reset`].
    pub fn reset(&mut self, now_ns: u64) {
        self.link.reset(now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::{Link, SEGMENT, SharedLink};

    /// 1 GB/s: 65.536 us for a segment.
    #[test]
    fn short_commands_pass_between_the_segments_of_a_long_one() {
        let mut link = SharedLink::new(1e9, 0);
        assert_eq!(link.pass(0, 8_000_000), (0, 8_000_000));
        assert_eq!(link.pass(1_000, 4_000), (SEGMENT, 1_000 + SEGMENT + 4_000));
        // behind the first of its kind and a turn of the other, and when that ends anyhow
        assert_eq!(link.pass(1_000, 4_000).1, 1_000 + SEGMENT + 12_000);
        assert_eq!(link.pass(7_990_000, 4_000).0, 18_000, "8 ms, and what the two took");
        // all that was sent has passed before the next long one begins
        assert_eq!(link.pass(7_990_000, 1_000_000).1, 9_012_000);
        assert_eq!(link.busy_ns(10_000_000), 9_012_000);
        // alone they pass as they come
        assert_eq!(link.pass(10_000_000, SEGMENT), (0, 10_000_000 + SEGMENT));
        assert_eq!(link.pass(10_000_000, 1_000).0, SEGMENT);
    }

    /// A closed loop of short commands that would fill the link, beside one of long ones: half for each, and no more
    /// than there is.
    #[test]
    fn neither_short_nor_long_commands_starve() {
        let mut link = SharedLink::new(1e9, 0);
        let mut next: Vec<(u64, u64)> = vec![(0, 1 << 20); 8];
        next.extend([(0, SEGMENT); 64]);
        let (mut passed, end_ns) = ([0_u64; 2], 2_000_000_000);
        while let Some((index, &(now_ns, bytes))) = next.iter().enumerate().min_by_key(|(_, (at, _))| *at)
            && now_ns < end_ns
        {
            let (_, end) = link.pass(now_ns, bytes);
            next[index].0 = end;
            passed[usize::from(bytes == SEGMENT)] += if end < end_ns { bytes } else { 0 };
        }
        let parts = passed.map(|bytes| bytes as f64 / 2e9);
        assert!(parts.iter().all(|part| (0.48..0.52).contains(part)), "{parts:?}");
        // but for what was on its way at the end
        assert!(
            parts.iter().sum::<f64>() < 1.0 + 8.0 * f64::from(1 << 20) / 2e9,
            "{parts:?}"
        );
    }

    #[test]
    fn commands_pass_one_after_the_other() {
        let mut link = Link::new(1e9, 5_000);
        assert_eq!(link.pass(0, 8_000), (0, 8_000));
        assert_eq!(link.pass(1_000, 8_000), (7_000, 16_000));
        assert_eq!(
            link.pass(20_000, 512),
            (0, 25_000),
            "a small command takes the port's least time"
        );
        assert_eq!(link.busy_ns(22_000), 18_000);
        link.reset(22_000);
        assert_eq!(link.busy_ns(25_000), 3_000);
        link.occupy(40_000, 5_000);
        assert!(
            link.busy_ns(30_000) <= 3_000,
            "a command that has not come yet is no busy time"
        );
        assert_eq!(link.busy_ns(45_000), 8_000);
    }
}
