//! Ports for a workspace's servers: allocated in the store under its lock, and checked to be free.

use std::net::{Ipv4Addr, TcpListener};

use spinney_core::WorkspaceId;

use crate::{Engine, Error, Result};

/// Below the range that systems hand out to outgoing connections.
const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;

impl Engine {
    /// Gives a workspace one port for each name; names that have one keep it.
    pub(crate) async fn allocate_ports(&self, workspace: &WorkspaceId, names: &[String]) -> Result<()> {
        let own = self.store.read().await?.ports_of(workspace).await?;
        if names.iter().all(|name| own.iter().any(|port| port.name == *name)) {
            return Ok(());
        }
        let mut db = self.store.write().await?;
        let taken: Vec<u16> = db.ports(self.home.node()).await?.iter().map(|port| port.port).collect();
        let own: Vec<String> = db.ports_of(workspace).await?.into_iter().map(|port| port.name).collect();
        let mut candidates = (FIRST..FIRST + COUNT).filter(|port| !taken.contains(port) && is_free(*port));
        for name in names.iter().filter(|name| !own.contains(name)) {
            let port = candidates.next().ok_or_else(|| Error::NoFreePort { name: name.clone() })?;
            db.insert_port(self.home.node(), port, workspace, name).await?;
        }
        Ok(db.commit().await?)
    }
}

/// Whether nothing listens there now, on loopback or on all addresses.
fn is_free(port: u16) -> bool {
    [Ipv4Addr::LOCALHOST, Ipv4Addr::UNSPECIFIED].iter().all(|address| TcpListener::bind((*address, port)).is_ok())
}
