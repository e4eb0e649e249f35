//! Quantities with units: `30 us`, `2.5 GHz`, `256 GiB`, `120 /s`.
//!
//! Each is a newtype over one base unit. Text is parsed as an exact decimal: `0.1 s` is 100,000,000 ns, not its binary
//! neighbour. It is written in one canonical form that parses to the same value.

use std::fmt;
use std::str::FromStr;

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text does not begin with a decimal number.
    #[error("does not begin with a number")]
    NoNumber,
    /// A number without a unit.
    #[error("has no unit")]
    NoUnit,
    /// The text after the number is not a unit of this quantity.
    #[error("has the unknown unit {0:?}")]
    UnknownUnit(String),
    /// Below zero.
    #[error("is negative")]
    Negative,
    /// More than the base unit can count.
    #[error("is too large")]
    TooLarge,
    /// Not zero, and less than half of the base unit.
    #[error("is smaller than the resolution")]
    TooFine,
}

/// Splits `"2.5e3 GHz"` into the number and the unit.
fn split(text: &str) -> Result<(&str, &str), QuantityError> {
    let text = text.trim();
    if text.starts_with('-') {
        return Err(QuantityError::Negative);
    }
    let bytes = text.as_bytes();
    let digits = |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut end = digits(0);
    if end == 0 {
        return Err(QuantityError::NoNumber);
    }
    if bytes.get(end) == Some(&b'.') && digits(end + 1) > end + 1 {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if sign <= bytes.len() && digits(sign) > sign {
            end = digits(sign);
        }
    }
    let (number, unit) = text.split_at(end);
    Ok((number, unit.trim_start()))
}

/// The number as an exact decimal.
fn decimal(number: &str) -> Result<Decimal, QuantityError> {
    let parsed = if number.contains(['e', 'E']) {
        Decimal::from_scientific(number).ok()
    } else {
        Decimal::from_str(number).ok()
    };
    match parsed {
        Some(value) => Ok(value),
        // Outside 28 digits: decide by magnitude which of the two ways it fails.
        None => match number.parse::<f64>() {
            Ok(value) if value < 1.0 => Err(QuantityError::TooFine),
            _ => Err(QuantityError::TooLarge),
        },
    }
}

/// Parses `text` with `units` (name, base units in one) into a whole number of base units.
fn parse_whole(text: &str, units: &[(&str, u64)]) -> Result<u64, QuantityError> {
    let (number, unit) = split(text)?;
    let value = decimal(number)?;
    if unit.is_empty() {
        return if value.is_zero() {
            Ok(0)
        } else {
            Err(QuantityError::NoUnit)
        };
    }
    let factor = units
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(|| QuantityError::UnknownUnit(unit.to_owned()))?
        .1;
    let base = value
        .checked_mul(Decimal::from(factor))
        .ok_or(QuantityError::TooLarge)?;
    let whole = base.round().to_u64().ok_or(QuantityError::TooLarge)?;
    if whole == 0 && !value.is_zero() {
        return Err(QuantityError::TooFine);
    }
    Ok(whole)
}

/// Writes `value` base units exactly, in the largest of `units` (descending) that is not larger than the value.
fn write_decimal(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let (name, factor) = units
        .iter()
        .find(|(_, factor)| value >= *factor)
        .or(if value == 0 { units.first() } else { units.last() })
        .expect("a quantity has units");
    let whole = value / factor;
    let digits = factor.ilog10() as usize;
    let fraction = format!("{:0digits$}", value % factor);
    let fraction = fraction.trim_end_matches('0');
    match (digits, fraction) {
        (0, _) | (_, "") => write!(f, "{whole} {name}"),
        _ => write!(f, "{whole}.{fraction} {name}"),
    }
}

/// Serde, schema and text of one quantity.
macro_rules! quantity {
    ($name:ident, $kind:literal, $units:literal, $example:literal, $description:literal) => {
        impl $name {
            /// The schema keyword's name for this quantity.
            pub(crate) const KIND: &'static str = $kind;
            /// A well-formed example, for messages.
            pub(crate) const EXAMPLE: &'static str = $example;
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct TextOrZero;
                impl Visitor<'_> for TextOrZero {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        write!(f, concat!("text such as \"", $example, "\", or 0"))
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(|e| E::custom(format_args!("{text:?} {e}")))
                    }
                    fn visit_u64<E: de::Error>(self, value: u64) -> Result<$name, E> {
                        if value == 0 {
                            Ok($name::default())
                        } else {
                            Err(E::custom(format_args!("{value} {}", QuantityError::NoUnit)))
                        }
                    }
                    fn visit_i64<E: de::Error>(self, value: i64) -> Result<$name, E> {
                        self.visit_u64(value.unsigned_abs())
                    }
                }
                deserializer.deserialize_any(TextOrZero)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let units = $units.replace(", ", "|");
                json_schema!({
                    "type": ["string", "integer"],
                    "description": $description,
                    "pattern": format!("^\\s*(0+(\\.0+)?([eE][+-]?[0-9]+)?|[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]+)?\\s*({units}))\\s*$"),
                    "minimum": 0,
                    "maximum": 0,
                    "examples": [$example],
                    "x-quantity": $kind,
                })
            }
        }
    };
}

/// A length of time, in whole nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

const DURATION_UNITS: [(&str, u64); 9] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];
const DURATION_OUT: [(&str, u64); 4] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

impl Duration {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// `seconds` whole seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * 1_000_000_000)
    }

    /// Nanoseconds.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Seconds, as the nearest binary fraction.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Whether this is no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl FromStr for Duration {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse_whole(text, &DURATION_UNITS).map(Self)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_decimal(f, self.0, &DURATION_OUT)
    }
}

quantity!(
    Duration,
    "duration",
    "ns, us, \u{b5}s, \u{3bc}s, ms, s, min, h, d",
    "20 ms",
    "A length of time: a number and one of ns, us, ms, s, min, h, d; kept in whole nanoseconds. A bare 0 needs no unit."
);

/// A clock frequency or an amount of CPU per second, in whole hertz.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frequency(u64);

const FREQUENCY_UNITS: [(&str, u64); 5] = [
    ("THz", 1_000_000_000_000),
    ("GHz", 1_000_000_000),
    ("MHz", 1_000_000),
    ("kHz", 1_000),
    ("Hz", 1),
];
const FREQUENCY_OUT: [(&str, u64); 4] = [("GHz", 1_000_000_000), ("MHz", 1_000_000), ("kHz", 1_000), ("Hz", 1)];

impl Frequency {
    /// No cycles at all.
    pub const ZERO: Self = Self(0);

    /// `hz` hertz.
    pub const fn from_hz(hz: u64) -> Self {
        Self(hz)
    }

    /// `mhz` whole megahertz.
    pub const fn from_mhz(mhz: u64) -> Self {
        Self(mhz * 1_000_000)
    }

    /// Hertz.
    pub fn hz(self) -> f64 {
        self.0 as f64
    }

    /// Hertz as the whole number it is kept as.
    pub const fn whole_hz(self) -> u64 {
        self.0
    }

    /// Megahertz.
    pub fn mhz(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl FromStr for Frequency {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse_whole(text, &FREQUENCY_UNITS).map(Self)
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_decimal(f, self.0, &FREQUENCY_OUT)
    }
}

quantity!(
    Frequency,
    "frequency",
    "Hz, kHz, MHz, GHz, THz",
    "2.5 GHz",
    "A clock frequency, or CPU cycles per second: a number and one of Hz, kHz, MHz, GHz, THz. A bare 0 needs no unit."
);

/// An amount of memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

const BYTES_UNITS: [(&str, u64); 11] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("PiB", 1 << 50),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
];

impl Bytes {
    /// `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// `gib` times 2^30 bytes.
    pub const fn from_gib(gib: u64) -> Self {
        Self(gib << 30)
    }

    /// Bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse_whole(text, &BYTES_UNITS).map(Self)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
        // The largest binary unit that divides the amount, so that the number is whole.
        let step = if self.0 == 0 {
            0
        } else {
            (self.0.trailing_zeros() / 10).min(5)
        };
        write!(f, "{} {}", self.0 >> (10 * step), NAMES[step as usize])
    }
}

quantity!(
    Bytes,
    "bytes",
    "B, KiB, MiB, GiB, TiB, PiB, kB, MB, GB, TB, PB",
    "64 GiB",
    "An amount of memory: a number and one of B, KiB, MiB, GiB, TiB, PiB (powers of 1,024) or kB, MB, GB, TB, PB \
     (powers of 1,000). A bare 0 needs no unit."
);

/// An amount of data per second, in bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bandwidth(u64);

const BANDWIDTH_UNITS: [(&str, u64); 12] = [
    ("B/s", 1),
    ("kB/s", 1_000),
    ("MB/s", 1_000_000),
    ("GB/s", 1_000_000_000),
    ("TB/s", 1_000_000_000_000),
    ("KiB/s", 1 << 10),
    ("MiB/s", 1 << 20),
    ("GiB/s", 1 << 30),
    ("kb/s", 125),
    ("Mb/s", 125_000),
    ("Gb/s", 125_000_000),
    ("Tb/s", 125_000_000_000),
];
const BANDWIDTH_OUT: [(&str, u64); 4] = [
    ("GB/s", 1_000_000_000),
    ("MB/s", 1_000_000),
    ("kB/s", 1_000),
    ("B/s", 1),
];

impl Bandwidth {
    /// No data at all.
    pub const ZERO: Self = Self(0);

    /// `bytes` bytes per second.
    pub const fn from_bytes_per_s(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Bytes per second.
    pub const fn bytes_per_s(self) -> f64 {
        self.0 as f64
    }
}

impl FromStr for Bandwidth {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse_whole(text, &BANDWIDTH_UNITS).map(Self)
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_decimal(f, self.0, &BANDWIDTH_OUT)
    }
}

quantity!(
    Bandwidth,
    "bandwidth",
    "B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, kb/s, Mb/s, Gb/s, Tb/s",
    "40 GB/s",
    "An amount of data per second: a number and one of B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, or in bits kb/s, \
     Mb/s, Gb/s, Tb/s. A bare 0 needs no unit."
);

/// How often something happens, per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// `per_second` times a second; not negative and finite.
    pub fn new(per_second: f64) -> Option<Self> {
        (per_second >= 0.0 && per_second.is_finite()).then_some(Self(per_second))
    }

    /// Times per second.
    pub const fn per_second(self) -> f64 {
        self.0
    }
}

impl FromStr for Rate {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let (number, unit) = split(text)?;
        let value: f64 = number.parse().map_err(|_| QuantityError::NoNumber)?;
        let seconds = match unit {
            "/s" => 1.0,
            "/min" => 60.0,
            "/h" => 3600.0,
            "" if value == 0.0 => return Ok(Self(0.0)),
            "" => return Err(QuantityError::NoUnit),
            _ => return Err(QuantityError::UnknownUnit(unit.to_owned())),
        };
        Self::new(value / seconds).ok_or(QuantityError::TooLarge)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} /s", self.0)
    }
}

quantity!(
    Rate,
    "rate",
    "/s, /min, /h",
    "120 /s",
    "How often something happens: a number and one of /s, /min, /h. A bare 0 needs no unit."
);

/// Every kind of quantity. No unit belongs to two of them.
pub(crate) const KINDS: [&str; 5] = [
    Duration::KIND,
    Frequency::KIND,
    Bytes::KIND,
    Bandwidth::KIND,
    Rate::KIND,
];

/// The text of a quantity of `kind` as a number of base units, for comparisons; `None` for an unknown kind.
pub(crate) fn base_units(kind: &str, text: &str) -> Option<Result<f64, QuantityError>> {
    Some(match kind {
        Duration::KIND => text.parse::<Duration>().map(|d| d.nanos() as f64),
        Frequency::KIND => text.parse::<Frequency>().map(Frequency::hz),
        Bytes::KIND => text.parse::<Bytes>().map(|b| b.bytes() as f64),
        Bandwidth::KIND => text.parse::<Bandwidth>().map(Bandwidth::bytes_per_s),
        Rate::KIND => text.parse::<Rate>().map(Rate::per_second),
        _ => return None,
    })
}

/// Unit names (without the other spellings of us) and an example of `kind`, for messages.
pub(crate) fn units_of(kind: &str) -> (&'static str, &'static str) {
    match kind {
        Duration::KIND => ("ns, us, ms, s, min, h, d", Duration::EXAMPLE),
        Frequency::KIND => ("Hz, kHz, MHz, GHz, THz", Frequency::EXAMPLE),
        Bytes::KIND => ("B, KiB, MiB, GiB, TiB, PiB, kB, MB, GB, TB, PB", Bytes::EXAMPLE),
        Bandwidth::KIND => (
            "B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, kb/s, Mb/s, Gb/s, Tb/s",
            Bandwidth::EXAMPLE,
        ),
        _ => ("/s, /min, /h", Rate::EXAMPLE),
    }
}

/// The kind of quantity that has this unit.
pub(crate) fn kind_of_unit(unit: &str) -> Option<&'static str> {
    KINDS
        .into_iter()
        .find(|kind| units_of(kind).0.split(", ").any(|known| known == unit))
}

/// The one kind of quantity whose units `text` uses, and its value.
pub(crate) fn kind_and_value(text: &str) -> Option<(&'static str, f64)> {
    KINDS
        .into_iter()
        .find_map(|kind| Some((kind, base_units(kind, text)?.ok()?)))
}
