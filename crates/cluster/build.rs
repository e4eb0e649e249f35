//! The table of drives for this build. Without the check against the schema, which is how pages have the core, it lacks
//! the sources: nothing there shows them.

use serde_json::Value;
use std::fs;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=src/drives.json");
    let mut text = fs::read_to_string("src/drives.json").expect("the table is beside the crate's sources");
    if std::env::var_os("CARGO_FEATURE_SCHEMA_CHECK").is_none() {
        let mut drives: Value = serde_json::from_str(&text).expect("the table is JSON");
        for drive in drives.as_object_mut().expect("it has drives by name").values_mut() {
            drive.as_object_mut().expect("a drive has figures").remove("source");
        }
        text = drives.to_string();
    }
    let folder = std::env::var_os("OUT_DIR").expect("cargo says where builds go");
    fs::write(Path::new(&folder).join("drives.json"), text).expect("the folder of the build can be written");
}
