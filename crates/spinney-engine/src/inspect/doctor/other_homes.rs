//! Workspaces that other homes have in a repository.

use std::collections::BTreeMap;

use super::Check;
use crate::repositories::context::Context;
use crate::tree::marker::Marker;
use crate::verdict::plural;
use crate::{Engine, Result};

impl Engine {
    /// Tells which other homes have workspaces in a repository, and how to take over those of one that is gone.
    pub(super) async fn check_other_homes(&self, context: &Context) -> Result<Vec<Check>> {
        let mut homes: BTreeMap<_, Vec<Marker>> = BTreeMap::new();
        for (_, marker) in self.others(context).await? {
            let node = marker.node.clone().filter(|node| node != self.home.node());
            if let Some(node) = node {
                homes.entry(node).or_default().push(marker);
            }
        }
        let name = &context.repository.name;
        let told = |(node, markers): (_, Vec<Marker>)| {
            let count = plural(markers.len(), "workspace");
            match self.find_home(context, &node, &markers) {
                Some(place) => {
                    Check::good("homes", format!("{count} of {name} belong to another home, `{}`", place.display()))
                }
                None => Check::notice(
                    "homes",
                    format!("{count} of {name} belong to home `{node}`, which is not found"),
                    format!("where it is gone for good: spinney --repo {name} adopt --from-home {node}"),
                ),
            }
        };
        Ok(homes.into_iter().map(told).collect())
    }
}
