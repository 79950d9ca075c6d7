//! What other tools made.

mod adopt;
mod claude_worktrees;
mod import;
mod two_homes;
mod two_users;
