//! Databases on the PostgreSQL that `cargo xtask test` starts.

use std::env;
use std::process::{self, Command};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::programs::needs::left_out_without;
use crate::programs::process::{Ran, start};

/// Names the server; set by `cargo xtask test`.
const VARIABLE: &str = "SPINNEY_TEST_POSTGRES_URL";

static COUNTER: AtomicUsize = AtomicUsize::new(0);

/// The URL of the server's own database; panics when there is no server.
#[must_use]
#[track_caller]
pub fn postgres_url() -> String {
    env::var(VARIABLE).unwrap_or_else(|_| left_out_without("PostgreSQL"))
}

/// Makes an empty database that goes when the guard does.
#[must_use]
#[track_caller]
pub fn postgres_database() -> PostgresDatabase {
    let server = postgres_url();
    let name = format!("spinney_test_{}_{}", process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
    // A process that died may have left one of this name behind.
    psql(&server, &format!("drop database if exists {name} with (force)")).ok();
    psql(&server, &format!("create database {name} template template0")).ok();
    PostgresDatabase { url: with_database(&server, &name), server, name }
}

/// A database of one test.
#[derive(Debug)]
pub struct PostgresDatabase {
    server: String,
    name: String,
    url: String,
}

impl PostgresDatabase {
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs SQL by `psql` and gives what it printed, without headings.
    #[track_caller]
    pub fn query(&self, sql: &str) -> String {
        psql(&self.url, sql).ok().stdout.trim_end().to_owned()
    }

    /// All rows of all tables, as text.
    #[track_caller]
    pub fn contents(&self) -> String {
        self.query(
            "select query_to_xml(format('select * from %I', table_name), true, false, '') \
             from information_schema.tables where table_schema = 'public'",
        )
    }
}

impl Drop for PostgresDatabase {
    fn drop(&mut self) {
        let ran = psql(&self.server, &format!("drop database if exists {} with (force)", self.name));
        if ran.status != 0 && !std::thread::panicking() {
            panic!("the database is left over\n{}", ran.told());
        }
    }
}

#[track_caller]
fn psql(url: &str, sql: &str) -> Ran {
    let arguments = ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "-v", "ON_ERROR_STOP=1", "-c", sql, url];
    start(Command::new("psql").args(arguments).env("PGOPTIONS", "-c client_min_messages=warning")).wait()
}

/// The same URL with another database in its path.
fn with_database(url: &str, name: &str) -> String {
    let (scheme, rest) = url.split_once("://").expect("the server's address is a URL");
    let (place, query) = rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
    let host = place.split_once('/').map_or(place, |(host, _)| host);
    let query = query.map_or(String::new(), |query| format!("?{query}"));
    format!("{scheme}://{host}/{name}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_exchanged_in_the_url() {
        let url = "postgres://postgres@localhost/postgres?host=/tmp/x/y";
        assert_eq!(with_database(url, "one"), "postgres://postgres@localhost/one?host=/tmp/x/y");
        assert_eq!(with_database("postgres://host:5432", "one"), "postgres://host:5432/one");
    }

    #[test]
    fn a_database_is_empty_its_own_and_gone_afterwards() {
        let (one, two) = (postgres_database(), postgres_database());
        one.query("create table t (a bigint)");
        assert_eq!(one.query("select count(*) from information_schema.tables where table_name = 't'"), "1");
        assert_eq!(two.query("select count(*) from information_schema.tables where table_name = 't'"), "0");
        one.query("insert into t values (4711)");
        assert!(one.contents().contains("4711") && !two.contents().contains("4711"));
        let count = format!("select count(*) from pg_database where datname = '{}'", one.name());
        assert_eq!(two.query(&count), "1");
        drop(one);
        assert_eq!(two.query(&count), "0");
    }
}
