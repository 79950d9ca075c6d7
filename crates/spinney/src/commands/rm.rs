//! `spinney rm`: to the trash, or a refusal with every reason.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use spinney_app::document;
use spinney_app::workspaces::{self, Removal};
use spinney_core::{Consent, Merge, ReasonCode, Verdict, Workspace};
use spinney_engine::{Among, Context, Engine, Removed};

use crate::app::{App, HERE};
use crate::background;
use crate::commands::why::{around, reasons_table, what_helps};
use crate::completion::workspace_names;
use crate::error::{CliError, Result};
use crate::ui::words::Around;
use crate::ui::{style, words};

/// Move workspaces to the trash, or say why not
///
/// Nothing is deleted: `spinney restore` brings back the same directory, branch, index and files.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  spinney rm issue-42\n  spinney rm issue-42 --allow untracked,unpushed\n  spinney rm issue-42 --force\n\n\
    A refusal names its reasons by the codes that --allow takes; `spinney why NAME` explains them."
)]
pub struct RmArgs {
    /// The workspaces: see `spinney ls --help` [default: the current one]
    #[arg(value_name = "NAME", add = workspace_names(), default_value = HERE, hide_default_value = true)]
    names: Vec<String>,
    /// Remove it in spite of all reasons that can be overridden
    #[arg(long, conflicts_with = "allow")]
    force: bool,
    /// Remove it in spite of these reasons
    #[arg(long, value_name = "CODE,…", value_delimiter = ',', value_parser = reason_codes(), hide_possible_values = true)]
    allow: Vec<ReasonCode>,
    /// Only say what would happen
    #[arg(long)]
    dry_run: bool,
}

fn reason_codes() -> impl TypedValueParser<Value = ReasonCode> {
    PossibleValuesParser::new(ReasonCode::ALL.iter().map(|code| code.as_str())).try_map(|code| code.parse())
}

impl RmArgs {
    fn consent(&self) -> Consent {
        if self.force {
            Consent::Force
        } else if self.allow.is_empty() {
            Consent::None
        } else {
            Consent::Codes(self.allow.iter().copied().collect())
        }
    }
}

pub async fn run(app: &App, args: RmArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let consent = args.consent();
    let mut removed = Vec::new();
    let mut failed: Vec<(String, CliError)> = Vec::new();
    for name in &args.names {
        match remove(app, &engine, name, &consent, args.dry_run).await {
            Ok(outcome) => removed.push(outcome),
            Err(error) => failed.push((name.clone(), error)),
        }
    }
    background::purge_what_is_due(app, &engine).await?;
    if args.names.len() == 1 {
        if let Some((_, error)) = failed.pop() {
            return Err(error);
        }
        if let (true, Some(workspace)) = (app.ui.json, removed.first()) {
            app.ui.print_json(&document::Workspace::of(&engine, workspace));
        }
        return Ok(0);
    }
    if app.ui.json {
        let workspaces: Vec<_> = removed.iter().map(|workspace| document::Workspace::of(&engine, workspace)).collect();
        let failures: Vec<_> = failed.iter().map(|(name, error)| error.as_failure(name)).collect();
        app.ui.print_json(&document::Workspaces { workspaces, failed: Some(failures) });
    } else {
        failed.iter().for_each(|(_, error)| error.print(false));
    }
    Ok(failed.iter().map(|(_, error)| error.exit_status()).max().unwrap_or(0))
}

async fn remove(app: &App, engine: &Engine, name: &str, consent: &Consent, dry_run: bool) -> Result<Workspace> {
    let (context, workspace) = app.workspace(engine, name, Among::Live).await?;
    let around = around(engine, &context).await?;
    // What the person allowed by name; their own shell needs no leave of theirs.
    let allowed = match consent {
        Consent::Codes(codes) => codes.iter().copied().collect(),
        _ => Vec::new(),
    };
    let consent = &match name {
        HERE => with_own_shell(engine, &context, &workspace, consent, &around).await?,
        _ => consent.clone(),
    };
    let trash_for = words::days(&context.config().cleanup.trash_for.to_string());
    match workspaces::remove(engine, &context, &workspace, consent, dry_run, &app.observer()).await {
        Ok(Removal::WouldGo) => {
            app.ui.say(format!("{} would be moved to the trash for {trash_for}", workspace.name));
            Ok(workspace)
        }
        Ok(Removal::Removed(removed)) => {
            tell(app, &context, &removed);
            if name == HERE {
                app.ui.say("your shell stands in a directory that was moved: `cd` to another one, or `spinney cd`");
            }
            Ok(removed.workspace)
        }
        Err(spinney_app::Error::Engine(spinney_engine::Error::Refused { name, reasons })) => {
            // What `--force` can't override stands in the refusal alone; what helps names all that has to be allowed.
            let verdict = match consent {
                Consent::Force => workspaces::standing(engine, &context, &workspace).await?.verdict,
                _ => Verdict { reasons: reasons.clone(), merge: Merge::Unknown { detail: String::new() } },
            };
            let help = what_helps(&workspace, &verdict, &allowed, &trash_for, &around);
            let refusal = CliError::from(spinney_engine::Error::Refused { name, reasons });
            let refusal = refusal.explained(reasons_table(&verdict));
            Err(help.lines().fold(refusal, |refusal, line| refusal.hinted(line)))
        }
        Err(error) => Err(error.into()),
    }
}

/// Whoever removes the workspace that they stand in has a shell inside: that alone does not hold it. Any other process does.
async fn with_own_shell(
    engine: &Engine,
    context: &Context,
    workspace: &Workspace,
    consent: &Consent,
    around: &Around,
) -> Result<Consent> {
    let verdict = workspaces::standing(engine, context, workspace).await?.verdict;
    let is_own = verdict.reasons.iter().any(|reason| around.is_own_shell(reason));
    Ok(match consent {
        Consent::None if is_own => Consent::Codes([ReasonCode::InUse].into()),
        Consent::Codes(codes) if is_own => Consent::Codes(codes.iter().copied().chain([ReasonCode::InUse]).collect()),
        other => other.clone(),
    })
}

pub fn tell(app: &App, context: &Context, removed: &Removed) {
    let Removed { workspace, verdict, branch_deleted } = removed;
    let until = words::date(spinney_core::Timestamp::now().plus(context.config().cleanup.trash_for.0));
    let with = words::lost_with(verdict);
    let branch = if *branch_deleted {
        format!("; its branch `{}` was deleted too: it is merged or has no commits of its own", workspace.branch)
    } else {
        format!("; its branch `{}` stays", workspace.branch)
    };
    app.ui.say(format!("{} is in the trash until {until}{with}{branch}", style::paint(style::NAME, &workspace.name)));
    app.ui.say(format!("undo: spinney restore {}", workspace.name));
}
