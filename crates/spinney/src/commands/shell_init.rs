//! `spinney shell-init`: `spinney cd NAME`, and completion.

use clap::Args;

use crate::app::App;
use crate::commands::completions::{Shell, print_script};
use crate::completion;
use crate::error::Result;

/// Print what to source in a shell: `spinney cd NAME`, and completion
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  eval \"$(spinney shell-init bash)\"      in ~/.bashrc\n  \
    eval \"$(spinney shell-init zsh)\"       in ~/.zshrc\n  spinney shell-init fish | source       in ~/.config/fish/config.fish\n\n\
    Then: spinney cd issue-42, or spinney cd --issue 42 to make it first.")]
pub struct ShellInitArgs {
    shell: Shell,
}

/// A child can't change its parent's directory, so that `cd` is the shell's own function.
const POSIX: &str = r#"spinney() {
  if [ "$1" = cd ]; then
    local directory
    shift
    case "$1" in
      -h|--help) command spinney cd --help; return ;;
      -*) directory="$(command spinney new "$@")" ;;
      *) directory="$(command spinney path "$@")" ;;
    esac || return $?
    builtin cd -- "$directory" || return $?
  else
    command spinney "$@"
  fi
}"#;

const FISH: &str = r#"function spinney
  if test "$argv[1]" = cd
    set -e argv[1]
    if contains -- "$argv[1]" -h --help
      command spinney cd --help
      return
    end
    if string match -q -- '-*' "$argv[1]"
      set -f directory (command spinney new $argv)
    else
      set -f directory (command spinney path $argv)
    end
    or return $status
    builtin cd -- $directory
  else
    command spinney $argv
  end
end"#;

pub fn run(app: &App, args: &ShellInitArgs) -> Result<u8> {
    let function = match args.shell {
        Shell::Bash | Shell::Zsh => POSIX,
        Shell::Fish => FISH,
    };
    let script = format!("{function}\n{}", completion::script(args.shell)?.trim_end());
    print_script(app, args.shell, &script);
    Ok(0)
}
