//! A patch as a page shows it: by file, with what was added and removed told apart.

use spinney_core::names::visible;

/// How many lines a page has at most.
const MAX_LINES: usize = 3000;

/// What a job changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Diff {
    pub files: Vec<FileDiff>,
    /// Whether there is more.
    pub is_cut: bool,
}

/// What changed in a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FileDiff {
    pub path: String,
    /// That it is new, gone, renamed or binary.
    pub note: String,
    pub added: usize,
    pub removed: usize,
    pub lines: Vec<Line>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Its class.
    pub kind: &'static str,
    pub text: String,
}

impl Diff {
    /// Reads a patch as git writes it.
    pub(crate) fn parse(patch: &str, is_cut: bool) -> Self {
        let mut diff = Self { files: Vec::new(), is_cut };
        let mut shown = 0;
        // How many lines of a hunk are left on either side: what stands in a hunk is content, whatever it looks like.
        let (mut old, mut new) = (0, 0);
        for line in patch.lines() {
            if let (0, 0, Some(paths)) = (old, new, line.strip_prefix("diff --git ")) {
                diff.files.push(FileDiff { path: path_of(paths), ..FileDiff::default() });
                continue;
            }
            let Some(file) = diff.files.last_mut() else { continue };
            let kind = match line.as_bytes().first() {
                _ if old == 0 && new == 0 => {
                    match hunk(line) {
                        Some(sizes) => (old, new) = sizes,
                        None => {
                            file.head(line);
                            continue;
                        }
                    }
                    "at"
                }
                Some(b'+') => {
                    (new, file.added) = (new.saturating_sub(1), file.added + 1);
                    "add"
                }
                Some(b'-') => {
                    (old, file.removed) = (old.saturating_sub(1), file.removed + 1);
                    "del"
                }
                Some(b'\\') => "at",
                _ => {
                    (old, new) = (old.saturating_sub(1), new.saturating_sub(1));
                    ""
                }
            };
            if shown == MAX_LINES {
                diff.is_cut = true;
            } else {
                shown += 1;
                let text = if line.is_empty() { " " } else { line };
                file.lines.push(Line { kind, text: visible(text).into_owned() });
            }
        }
        diff
    }
}

impl FileDiff {
    /// Takes what a line before the first hunk says.
    fn head(&mut self, line: &str) {
        let note = if line.starts_with("new file") {
            "new"
        } else if line.starts_with("deleted file") {
            "deleted"
        } else if line.starts_with("Binary files") {
            "binary"
        } else if let Some(from) = line.strip_prefix("rename from ") {
            self.note = format!("renamed from {}", visible(from));
            return;
        } else if let Some(path) = line.strip_prefix("rename to ").or_else(|| line.strip_prefix("+++ b/")) {
            self.path = visible(path.trim_end_matches('\t')).into_owned();
            return;
        } else {
            return;
        };
        self.note = note.to_owned();
    }
}

/// The sizes in `@@ -1,3 +1,4 @@`.
fn hunk(line: &str) -> Option<(usize, usize)> {
    let mut words = line.strip_prefix("@@ ")?.split(' ');
    let mut size = |sign: char| {
        let range = words.next()?.strip_prefix(sign)?;
        range.split_once(',').map_or(Some(1), |(_, size)| size.parse().ok())
    };
    Some((size('-')?, size('+')?))
}

/// The path in `a/path b/path`, whose halves are the same.
fn path_of(paths: &str) -> String {
    let half = paths.get(..paths.len() / 2).unwrap_or(paths);
    visible(half.strip_prefix("a/").unwrap_or(half)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "diff --git a/a b.txt b/a b.txt\nindex 1..2 100644\n--- a/a b.txt\t\n+++ b/a b.txt\t\n@@ -1,2 +1,2 @@ fn\n \
        one\n-two\n+++ b/three\ndiff --git a/old b/new\nsimilarity index 90%\nrename from old\nrename to new\n@@ -1 +1 @@\n--- x\n+\u{1b}y\n\\ No newline at end of file\n\
        diff --git a/p.png b/p.png\nnew file mode 100644\nBinary files /dev/null and b/p.png differ\n";

    #[test]
    fn a_patch_is_read_by_file() {
        let diff = Diff::parse(PATCH, false);
        let told: Vec<_> =
            diff.files.iter().map(|file| (file.path.as_str(), file.note.as_str(), file.added, file.removed)).collect();
        assert_eq!(told, [("a b.txt", "", 1, 1), ("new", "renamed from old", 1, 1), ("p.png", "binary", 0, 0)]);
        let lines: Vec<_> = diff.files[1].lines.iter().map(|line| (line.kind, line.text.as_str())).collect();
        assert_eq!(lines, [("at", "@@ -1 +1 @@"), ("del", "--- x"), ("add", "+\\u{1b}y")]);
        assert!(!diff.is_cut);
    }

    #[test]
    fn a_huge_one_is_cut_and_counted() {
        let body = "+x\n".repeat(MAX_LINES + 10);
        let patch = format!("diff --git a/x b/x\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,{} @@\n{body}", MAX_LINES + 10);
        let diff = Diff::parse(&patch, false);
        assert!(diff.is_cut);
        assert_eq!((diff.files[0].lines.len(), diff.files[0].added), (MAX_LINES, MAX_LINES + 10));
    }
}
