//! The metrics of reports: each is a field of a struct, with its definition, title and unit.
//!
//! Python makes the catalogue and the types of documents from these structs. A field without definition and title is
//! defined elsewhere: where it is a struct itself in the fields of that, or under the same key of another entity.

use bitcode::{Decode, Encode};
use serde::Serialize;
use std::collections::BTreeMap;

/// How a metric of several VMs is put together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Together {
    Mean,
    Total,
}

/// A field of a struct of reports.
#[derive(Clone, Debug, Serialize)]
pub struct Metric {
    /// Key in the report.
    pub key: &'static str,
    /// Title of its columns, after that of the field that has its struct.
    pub title: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// Definition.
    pub definition: &'static str,
    /// True if a group has the sum over its VMs and not their mean.
    pub summed: bool,
    /// Type in Python.
    pub python: String,
    /// True for a key that a report may lack.
    pub is_optional: bool,
    /// True if the report has the fields of its struct instead.
    pub is_flat: bool,
}

/// A struct of reports.
#[derive(Clone, Debug, Serialize)]
pub struct MetricTable {
    /// Name in Python.
    pub name: String,
    /// Description.
    pub about: &'static str,
    /// Its fields, in the order of reports.
    pub fields: Vec<Metric>,
}

/// A struct of metrics: see [`reports`].
pub trait Report {
    /// Its metrics.
    fn table() -> MetricTable;
}

/// A type of metrics.
pub trait Typed {
    /// The type in Python.
    fn python() -> String;
}

impl<T: Report> Typed for T {
    fn python() -> String {
        T::table().name
    }
}

macro_rules! typed {
    ($($type:ty $(, $of:ident)?: $python:literal;)+) => {$(
        impl$(<$of: Typed>)? Typed for $type {
            fn python() -> String {
                format!($python $(, $of::python())?)
            }
        }
    )+};
}

typed! {
    bool: "bool";
    u8: "int";
    u32: "int";
    u64: "int";
    usize: "int";
    f64: "float";
    (f64, f64): "tuple[float, float]";
    String: "str";
    &'static str: "str";
    Option<T>, T: "{} | None";
    Vec<T>, T: "list[{}]";
    BTreeMap<String, T>, T: "dict[str, {}]";
}

/// Structs of reports, with a [`Report`] each. After its type, a field can have the type in Python, its title, its unit
/// and how it is put together.
macro_rules! reports {
    ($(
        $(#[$($about:tt)*])*
        pub struct $name:ident {$(
            $(#[$($of:tt)*])*
            pub $field:ident: $type:ty $(as $python:literal)? $(= $title:literal $(, $unit:literal $(, $as:ident)?)?)?;
        )+}
    )+) => {$(
        $(#[$($about)*])*
        #[allow(missing_docs, reason = "a metric is defined once, where several have it")]
        pub struct $name {
            $($(#[$($of)*])* pub $field: $type,)+
        }

        impl $crate::metrics::Report for $name {
            fn table() -> $crate::metrics::MetricTable {
                let name = stringify!($name);
                $crate::metrics::MetricTable {
                    name: name.trim_end_matches("Report").trim_end_matches("Result").to_owned(),
                    about: concat!($(hypertwin_cluster::doc_text!($($about)*)),*).trim_ascii(),
                    fields: vec![$({
                        let attributes = concat!($(stringify!($($of)*)),*);
                        let python: &[&str] = &[$($python)?];
                        $crate::metrics::Metric {
                            key: stringify!($field),
                            title: concat!($($title)?),
                            unit: concat!($($($unit)?)?),
                            definition: concat!($(hypertwin_cluster::doc_text!($($of)*)),*).trim_ascii(),
                            summed: false $($($(|| $crate::metrics::Together::$as == $crate::metrics::Together::Total)?)?)?,
                            python: match python {
                                [python] => (*python).to_owned(),
                                _ => <$type as $crate::metrics::Typed>::python(),
                            },
                            is_optional: attributes.contains("skip_serializing_if"),
                            is_flat: attributes.contains("flatten"),
                        }
                    },)+],
                }
            }
        }
    )+};
}
pub(crate) use {reports, typed};

/// Percentiles with their values in milliseconds, in ascending order; of groups only.
pub type Curve = Vec<(f64, f64)>;

reports! {
    /// Latencies of I/Os in milliseconds, or null without I/Os.
    #[derive(Clone, Debug, Default, Serialize, Encode, Decode)]
    pub struct LatencyReport {
        pub mean: Option<f64> = "mean", "ms";
        /// Half of them took no longer than this.
        pub p50: Option<f64> = "median", "ms";
        /// 95% of them took no longer than this.
        pub p95: Option<f64> = "p95", "ms";
        /// 99% of them took no longer than this.
        pub p99: Option<f64> = "p99", "ms";
        /// As `response_ms_curve`, for them.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub curve: Option<Curve> as "Curve" = "curve", "%, ms";
    }
}
