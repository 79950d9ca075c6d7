//! Who may act on a job, a schedule, a message, an operation: asked here, and nowhere else.
//!
//! On one machine it is answered by files in the home: whoever has one locked owns what it stands for, never a pid. The
//! kernel drops the lock with the process, so that what is recorded as under way and is owned by nobody was left by one
//! that died. It is taken before the row says that something is under way, and given up after the row says that it is over.
//! Messages are attended to by the home's one daemon ([`Ownable::Daemon`]); among its tasks a table in its memory answers.
//!
//! Where several machines share a store, a lease that is fenced by the job's [`Fence`] is to answer, behind the same types.

mod file;
mod ownable;

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use ownable::Ownable;

use file::LockedFile;

/// How long a waiter sleeps between two looks at what somebody else owns.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(10);

/// Answers who owns what in one home. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Ownership {
    home: PathBuf,
    /// What tasks of this process own.
    here: Arc<Mutex<HashSet<Ownable>>>,
}

/// Counts the starts of a job: of two that take themselves for its owner, the one with the smaller fence is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fence(pub(crate) i64);

/// Why it can't be told who owns something.
#[derive(Debug, thiserror::Error)]
#[error("`{}` can't be {doing}", .path.display())]
pub struct OwnershipError {
    pub path: PathBuf,
    /// What completes "can't be …": "opened".
    pub doing: &'static str,
    pub source: io::Error,
}

type Result<T> = std::result::Result<T, OwnershipError>;

/// The right to act on something; given up on drop.
#[derive(Debug)]
pub struct Owned {
    what: Ownable,
    fence: Option<Fence>,
    hold: Hold,
}

/// What keeps others out.
#[derive(Debug)]
enum Hold {
    File(LockedFile),
    Here(Arc<Mutex<HashSet<Ownable>>>),
}

impl Ownership {
    /// That of a home.
    #[must_use]
    pub fn of_home(home: &Path) -> Self {
        Self { home: home.to_owned(), here: Arc::default() }
    }

    /// Takes something; none while somebody owns it.
    ///
    /// # Errors
    ///
    /// If its file can't be opened or locked.
    pub fn take(&self, what: Ownable) -> Result<Option<Owned>> {
        let Some(path) = what.file(&self.home) else {
            let is_free = self.here().insert(what.clone());
            return Ok(is_free.then(|| Owned::new(what, Hold::Here(Arc::clone(&self.here)))));
        };
        let taken = LockedFile::take(path, what.lookers())?;
        Ok(taken.map(|file| Owned::new(what, Hold::File(file))))
    }

    /// Takes something that nobody else can own yet, such that nobody ever sees it free.
    ///
    /// # Errors
    ///
    /// If its file can't be made or locked.
    pub fn take_new(&self, what: Ownable) -> Result<Owned> {
        let hold = match what.file(&self.home) {
            Some(path) => Hold::File(LockedFile::make(path)?),
            None => {
                self.here().insert(what.clone());
                Hold::Here(Arc::clone(&self.here))
            }
        };
        Ok(Owned::new(what, hold))
    }

    /// What this process was started with, as its standard input ([`Owned::carrier`]); else takes it, if it is free.
    ///
    /// Standard input leads nowhere from then on, so that nothing that is started later keeps it.
    ///
    /// # Errors
    ///
    /// If its file can't be opened, locked or taken over.
    pub fn inherit(&self, what: Ownable) -> Result<Option<Owned>> {
        let Some(path) = what.file(&self.home) else { return self.take(what) };
        match LockedFile::inherit(path)? {
            Some(file) => Ok(Some(Owned::new(what, Hold::File(file)))),
            None => self.take(what),
        }
    }

    /// Whether somebody owns it.
    ///
    /// # Errors
    ///
    /// If its file can't be looked at.
    pub fn is_owned(&self, what: &Ownable) -> Result<bool> {
        match what.file(&self.home) {
            Some(path) => file::is_locked(&path),
            None => Ok(self.here().contains(what)),
        }
    }

    /// Waits until nobody owns it, however its owner ended.
    ///
    /// # Errors
    ///
    /// If its file can't be looked at.
    pub async fn wait_until_free(&self, what: &Ownable) -> Result<()> {
        while self.is_owned(what)? {
            tokio::time::sleep(LOOK_AGAIN_AFTER).await;
        }
        Ok(())
    }

    fn here(&self) -> std::sync::MutexGuard<'_, HashSet<Ownable>> {
        self.here.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Owned {
    fn new(what: Ownable, hold: Hold) -> Self {
        Self { what, fence: None, hold }
    }

    /// The fence of the job's present start; none before its row says that it runs, and for what is no job.
    #[must_use]
    pub fn fence(&self) -> Option<Fence> {
        self.fence
    }

    /// Notes the fence that the row got when the job started.
    pub fn set_fence(&mut self, fence: Option<Fence>) {
        self.fence = fence;
    }

    /// A standard input that carries the right to another process: it is given up when neither has it any more.
    ///
    /// # Errors
    ///
    /// If the file can't be opened once more, or what is owned is no file.
    pub fn carrier(&self) -> Result<File> {
        match &self.hold {
            Hold::File(file) => file.carrier(),
            Hold::Here(_) => {
                let source = io::Error::new(io::ErrorKind::Unsupported, "it belongs to a task of this process");
                Err(OwnershipError { path: self.what.to_string().into(), doing: "handed over", source })
            }
        }
    }

    /// Whether it counts for others: the file that is locked is the one that they look at.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        match &self.hold {
            Hold::File(file) => file.is_in_place(),
            Hold::Here(_) => true,
        }
    }

    /// Ends it for good, once its row says that it is over. Who still waits reads the row.
    pub fn discard(self) {
        if let Hold::File(file) = &self.hold {
            file.forget();
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        match &self.hold {
            // Closing alone would not do while a child that is just being started still has the file open too.
            Hold::File(file) if self.what.ends_with_its_owner() => file.unlock(),
            // Another process may carry it on.
            Hold::File(_) => {}
            Hold::Here(here) => {
                here.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.what);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use spinney_core::{JobId, OperationId, Platform};

    use super::*;

    fn home() -> (tempfile::TempDir, Ownership) {
        let home = tempfile::tempdir().unwrap();
        for name in ["jobs", "operations"] {
            std::fs::create_dir(home.path().join(name)).unwrap();
        }
        let ownership = Ownership::of_home(home.path());
        (home, ownership)
    }

    fn ownables() -> Vec<Ownable> {
        vec![
            Ownable::Job(JobId::generate()),
            Ownable::Operation(OperationId::generate()),
            Ownable::Schedules,
            Ownable::Queue,
            Ownable::Daemon,
            Ownable::Sweep,
            Ownable::Measuring,
            Ownable::Message { platform: Platform::Api, id: "1".to_owned() },
        ]
    }

    #[test]
    fn what_is_owned_has_one_owner_and_ends_with_it() {
        let (_home, ownership) = home();
        for what in ownables() {
            assert!(!ownership.is_owned(&what).unwrap(), "{what}");
            let owned = ownership.take(what.clone()).unwrap().unwrap();
            assert!(ownership.is_owned(&what).unwrap(), "{what}");
            assert!(ownership.take(what.clone()).unwrap().is_none(), "{what}");
            assert!(ownership.clone().take(what.clone()).unwrap().is_none(), "{what}");
            drop(owned);
            assert!(!ownership.is_owned(&what).unwrap(), "{what}");
            ownership.take(what.clone()).unwrap().unwrap().discard();
            assert!(!ownership.is_owned(&what).unwrap(), "{what}");
        }
    }

    #[test]
    fn a_job_is_carried_on_after_its_first_owner() {
        let (home, ownership) = home();
        let id = JobId::generate();
        let owned = ownership.take(Ownable::Job(id.clone())).unwrap().unwrap();
        let carrier = owned.carrier().unwrap();
        drop(owned);
        assert!(ownership.is_owned(&Ownable::Job(id.clone())).unwrap(), "it is carried on");
        drop(carrier);
        let owned = ownership.take(Ownable::Job(id.clone())).unwrap().unwrap();
        owned.discard();
        assert!(!home.path().join("jobs").join(id.as_str()).exists());
    }

    #[test]
    fn what_is_new_is_never_seen_free() {
        let (home, ownership) = home();
        let what = Ownable::Operation(OperationId::generate());
        let owned = ownership.take_new(what.clone()).unwrap();
        assert!(ownership.take(what).unwrap().is_none());
        let names = std::fs::read_dir(home.path().join("operations")).unwrap();
        assert_eq!(names.count(), 1, "nothing is left aside");
        owned.discard();
        assert_eq!(std::fs::read_dir(home.path().join("operations")).unwrap().count(), 0);
    }

    #[test]
    fn what_is_no_file_is_no_answer() {
        let (home, ownership) = home();
        std::fs::create_dir(home.path().join("serve.lock")).unwrap();
        assert!(ownership.is_owned(&Ownable::Daemon).is_err());
    }

    #[test]
    fn a_fence_goes_with_the_right() {
        let (_home, ownership) = home();
        let mut owned = ownership.take(Ownable::Job(JobId::generate())).unwrap().unwrap();
        assert_eq!(owned.fence(), None);
        owned.set_fence(Some(Fence(2)));
        assert!(owned.fence() > Some(Fence(1)));
    }
}
