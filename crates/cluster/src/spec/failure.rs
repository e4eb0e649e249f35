//! Failures: time, components and their names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::defaults::is_default;
use crate::quantity::Duration;

/// Components that fail at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Time from the start of the run, warm-up included.
    #[schemars(extend("x-minimum" = "0 s", "x-maximum" = "60 d"))]
    pub at: Duration,
    /// Components that fail together: a host (`node-2`), its disk (`node-2/disk-1`) or network (`node-2/link`), a port
    /// of a host or array (`esx-1/port-1`, `san/port-2`), a rack of a pool (`pool/rack-1`) or a metadata server
    /// (`pool/metadata-1`). Numbers count from 1.
    #[schemars(length(min = 1, max = 1_000), inner(length(min = 1, max = 160)), extend("examples" = [["node-2/disk-1"]]))]
    pub fails: Vec<String>,
    /// Time when the components return, with their data. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 s", "x-maximum" = "60 d"))]
    pub returns: Option<Duration>,
    /// Its disks return without data, for example replaced. Needs `returns`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub empty: bool,
}

/// A component that can fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Component {
    /// A host, by name.
    Host(String),
    /// A disk of a node: the host's name, and the number of the disk from 0.
    Disk(String, u32),
    /// The network of a host.
    Link(String),
    /// A port of a host to arrays or of an array: the name of either, and the number of the port from 0.
    Port(String, u32),
    /// A rack of a pool, from 0.
    Rack(String, u32),
    /// A metadata server of a pool, from 0.
    Metadata(String, u32),
}

impl Component {
    /// Parses an entry of `fails`; `None` if it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let Some((name, part)) = text.split_once('/') else {
            return Some(Self::Host(text.to_owned()));
        };
        let name = name.to_owned();
        let number = |prefix: &str| {
            let digits = part.strip_prefix(prefix)?;
            let number: u32 = digits.parse().ok()?;
            (number > 0 && number.to_string() == digits).then(|| number - 1)
        };
        match part {
            "link" => Some(Self::Link(name)),
            _ => None
                .or_else(|| Some(Self::Disk(name.clone(), number("disk-")?)))
                .or_else(|| Some(Self::Port(name.clone(), number("port-")?)))
                .or_else(|| Some(Self::Rack(name.clone(), number("rack-")?)))
                .or_else(|| Some(Self::Metadata(name, number("metadata-")?))),
        }
    }
}
