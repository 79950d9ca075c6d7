//! The environments of those who asked for jobs: handed to the supervisor over a socket, and kept in its memory alone, since
//! they hold secrets. One that dies takes them with it.
//!
//! A message is the job's id and its variables, `NAME=VALUE`, each followed by a zero byte; the answer is one byte.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use spinney_core::{Job, JobId};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::launch::Variables;
use crate::{Error, Result};

/// More than a system lets a process have for its arguments and environment.
const MAX_BYTES: u64 = 8 << 20;
/// How long one of the two may let the other wait.
const PATIENCE: Duration = Duration::from_secs(5);
const TAKEN: u8 = 1;

/// What was handed to this process, and what listens for more.
#[derive(Debug)]
pub(super) struct Handed {
    shared: Arc<Shared>,
    listening: AbortHandle,
    path: std::path::PathBuf,
}

#[derive(Debug, Default)]
struct Shared {
    table: Mutex<Table>,
    news: Notify,
}

/// None after the end: who comes later asks the next one.
type Table = Option<Environments>;

/// Jobs of one list have one environment, which is kept once.
#[derive(Debug, Default)]
struct Environments {
    of: HashMap<JobId, (Mark, Arc<[u8]>)>,
    known: HashSet<Arc<[u8]>>,
    next: Mark,
}

/// Counts what was handed over: what has a later mark than a look at the store belongs to a job that the look may have missed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark(u64);

impl Handed {
    /// Listens on a socket for the owner of the home only. Whoever calls owns the queue: what is there was left by a dead one.
    pub(super) fn listen(path: &Path) -> Result<Self> {
        let failed = |source| Error::files(path, "listened on", source);
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let listener = short::reach(path, |short| UnixListener::bind(short)).map_err(failed)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
        let shared = Arc::new(Shared { table: Mutex::new(Some(Environments::default())), news: Notify::new() });
        let own = shared.clone();
        let listening = tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => drop(tokio::spawn(receive(own.clone(), stream))),
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                }
            }
        });
        Ok(Self { shared, listening: listening.abort_handle(), path: path.to_owned() })
    }

    /// Waits until something was handed over.
    pub(super) async fn news(&self) {
        self.shared.news.notified().await;
    }

    /// The environment of whoever asked for a job; none where that was told to a process that died.
    pub(super) fn of(&self, id: &JobId) -> Option<Variables> {
        let table = self.shared.table.lock().unwrap_or_else(PoisonError::into_inner);
        Some(unpack(&table.as_ref()?.of.get(id)?.1))
    }

    /// Taken before a look at the store.
    pub(super) fn mark(&self) -> Mark {
        let table = self.shared.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.as_ref().map(|table| table.next).unwrap_or_default()
    }

    /// Forgets those of jobs that are over, as a look at the store told that began at a mark.
    pub(super) fn keep_only(&self, jobs: &[Job], mark: Mark) {
        let known: HashSet<&JobId> = jobs.iter().map(|job| &job.id).collect();
        let mut table = self.shared.table.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(table) = table.as_mut() else { return };
        table.of.retain(|id, (at, _)| *at >= mark || known.contains(id));
        table.known.retain(|packed| Arc::strong_count(packed) > 1);
    }

    /// Takes nothing more, unless something came since a mark; `false` if so.
    pub(super) fn close(&self, mark: Mark) -> bool {
        let mut table = self.shared.table.lock().unwrap_or_else(PoisonError::into_inner);
        if table.as_ref().is_some_and(|table| table.next > mark) {
            return false;
        }
        *table = None;
        self.listening.abort();
        let _ = std::fs::remove_file(&self.path);
        true
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn receive(shared: Arc<Shared>, mut stream: UnixStream) {
    let is_own = stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw());
    if !is_own {
        return;
    }
    let mut message = Vec::new();
    let mut limited = (&mut stream).take(MAX_BYTES);
    if !matches!(timeout(PATIENCE, limited.read_to_end(&mut message)).await, Ok(Ok(_))) {
        return;
    }
    let Some(end) = message.iter().position(|byte| *byte == 0) else { return };
    let id = std::str::from_utf8(&message[..end]).ok().and_then(|id| id.parse::<JobId>().ok());
    let Some(id) = id else { return };
    {
        let mut table = shared.table.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(table) = table.as_mut() else { return };
        let packed = &message[end + 1..];
        let packed = table.known.get(packed).cloned().unwrap_or_else(|| Arc::from(packed));
        table.known.insert(packed.clone());
        let mark = table.next;
        table.next = Mark(mark.0 + 1);
        table.of.insert(id, (mark, packed));
    }
    // Its row is there already.
    shared.news.notify_one();
    let _ = timeout(PATIENCE, stream.write_all(&[TAKEN])).await;
}

/// Hands the environment of a job to the supervisor that listens.
pub(super) async fn hand_over(socket: &Path, id: &JobId, variables: &Variables) -> io::Result<()> {
    let path = socket.to_owned();
    let stream = short::reach(&path, |short| {
        let stream = std::os::unix::net::UnixStream::connect(short)?;
        stream.set_nonblocking(true)?;
        UnixStream::from_std(stream)
    });
    let mut stream = stream?;
    let talk = async {
        stream.write_all(&pack(id, variables)).await?;
        stream.shutdown().await?;
        stream.read_u8().await
    };
    match timeout(PATIENCE, talk).await {
        Ok(Ok(TAKEN)) => Ok(()),
        Ok(Ok(_)) => Err(io::ErrorKind::InvalidData.into()),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

fn pack(id: &JobId, variables: &Variables) -> Vec<u8> {
    let mut packed = id.as_str().as_bytes().to_vec();
    packed.push(0);
    for (name, value) in variables {
        packed.extend(name.as_bytes());
        packed.push(b'=');
        packed.extend(value.as_bytes());
        packed.push(0);
    }
    packed
}

fn unpack(packed: &[u8]) -> Variables {
    let variable = |line: &[u8]| {
        // A name may begin with the sign, as a shell of Windows has it.
        let sign = line.iter().skip(1).position(|byte| *byte == b'=')? + 1;
        Some((OsStr::from_bytes(&line[..sign]).to_owned(), OsString::from_vec(line[sign + 1..].to_vec())))
    };
    packed.split(|byte| *byte == 0).filter(|line| !line.is_empty()).filter_map(variable).collect()
}

/// Sockets in deep directories: their paths may be at most about a hundred bytes long.
mod short {
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};

    /// What every system takes.
    const SHORT: usize = 100;

    /// Reaches a socket by a path that is short enough.
    pub(super) fn reach<T>(path: &Path, with: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return with(path) };
        if path.as_os_str().len() <= SHORT {
            return with(path);
        }
        let directory = std::fs::File::open(parent)?;
        with(&PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd())).join(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(list: &[(&str, &str)]) -> Variables {
        list.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    #[tokio::test]
    async fn what_is_handed_over_is_kept_until_the_job_is_over_and_never_written() {
        let home = tempfile::tempdir().unwrap();
        let deep = home.path().join("a-directory-whose-name-is-long".repeat(5));
        std::fs::create_dir(&deep).unwrap();
        for directory in [home.path(), &deep] {
            let socket = directory.join("queue.socket");
            std::fs::write(&socket, "").unwrap();
            let handed = Handed::listen(&socket).unwrap();
            assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
            let (one, two) = (JobId::generate(), JobId::generate());
            let told = variables(&[("PATH", "/bin"), ("EMPTY", ""), ("LINES", "a\nb=c"), ("TOKEN", "s3cret")]);
            hand_over(&socket, &one, &told).await.unwrap();
            hand_over(&socket, &two, &told).await.unwrap();
            assert_eq!((handed.of(&one), handed.of(&two)), (Some(told.clone()), Some(told.clone())));
            handed.news().await;
            assert_eq!(handed.shared.table.lock().unwrap().as_ref().unwrap().known.len(), 1);
            let mark = handed.mark();
            hand_over(&socket, &two, &told).await.unwrap();
            handed.keep_only(&[], mark);
            assert_eq!((handed.of(&one), handed.of(&two)), (None, Some(told)), "a look may have missed the second");
            assert!(!handed.close(mark));
            let mark = handed.mark();
            handed.keep_only(&[], mark);
            assert!(handed.shared.table.lock().unwrap().as_ref().unwrap().known.is_empty());
            assert!(handed.close(mark));
            assert!(hand_over(&socket, &one, &Variables::new()).await.is_err());
            assert!(!socket.exists());
        }
    }
}
