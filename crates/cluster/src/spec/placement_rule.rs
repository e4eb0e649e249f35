//! Placement rules: which machines belong together or apart, and on which hosts.
//!
//! Where a machine begins, `host` says, and a cluster that breaks its own rule is a scenario like any other. Where it
//! restarts or migrates to heeds them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shape::plain_enum;

/// A placement rule, as of vSphere DRS or Proxmox HA. A machine whose `host` breaks it is no mistake; one that restarts
/// or migrates heeds it, and in a cluster with `drs` one that breaks it migrates. A rule that cannot be kept because
/// its machines, or its hosts, are of different clusters is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacementRule {
    /// Its name in its own system.
    #[schemars(length(min = 1, max = 256), extend("examples" = ["databases apart"]))]
    #[schemars(regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$"), extend("x-code" = "bad-name", "x-allowed" = "1 to 256 characters on one line"))]
    pub name: String,
    /// What it asks: `vms` on one host, on different hosts, on one of `hosts`, or on none of them.
    pub kind: RuleKind,
    /// Machines that it is about: keys of `vms`.
    #[schemars(length(min = 1, max = 10_000), inner(length(min = 1, max = 64)), extend("examples" = [["db-1", "db-2"]]))]
    pub vms: Vec<String>,
    /// Hosts that it is about, for `run-on` and `not-on`: keys of `hosts`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10_000), inner(length(min = 1, max = 64)), extend("examples" = [["esx-1"]]))]
    pub hosts: Vec<String>,
    /// Whether the system would rather not start a machine than break it.
    #[serde(default)]
    pub mandatory: bool,
}

/// What a placement rule asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum RuleKind {
    /// All on one host.
    KeepTogether,
    /// No two on one host.
    KeepApart,
    /// Each on one of the hosts.
    RunOn,
    /// None on any of the hosts.
    NotOn,
}

impl RuleKind {
    /// Whether it is about hosts.
    pub fn names_hosts(self) -> bool {
        matches!(self, Self::RunOn | Self::NotOn)
    }
}
