//! A file system of its own in a file, mounted while it is needed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use super::machine::said;
use super::site::output;

/// Unmounted and deleted when dropped, and also when this process is killed: a guard waits for the end of its input.
#[derive(Debug)]
pub struct Image {
    pub mount: PathBuf,
    guard: Child,
}

/// Lazily where something still has it open: it goes when that ends.
const GUARD: &str = r#"trap '' INT TERM HUP
read -r _
mountpoint -q "$1" && { umount "$1" || umount --lazy "$1"; }
rm -f "$2" && rmdir "$1""#;

impl Image {
    /// A file system of this type and size; the file is sparse.
    pub fn mount(within: &Path, kind: &str, size: u64) -> Result<Self> {
        if said(Command::new("id").arg("-u")) != "0" {
            bail!("only root can mount an image");
        }
        let (file, mount) = (within.join(format!("{kind}.image")), within.join(kind));
        File::create(&file)?.set_len(size)?;
        fs::create_dir(&mount)?;
        let mut guard = Command::new("sh");
        let guard = guard.args(["-c", GUARD, "sh"]).arg(&mount).arg(&file).stdin(Stdio::piped()).spawn()?;
        let image = Self { mount, guard };
        let mut mkfs = Command::new(format!("mkfs.{kind}"));
        output(mkfs.arg("-q").arg(&file)).with_context(|| format!("no {kind} (package `{}`)", package(kind)))?;
        output(Command::new("mount").args(["-t", kind, "-o", "loop"]).arg(&file).arg(&image.mount))?;
        Ok(image)
    }

    /// Bytes that are in use, once all is written.
    pub fn used(&self) -> Result<f64> {
        output(Command::new("sync").arg("--file-system").arg(&self.mount))?;
        let text = said(Command::new("stat").args(["--file-system", "--format=%S %b %f"]).arg(&self.mount));
        let numbers: Vec<f64> = text.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [size, blocks, free] = numbers.as_slice() else {
            bail!("`stat` said {text}");
        };
        Ok(size * (blocks - free))
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

fn package(kind: &str) -> &'static str {
    if kind == "xfs" { "xfsprogs" } else { "btrfs-progs" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_mounted_until_it_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        for kind in ["xfs", "btrfs"] {
            let image = match Image::mount(directory.path(), kind, 1 << 30) {
                Ok(image) => image,
                Err(error) => {
                    eprintln!("not tested: {error:#}");
                    continue;
                }
            };
            fs::write(image.mount.join("file"), [7; 1 << 20]).unwrap();
            assert!(image.used().unwrap() >= f64::from(1 << 20));
            drop(image);
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "{kind} left something");
        }
    }
}
