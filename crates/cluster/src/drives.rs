//! What disks of a scenario are, and the table of drives that it may name: what public data sheets say of each.
//!
//! `drives.json` beside this file has them in the form of a scenario's `devices`, each with its source.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::spec::array::DiskKind;
use crate::spec::device::Device;

/// The drives by name.
pub(crate) static TABLE: LazyLock<BTreeMap<String, Device>> =
    LazyLock::new(|| serde_json::from_str(include_str!("drives.json")).expect("the table has the form of devices"));

/// The drives that scenarios may name, by name.
pub fn drives() -> &'static BTreeMap<String, Device> {
    &TABLE
}

/// What a disk of a scenario is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drive<'d> {
    /// Any of its kind.
    Kind(DiskKind),
    /// A model.
    Model(&'d Device),
}

impl<'d> Drive<'d> {
    /// The model that `device` names, of the scenario's own or of the table; else any of a kind.
    ///
    /// # Panics
    /// If there is neither, so that the scenario was not validated.
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
