//! Files of `fullpipe-quic`.

use std::process::Command;

#[test]
fn files_that_are_no_scenarios_are_refused_in_one_line() {
    for (file, why) in [
        ("/dev/zero", "can't be read: it is not a regular file"),
        ("/", "can't be read: it is not a regular file"),
        ("none.toml", "can't be read: No such file or directory"),
    ] {
        let done = Command::new(env!("CARGO_BIN_EXE_fullpipe-quic")).arg(file).output().expect("the program runs");
        assert_eq!(done.status.code(), Some(2), "{file}");
        assert_eq!(String::from_utf8_lossy(&done.stderr), format!("fullpipe-quic: {file}: {why}\n"));
    }
}
