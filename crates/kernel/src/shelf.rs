//! Folder of the modules that `fullpipe linux module` has compiled: `KERNEL/NAME.o` in a directory of the user's cache.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// `$XDG_CACHE_HOME/fullpipe/modules`, by default under `~/.cache`.
pub fn place() -> PathBuf {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    cache.unwrap_or_else(|| PathBuf::from(".cache")).join("fullpipe").join("modules")
}

/// Whether this may be a module's name, and a file's as well, so that a scenario cannot name a file elsewhere.
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 64 && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'-')
}

/// The kernels, like "6.1", whose module of this name was compiled.
///
/// # Errors
/// The directory can't be read.
pub fn kernels(place: &Path, name: &str) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let kernel = entry.file_name().to_string_lossy().into_owned();
        if file(place, &kernel, name).is_file() {
            found.push(kernel);
        }
    }
    found.sort();
    Ok(found)
}

/// The object file of a module.
pub fn file(place: &Path, kernel: &str, name: &str) -> PathBuf {
    place.join(kernel).join(format!("{name}.o"))
}
