//! The crate builds where there is no standard library: a compiler whose library has only `core` builds it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn sources(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

fn output(command: &mut Command) -> String {
    let done = command.output().expect("a command that starts");
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("UTF-8").trim().to_owned()
}

/// Library folder of a compiler that has `core` and the intrinsics it calls, but neither `alloc` nor `std`.
fn core_alone(folder: &Path) -> String {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let target = output(Command::new(&rustc).args(["--print", "host-tuple"]));
    let from = output(Command::new(&rustc).args(["--print", "target-libdir"]));
    let into = folder.join("lib/rustlib").join(&target).join("lib");
    fs::create_dir_all(&into).expect("a folder");
    for library in fs::read_dir(from).expect("the compiler's libraries").map(|entry| entry.expect("an entry")) {
        let name = library.file_name().into_string().expect("UTF-8");
        if ["libcore-", "libcompiler_builtins-"].iter().any(|start| name.starts_with(start)) {
            fs::copy(library.path(), into.join(name)).expect("a copy");
        }
    }
    target
}

fn check(package: &Path, folder: &Path) -> std::process::Output {
    let sysroot = folder.join("core-alone");
    let target = core_alone(&sysroot);
    let flags = format!("--sysroot\u{1f}{}", sysroot.display());
    // With `--target`, the flags hold for the target's crates alone, and build scripts keep the whole library.
    Command::new(env!("CARGO"))
        .args(["build", "--locked", "--offline", "--lib", "--target", &target, "--manifest-path"])
        .arg(package)
        .arg("--target-dir")
        .arg(folder.join("target"))
        .env("CARGO_ENCODED_RUSTFLAGS", flags)
        .output()
        .expect("cargo starts")
}

#[test]
fn a_compiler_with_core_alone_builds_the_crate() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-std");
    let done = check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"), &folder);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// The compiler of the test above has no `std`: it refuses a crate that needs it.
#[test]
fn a_compiler_with_core_alone_refuses_std() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("with-std");
    let package = folder.join("package");
    fs::create_dir_all(package.join("src")).expect("a folder");
    let manifest = "[package]\nname = \"with-std\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(package.join("Cargo.toml"), manifest).expect("a file");
    fs::write(package.join("Cargo.lock"), "version = 4\n[[package]]\nname = \"with-std\"\nversion = \"0.0.0\"\n")
        .expect("a file");
    fs::write(package.join("src/lib.rs"), "#![no_std]\nextern crate std;\npub use std::vec::Vec;\n").expect("a file");
    let done = check(&package.join("Cargo.toml"), &folder);
    let message = String::from_utf8_lossy(&done.stderr);
    assert!(!done.status.success() && message.contains("can't find crate for `std`"), "{message}");
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
