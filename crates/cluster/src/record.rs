//! Values as front ends read them: quantities as numbers with the unit at the end of their key, and no unknown ones.
//!
//! [`records!`](crate::records) makes a type such a [`Record`]. Its fields, with their comments, are also the Python
//! class that reads it ([`Record::class`], `python/hypertwin/members.py`).

use std::collections::{BTreeMap, BTreeSet};

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::quantity::{Bytes, Duration, Frequency};

/// A record as a class of Python.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Class {
    /// Name of the Rust type, without `Member`.
    pub name: &'static str,
    /// Its description.
    pub about: &'static str,
    /// Its fields, in order.
    pub fields: Vec<Field>,
}

/// A field of a [`Class`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Field {
    /// Key, with its unit.
    pub key: String,
    /// Type in Python.
    pub python: String,
    /// Description.
    pub about: &'static str,
}

/// A mapping with known keys.
pub trait Record {
    /// Write the entries of the mapping.
    ///
    /// # Errors
    /// Those of the serializer.
    fn entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;

    /// Its class in Python.
    fn class() -> Class;
}

/// A value of a record.
pub trait Plain {
    /// Unit at the end of its key.
    const UNIT: &'static str = "";

    /// Its type in Python.
    fn python() -> String;

    /// Write the value.
    ///
    /// # Errors
    /// Those of the serializer.
    fn plain<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// True for a value that a record leaves out.
    fn is_unknown(&self) -> bool {
        false
    }

    /// Write the value under a key of a record.
    ///
    /// # Errors
    /// Those of the serializer.
    fn entry<M: SerializeMap>(&self, key: &str, map: &mut M) -> Result<(), M::Error> {
        match Self::UNIT {
            _ if self.is_unknown() => Ok(()),
            "" => map.serialize_entry(key, &In(self)),
            unit => map.serialize_entry(&format_args!("{key}_{unit}"), &In(self)),
        }
    }

    /// Its fields in the class of a record.
    fn fields(key: &str, about: &'static str) -> Vec<Field> {
        let unit = if Self::UNIT.is_empty() { "" } else { "_" };
        let key = format!("{key}{unit}{}", Self::UNIT);
        vec![Field {
            key,
            python: Self::python(),
            about,
        }]
    }
}

/// A value, to be written as front ends read it.
#[derive(Clone, Copy, Debug)]
pub struct In<'v, T: ?Sized>(pub &'v T);

impl<T: Plain + ?Sized> Serialize for In<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.plain(serializer)
    }
}

impl<T: Record> Plain for T {
    fn python() -> String {
        T::class().name.to_owned()
    }

    fn plain<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.entries(&mut map)?;
        map.end()
    }
}

/// A record whose entries are those of the record that has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Flat<T>(pub T);

impl<T: Record> Plain for Flat<T> {
    fn python() -> String {
        T::python()
    }

    fn plain<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.plain(serializer)
    }

    fn entry<M: SerializeMap>(&self, _key: &str, map: &mut M) -> Result<(), M::Error> {
        self.0.entries(map)
    }

    fn fields(_key: &str, _about: &'static str) -> Vec<Field> {
        T::class().fields
    }
}

impl<T: Plain> Plain for Option<T> {
    const UNIT: &'static str = T::UNIT;

    fn python() -> String {
        format!("{} | None", T::python())
    }

    fn plain<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().map(In).serialize(serializer)
    }

    fn is_unknown(&self) -> bool {
        self.is_none()
    }
}

impl<K: AsRef<str> + Ord, T: Plain> Plain for BTreeMap<K, T> {
    fn python() -> String {
        format!("Mapping[str, {}]", T::python())
    }

    fn plain<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(name, value)| (name.as_ref(), In(value))))
    }
}

macro_rules! lists {
    ($([$($of:tt)*] $type:ty: $python:literal, $end:literal;)+) => {$(
        impl<$($of)*> Plain for $type {
            fn python() -> String {
                format!("{}[{}{}]", $python, T::python(), $end)
            }

            fn plain<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(self.iter().map(In))
            }
        }
    )+};
}

lists! {
    [T: Plain] Vec<T>: "tuple", ", ...";
    [T: Plain] &'static [T]: "tuple", ", ...";
    [T: Plain] BTreeSet<T>: "frozenset", "";
}

/// Types that are one value, with their type in Python: number and unit of a quantity, or as scenarios write them.
macro_rules! plain {
    ($($type:ty: $python:literal $(, $unit:literal, $number:expr)?;)+) => {$(
        impl $crate::Plain for $type {
            $(const UNIT: &'static str = $unit;)?

            fn python() -> String {
                $python.to_owned()
            }

            fn plain<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let value = *self;
                $(let value = $number(value);)?
                serde::Serialize::serialize(&value, serializer)
            }
        }
    )+};
}

plain! {
    Bytes: "int", "bytes", Bytes::bytes;
    Frequency: "int", "hz", Frequency::whole_hz;
    Duration: "float", "s", Duration::seconds;
    bool: "bool";
    u32: "int";
    u64: "int";
    f64: "float";
    (u32, u32, u32): "tuple[int, int, int]";
    &'static str: "str";
}

impl Plain for String {
    fn python() -> String {
        "str".to_owned()
    }

    fn plain<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }
}

/// Types that are a [`Record`].
#[macro_export]
macro_rules! records {
    ($(
        $(#[$($about:tt)*])*
        pub struct $name:ident {
            $($(#[$($of:tt)*])* pub $field:ident: $type:ty,)+
        }
    )+) => {$(
        $(#[$($about)*])*
        pub struct $name {
            $($(#[$($of)*])* pub $field: $type,)+
        }

        impl $crate::Record for $name {
            fn entries<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                $($crate::Plain::entry(&self.$field, stringify!($field), map)?;)+
                Ok(())
            }

            fn class() -> $crate::Class {
                let fields = [$(
                    <$type as $crate::Plain>::fields(stringify!($field), concat!($($crate::doc_text!($($of)*)),*)),
                )+];
                $crate::Class {
                    name: stringify!($name).trim_end_matches("Member"),
                    about: concat!($($crate::doc_text!($($about)*)),*),
                    fields: fields.concat(),
                }
            }
        }
    )+};
}

/// The text of a doc comment; nothing of another attribute.
#[doc(hidden)]
#[macro_export]
macro_rules! doc_text {
    (doc = $text:literal) => {
        $text
    };
    ($($other:tt)*) => {
        ""
    };
}

/// Types of which every value may be unknown: scenarios leave it out.
macro_rules! facts {
    ($(
        $(#[$($about:tt)*])*
        pub struct $name:ident {
            $($(#[$($of:tt)*])* pub $field:ident: Option<$type:ty>,)+
        }
    )+) => {
        $crate::records! {$(
            $(#[$($about)*])*
            #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
            #[serde(deny_unknown_fields, default)]
            pub struct $name {$(
                $(#[$($of)*])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $field: Option<$type>,
            )+}
        )+}
    };
}
