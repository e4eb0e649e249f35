//! A set of small integers (logical CPUs, cores, vCPUs) as a bit set, with the searches that schedulers need.

/// Bit set over `0..capacity`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuSet {
    words: Vec<u64>,
}

impl CpuSet {
    /// An empty set that can hold `0..capacity`.
    pub fn new(capacity: usize) -> Self {
        Self {
            words: vec![0; capacity.div_ceil(64)],
        }
    }

    /// The set `0..capacity`.
    pub fn full(capacity: usize) -> Self {
        let mut set = Self::new(capacity);
        (0..capacity).for_each(|i| set.insert(i));
        set
    }

    /// Adds `i`.
    #[inline]
    pub fn insert(&mut self, i: usize) {
        self.words[i / 64] |= 1 << (i % 64);
    }

    /// Removes `i`.
    #[inline]
    pub fn remove(&mut self, i: usize) {
        self.words[i / 64] &= !(1 << (i % 64));
    }

    /// Whether `i` is a member.
    #[inline]
    pub fn contains(&self, i: usize) -> bool {
        self.words.get(i / 64).is_some_and(|word| word >> (i % 64) & 1 == 1)
    }

    /// Whether there is no member.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The smallest member of `from..to`.
    #[inline]
    pub fn first_in(&self, from: usize, to: usize) -> Option<usize> {
        let mut index = from / 64;
        let mut mask = u64::MAX << (from % 64);
        while index < self.words.len() && index * 64 < to {
            let word = self.words[index] & mask;
            if word != 0 {
                let found = index * 64 + word.trailing_zeros() as usize;
                return (found < to).then_some(found);
            }
            mask = u64::MAX;
            index += 1;
        }
        None
    }

    /// The first member at or after `from`, searching round to the beginning.
    pub fn first_round(&self, from: usize) -> Option<usize> {
        let end = self.words.len() * 64;
        self.first_in(from, end).or_else(|| self.first_in(0, from))
    }

    /// The members, smallest first.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let end = self.words.len() * 64;
        let mut next = 0;
        std::iter::from_fn(move || {
            let found = self.first_in(next, end)?;
            next = found + 1;
            Some(found)
        })
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(members: I) -> Self {
        let members: Vec<usize> = members.into_iter().collect();
        let mut set = Self::new(members.iter().max().map_or(0, |max| max + 1));
        members.into_iter().for_each(|i| set.insert(i));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_within_a_range_and_round_the_end() {
        let set: CpuSet = [3, 64, 130].into_iter().collect();
        assert_eq!(set.first_in(0, 192), Some(3));
        assert_eq!(set.first_in(4, 64), None);
        assert_eq!(set.first_in(4, 65), Some(64));
        assert_eq!(set.first_round(131), Some(3));
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 64, 130]);
        assert_eq!((set.len(), set.contains(64), set.contains(1000)), (3, true, false));
    }
}
