//! Reads a scenario as JSON from standard input; prints its canonical form, or every mistake as a JSON list.
//! With the argument `schema`, prints the JSON Schema.

use std::io::Read;

use hypertwin_cluster::{Scenario, schema_json};

fn main() -> std::io::Result<()> {
    if std::env::args().nth(1).as_deref() == Some("schema") {
        println!("{}", schema_json());
        return Ok(());
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    match Scenario::from_json(&text) {
        Ok(scenario) => println!("{}", scenario.to_json()),
        Err(mistakes) => println!(
            "{}",
            serde_json::to_string_pretty(&mistakes).expect("mistakes are plain text")
        ),
    }
    Ok(())
}
