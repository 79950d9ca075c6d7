//! What a person or the system says to who follows jobs.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::{CliError, Result};

#[derive(Debug)]
pub struct Interrupts {
    interrupt: Signal,
    presses: u8,
    /// Told to go, by a signal that nothing was waiting for before jobs are followed.
    others: Option<(Signal, Signal)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// Ctrl-C, so many times.
    Interrupt(u8),
    Terminate,
    HangUp,
}

impl Heard {
    /// The status that a shell gives who was ended by the signal.
    pub fn exit_status(self) -> u8 {
        match self {
            Self::Interrupt(_) => 130,
            Self::Terminate => 143,
            Self::HangUp => 129,
        }
    }

    /// A terminal that hung up shows nothing any more.
    pub fn somebody_reads(self) -> bool {
        self != Self::HangUp
    }
}

impl Interrupts {
    /// Notes interrupts from here on, for later.
    pub fn listen() -> Result<Self> {
        Ok(Self { interrupt: listen_to(SignalKind::interrupt())?, presses: 0, others: None })
    }

    /// Waits for a signal for some time.
    pub async fn within(&mut self, time: Duration) -> Option<Heard> {
        tokio::time::timeout(time, self.heard()).await.ok()
    }

    /// Waits for a signal.
    pub async fn heard(&mut self) -> Heard {
        if self.others.is_none() {
            let others = (listen_to(SignalKind::terminate()), listen_to(SignalKind::hangup()));
            self.others = others.0.ok().zip(others.1.ok());
        }
        let Some((terminate, hang_up)) = self.others.as_mut() else { return std::future::pending().await };
        tokio::select! {
            biased;
            _ = terminate.recv() => Heard::Terminate,
            _ = hang_up.recv() => Heard::HangUp,
            _ = self.interrupt.recv() => {
                self.presses += 1;
                Heard::Interrupt(self.presses)
            }
        }
    }
}

fn listen_to(kind: SignalKind) -> Result<Signal> {
    signal(kind).map_err(|error| CliError::failed(format!("signals can't be listened to: {error}")))
}
