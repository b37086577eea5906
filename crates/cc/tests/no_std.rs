//! The crate must build where there is no standard library: `#![no_std]` makes the compiler refuse `std` and `alloc` unless
//! somebody brings them back with `extern crate` or through a dependency. This looks for both.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

#[test]
fn std_and_alloc_come_in_for_tests_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lib = fs::read_to_string(root.join("src/lib.rs")).expect("lib.rs");
    assert!(lib.lines().any(|line| line == "#![no_std]"), "src/lib.rs: no #![no_std]");
    let files = sources(&root.join("src"));
    assert!(files.len() > 10, "{files:?}");
    for file in files {
        let text = fs::read_to_string(&file).expect("a source file");
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (number, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("extern crate")) {
            let for_tests = number > 0 && lines[number - 1] == "#[cfg(test)]";
            assert!(for_tests, "{}:{}: {line}", file.display(), number + 1);
        }
    }
}

#[test]
fn depends_on_libm_only() {
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).expect("Cargo.toml");
    let (_, dependencies) = manifest.split_once("[dependencies]\n").expect("a section");
    let names: Vec<&str> = dependencies
        .lines()
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once(" ="))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["libm"]);
}
