//! Disks of a scenario, and the table of drives with figures from public data sheets.
//!
//! `drives.json` holds the table in the form of a scenario's `devices`, each with its source.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::spec::array::DiskKind;
use crate::spec::device::Device;

/// The drives by name.
pub(crate) static TABLE: LazyLock<BTreeMap<String, Device>> =
    LazyLock::new(|| serde_json::from_str(include_str!("drives.json")).expect("the table has the form of devices"));

/// The drives that scenarios can name, by name.
pub fn drives() -> &'static BTreeMap<String, Device> {
    &TABLE
}

/// Model or kind of a disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drive<'d> {
    /// Any of its kind.
    Kind(DiskKind),
    /// A model.
    Model(&'d Device),
}

impl<'d> Drive<'d> {
    /// The model that `device` names, of the scenario or the table; otherwise any drive of a kind.
    ///
    /// # Panics
    /// If neither exists, because the scenario was not validated.
    pub fn of(kind: Option<DiskKind>, device: Option<&str>, own: &'d BTreeMap<String, Device>) -> Self {
        match device {
            Some(name) => {
                let found = own.get(name).or_else(|| TABLE.get(name));
                Self::Model(found.expect("a validated scenario has each device that it names"))
            }
            None => Self::Kind(kind.expect("a validated scenario says what each disk is")),
        }
    }

    /// Its kind.
    pub fn kind(self) -> DiskKind {
        match self {
            Self::Kind(kind) => kind,
            Self::Model(device) => device.kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Device, drives};
    use crate::Scenario;
    use serde_json::json;
    use std::collections::BTreeMap;

    #[test]
    fn every_drive_of_the_table_is_a_valid_device_with_a_source() {
        // a scenario's own names have no dots
        let own: BTreeMap<String, &Device> = drives()
            .iter()
            .map(|(name, drive)| (name.replace('.', "-"), drive))
            .collect();
        let text = json!({
            "name": "table", "devices": own,
            "hosts": {"h": {"sockets": 1, "cores_per_socket": 1, "clock": "2 GHz", "memory_per_node": "8 GiB",
                            "hypervisor": "esxi-8.0"}},
            "vms": {}, "workloads": {},
        });
        let scenario = Scenario::from_json(&text.to_string()).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
        assert!(
            scenario.devices.values().eq(own.into_values()),
            "what is written reads back the same"
        );
        for (name, drive) in drives() {
            assert!(drive.source.is_some(), "{name}");
            let says_flush = drive.power_loss_protection == Some(true) || !drive.kind.is_flash();
            let is_assumed = drive
                .source
                .as_deref()
                .is_some_and(|source| source.contains("assumption"));
            assert!(
                says_flush || drive.flush.is_some() != is_assumed,
                "{name}: a flush has a source, or is called an assumption"
            );
        }
    }
}
