//! The last uses of tools, remembered for what is said about them later by their id alone.

use std::collections::VecDeque;

/// How many are remembered; an agent may use any number.
const USES: usize = 64;

#[derive(Debug)]
pub(super) struct Recent<T> {
    uses: VecDeque<(String, T)>,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self { uses: VecDeque::new() }
    }
}

impl<T> Recent<T> {
    pub(super) fn insert(&mut self, id: &str, what: T) {
        self.uses.truncate(USES - 1);
        self.uses.push_front((id.to_owned(), what));
    }

    pub(super) fn find(&self, id: &str) -> Option<&T> {
        self.uses.iter().find(|(used, _)| used == id).map(|(_, what)| what)
    }

    pub(super) fn remove(&mut self, id: &str) -> Option<T> {
        let index = self.uses.iter().position(|(used, _)| used == id)?;
        self.uses.remove(index).map(|(_, what)| what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_are_remembered_and_no_more() {
        let mut recent = Recent::default();
        for number in 0..=USES {
            recent.insert(&number.to_string(), number);
        }
        assert_eq!(recent.find("0"), None);
        assert_eq!(recent.find("1"), Some(&1));
        assert_eq!(recent.remove("1"), Some(1));
        assert_eq!(recent.remove("1"), None);
    }
}
