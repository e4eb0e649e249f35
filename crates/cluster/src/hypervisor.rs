//! Hypervisors: which versions there are, and what sets their families apart.
//!
//! What a family can do is a fact in its [`FamilyFacts`], and what a version can be set to is in the schema
//! (`x-family`, `x-since`, `x-until`, see [`crate::options`]). So nothing else in this crate asks which family it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::plain_enum;
use crate::storage::ControllerKind;

/// Kinds of hypervisor that share a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// VMware ESXi.
    Esxi,
    /// Linux with KVM.
    Linux,
}

/// What a scenario can have on the hosts of a family.
#[derive(Debug)]
pub struct FamilyFacts {
    /// How the names of its versions begin: `esxi` or `linux`.
    pub key: &'static str,
    /// Its name in messages.
    pub title: &'static str,
    /// Whether VMs can have CPU reserved.
    pub reservations: bool,
    /// Kinds of virtual storage controller that VMs can have, the default first.
    pub controllers: &'static [ControllerKind],
}

impl Family {
    /// What a scenario can have on its hosts.
    pub const fn facts(self) -> &'static FamilyFacts {
        match self {
            Self::Esxi => &FamilyFacts {
                key: "esxi",
                title: "ESXi",
                reservations: true,
                controllers: &[ControllerKind::Pvscsi, ControllerKind::LsiSas, ControllerKind::Nvme],
            },
            Self::Linux => &FamilyFacts {
                key: "linux",
                title: "Linux",
                reservations: false,
                controllers: &[
                    ControllerKind::VirtioScsi,
                    ControllerKind::VirtioBlk,
                    ControllerKind::Pvscsi,
                    ControllerKind::LsiSas,
                    ControllerKind::Nvme,
                ],
            },
        }
    }

    /// `esxi` or `linux`.
    pub const fn as_str(self) -> &'static str {
        self.facts().key
    }

    /// The virtual storage controller that VMs have by default.
    pub const fn default_controller(self) -> ControllerKind {
        self.facts().controllers[0]
    }
}

macro_rules! hypervisors {
    ($($variant:ident, $family:ident, $text:literal;)*) => {
        /// Hypervisor and version. Within a family, later versions compare greater.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[schemars(transform = plain_enum)]
        pub enum Hypervisor {
            $(
                #[doc = concat!("`", $text, "`")]
                #[serde(rename = $text)]
                $variant,
            )*
        }

        impl Hypervisor {
            /// Every known hypervisor, ESXi first, each family from old to new.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name as scenarios write it, such as `esxi-6.0`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Which family of schedulers it has.
            pub const fn family(self) -> Family {
                match self { $(Self::$variant => Family::$family,)* }
            }
        }
    };
}

hypervisors! {
    Esxi50, Esxi, "esxi-5.0";
    Esxi51, Esxi, "esxi-5.1";
    Esxi55, Esxi, "esxi-5.5";
    Esxi60, Esxi, "esxi-6.0";
    Esxi65, Esxi, "esxi-6.5";
    Esxi67, Esxi, "esxi-6.7";
    Esxi70, Esxi, "esxi-7.0";
    Esxi70u2, Esxi, "esxi-7.0u2";
    Esxi80, Esxi, "esxi-8.0";
    Esxi90, Esxi, "esxi-9.0";
    Linux6_6, Linux, "linux-6.6";
    Linux6_12, Linux, "linux-6.12";
}

impl Hypervisor {
    /// Major and minor version and update: 7, 0 and 2 of `esxi-7.0u2`.
    pub fn version(self) -> [u32; 3] {
        let version = self
            .as_str()
            .trim_start_matches(self.family().as_str())
            .trim_start_matches('-');
        let mut numbers = version.split(['.', 'u']).map(|number| number.parse().unwrap_or(0));
        std::array::from_fn(|_| numbers.next().unwrap_or(0))
    }
}

impl std::fmt::Display for Hypervisor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
