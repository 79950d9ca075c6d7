//! The forge, as sweeps ask it: opened when the first question comes, and asked no more once it gave no answer.

use spinney_core::{Forge, Workspace};

use crate::Engine;
use crate::notice::{Notice, Observer, Warning};
use crate::repositories::context::Context;
use crate::verdict::ForgeWord;

#[derive(Debug)]
pub(crate) struct ForgeAsked {
    forge: State,
}

#[derive(Debug)]
enum State {
    Unopened,
    Open(Box<dyn Forge>),
    /// There is none, or it gives no answer.
    Silent,
}

impl ForgeAsked {
    pub fn unopened() -> Self {
        Self { forge: State::Unopened }
    }

    /// What the forge says of a workspace's branch. Without a forge, a pull request that is known is taken for open.
    pub async fn ask(
        &mut self,
        engine: &Engine,
        context: &Context,
        workspace: &Workspace,
        observer: &dyn Observer,
    ) -> Option<ForgeWord> {
        if !workspace.pushed && workspace.pull_request.is_none() {
            return None;
        }
        if matches!(self.forge, State::Unopened) {
            self.forge = open(engine, context, observer).await;
        }
        let State::Open(forge) = &self.forge else {
            let open = workspace.open_pull_request()?.to_owned();
            return Some(ForgeWord { open: Some(open), ..ForgeWord::default() });
        };
        let (word, fault) = Engine::forge_word(&**forge, workspace).await;
        if let Some(fault) = fault {
            let what = format!("the forge could not be asked, so known pull requests count as open: {fault}");
            observer(Notice::Warning(Warning::Minor { what }));
            self.forge = State::Silent;
        }
        Some(word)
    }
}

async fn open(engine: &Engine, context: &Context, observer: &dyn Observer) -> State {
    match engine.hasty_forge(context).await {
        Ok(Some(forge)) => State::Open(forge),
        Ok(None) => State::Silent,
        Err(error) => {
            observer(Notice::Warning(Warning::Minor { what: error.in_full() }));
            State::Silent
        }
    }
}
