//! Databases to run a story on.

use std::sync::atomic::{AtomicU32, Ordering};

use spinney_store::{Store, StoreUrl};
use sqlx::{AnyConnection, AssertSqlSafe, Connection, Row};
use tempfile::TempDir;

/// A database of its own, gone at the end of the test.
pub struct Backend {
    pub url: StoreUrl,
    pub directory: TempDir,
    /// What the driver takes, for looking behind the store's back.
    driver_url: String,
    cleanup: Option<Cleanup>,
}

struct Cleanup {
    admin_url: String,
    database: String,
}

impl Backend {
    pub async fn sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("spinney.db");
        Self { driver_url: format!("sqlite:{}", path.display()), url: StoreUrl::Sqlite(path), directory, cleanup: None }
    }

    pub async fn postgres() -> Self {
        let admin_url = spinney_testkit::postgres_url();
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let database = format!("spinney_test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        run(&admin_url, format!("CREATE DATABASE {database}")).await;
        let url = with_database(&admin_url, &database);
        Self {
            driver_url: url.clone(),
            url: StoreUrl::parse(&url).unwrap(),
            directory: tempfile::tempdir().unwrap(),
            cleanup: Some(Cleanup { admin_url, database }),
        }
    }

    pub fn is_sqlite(&self) -> bool {
        self.cleanup.is_none()
    }

    pub async fn store(&self) -> Store {
        Store::open(&self.url).await.unwrap()
    }

    /// Runs SQL behind the store's back.
    pub async fn run(&self, sql: impl Into<String>) {
        run(&self.driver_url, sql.into()).await;
    }

    /// The first column of the only row, behind the store's back.
    pub async fn number(&self, sql: impl Into<String>) -> i64 {
        let mut connection = connect(&self.driver_url).await;
        sqlx::query(AssertSqlSafe(sql.into())).fetch_one(&mut connection).await.unwrap().get(0)
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        let Some(Cleanup { admin_url, database }) = self.cleanup.take() else { return };
        // On a thread of its own, for a test's runtime can't be entered from here.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(run(&admin_url, format!("DROP DATABASE {database} WITH (FORCE)")));
        });
        let dropped = dropping.join();
        assert!(dropped.is_ok() || std::thread::panicking());
    }
}

async fn connect(url: &str) -> AnyConnection {
    sqlx::any::install_default_drivers();
    AnyConnection::connect(url).await.unwrap()
}

async fn run(url: &str, sql: String) {
    let mut connection = connect(url).await;
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// The same server, another database.
fn with_database(url: &str, database: &str) -> String {
    let (head, parameters) =
        url.split_once('?').map_or((url, String::new()), |(head, rest)| (head, format!("?{rest}")));
    let (scheme, rest) = head.split_once("://").expect("a URL");
    let authority = rest.split_once('/').map_or(rest, |(authority, _)| authority);
    format!("{scheme}://{authority}/{database}{parameters}")
}

/// Declares stories that must read the same on both databases.
macro_rules! on_both {
    ($($(#[$doc:meta])* async fn $name:ident($backend:ident: &Backend) $body:block)*) => {
        $($(#[$doc])* async fn $name($backend: &Backend) $body)*

        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $name() {
                super::$name(&super::Backend::sqlite().await).await;
            })*
        }

        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $name() {
                super::$name(&super::Backend::postgres().await).await;
            })*
        }
    };
}
pub(crate) use on_both;
