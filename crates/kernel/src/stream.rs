//! Named random streams.
//!
//! Every entity of a model that needs randomness owns a stream with a name of its own. What a stream gives depends on
//! the seed and its name only, so adding an entity never changes the numbers another one sees (common random numbers).

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// One random stream: the generator xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number
/// generators", ACM TOMS 47(4), 2021), seeded from a seed and a name.
///
/// Seeding, which is part of the contract and never changes within a version: the name's UTF-8 bytes go through 64-bit
/// FNV-1a; key = mix(mix(seed) xor hash), where mix is the output function of SplitMix64 after one step; the four state
/// words are the next four outputs of a SplitMix64 generator that starts at the key (the seeding the authors of xoshiro
/// advise).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    generator: Xoshiro256PlusPlus,
}

const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// One step of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) from `state`.
const fn split_mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(GOLDEN_GAMMA);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// 64-bit FNV-1a of `bytes`.
const fn fnv1a(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        i += 1;
    }
    hash
}

/// The seed of replication number `replication` (0, 1, 2 ...) of an experiment with seed `seed`.
///
/// Replication 0 does not use `seed` itself, so that two experiments with neighbouring seeds share no replication.
#[must_use]
pub const fn replication_seed(seed: u64, replication: u64) -> u64 {
    split_mix(split_mix(seed) ^ replication.wrapping_mul(GOLDEN_GAMMA))
}

impl Stream {
    /// The stream called `name` of the run with seed `seed`.
    #[must_use]
    pub fn named(seed: u64, name: &str) -> Self {
        let key = split_mix(split_mix(seed) ^ fnv1a(name.as_bytes()));
        let mut state = [0; 32];
        for (word, bytes) in state.chunks_exact_mut(8).enumerate() {
            bytes.copy_from_slice(&split_mix(key.wrapping_add(GOLDEN_GAMMA.wrapping_mul(word as u64))).to_le_bytes());
        }
        Self {
            generator: Xoshiro256PlusPlus::from_seed(state),
        }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// A number uniform on [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A whole number uniform on 0, 1, ... `n` - 1, without bias (Lemire, "Fast random integer generation in an
    /// interval", ACM TOMACS 29(1), 2019).
    ///
    /// # Panics
    /// When `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "a number below 0 does not exist");
        let mut product = u128::from(self.bits()) * u128::from(n);
        if (product as u64) < n {
            let threshold = n.wrapping_neg() % n;
            while (product as u64) < threshold {
                product = u128::from(self.bits()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }

    /// A standard normal number by the polar method (Marsaglia and Bray, SIAM Review 6(3), 1964).
    pub fn normal(&mut self) -> f64 {
        loop {
            let x = 2.0 * self.uniform() - 1.0;
            let y = 2.0 * self.uniform() - 1.0;
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
    }
}
