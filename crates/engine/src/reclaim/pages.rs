//! Where the pages of a VM are. Every page that it has touched is in one place.

/// Bytes of a page.
pub const PAGE: f64 = 4_096.0;

/// Whole pages of this number of bytes.
pub fn pages(bytes: f64) -> u64 {
    (bytes / PAGE) as u64
}

/// Where a page is that its host has no page of its own for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Away {
    /// Equal to another one, and read there.
    Shared,
    /// Given back by the guest, which has paged out what was in it.
    Ballooned,
    /// In half a page of the host's.
    Compressed,
    /// On the host's swap device.
    Swapped,
}

/// Pages by place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageCounts {
    /// Backed by memory of the host.
    pub granted: u64,
    /// See [`Away`].
    pub shared: u64,
    /// See [`Away`].
    pub ballooned: u64,
    /// See [`Away`].
    pub compressed: u64,
    /// See [`Away`].
    pub swapped: u64,
}

impl PageCounts {
    pub(crate) fn of(&mut self, away: Away) -> &mut u64 {
        match away {
            Away::Shared => &mut self.shared,
            Away::Ballooned => &mut self.ballooned,
            Away::Compressed => &mut self.compressed,
            Away::Swapped => &mut self.swapped,
        }
    }

    /// All that was touched.
    pub fn total(&self) -> u64 {
        self.granted + self.shared + self.ballooned + self.compressed + self.swapped
    }

    fn and(&self, other: &Self) -> Self {
        Self {
            granted: self.granted + other.granted,
            shared: self.shared + other.shared,
            ballooned: self.ballooned + other.ballooned,
            compressed: self.compressed + other.compressed,
            swapped: self.swapped + other.swapped,
        }
    }
}

/// Which pages are taken first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Those that are not in use.
    IdleFirst,
    /// Any.
    AtRandom,
}

/// The pages of a VM: those in use, and those that are not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pages {
    pub active: PageCounts,
    pub idle: PageCounts,
}

impl Pages {
    /// All granted.
    pub fn new(active: u64, idle: u64) -> Self {
        let granted = |granted| PageCounts {
            granted,
            ..PageCounts::default()
        };
        Self {
            active: granted(active),
            idle: granted(idle),
        }
    }

    pub fn all(&self) -> PageCounts {
        self.active.and(&self.idle)
    }

    /// Half pages of the host that they occupy.
    pub fn held(&self) -> u64 {
        let all = self.all();
        2 * all.granted + all.compressed
    }

    /// Whether any page in use has to be fetched when it is used.
    pub fn misses(&self) -> bool {
        self.active.ballooned + self.active.compressed + self.active.swapped > 0
    }

    /// Takes `count` granted pages away, or as many as there are; how many.
    pub fn take(&mut self, count: u64, order: Order, to: Away) -> u64 {
        let (active, idle) = (self.active.granted, self.idle.granted);
        let all = active + idle;
        let count = count.min(all);
        if count == 0 {
            return 0;
        }
        let from_idle = match order {
            Order::IdleFirst => count.min(idle),
            Order::AtRandom => {
                let share = (u128::from(count) * u128::from(idle) + u128::from(all / 2)) / u128::from(all);
                (share as u64).min(idle).min(count).max(count.saturating_sub(active))
            }
        };
        for (kind, moved) in [(&mut self.idle, from_idle), (&mut self.active, count - from_idle)] {
            kind.granted -= moved;
            *kind.of(to) += moved;
        }
        count
    }

    /// Gives `count` pages back, those in use first, or as many as there are; how many.
    pub fn give(&mut self, count: u64, from: Away) -> u64 {
        let mut left = count;
        for kind in [&mut self.active, &mut self.idle] {
            let moved = left.min(*kind.of(from));
            *kind.of(from) -= moved;
            kind.granted += moved;
            left -= moved;
        }
        count - left
    }

    /// A page in use is fetched; whether there is one.
    pub fn fetch(&mut self, from: Away) -> bool {
        let count = self.active.of(from);
        if *count == 0 {
            return false;
        }
        *count -= 1;
        self.active.granted += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Away, Order, Pages};

    #[test]
    fn no_page_is_lost_whatever_is_taken_and_given() {
        let mut pages = Pages::new(300, 700);
        assert_eq!(pages.take(100, Order::AtRandom, Away::Swapped), 100);
        assert_eq!((pages.active.swapped, pages.idle.swapped), (30, 70));
        assert_eq!(pages.take(700, Order::IdleFirst, Away::Ballooned), 700);
        assert_eq!((pages.active.ballooned, pages.idle.ballooned), (70, 630));
        assert_eq!(pages.take(50, Order::AtRandom, Away::Compressed), 50);
        assert_eq!(pages.held(), 2 * 150 + 50);
        assert!(pages.fetch(Away::Swapped) && pages.misses());
        assert_eq!(pages.give(100, Away::Ballooned), 100);
        assert_eq!((pages.active.ballooned, pages.idle.ballooned), (0, 600));
        assert_eq!(pages.take(1_000, Order::AtRandom, Away::Swapped), 251);
        assert_eq!((pages.all().granted, pages.all().total()), (0, 1_000));
        assert!(!Pages::new(0, 5).fetch(Away::Swapped));
    }
}
