//! Programs that tests write and then run.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a file that can be run at once, replacing one that is there.
///
/// Another process writes it. Had this one open for writing, a child that another thread starts meanwhile could have it open, too,
/// until it runs its own program; until then the kernel refuses to run the file ("text file busy").
#[track_caller]
pub fn write_program(path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
    let mut install = Command::new("install")
        .args(["-m", "755", "--", "/dev/stdin"])
        .arg(path.as_ref())
        .stdin(Stdio::piped())
        .spawn()
        .expect("install is there");
    install.stdin.take().expect("it was asked for").write_all(content.as_ref()).expect("install reads");
    assert!(install.wait().expect("install ends").success(), "{} can't be written", path.as_ref().display());
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn it_can_be_run_at_once_whatever_else_is_started() {
        let directory = tempfile::tempdir().unwrap();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        Command::new("true").status().unwrap();
                    }
                });
            }
            for number in 0..50 {
                let path = directory.path().join(format!("program {number}"));
                write_program(&path, "#!/bin/sh\nexit 3\n");
                let status = Command::new(&path).status();
                over.store(status.is_err() || number == 49, Ordering::Relaxed);
                assert_eq!(status.unwrap().code(), Some(3));
            }
        });
    }
}
