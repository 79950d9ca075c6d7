mod common;
use common::*;
use spinney_core::BranchName;
use spinney_git::*;
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stress() {
    let sandbox = std::sync::Arc::new(Sandbox::new().await);
    let root = sandbox.init_cloned("app");
    let repository = sandbox.open(&root).await;
    let commit = sandbox.head(&root);
    let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let mut back = Vec::new();
    { let (s, d) = (sandbox.clone(), done.clone());
      back.push(tokio::task::spawn_blocking(move || { let o = s.path("o"); s.run(&s.path(""), &["clone","-q", s.path("app.git").to_str().unwrap(), o.to_str().unwrap()]); let mut n=0; while !d.load(std::sync::atomic::Ordering::SeqCst) { n+=1; s.commit(&o, "m", &n.to_string()); s.run(&o, &["push","-q"]); } println!("pushes {n}"); })); }
    let mut tasks = Vec::new();
    for number in 0..100 {
        let (repository, commit, path, s) = (repository.clone(), commit.clone(), sandbox.path(&format!("t/{number}")), sandbox.clone());
        tasks.push(tokio::spawn(async move {
            let name: BranchName = format!("agent/{number}").parse().unwrap();
            let start = Start::NewBranch { name: &name, commit: &commit };
            { let lock = repository.lock("x").await.map_err(|e| {println!("AT 1 {e:?}");e})?; repository.add_worktree(&lock, &AddWorktree { path: &path, start, lock_reason: "x" }).await.map_err(|e| {println!("AT 2 {e:?}");e})?; }
            let w = Worktree::open(&repository, &path)?; w.checkout(false).await.map_err(|e| {println!("AT 3 {e:?}");e})?;
            w.load_status(&StatusOptions{untracked:true,ignored:true}).await.map_err(|e| {println!("AT 4 {e:?}");e})?;
            w.load_hidden_edits().await.map_err(|e| {println!("AT 5 {e:?}");e})?;
            repository.sync("origin", None).await.map_err(|e| {println!("AT 6 {e:?}");e})?;
            repository.load_worktrees().await.map_err(|e| {println!("AT 7 {e:?}");e})?;
            { let lock = repository.lock("rm").await.map_err(|e| {println!("AT 8 {e:?}");e})?;
              repository.pin(&lock, w.admin_dir(), Some(&name), &format!("refs/spinney/rescue/x{number}"), "m").await.map_err(|e| {println!("AT 9 {e:?}");e})?;
              std::fs::rename(w.path(), s.path(&format!("trash{number}"))).unwrap();
              std::fs::rename(w.admin_dir(), repository.state_dir().join(format!("x{number}"))).unwrap();
              repository.delete_ref(&lock, &name.local_ref(), &commit).await.map_err(|e| {println!("AT 10 {e:?}");e})?; }
            repository.fetch("origin", &Wanted{default_branch:true,branches:vec!["main".parse().unwrap()],pulls:vec![]}, std::time::Duration::ZERO, None).await.map_err(|e| {println!("AT 11 {e:?}");e})?;
            repository.load_worktrees().await.map(drop)
        }));
    }
    let mut bad = 0;
    for task in tasks { if let Err(e) = task.await.unwrap() { bad += 1; println!("BAD {e:?}"); } }
    done.store(true, std::sync::atomic::Ordering::SeqCst);
    for b in back { b.await.unwrap(); }
    assert_eq!(bad, 0);
}
