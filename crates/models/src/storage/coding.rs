//! Erasure coding: the CPU time that a core takes to encode, to rebuild and to update parity.
//!
//! **Mechanism.** Every coded fragment is a sum of products over the data fragments, so each byte of user data is read
//! once and multiplied once for every fragment computed: cycles per byte = a + b × outputs. Rebuilding is the same work
//! with the lost fragments as outputs. Stripes wider than memory's prefetching follows cost c more for each further
//! fragment that is read or written. A small overwrite takes the difference of old and new data and adds its part to
//! every parity: cycles per byte = a + b × parity.
//!
//! **Sources.** The form: the API reference of Intel ISA-L (`ec_encode_data`, `ec_encode_data_update`). The numbers:
//! the command `hypertwin lab erasure-coding` with fragments of 1 MiB in memory, ISA-L 2.30 (AVX-512) on an AMD EPYC of
//! family 25, model 17 (Zen 4), in a VM with a nominal clock of 2.596 GHz, on 2026-11-21. See
//! docs/models/erasure-coding.md for the figures themselves.
//!
//! **Validity.** Encoding and rebuilding of 3+1 to 17+3, each within 13 % of what was measured. Cycles are of the
//! nominal clock, and times scale with it, although part of the work waits for memory, which does not. A CPU with other
//! vector instructions should be measured.

/// Cycles for each byte of user data that is read.
const PER_BYTE: f64 = 0.1131;

/// Cycles for each byte of user data and each fragment computed from it.
const PER_OUTPUT: f64 = 0.0235;

/// Cycles for each byte of user data and each fragment, read or written, above `STREAMS`.
const PER_EXTRA_STREAM: f64 = 0.0142;

/// Fragments, read and written, that memory's prefetching follows at a time.
const STREAMS: u32 = 12;

/// Cycles for each byte overwritten, without parity.
const UPDATE_PER_BYTE: f64 = 0.5991;

/// Cycles for each byte overwritten and each parity.
const UPDATE_PER_PARITY: f64 = 0.0981;

/// CPU time to encode `bytes` of user data as stripes of `data` + `parity` fragments on a core of nominal clock `hz`,
/// in nanoseconds.
pub fn encode_ns(bytes: f64, data: u32, parity: u32, hz: f64) -> f64 {
    let extra = (data + parity).saturating_sub(STREAMS);
    let cycles = PER_BYTE + PER_OUTPUT * f64::from(parity) + PER_EXTRA_STREAM * f64::from(extra);
    time_ns(bytes, cycles, hz)
}

/// CPU time to rebuild `lost` fragments of stripes that hold `bytes` of user data, from `data` fragments that are left,
/// on a core of nominal clock `hz`, in nanoseconds. Each lost fragment is `bytes / data` long; nothing lost takes no
/// time.
pub fn decode_ns(bytes: f64, data: u32, lost: u32, hz: f64) -> f64 {
    if lost == 0 {
        return 0.0;
    }
    encode_ns(bytes, data, lost, hz)
}

/// CPU time to overwrite `bytes` of a data fragment and to update `parity` parities by the difference, on a core of
/// nominal clock `hz`, in nanoseconds.
pub fn update_ns(bytes: f64, parity: u32, hz: f64) -> f64 {
    time_ns(bytes, UPDATE_PER_BYTE + UPDATE_PER_PARITY * f64::from(parity), hz)
}

fn time_ns(bytes: f64, cycles_per_byte: f64, hz: f64) -> f64 {
    bytes * cycles_per_byte * 1e9 / hz
}

#[cfg(test)]
mod tests {
    use super::{decode_ns, encode_ns, update_ns};

    const MIB: f64 = 1024.0 * 1024.0;

    /// Nominal clock of the computer that was measured.
    const HZ: f64 = 2.596145e9;

    /// (data, parity, GB/s of user data encoded, rebuilt after one loss, after as many as parity, GB/s overwritten),
    /// in memory: docs/models/erasure-coding.md.
    const MEASURED: [(u32, u32, f64, f64, f64, f64); 7] = [
        (3, 1, 17.7, 17.8, 17.8, 3.9),
        (3, 2, 14.8, 18.2, 15.0, 3.2),
        (5, 2, 16.6, 21.3, 16.8, 3.2),
        (7, 2, 16.2, 19.4, 16.4, 3.3),
        (17, 3, 9.1, 12.1, 8.2, 3.0),
        (4, 2, 16.9, 20.1, 16.8, 3.2),
        (8, 3, 14.1, 19.6, 14.4, 2.9),
    ];

    fn gb_per_s(bytes: f64, ns: f64) -> f64 {
        bytes / ns
    }

    #[test]
    fn the_fit_meets_what_was_measured() {
        for (data, parity, encode, rebuild_one, rebuild_all, update) in MEASURED {
            for (what, fitted, measured, tolerance) in [
                ("encode", encode_ns(MIB, data, parity, HZ), encode, 0.115),
                ("rebuild 1", decode_ns(MIB, data, 1, HZ), rebuild_one, 0.115),
                ("rebuild all", decode_ns(MIB, data, parity, HZ), rebuild_all, 0.115),
                ("update", update_ns(MIB, parity, HZ), update, 0.055),
            ] {
                let error = gb_per_s(MIB, fitted) / measured - 1.0;
                assert!(error.abs() < tolerance, "{what} of {data}+{parity}: {error:+.3}");
            }
        }
    }

    #[test]
    fn wide_stripes_that_were_not_fitted_are_met_too() {
        // GB/s of user data encoded, same machine and day
        for (data, parity, measured) in [(10, 4, 10.5), (14, 2, 13.2), (20, 4, 8.5), (6, 3, 13.6), (12, 4, 9.4)] {
            let error = gb_per_s(MIB, encode_ns(MIB, data, parity, HZ)) / measured - 1.0;
            assert!(error.abs() < 0.205, "{data}+{parity}: {error:+.3}");
        }
    }

    #[test]
    fn time_goes_with_bytes_parity_and_clock() {
        let once = encode_ns(MIB, 3, 2, 2.0e9);
        assert!((encode_ns(8.0 * MIB, 3, 2, 2.0e9) / once - 8.0).abs() < 1e-12);
        assert!((encode_ns(MIB, 3, 2, 4.0e9) / once - 0.5).abs() < 1e-12);
        assert!(encode_ns(MIB, 3, 3, 2.0e9) > once);
        // within what prefetching follows, data fragments are free: they are the bytes
        assert_eq!(encode_ns(MIB, 8, 2, 2.0e9), once);
        assert!(update_ns(MIB, 2, 2.0e9) > update_ns(MIB, 1, 2.0e9));
    }

    #[test]
    fn a_rebuild_costs_what_it_computes() {
        assert_eq!(decode_ns(MIB, 3, 2, 2.0e9), encode_ns(MIB, 3, 2, 2.0e9));
        assert!(decode_ns(MIB, 3, 1, 2.0e9) < decode_ns(MIB, 3, 2, 2.0e9));
        assert_eq!(decode_ns(MIB, 3, 0, 2.0e9), 0.0);
        assert_eq!(encode_ns(0.0, 3, 2, 2.0e9), 0.0);
    }
}
