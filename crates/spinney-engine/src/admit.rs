//! Admission: how many workspaces, and how much disk.

use spinney_core::config::Placeholder;
use spinney_core::{CommitId, Consent, Merge, Remover, Sweep, Workspace, WorkspaceStatus};
use spinney_store::WorkspaceFilter;

use crate::context::{Context, tree_root};
use crate::error::Census;
use crate::notice::{Notice, Observer, Phase, Warning};
use crate::{Engine, Error, Result, disk};

/// While this many times the tree's last known size fits, the tree is not measured again.
const AMPLE: u64 = 10;

impl Engine {
    /// Moves one provably merged workspace to the trash, oldest first; blocked with the counts when there is none.
    pub(crate) async fn make_room(&self, context: &Context, observer: Observer<'_>) -> Result<()> {
        observer(Notice::Phase(Phase::MakingRoom));
        let filter = WorkspaceFilter {
            account: self.account.clone(),
            node: Some(self.home.node().clone()),
            repository: Some(context.repository.id.clone()),
            statuses: crate::create::COUNTED.to_vec(),
        };
        let mut workspaces = self.store.read().await?.workspaces(&filter).await?;
        let max_workspaces = usize::try_from(context.config().limits.max_workspaces).unwrap_or(usize::MAX);
        workspaces.sort_by_key(|workspace| workspace.last_activity_at);
        if workspaces.len() < max_workspaces {
            return Ok(());
        }
        let remover = Remover::Sweep(Sweep::MakeRoom);
        let mut judged: Vec<(Workspace, Merge)> = Vec::new();
        for workspace in workspaces {
            if workspace.status != WorkspaceStatus::Active {
                continue;
            }
            // Whether it is merged is cheap to ask; its files are looked at only then.
            let merge = self.merge_of(context, &workspace).await;
            if !merge.is_merged() {
                judged.push((workspace, merge));
                continue;
            }
            let verdict = self.judge(context, &workspace, remover).await?;
            if verdict.merge.is_merged() && verdict.removable(&Consent::None) {
                let evidence = verdict.evidence().map(|evidence| evidence.detail.clone()).collect();
                match self.remove_judged(context, &workspace, &verdict, remover, None, observer).await {
                    Ok(_) => {
                        let name = workspace.name.to_string();
                        observer(Notice::Warning(Warning::MadeRoom { name, evidence }));
                        return Ok(());
                    }
                    Err(error) => {
                        let what = format!("{} could not be removed: {error}", workspace.name);
                        observer(Notice::Warning(Warning::Minor { what }));
                    }
                }
            }
            judged.push((workspace, merge));
        }
        Err(Error::Limit {
            repository: context.repository.name.clone(),
            census: Box::new(self.census(context, judged).await?),
        })
    }

    /// Whether one workspace more would be within the limits, as far as that is known at once.
    pub async fn seems_to_have_room(&self, context: &Context) -> Result<bool> {
        let limits = &context.config().limits;
        let count = self
            .store
            .read()
            .await?
            .count_workspaces(&context.repository.id, self.home.node(), &crate::create::COUNTED)
            .await?;
        let place = self.tree_parent(context);
        let free = disk::free_bytes(&place).map_err(Error::files(&place, "inspected"))?;
        let needed = limits.min_free_disk.0.saturating_add(context.repository.tree_bytes.unwrap_or(0));
        Ok(count < u64::from(limits.max_workspaces) && free >= needed)
    }

    async fn census(&self, context: &Context, judged: Vec<(Workspace, Merge)>) -> Result<Census> {
        let config = context.config();
        let total = self
            .store
            .read()
            .await?
            .count_workspaces(&context.repository.id, self.home.node(), &crate::create::COUNTED)
            .await?;
        let (merged, rest): (Vec<_>, Vec<_>) = judged.into_iter().partition(|(_, merge)| merge.is_merged());
        let stale_after = config.cleanup.stale_after;
        let is_stale =
            |workspace: &Workspace| !stale_after.0.is_zero() && workspace.last_activity_at.elapsed() > stale_after.0;
        let names =
            |list: Vec<(Workspace, Merge)>| list.into_iter().map(|(workspace, _)| workspace.name).collect::<Vec<_>>();
        let merged = names(merged);
        let stale = names(rest.into_iter().filter(|(workspace, _)| is_stale(workspace)).collect());
        let active = usize::try_from(total).unwrap_or(usize::MAX).saturating_sub(merged.len() + stale.len());
        Ok(Census {
            limit: u64::from(config.limits.max_workspaces),
            merged,
            stale,
            active,
            stale_after: stale_after.to_string(),
        })
    }

    /// Refuses when the tree would not fit and leave `limits.min_free_disk` free.
    pub(crate) async fn check_disk(&self, context: &Context, commit: &CommitId) -> Result<()> {
        let kept = context.config().limits.min_free_disk.0;
        let place = self.tree_parent(context);
        let free = disk::free_bytes(&place).map_err(Error::files(&place, "inspected"))?;
        if let Some(known) = context.repository.tree_bytes
            && free >= kept.saturating_add(known.saturating_mul(AMPLE))
        {
            return Ok(());
        }
        let needed = context.load_tree_bytes(commit).await?;
        if free < kept.saturating_add(needed) {
            return Err(Error::LowDisk { free, needed, kept });
        }
        let repository = spinney_core::Repository { tree_bytes: Some(needed), ..context.repository.clone() };
        let mut db = self.store.write().await?;
        db.update_repository(&repository).await?;
        Ok(db.commit().await?)
    }

    /// The directory that new workspaces of a repository go to, as far as it is the same for all.
    fn tree_parent(&self, context: &Context) -> std::path::PathBuf {
        let root = context.place();
        let sample = context.config().workspace.path.expand(|placeholder| match placeholder {
            Placeholder::Home => self.home.root().display().to_string(),
            Placeholder::Root => root.display().to_string(),
            Placeholder::Parent => root.parent().unwrap_or(root).display().to_string(),
            _ => "x".to_owned(),
        });
        tree_root(std::path::Path::new(&sample)).to_owned()
    }
}
