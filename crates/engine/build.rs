//! Makes the build hash: SHA-256 over the sources of everything that decides what a run gives, and over the locked
//! versions of what they use. Results are kept and shared under it.

use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// Crates whose code a run goes through.
const CRATES: [&str; 5] = ["kernel", "sharing", "cluster", "models", "engine"];

fn main() {
    // as this runs, not as it was compiled: a copy of the target folder may have come from another checkout
    let own = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the crate is");
    let root = Path::new(&own).join("../..");
    let mut files = vec![root.join("Cargo.lock")];
    for name in CRATES {
        let folder = root.join("crates").join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        collect(&folder, &mut files);
    }
    println!("cargo::rerun-if-changed={}", files[0].display());
    files.sort();
    let mut hash = Sha256::new();
    for file in files.iter().filter(|file| file.is_file()) {
        let name = file.strip_prefix(&root).expect("it is below the root");
        let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
        // line ends differ between checkouts
        let text = String::from_utf8_lossy(&fs::read(file).expect("a source can be read")).replace("\r\n", "\n");
        for field in [parts.join("/").as_str(), text.as_str()] {
            hash.update((field.len() as u64).to_le_bytes());
            hash.update(field);
        }
    }
    let hex: String = hash
        .finalize()
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    println!("cargo::rustc-env=HYPERTWIN_BUILD={}+{hex}", env!("CARGO_PKG_VERSION"));
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the sources are beside this crate") {
        let path = entry.expect("a folder can be listed").path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
