//! A file system of its own in a file, mounted while it is needed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::machine::said;
use super::site::output;

/// Unmounted and deleted when dropped.
#[derive(Debug)]
pub struct Image {
    file: PathBuf,
    pub mount: PathBuf,
}

impl Image {
    /// A file system of this type and size; the file is sparse.
    pub fn mount(within: &Path, kind: &str, size: u64) -> Result<Self> {
        if said(Command::new("id").arg("-u")) != "0" {
            bail!("only root can mount an image");
        }
        let image = Self { file: within.join(format!("{kind}.image")), mount: within.join(kind) };
        File::create(&image.file)?.set_len(size)?;
        fs::create_dir(&image.mount)?;
        let mut mkfs = Command::new(format!("mkfs.{kind}"));
        output(mkfs.arg("-q").arg(&image.file)).with_context(|| format!("no {kind} (package `{}`)", package(kind)))?;
        output(Command::new("mount").args(["-t", kind, "-o", "loop"]).arg(&image.file).arg(&image.mount))?;
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
        // Lazily where something still has it open: it goes when that ends.
        if output(Command::new("umount").arg(&self.mount)).is_err() {
            let _ = output(Command::new("umount").arg("--lazy").arg(&self.mount));
        }
        let _ = fs::remove_file(&self.file);
        let _ = fs::remove_dir(&self.mount);
    }
}

fn package(kind: &str) -> &'static str {
    if kind == "xfs" { "xfsprogs" } else { "btrfs-progs" }
}
