//! Files that are written in parts. Each part opens its file, so that a run may have more flows than a process may have open files.

use std::fs::OpenOptions;
use std::io::{Result, Write};
use std::path::{Path, PathBuf};

/// Bytes of a part.
const PART: usize = 1 << 16;

/// A file.
pub struct File {
    path: PathBuf,
    waiting: Vec<u8>,
    fault: Option<String>,
}

impl File {
    /// File at a path, which does not exist.
    pub fn new(path: &Path) -> File {
        File { path: path.to_owned(), waiting: Vec::new(), fault: None }
    }

    /// Reason why the file is not complete.
    pub fn fault(&self) -> Option<String> {
        self.fault.clone()
    }

    /// Appends bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= PART {
            self.flush();
        }
    }

    /// Writes all bytes. After a fault nothing is written.
    pub fn flush(&mut self) {
        if self.fault.is_none() {
            if let Err(error) = self.append() {
                self.fault = Some(format!("{}: {error}", self.path.display()));
            }
        }
        self.waiting.clear();
    }

    fn append(&self) -> Result<()> {
        OpenOptions::new().create(true).append(true).open(&self.path)?.write_all(&self.waiting)
    }
}
