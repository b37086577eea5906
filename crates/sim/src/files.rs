//! Bounded reader of the files that scenarios name: regular files of limited size.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{Error, Read};
use std::path::Path;

/// Reason why a file is not read.
#[derive(Debug)]
pub enum Unread {
    /// The system refuses.
    System(Error),
    /// It is a directory, a device, or a pipe, which may have no end.
    NotRegular,
    /// It has more bytes than allowed.
    TooLarge,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            // Without the number of the error.
            Unread::System(error) => f.write_str(error.to_string().split(" (os error").next().unwrap_or_default()),
            Unread::NotRegular => f.write_str("it is not a regular file"),
            Unread::TooLarge => f.write_str("it is too large"),
        }
    }
}

/// Content of a regular file of at most `most` bytes.
///
/// # Errors
/// [`Unread`]; nothing has been read then.
pub fn read_regular(path: &Path, most: u64) -> Result<Vec<u8>, Unread> {
    let mut options = OpenOptions::new();
    options.read(true);
    // A pipe without a writer would block here.
    #[cfg(target_os = "linux")]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options.open(path).map_err(Unread::System)?;
    let metadata = file.metadata().map_err(Unread::System)?;
    if !metadata.is_file() {
        return Err(Unread::NotRegular);
    }
    if metadata.len() > most {
        return Err(Unread::TooLarge);
    }
    let mut content = Vec::with_capacity(metadata.len() as usize + 1);
    // The file may grow meanwhile.
    file.take(most + 1).read_to_end(&mut content).map_err(Unread::System)?;
    if content.len() as u64 > most { Err(Unread::TooLarge) } else { Ok(content) }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn devices_directories_and_large_files_are_not_read() {
        let refused = |path: &str, most| read_regular(Path::new(path), most).expect_err(path).to_string();
        assert_eq!(refused("/dev/zero", 10), "it is not a regular file");
        assert_eq!(refused("/", 10), "it is not a regular file");
        assert_eq!(refused("no such file", 10), "No such file or directory");
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert_eq!(refused(manifest, 10), "it is too large");
        assert!(read_regular(Path::new(manifest), 1 << 20).is_ok_and(|content| content.starts_with(b"[package]")));
    }
}
