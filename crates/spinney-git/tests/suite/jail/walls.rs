//! What a program in the jail can do, with whatever it is given: attacks 29, 30, 35 and 36, and the limits.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use spinney_git::{Error, Jail, JailLimits, Output};

use super::fixture::{Boxed, jail};
use crate::common::Sandbox;

/// Runs a script in the jail, which can't start other programs but may become one.
async fn run(jail: &Jail, shown: &[&Path], script: &str) -> Result<String, (i32, String)> {
    match jail.try_program(shown, Path::new("/bin/bash"), &["-c", script]).await {
        Ok(Output { stdout, .. }) => Ok(String::from_utf8_lossy(&stdout).trim_end().to_owned()),
        Err(Error::Failed { status, stderr, .. }) => Err((status, stderr)),
        Err(error) => panic!("{script}: {error:?}"),
    }
}

#[tokio::test]
async fn attack_29_no_namespace_no_mount_and_no_other_process() {
    let sandbox = Sandbox::new().await;
    let jail = jail(&sandbox).await;
    assert_eq!(run(&jail, &[], "echo here").await.unwrap(), "here");
    for script in [
        "exec unshare --user --map-root-user true",
        "exec unshare --mount true",
        "exec mount --bind /usr /bin",
        "exec mount -o remount,rw /usr",
        "exec umount /usr",
        "exec nsenter --target 1 --mount true",
        "exec chroot /usr /bin/true",
    ] {
        assert!(run(&jail, &[], script).await.is_err(), "{script}");
    }
    let (_, stderr) = run(&jail, &[], "ls; echo again").await.unwrap_err();
    assert!(stderr.contains("fork"), "{stderr}");
}

#[tokio::test]
async fn attack_30_nothing_that_is_shown_can_be_written() {
    let boxed = Boxed::new().await;
    let shown = [boxed.mirror.path(), boxed.path(), boxed.git_dir()];
    for place in shown {
        let target = place.join("written");
        assert!(run(&boxed.jail, &shown, &format!("echo x > '{}'", target.display())).await.is_err());
        assert!(!target.exists());
    }
    let config = boxed.mirror.path().join("config");
    let before = fs::read(&config).unwrap();
    assert!(run(&boxed.jail, &shown, &format!("echo x >> '{}'", config.display())).await.is_err());
    assert_eq!(fs::read(&config).unwrap(), before);
    for place in ["/usr/written", "/written", "/dev/written", "/tmp/written", "/.spinney/written"] {
        assert!(run(&boxed.jail, &shown, &format!("echo x > {place}")).await.is_err(), "{place}");
    }
}

#[tokio::test]
async fn attack_35_nothing_of_the_host_is_there() {
    let sandbox = Sandbox::new().await;
    let jail = jail(&sandbox).await;
    let listed =
        run(&jail, &[], "shopt -s dotglob; for name in /* /dev/* /etc/*; do echo \"$name\"; done").await.unwrap();
    for name in listed.lines() {
        let is_known = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/dev", "/etc"];
        let is_file = ["/dev/null", "/dev/urandom", "/etc/ld.so.cache"];
        assert!(is_known.contains(&name) || is_file.contains(&name), "{name}");
    }
    let home = sandbox.home();
    for place in ["/proc/1", "/sys/kernel", "/root", "/home", "/run", "/var", home.to_str().unwrap()] {
        assert!(run(&jail, &[], &format!("[ -e '{place}' ]")).await.is_err(), "{place}");
    }
    let told = run(&jail, &[], "exec env").await.unwrap();
    assert!(!told.contains("HOME=") && !told.contains(home.to_str().unwrap()), "{told}");
}

#[tokio::test]
async fn attack_36_no_network() {
    let sandbox = Sandbox::new().await;
    let jail = jail(&sandbox).await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let dial = format!("exec 3<>/dev/tcp/127.0.0.1/{}", listener.local_addr().unwrap().port());
    assert!(run(&jail, &[], &dial).await.is_err());
    listener.set_nonblocking(true).unwrap();
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[tokio::test]
async fn limits_end_what_takes_too_much() {
    let sandbox = Sandbox::new().await;
    let jail = jail(&sandbox).await;
    let limits = *jail.limits();
    let within = |limits| jail.with_limits(limits);

    let begun = Instant::now();
    let short = within(JailLimits { time: Duration::from_secs(1), ..limits });
    let error = short.try_program(&[], Path::new("/bin/sleep"), &["60"]).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
    let busy = within(JailLimits { processor_time: Duration::from_secs(1), ..limits });
    assert!(run(&busy, &[], "while :; do :; done").await.is_err());
    let quiet = within(JailLimits { output_bytes: 1 << 20, ..limits });
    let error = quiet.try_program(&[], Path::new("/usr/bin/yes"), &[]).await.unwrap_err();
    assert!(matches!(error, Error::OutputTooLarge { limit, .. } if limit == 1 << 20), "{error:?}");
    let small = within(JailLimits { memory_bytes: 64 << 20, ..limits });
    let large = "text=$(printf %01000000d 0); while :; do text=$text$text; done";
    assert!(run(&small, &[], &large.replace("$(printf %01000000d 0)", "xxxxxxxx")).await.is_err());
    let few = within(JailLimits { open_files: 16, ..limits });
    assert!(run(&few, &[], "for n in {10..40}; do eval \"exec $n</dev/null\" || exit 1; done").await.is_err());
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}
