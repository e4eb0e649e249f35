//! Placement rules: affinity and anti-affinity between VMs, and VM-host rules.
//!
//! `host` sets the initial host of a VM, even against a rule. VMs without one begin where they keep the rules, if they
//! can. Restarts and migrations keep them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shape::plain_enum;

/// A placement rule, as in vSphere DRS or Proxmox HA. An initial `host` that violates it is allowed. VMs without
/// `host`, restarts and migrations keep it, and `drs` corrects violations. A rule that cannot be kept because its VMs
/// or hosts are in different clusters is an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacementRule {
    /// Name of the rule in vCenter or Proxmox.
    #[schemars(length(min = 1, max = 256), extend("examples" = ["databases apart"]))]
    #[schemars(regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$"), extend("x-code" = "bad-name", "x-allowed" = "1 to 256 characters on one line"))]
    pub name: String,
    /// Kind of rule: `vms` on one host, on different hosts, on one of `hosts`, or on none of them.
    pub kind: RuleKind,
    /// VMs of the rule: keys of `vms`.
    #[schemars(length(min = 1, max = 10_000), inner(length(min = 1, max = 64)), extend("examples" = [["db-1", "db-2"]]))]
    pub vms: Vec<String>,
    /// Hosts of the rule, for `run-on` and `not-on`: keys of `hosts`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10_000), inner(length(min = 1, max = 64)), extend("examples" = [["esx-1"]]))]
    pub hosts: Vec<String>,
    /// Must rule: a VM stays powered off if no host keeps the rule. Otherwise a should rule.
    #[serde(default)]
    pub mandatory: bool,
}

plain! {
    RuleKind: "str";
}

/// Kind of placement rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = plain_enum)]
pub enum RuleKind {
    /// Affinity: all VMs on one host.
    KeepTogether,
    /// Anti-affinity: no two VMs on one host.
    KeepApart,
    /// Each VM on one of the hosts.
    RunOn,
    /// No VM on any of the hosts.
    NotOn,
}

impl RuleKind {
    /// True if the rule names hosts.
    pub fn names_hosts(self) -> bool {
        matches!(self, Self::RunOn | Self::NotOn)
    }
}
