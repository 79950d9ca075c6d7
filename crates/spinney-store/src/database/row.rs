//! Reading a row column by column, in the order of the query.

use std::path::PathBuf;
use std::str::FromStr;

use spinney_core::Timestamp;
use sqlx::any::AnyRow;
use sqlx::{Column, Decode, Row, Type};

use crate::Error;

/// Hands out a row's columns from left to right; a value that can't be understood is an error with its place.
pub(crate) struct Reader<'r> {
    table: &'static str,
    row: &'r AnyRow,
    next: usize,
}

impl<'r> Reader<'r> {
    /// Reads a row whose first column names it.
    pub(crate) fn new(table: &'static str, row: &'r AnyRow) -> Self {
        Self { table, row, next: 0 }
    }

    fn value<T>(&mut self) -> Result<T, Error>
    where
        T: Decode<'r, sqlx::Any> + Type<sqlx::Any>,
    {
        let index = self.next;
        self.next += 1;
        self.row.try_get(index).map_err(|source| self.fault(source))
    }

    /// The error about the column that was read last.
    fn fault(&self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        let column = self.row.columns().get(self.next - 1);
        Error::Value {
            table: self.table,
            column: column.map(|column| column.name().to_owned()).unwrap_or_default(),
            id: self.row.try_get::<&str, _>(0).unwrap_or("?").to_owned(),
            source: source.into(),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, Error> {
        self.value()
    }

    pub(crate) fn optional_text(&mut self) -> Result<Option<String>, Error> {
        self.value()
    }

    pub(crate) fn number(&mut self) -> Result<i64, Error> {
        self.value()
    }

    pub(crate) fn parsed<T>(&mut self) -> Result<T, Error>
    where
        T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
    {
        let text: &str = self.value()?;
        text.parse().map_err(|source: T::Err| self.fault(source))
    }

    /// A text that means something only beside another column.
    pub(crate) fn parsed_by<T, E>(&mut self, parse: impl FnOnce(&str) -> Result<T, E>) -> Result<T, Error>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let text: &str = self.value()?;
        parse(text).map_err(|source| self.fault(source))
    }

    pub(crate) fn optional_parsed<T>(&mut self) -> Result<Option<T>, Error>
    where
        T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
    {
        let text: Option<&str> = self.value()?;
        text.map(str::parse).transpose().map_err(|source: T::Err| self.fault(source))
    }

    /// A text that stands for nothing when it is empty.
    pub(crate) fn parsed_unless_empty<T>(&mut self) -> Result<Option<T>, Error>
    where
        T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
    {
        let text: &str = self.value()?;
        let text = Some(text).filter(|text| !text.is_empty());
        text.map(str::parse).transpose().map_err(|source: T::Err| self.fault(source))
    }

    /// Two columns, as the name `owner/name`.
    pub(crate) fn repository_name(&mut self) -> Result<spinney_core::RepositoryName, Error> {
        let owner: &str = self.value()?;
        let name: &str = self.value()?;
        format!("{owner}/{name}")
            .parse()
            .map_err(|source: <spinney_core::RepositoryName as FromStr>::Err| self.fault(source))
    }

    pub(crate) fn path(&mut self) -> Result<PathBuf, Error> {
        self.text().map(PathBuf::from)
    }

    pub(crate) fn optional_path(&mut self) -> Result<Option<PathBuf>, Error> {
        Ok(self.optional_text()?.map(PathBuf::from))
    }

    pub(crate) fn boolean(&mut self) -> Result<bool, Error> {
        match self.number()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.fault(format!("`{other}` is neither 0 nor 1"))),
        }
    }

    pub(crate) fn unsigned<T: TryFrom<i64, Error: std::error::Error + Send + Sync + 'static>>(
        &mut self,
    ) -> Result<T, Error> {
        let number = self.number()?;
        T::try_from(number).map_err(|source| self.fault(source))
    }

    pub(crate) fn optional_unsigned(&mut self) -> Result<Option<u64>, Error> {
        let number: Option<i64> = self.value()?;
        number.map(u64::try_from).transpose().map_err(|source| self.fault(source))
    }

    pub(crate) fn time(&mut self) -> Result<Timestamp, Error> {
        self.number().map(Timestamp::from_millisecond)
    }

    pub(crate) fn optional_time(&mut self) -> Result<Option<Timestamp>, Error> {
        let number: Option<i64> = self.value()?;
        Ok(number.map(Timestamp::from_millisecond))
    }

    pub(crate) fn json<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, Error> {
        let text: &str = self.value()?;
        serde_json::from_str(text).map_err(|source| self.fault(source))
    }
}
