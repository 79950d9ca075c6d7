//! Which tracked files git may convert on their way in: for those, the times of a file prove that git has seen it, not
//! that git can give it back.
//!
//! Line ends and `$Id$` only shrink a file, so that one as long as its blob is its blob. Filters and encodings can do
//! anything.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::Other;
use crate::Result;
use crate::index::{Index, IndexEntry};
use crate::process::command::Command;
use crate::worktree::linked::Worktree;

const ATTRIBUTES: &str = ".gitattributes";
/// More than anybody writes; beyond it, git is asked.
const MAX_BYTES: u64 = 4 << 20;
/// Attributes by which git changes what it takes in, and those of them that only make it shorter.
const ANY: [&str; 2] = ["filter", "working-tree-encoding"];
const SHRINKING: [&str; 4] = ["text", "crlf", "eol", "ident"];

/// What may happen to the files of a tree on their way into git.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Extent {
    Nothing,
    Shrinking,
    Anything,
}

/// What may happen to one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Conversion {
    Shrinking,
    Any,
}

impl Worktree {
    /// A call for this worktree that does not run inside of it: whoever looks for processes there must not find it.
    pub(super) fn command_outside(&self) -> Command {
        let repository = self.repository();
        repository.command().env("GIT_DIR", self.admin_dir()).env("GIT_COMMON_DIR", repository.common_dir())
    }

    /// Whether only git can tell which files it converts.
    pub(super) fn needs_git_for_attributes(&self, index: &Index, settings: &Settings) -> bool {
        self.extent(index, &[], settings) == Extent::Anything
    }

    /// Tells which of the tracked files git may convert, by their position in the index.
    pub(super) async fn load_conversions(
        &self,
        index: &Index,
        others: &[Other],
        settings: &Settings,
    ) -> Result<BTreeMap<usize, Conversion>> {
        let files = || index.entries().iter().enumerate().filter(|(_, entry)| entry.is_regular());
        Ok(match self.extent(index, others, settings) {
            Extent::Nothing => BTreeMap::new(),
            Extent::Shrinking => files().map(|(position, _)| (position, Conversion::Shrinking)).collect(),
            Extent::Anything => {
                let asked: Vec<(usize, &IndexEntry)> = files().collect();
                self.ask_attributes(&asked, settings.converts_line_ends).await?
            }
        })
    }

    /// Looks through every file that can give an attribute, for words only: what they mean is git's to say.
    fn extent(&self, index: &Index, others: &[Other], settings: &Settings) -> Extent {
        let Some(elsewhere) = &settings.attribute_files else { return Extent::Anything };
        let mut extent = if settings.converts_line_ends { Extent::Shrinking } else { Extent::Nothing };
        let beside = [self.repository().common_dir().join("info").join("attributes")];
        for path in elsewhere.iter().chain(&beside) {
            extent = extent.max(words_in(&self.path().join(path), Absent::Fine));
        }
        // Where a tracked one is gone, git takes the index's word.
        let tracked = index.entries().iter().filter(|entry| entry.name() == ATTRIBUTES);
        for entry in tracked {
            extent = extent.max(words_in(&self.path().join(entry.path()), Absent::Unknown));
        }
        for other in others.iter().filter(|other| other.path.file_name().is_some_and(|name| name == ATTRIBUTES)) {
            extent = extent.max(words_in(&self.path().join(&other.path), Absent::Fine));
        }
        extent
    }

    async fn ask_attributes(
        &self,
        files: &[(usize, &IndexEntry)],
        converts_line_ends: bool,
    ) -> Result<BTreeMap<usize, Conversion>> {
        let paths: Vec<u8> = files.iter().flat_map(|(_, entry)| [&entry.path, b"\0".as_slice()].concat()).collect();
        let command = self.command().args(["check-attr", "-z", "--stdin"]).args(ANY).args(SHRINKING);
        let answer = command.stdin_bytes(paths).run().await?.stdout;
        let told = parse_attributes(&answer);
        let all = converts_line_ends.then_some(Conversion::Shrinking);
        Ok(files
            .iter()
            .filter_map(|(position, entry)| {
                let conversion = told.get(&*entry.path).copied().max(all)?;
                Some((*position, conversion))
            })
            .collect())
    }

    pub(super) async fn load_settings(&self) -> Result<Settings> {
        let listed = self.command_outside().args(["var", "-l"]).run().await?;
        let text = String::from_utf8_lossy(&listed.stdout);
        let mut settings = parse_settings(&text);
        if settings.attribute_files.is_none() && !names_attributes(&text) {
            settings.attribute_files = self.load_older_places().await?;
        }
        Ok(settings)
    }

    /// Where a git that does not tell has its files of attributes: the system's by where it was installed, the person's by
    /// the environment. None where that is not plain.
    async fn load_older_places(&self) -> Result<Option<Vec<PathBuf>>> {
        let installed = self.command_outside().arg("--exec-path").text().await?;
        let prefix = ["/libexec/git-core", "/lib/git-core"].iter().find_map(|end| installed.strip_suffix(end));
        let system = prefix.map(|prefix| match prefix {
            "/usr" => PathBuf::from("/etc/gitattributes"),
            prefix => Path::new(prefix).join("etc/gitattributes"),
        });
        let environment = self.repository().git().environment();
        let value = |name: &str| environment.iter().find(|(key, _)| key == name).map(|(_, value)| PathBuf::from(value));
        let given = value("XDG_CONFIG_HOME").filter(|place| !place.as_os_str().is_empty());
        let of_person = given.or_else(|| value("HOME").map(|home| home.join(".config")));
        Ok(system.zip(of_person).map(|(system, directory)| vec![system, directory.join("git/attributes")]))
    }
}

/// What of git's configuration matters here.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Settings {
    converts_line_ends: bool,
    /// The person's and the system's files of attributes; none where this git does not tell.
    attribute_files: Option<Vec<PathBuf>>,
}

/// Reads `git var -l`: the configuration, and after it git's own variables. A value of the configuration can hold lines
/// that look like any of these, so that the last one counts, and whatever there is of line ends.
fn parse_settings(text: &str) -> Settings {
    let lines: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once('=')).collect();
    let all = |key: &'static str| lines.iter().rev().filter(move |(name, _)| *name == key).map(|(_, value)| *value);
    let is_off = |value: &str| matches!(value.to_ascii_lowercase().as_str(), "false" | "no" | "off" | "0");
    let system = all("GIT_ATTR_SYSTEM").next();
    let files = system.into_iter().chain(all("GIT_ATTR_GLOBAL").next());
    // With attributes taken from a commit, the files say nothing.
    let told = system.is_some() && all("attr.tree").next().is_none();
    Settings {
        converts_line_ends: all("core.autocrlf").any(|value| !is_off(value)) || has_bare_key(text, "core.autocrlf"),
        attribute_files: told.then(|| files.filter(|path| !path.is_empty()).map(PathBuf::from).collect()),
    }
}

/// Whether a setting says where attributes come from, or git itself does.
fn names_attributes(text: &str) -> bool {
    let keys = ["attr.tree=", "core.attributesfile=", "GIT_ATTR_SYSTEM="];
    text.lines().any(|line| keys.iter().any(|key| line.starts_with(key)))
}

/// A key without a value is true.
fn has_bare_key(text: &str, key: &str) -> bool {
    text.lines().any(|line| line == key)
}

/// Reads `<path>\0<attribute>\0<value>\0`.
fn parse_attributes(stdout: &[u8]) -> BTreeMap<&[u8], Conversion> {
    let mut told: BTreeMap<&[u8], Conversion> = BTreeMap::new();
    let mut fields = stdout.split(|byte| *byte == 0);
    while let (Some(path), Some(attribute), Some(value)) = (fields.next(), fields.next(), fields.next()) {
        if value == b"unspecified" || value == b"unset" {
            continue;
        }
        let any = ANY.iter().any(|name| name.as_bytes() == attribute);
        let conversion = if any { Conversion::Any } else { Conversion::Shrinking };
        let known = told.entry(path).or_insert(conversion);
        *known = conversion.max(*known);
    }
    told
}

/// What it means that a file of attributes is not there.
#[derive(Debug, Clone, Copy)]
enum Absent {
    Fine,
    Unknown,
}

/// What the words of a file of attributes can lead to.
fn words_in(path: &Path, absent: Absent) -> Extent {
    // A pipe in its place must not make us wait.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return match absent {
                Absent::Fine => Extent::Nothing,
                Absent::Unknown => Extent::Anything,
            };
        }
        Err(_) => return Extent::Anything,
    };
    let mut text = Vec::new();
    let is_file = file.metadata().is_ok_and(|found| found.is_file());
    if !is_file || file.take(MAX_BYTES + 1).read_to_end(&mut text).is_err() || text.len() as u64 > MAX_BYTES {
        return Extent::Anything;
    }
    let text = String::from_utf8_lossy(&text);
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&ANY) {
        Extent::Anything
    } else if has(&SHRINKING) {
        Extent::Shrinking
    } else {
        Extent::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_can_not_be_talked_away() {
        let text = "core.autocrlf=true\nuser.name=x\nGIT_ATTR_SYSTEM=/nowhere\nGIT_ATTR_SYSTEM=/etc/gitattributes\n\
                    GIT_ATTR_GLOBAL=/home/x/attributes\n";
        let files = ["/etc/gitattributes", "/home/x/attributes"].map(PathBuf::from).to_vec();
        assert_eq!(parse_settings(text), Settings { converts_line_ends: true, attribute_files: Some(files) });
        assert!(!parse_settings("core.autocrlf=false\n").converts_line_ends);
        assert!(parse_settings("core.autocrlf=input\ncore.autocrlf=false\n").converts_line_ends);
        assert!(parse_settings("core.autocrlf\n").converts_line_ends);
        assert_eq!(parse_settings("GIT_PAGER=x\n").attribute_files, None, "an older git");
        assert_eq!(parse_settings("attr.tree=HEAD\nGIT_ATTR_SYSTEM=/x\n").attribute_files, None);
    }

    #[test]
    fn the_widest_conversion_of_a_path_counts() {
        let told =
            parse_attributes(b"a\0text\0auto\0a\0filter\0lfs\0b\0eol\0crlf\0c\0text\0unset\0c\0filter\0unspecified\0");
        assert_eq!(told.get(b"a".as_slice()), Some(&Conversion::Any));
        assert_eq!(told.get(b"b".as_slice()), Some(&Conversion::Shrinking));
        assert_eq!(told.get(b"c".as_slice()), None);
    }
}
