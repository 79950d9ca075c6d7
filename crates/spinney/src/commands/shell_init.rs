//! `spinney shell-init`: `spinney cd NAME`, and completion.

use clap::Args;

use crate::app::App;
use crate::commands::completions::{Shell, print_script};
use crate::completion;
use crate::error::Result;

/// Print what a shell sources: `cd` and completion
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  eval \"$(spinney shell-init bash)\"      in ~/.bashrc\n  \
    eval \"$(spinney shell-init zsh)\"       in ~/.zshrc\n  spinney shell-init fish | source       in ~/.config/fish/config.fish\n\n\
    Then:\n  spinney cd issue-42                   change into a workspace\n  \
    spinney cd --issue 42                 make it first\n  \
    spinney cd                            back to the main checkout\n  \
    spinney cd -                          back to the directory before")]
pub struct ShellInitArgs {
    /// The shell that sources it
    shell: Shell,
}

/// A child can't change its parent's directory, so that `cd` is the shell's own function. It goes through the readable link,
/// so that the prompt names the workspace.
const POSIX: &str = r#"spinney() {
  case "${1-}" in
    cd|switch) ;;
    *) command spinney "$@"; return ;;
  esac
  shift
  local directory argument what=path
  for argument in "$@"; do
    case "$argument" in
      --) break ;;
      --issue|--issue=*|--pr|--pr=*|--review|--review=*|--thread|--thread=*|--task|--task=*|--branch|--branch=*) what=new ;;
    esac
  done
  case "${1-}" in
    -h|--help) command spinney cd --help; return ;;
    -) builtin cd -; return ;;
    '') directory="$(command spinney path --main)" ;;
    *)
      if [ "$what" = new ]; then
        directory="$(command spinney new "$@")"
      else
        directory="$(command spinney path --link "$@")"
      fi ;;
  esac || return $?
  builtin cd -- "$directory"
}"#;

const FISH: &str = r#"function spinney
  if not contains -- "$argv[1]" cd switch
    command spinney $argv
    return
  end
  set -e argv[1]
  if contains -- "$argv[1]" -h --help
    command spinney cd --help
    return
  end
  if test "$argv[1]" = -
    cd -
    return
  end
  if test -z "$argv[1]"
    set -f directory (command spinney path --main)
  else if string match -qr -- '^--(issue|pr|review|thread|task|branch)(=|$)' $argv
    set -f directory (command spinney new $argv)
  else
    set -f directory (command spinney path --link $argv)
  end
  or return $status
  cd -- $directory
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
