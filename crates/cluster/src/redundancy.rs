//! Redundancy of distributed storage: whole replicas, or data and parity fragments.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};

use crate::mistake::{Mistake, show_text};

/// Code of a redundancy error.
const CODE: &str = "bad-redundancy";

/// Reasons why a text is not a redundancy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedundancyError {
    /// Neither `replicas-N`, `replicas-N:M` nor `ec-K+M`, in plain decimal numbers.
    #[error("does not have the form replicas-3, replicas-3:2 or ec-3+2")]
    Form,
    /// Too few or too many copies.
    #[error("has {0} replicas; allowed are 1 to {most}", most = Redundancy::MAX_COPIES)]
    Copies(u32),
    /// A minimum of no copies, or of more than there are.
    #[error("has a minimum of {minimum} replicas; allowed are 1 to {copies}")]
    Minimum {
        /// The copies.
        copies: u32,
        /// The minimum.
        minimum: u32,
    },
    /// Too few or too many data fragments.
    #[error("has {0} data fragments; allowed are 1 to {most}", most = Redundancy::MAX_DATA)]
    Data(u32),
    /// Too few or too many parity fragments.
    #[error("has {0} parity fragments; allowed are 1 to {most}", most = Redundancy::MAX_PARITY)]
    Parity(u32),
}

/// Spread of a piece of data over failure domains: `replicas-2`, `replicas-3:2` (replicas and the minimum for writes),
/// or `ec-3+2` (data and parity fragments; tolerates the loss of as many fragments as it has parity).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Redundancy {
    /// Whole replicas.
    Replicas {
        /// Replicas in normal operation, 1 to [`Redundancy::MAX_COPIES`].
        copies: u32,
        /// Writes stop below this number of replicas, 1 to `copies`. `replicas-3` means 1: writes continue while a
        /// replica is left.
        minimum: u32,
    },
    /// An erasure code of maximum distance (Reed-Solomon): any `data` fragments restore the whole.
    Erasure {
        /// Data fragments, 1 to [`Redundancy::MAX_DATA`].
        data: u32,
        /// Parity fragments, 1 to [`Redundancy::MAX_PARITY`].
        parity: u32,
    },
}

impl Redundancy {
    /// Maximum replicas.
    pub const MAX_COPIES: u32 = 8;
    /// Maximum data fragments.
    pub const MAX_DATA: u32 = 64;
    /// Maximum parity fragments.
    pub const MAX_PARITY: u32 = 16;

    /// Allowed values, in words.
    pub const ALLOWED: &str = "replicas-N or replicas-N:M with N replicas from 1 to 8 and a minimum M from 1 to N, ec-K+M \
        with K data fragments from 1 to 64 and M parity fragments from 1 to 16, or raid-1, raid-5 or raid-6";

    /// `copies` replicas, of which writes need `minimum`.
    ///
    /// # Errors
    /// A number out of its range.
    pub fn replicas(copies: u32, minimum: u32) -> Result<Self, RedundancyError> {
        if !(1..=Self::MAX_COPIES).contains(&copies) {
            return Err(RedundancyError::Copies(copies));
        }
        if !(1..=copies).contains(&minimum) {
            return Err(RedundancyError::Minimum { copies, minimum });
        }
        Ok(Self::Replicas { copies, minimum })
    }

    /// `data` data fragments with `parity` parity fragments.
    ///
    /// # Errors
    /// A number out of its range.
    pub fn erasure(data: u32, parity: u32) -> Result<Self, RedundancyError> {
        if !(1..=Self::MAX_DATA).contains(&data) {
            return Err(RedundancyError::Data(data));
        }
        if !(1..=Self::MAX_PARITY).contains(&parity) {
            return Err(RedundancyError::Parity(parity));
        }
        Ok(Self::Erasure { data, parity })
    }

    /// Reads a redundancy at `path`, for example the name of an argument. `3`, `3:2` and `17+3` are short for
    /// `replicas-3`, `replicas-3:2` and `ec-17+3`.
    ///
    /// # Errors
    /// The error there, with the code `bad-redundancy`.
    pub fn read(text: &str, path: &str) -> Result<Self, Mistake> {
        let text = &long_form(text.trim());
        text.parse().map_err(|error: RedundancyError| Mistake {
            code: CODE.to_owned(),
            path: path.to_owned(),
            value: show_text(text),
            allowed: Self::ALLOWED.to_owned(),
            hint: format!("it {error}"),
        })
    }

    /// Replicas or fragments of one piece of data, each in its own failure domain.
    pub const fn width(self) -> u32 {
        match self {
            Self::Replicas { copies, .. } => copies,
            Self::Erasure { data, parity } => data + parity,
        }
    }

    /// Replicas or fragments needed to read the data.
    pub const fn needed(self) -> u32 {
        match self {
            Self::Replicas { .. } => 1,
            Self::Erasure { data, .. } => data,
        }
    }

    /// Failures tolerated: replicas or fragments that can be lost without data loss.
    pub const fn survives(self) -> u32 {
        self.width() - self.needed()
    }

    /// Replicas or fragments needed to accept a write: the minimum of replicas, or all data fragments of an erasure
    /// code. (Some systems need one fragment more, like Ceph's `min_size`.)
    pub const fn minimum_available(self) -> u32 {
        match self {
            Self::Replicas { minimum, .. } => minimum,
            Self::Erasure { data, .. } => data,
        }
    }

    /// Raw bytes per byte of user data: writes to devices, and capacity used.
    pub fn amplification(self) -> f64 {
        f64::from(self.width()) / f64::from(self.needed())
    }
}

impl fmt::Display for Redundancy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replicas { copies, minimum: 1 } => write!(formatter, "replicas-{copies}"),
            Self::Replicas { copies, minimum } => write!(formatter, "replicas-{copies}:{minimum}"),
            Self::Erasure { data, parity } => write!(formatter, "ec-{data}+{parity}"),
        }
    }
}

impl FromStr for Redundancy {
    type Err = RedundancyError;

    fn from_str(text: &str) -> Result<Self, RedundancyError> {
        let text = RAID
            .iter()
            .find(|(name, _)| *name == text)
            .map_or(text, |(_, form)| form);
        if let Some(numbers) = text.strip_prefix("replicas-") {
            let (copies, minimum) = numbers.split_once(':').unwrap_or((numbers, "1"));
            Self::replicas(number(copies)?, number(minimum)?)
        } else if let Some((data, parity)) = text.strip_prefix("ec-").and_then(|numbers| numbers.split_once('+')) {
            Self::erasure(number(data)?, number(parity)?)
        } else {
            Err(RedundancyError::Form)
        }
    }
}

/// RAID levels of vSAN.
const RAID: [(&str, &str); 3] = [("raid-1", "replicas-2"), ("raid-5", "ec-3+1"), ("raid-6", "ec-4+2")];

/// `ec-17+3` for `17+3`, and `replicas-3:2` for `3:2`; other texts are unchanged.
fn long_form(text: &str) -> String {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let pair = |mark| {
        text.split_once(mark)
            .is_some_and(|(first, last)| digits(first) && digits(last))
    };
    match text {
        _ if pair('+') => format!("ec-{text}"),
        _ if pair(':') || digits(text) => format!("replicas-{text}"),
        _ => text.to_owned(),
    }
}

/// A decimal number without sign or leading zeros.
fn number(text: &str) -> Result<u32, RedundancyError> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if !plain {
        return Err(RedundancyError::Form);
    }
    text.parse().map_err(|_| RedundancyError::Form)
}

impl Serialize for Redundancy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Redundancy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map_err(|error| de::Error::custom(format!("{text:?} {error}")))
    }
}

impl JsonSchema for Redundancy {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Redundancy".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // Exactly the forms that `FromStr` accepts, so that the schema finds every error.
        let replicas: Vec<String> = (1..=Self::MAX_COPIES)
            .map(|copies| format!("{copies}(:[1-{copies}])?"))
            .collect();
        json_schema!({
            "type": "string",
            "description": "Spread of data over failure domains: replicas-N is N whole replicas, replicas-N:M \
                stops writes below M replicas (replicas-N: below 1), ec-K+M is K data and M parity fragments; raid-1, raid-5 and \
                raid-6 are replicas-2, ec-3+1 and ec-4+2.",
            "pattern": format!("^(replicas-({})|ec-([1-9]|[1-5][0-9]|6[0-4])\\+([1-9]|1[0-6])|raid-[156])$", replicas.join("|")),
            "examples": ["replicas-3:2", "ec-3+2"],
            "x-code": CODE,
            "x-allowed": Self::ALLOWED,
        })
    }
}
