//! Which system calls there are in the jail: a program for the kernel's own filter (seccomp).
//!
//! Nothing can start another process, so that no program which a configuration names ever runs; nothing opens a socket,
//! mounts, enters a namespace or looks into another process. All else is as it is: what could be reached by it is not there.

use std::io::{Seek, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, memfd_create};

use crate::{Error, Result};

#[cfg(target_arch = "x86_64")]
mod calls {
    /// What the kernel calls this processor.
    pub(super) const AUDIT: u32 = 0xc000_003e;
    /// From here on, system calls are those of another mode of this processor.
    pub(super) const FOREIGN: Option<u32> = Some(0x4000_0000);
    pub(super) const CLONE: u32 = 56;
    /// Socket, socketpair; fork, vfork; ptrace, process_vm_readv, process_vm_writev; pivot_root, chroot, mount, umount2,
    /// open_tree, move_mount, fsopen, fsconfig, fsmount, mount_setattr; unshare, setns; add_key, request_key, keyctl; bpf,
    /// perf_event_open, userfaultfd, io_uring_setup.
    pub(super) const REFUSED: &[u32] = &[
        41, 53, 57, 58, 101, 310, 311, 155, 161, 165, 166, 428, 429, 430, 431, 432, 442, 272, 308, 248, 249, 250, 321,
        298, 323, 425,
    ];
}

#[cfg(target_arch = "aarch64")]
mod calls {
    /// What the kernel calls this processor.
    pub(super) const AUDIT: u32 = 0xc000_00b7;
    pub(super) const FOREIGN: Option<u32> = None;
    pub(super) const CLONE: u32 = 220;
    /// The same as for x86-64; there is neither fork nor vfork.
    pub(super) const REFUSED: &[u32] = &[
        198, 199, 117, 270, 271, 41, 51, 40, 39, 428, 429, 430, 431, 432, 442, 97, 268, 217, 218, 219, 280, 241, 282,
        425,
    ];
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod calls {
    pub(super) const AUDIT: u32 = 0;
    pub(super) const FOREIGN: Option<u32> = None;
    pub(super) const CLONE: u32 = 0;
    pub(super) const REFUSED: &[u32] = &[];
}

/// Whether there is a filter for this processor.
pub(crate) const IS_THERE: bool = calls::AUDIT != 0;

const CLONE3: u32 = 435;
/// Of `clone`: that it makes a thread.
const THREAD: u32 = 0x0001_0000;

// Instructions, as the kernel knows them.
const LOAD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

// Where things are in what it looks at.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;

// Answers.
const KILL: u32 = 0x8000_0000;
const ALLOW: u32 = 0x7fff_0000;
const NOT_PERMITTED: u32 = 0x0005_0001;
/// With it the C library falls back to `clone`, whose flags can be looked at.
const NOT_IMPLEMENTED: u32 = 0x0005_0026;

/// Opens a filter anew: whoever reads it reads it to its end.
pub(crate) fn open() -> Result<OwnedFd> {
    let failed = |source| Error::io("write", std::path::Path::new("the jail's filter"), source);
    let file = memfd_create("jail", MemfdFlags::CLOEXEC).map_err(|errno| failed(errno.into()))?;
    let mut file = std::fs::File::from(file);
    file.write_all(&program()).and_then(|()| file.rewind()).map_err(failed)?;
    Ok(file.into())
}

fn program() -> Vec<u8> {
    let mut program = Vec::new();
    let mut step = |code: u16, if_so: u8, if_not: u8, value: u32| {
        program.extend(code.to_ne_bytes());
        program.extend([if_so, if_not]);
        program.extend(value.to_ne_bytes());
    };
    step(LOAD, 0, 0, ARCHITECTURE);
    step(IF_EQUAL, 1, 0, calls::AUDIT);
    step(RETURN, 0, 0, KILL);
    step(LOAD, 0, 0, NUMBER);
    if let Some(foreign) = calls::FOREIGN {
        step(IF_AT_LEAST, 0, 1, foreign);
        step(RETURN, 0, 0, KILL);
    }
    for number in calls::REFUSED {
        step(IF_EQUAL, 0, 1, *number);
        step(RETURN, 0, 0, NOT_PERMITTED);
    }
    step(IF_EQUAL, 0, 1, CLONE3);
    step(RETURN, 0, 0, NOT_IMPLEMENTED);
    step(IF_EQUAL, 0, 3, calls::CLONE);
    step(LOAD, 0, 0, FIRST_ARGUMENT);
    step(IF_ANY_BIT, 1, 0, THREAD);
    step(RETURN, 0, 0, NOT_PERMITTED);
    step(RETURN, 0, 0, ALLOW);
    program
}
