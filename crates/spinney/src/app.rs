//! One run of the command line: its options, its environment, its voice.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use spinney_app::Front;
use spinney_core::account::LOCAL;
use spinney_core::config::{ConfigError, Layers};
use spinney_core::names::visible_line;
use spinney_core::{Actor, RepositoryId, Workspace};
use spinney_engine::notice::{Notice, Phase, Warning};
use spinney_engine::{Among, Context, Engine, EngineOptions, plural};
use spinney_git::{Holder, OnWait, SETTINGS_BYTES, read_persons_text};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::{Color, Command, Global};
use crate::commands;
use crate::environment::Environment;
use crate::error::{CliError, Result};
use crate::jobs;
use crate::ui::progress::Progress;
use crate::ui::{Ui, repeat, words};

/// What a person types for the workspace that they stand in.
pub const HERE: &str = ".";

#[derive(Debug)]
pub struct App {
    pub global: Global,
    pub environment: Environment,
    pub ui: Ui,
    /// Whether the command that runs knows by itself what an interrupt means.
    takes_interrupts: AtomicBool,
}

impl App {
    pub fn new(global: Global, environment: Environment) -> Self {
        match global.color {
            Color::Auto => {}
            Color::Always => anstream::ColorChoice::Always.write_global(),
            Color::Never => anstream::ColorChoice::Never.write_global(),
        }
        repeat::remember(&global);
        let live = std::io::stderr().is_terminal() && !global.quiet && !global.json && !environment.is_ci();
        let ui = Ui { quiet: global.quiet, json: global.json, progress: Progress::new(live) };
        Self { global, environment, ui, takes_interrupts: AtomicBool::new(false) }
    }

    /// Runs a command. An interrupt, or being told to end, drops what it was doing, ends the processes that it started
    /// and undoes what it left open, unless the command takes signals itself.
    pub async fn run(&self, command: Option<Command>) -> Result<u8> {
        let Some(command) = command else { return commands::bare::run(self).await };
        let mut told = Told::listen(&command);
        let ended = match self.run_until_told(command, &mut told).await {
            Ok(outcome) => return outcome,
            Err(ended) => ended,
        };
        self.ui.progress.clear();
        let undo = async {
            if let Ok(engine) = self.open_engine().await {
                let _ = engine.recover(&|_| {}).await;
            }
        };
        // Who says it twice does not want to wait.
        tokio::select! {
            () = undo => {}
            _ = told.heard() => {}
        }
        Err(ended)
    }

    /// What a command comes to; or, with all that it was doing dropped, how it was ended.
    async fn run_until_told(&self, command: Command, told: &mut Told) -> Result<Result<u8>, CliError> {
        let mut running = std::pin::pin!(commands::run(self, command));
        loop {
            tokio::select! {
                outcome = &mut running => return Ok(outcome),
                ended = told.heard() => if !self.takes_interrupts.load(Ordering::Relaxed) { return Err(ended) },
            }
        }
    }

    /// Leaves interrupts to the command that runs, from here on.
    pub fn take_interrupts(&self) {
        self.takes_interrupts.store(true, Ordering::Relaxed);
    }

    /// The configuration of this run without any repository's part.
    pub fn layers(&self) -> Result<Layers> {
        Ok(read_layers(self.config_file(), &self.environment)?)
    }

    /// The configuration file, and whether somebody named it (a named one must exist).
    pub fn config_file(&self) -> Option<(PathBuf, bool)> {
        let named = self.global.config.clone().map(|path| (path, true));
        named.or_else(|| self.environment.config())
    }

    pub fn home(&self) -> Result<PathBuf> {
        let home = self.global.home.clone().or_else(|| self.environment.home());
        home.ok_or_else(|| {
            CliError::usage("neither `SPINNEY_HOME` nor `HOME` is set").hinted("name it with `--home DIR`")
        })
    }

    /// Opens the engine, and leaves what others left half done.
    pub async fn open_engine(&self) -> Result<Engine> {
        self.open_engine_with(self.layers()?, Duration::ZERO).await
    }

    /// The same, which waits so long for a database server that can't be reached.
    pub async fn open_patient_engine(&self, patience: Duration) -> Result<Engine> {
        self.open_engine_with(self.layers()?, patience).await
    }

    /// The same with a configuration of one's own choice.
    pub async fn open_engine_with(&self, layers: Layers, patience: Duration) -> Result<Engine> {
        let options = EngineOptions {
            home: self.home()?,
            account: LOCAL.to_owned(),
            layers,
            environment: self.environment.all(),
        };
        let ui = self.ui.clone();
        let tell =
            move |holder: &Holder| ui.say(format!("waiting for {holder}, which holds a lock of this repository"));
        let engine = Engine::open_patiently(options, patience).await?.telling_waits(OnWait::new(tell));
        let engine = engine.acting_as(Actor::CommandLine { user: self.environment.user() });
        match &self.global.account {
            Some(name) if !name.is_local() => {
                engine.require_account(name).await?;
                Ok(engine.for_account(name))
            }
            _ => Ok(engine),
        }
    }

    /// Opens the engine, finishes or undoes what others left half done, and settles jobs whose processes died.
    pub async fn engine(&self) -> Result<Engine> {
        let engine = self.open_engine().await?;
        engine.recover(&self.observer()).await?;
        jobs::settle_dead(self, &engine).await;
        Ok(engine)
    }

    /// The repository that the command is about.
    pub async fn context(&self, engine: &Engine) -> Result<Context> {
        let here = current_directory()?;
        let found = engine.find_context(self.global.repo.as_deref(), &here).await;
        if matches!(found, Err(spinney_engine::Error::Git(spinney_git::Error::NotARepository { .. }))) {
            // Whoever stands in the trash stood in a workspace a moment ago.
            if let Err(error @ spinney_engine::Error::InTrash { .. }) =
                engine.workspace_around(&here, Among::Live).await
            {
                return Err(error.into());
            }
        }
        Ok(found?)
    }

    /// The repository that the command is about, or none when it was started outside of any.
    pub async fn context_if_any(&self, engine: &Engine) -> Result<Option<Context>> {
        match engine.find_context(self.global.repo.as_deref(), &current_directory()?).await {
            Ok(context) => Ok(Some(context)),
            // Of a directory, none but the owner of the home is told what repository it is.
            Err(
                spinney_engine::Error::Git(spinney_git::Error::NotARepository { .. })
                | spinney_engine::Error::UnknownRepository { .. },
            ) if self.global.repo.is_none() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Finds a workspace by what the person typed, with its repository. `.` is the workspace that they stand in.
    pub async fn workspace(&self, engine: &Engine, name: &str, among: Among) -> Result<(Context, Workspace)> {
        if name == HERE {
            let workspace = engine.workspace_around(&current_directory()?, among).await?;
            return Ok((engine.context_of(&workspace).await?, workspace));
        }
        let here = self.context_if_any(engine).await?;
        let repository: Option<&RepositoryId> = here.as_ref().map(|context| &context.repository.id);
        let workspace = engine.find_workspace(repository, name, among).await?;
        let context = match here {
            Some(context) if context.repository.id == workspace.repository_id => context,
            _ => engine.context_of(&workspace).await?,
        };
        Ok((context, workspace))
    }

    /// Turns what the engine tells into talk and progress.
    pub fn observer(&self) -> impl Fn(Notice) + Send + Sync + '_ {
        move |notice| match notice {
            Notice::Phase(phase) => self.ui.progress.set(phase_text(&phase)),
            Notice::SetupOutput(line) => self.ui.say(format!("  {}", words::plain(&line))),
            Notice::Warning(warning) => match warning {
                Warning::MadeRoom { name, evidence } => {
                    self.ui.say(format!(
                        "{name} went to the trash to make room ({evidence}); `spinney restore {name}` undoes it"
                    ));
                }
                Warning::Recovered { what } => self.ui.say(what),
                other => self.ui.warn(visible_line(&warning_text(&other))),
            },
        }
    }
}

/// Reads the configuration file and the environment.
pub fn read_layers(file: Option<(PathBuf, bool)>, environment: &Environment) -> Result<Layers, ConfigError> {
    let mut layers = Layers::of(spinney_platforms::schema());
    if let Some((path, must_exist)) = file {
        match read_persons_text(&path, SETTINGS_BYTES) {
            Ok(text) => layers.file(&path, &text)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !must_exist => {}
            Err(error) => {
                let place = path.display().to_string();
                return Err(ConfigError::Unreadable { place, message: error.to_string() });
            }
        }
    }
    layers.environment(environment.texts())?;
    Ok(layers)
}

/// The signals that end a command.
struct Told {
    terminate: Option<Signal>,
}

impl Told {
    fn listen(command: &Command) -> Self {
        // These know by themselves what it means, or leave it to the system.
        let listens = matches!(
            command,
            Command::Serve(_)
                | Command::JobRun(_)
                | Command::Run(_)
                | Command::Retry(_)
                | Command::Demo(_)
                | Command::Logs(_)
        );
        let terminate = (!listens).then(|| signal(SignalKind::terminate()).ok()).flatten();
        Self { terminate }
    }

    async fn heard(&mut self) -> CliError {
        let terminated = async {
            match &mut self.terminate {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Ok(()) = tokio::signal::ctrl_c() => CliError::interrupted(),
            Some(()) = terminated => CliError::terminated(),
            else => std::future::pending().await,
        }
    }
}

pub fn current_directory() -> Result<PathBuf> {
    std::env::current_dir().map_err(|error| CliError::failed(format!("the current directory can't be read: {error}")))
}

fn phase_text(phase: &Phase) -> String {
    match phase {
        Phase::Fetching { remote } => format!("fetching from {remote}"),
        Phase::Cloning { url } => format!("cloning {url}"),
        Phase::WaitingForPool => "waiting for another process that fills the pool".to_owned(),
        Phase::Waiting { workspace } => format!("waiting for another process to finish {workspace}"),
        Phase::CheckingOut => "checking files out".to_owned(),
        Phase::CopyingFiles { count } => format!("copying {}", plural(*count, "file")),
        Phase::UpdatingSubmodules => "updating submodules".to_owned(),
        Phase::PullingLfs => "pulling LFS files".to_owned(),
        Phase::RunningSetup { line } => format!("setup: {line}"),
        Phase::Sweeping { workspace } => format!("looking at {workspace}"),
        Phase::MakingRoom => "looking for merged workspaces to make room".to_owned(),
        Phase::Finishing => "finishing".to_owned(),
    }
}

fn warning_text(warning: &Warning) -> String {
    match warning {
        Warning::FetchFailed { remote, cause, age } => {
            let known = match age {
                Some(age) => format!("continuing with what was fetched {}", words::span_ago(*age)),
                None => "continuing with what is in this clone, of unknown age".to_owned(),
            };
            format!("could not fetch from `{remote}` ({cause}); {known}")
        }
        other => words::with_advice(&other.to_string(), other.advice().as_slice(), Front::CommandLine),
    }
}
