//! Failures: what fails when, and how its parts are named.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::defaults::is_default;
use crate::quantity::Duration;

/// Things that fail, at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// When, counted from the start of the run, warm-up included.
    #[schemars(extend("x-minimum" = "0 s", "x-maximum" = "60 d"))]
    pub at: Duration,
    /// What fails together: a host (`node-2`), a disk of it (`node-2/disk-1`), its network (`node-2/link`), a port of a
    /// host or of an array (`esx-1/port-1`, `san/port-2`), a rack of a pool (`pool/rack-1`) or a metadata server
    /// (`pool/metadata-1`); numbers count from 1.
    #[schemars(length(min = 1, max = 1_000), inner(length(min = 1, max = 160)), extend("examples" = [["node-2/disk-1"]]))]
    pub fails: Vec<String>,
    /// When it is back, with its data. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Duration", extend("x-minimum" = "0 s", "x-maximum" = "60 d"))]
    pub returns: Option<Duration>,
    /// Whether its disks are back without their data: replaced, or made anew. With `returns`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub empty: bool,
}

/// One thing that can fail.
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
    /// What an entry of `fails` says; `None` where it is malformed.
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
