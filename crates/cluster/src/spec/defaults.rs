//! Defaults that several types share, as `serde` wants them: functions.

use crate::quantity::Bytes;

pub(super) fn one() -> u32 {
    1
}

pub(super) fn two() -> u32 {
    2
}

pub(super) fn yes() -> bool {
    true
}

pub(super) fn one_f64() -> f64 {
    1.0
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde calls it
pub(super) fn is_one_f64(value: &f64) -> bool {
    *value == 1.0
}

pub(super) fn mebibyte() -> Bytes {
    Bytes::new(1 << 20)
}

/// True if the value equals its default.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
