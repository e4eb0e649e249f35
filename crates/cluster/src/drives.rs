//! Disks of a scenario, and the table of drives with figures from public data sheets.
//!
//! `drives.json` holds the table in the form of a scenario's `devices`, each with its source.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use crate::mistake::nearest;
use crate::spec::array::DiskKind;
use crate::spec::device::Device;

/// The drives by name.
pub(crate) static TABLE: LazyLock<BTreeMap<String, Device>> = LazyLock::new(|| {
    // as a value first: scenarios are read from values, and the code that reads a device from text would be one more
    let table: Value =
        serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/drives.json"))).expect("the table is JSON");
    BTreeMap::deserialize(&table).expect("the table has the form of devices")
});

/// The drives that scenarios can name, by name.
pub fn drives() -> &'static BTreeMap<String, Device> {
    &TABLE
}

/// The drive that `name` most likely misspells, of these. Another model or series is another drive, however alike the
/// names: 860 PRO misspells neither 850-PRO nor 860-EVO.
pub fn misspelt_drive<'d>(name: &str, names: impl Iterator<Item = &'d str>) -> Option<&'d str> {
    nearest(name, names.filter(|model| is_misspelt(name, model)))
}

fn is_misspelt(name: &str, model: &str) -> bool {
    let parts = |text: &str, is_digit: bool| -> Vec<String> {
        text.to_ascii_lowercase()
            .split(|letter: char| !letter.is_ascii_alphanumeric() || letter.is_ascii_digit() != is_digit)
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let has = |is_digit: bool, is_same: fn(&str, &str) -> bool| {
        let own = parts(name, is_digit);
        parts(model, is_digit)
            .iter()
            .all(|part| own.iter().any(|other| is_same(part, other)))
    };
    // a digit too many or too few is a slip; another digit is another model, and so are other letters of a short word
    has(true, |one, other| {
        one == other || one.len() != other.len() && strsim::levenshtein(one, other) == 1
    }) && has(false, |one, other| {
        one == other || one.len() > 3 && strsim::damerau_levenshtein(one, other) == 1
    })
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
    use super::{Device, drives, misspelt_drive};
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

    #[test]
    fn another_model_is_no_other_spelling_of_one_of_the_table() {
        let found = |name| misspelt_drive(name, drives().keys().map(String::as_str));
        for (name, model) in [
            ("p4800x", Some("P4800X")),
            ("P480X", Some("P4800X")),
            ("860 pro", Some("860-PRO")),
            ("Samsung SSD 860 PRO 512GB", Some("860-PRO")),
            ("PM9A3 ", Some("PM9A3")),
            ("Savio 10K.4", Some("Savvio-10K.4")),
            ("840 PRO", None),
            ("860 QVO", None),
            ("P4810X", None),
            ("PM9A1", None),
            ("", None),
        ] {
            assert_eq!(found(name), model, "{name}");
        }
    }
}
