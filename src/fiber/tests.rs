//! What the fiber's users rely on.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use super::*;

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::LocalRuntime::new().expect("a runtime").block_on(future)
}

#[test]
fn work_that_waits_lets_others_run() {
    block_on(async {
        let started = Instant::now();
        let nap = || run(Limits::default(), || wait(tokio::time::sleep(Duration::from_millis(50))));
        let (first, second) = tokio::join!(nap(), nap());
        assert_eq!((first.unwrap(), second.unwrap()), (Ok(()), Ok(())));
        assert!(started.elapsed() < Duration::from_millis(95));
    });
}

#[test]
fn work_that_computes_gives_others_their_turn() {
    block_on(async {
        let computing = run(Limits { operations: 3_000_000, ..Limits::default() }, || {
            loop {
                if let Err(stop) = tick() {
                    return stop;
                }
            }
        });
        let others = async {
            let mut turns = 0;
            for _ in 0..5 {
                tokio::task::yield_now().await;
                turns += 1;
            }
            turns
        };
        let (stop, turns) = tokio::join!(computing, others);
        assert_eq!((stop.unwrap(), turns), (Stop::Operations, 5));
    });
}

#[test]
fn each_limit_stops_the_work() {
    let compute = || loop {
        if let Err(stop) = tick() {
            return stop;
        }
    };
    let time = Limits { time: Duration::from_millis(5), ..Limits::default() };
    assert_eq!(block_on(run(time, compute)).unwrap(), Stop::Time);
    let nap = || wait(tokio::time::sleep(Duration::from_secs(60)));
    assert_eq!(block_on(run(time, nap)).unwrap(), Err(Stop::Time));
    let memory = Limits { memory: 1 << 20, ..Limits::default() };
    let hoard = || {
        let mut held = Vec::new();
        loop {
            held.push(vec![1_u8; 1024]);
            if let Err(stop) = tick() {
                return (stop, held.len() < 1100);
            }
        }
    };
    assert_eq!(block_on(run(memory, hoard)).unwrap(), (Stop::Memory, true));
    fn dive(depth: u64) -> (Stop, u64) {
        let ballast = std::hint::black_box([depth; 32]);
        match tick() {
            Err(stop) => (stop, depth),
            Ok(()) => {
                let found = dive(depth + 1);
                std::hint::black_box(ballast);
                found
            }
        }
    }
    let (stop, depth) = block_on(run(Limits::default(), || dive(0))).unwrap();
    assert_eq!(stop, Stop::Stack);
    assert!(depth > 1000);
}

#[test]
fn memory_of_others_is_not_counted() {
    block_on(async {
        let limits = Limits { memory: 1 << 20, ..Limits::default() };
        let modest = run(limits, || {
            wait(tokio::time::sleep(Duration::from_millis(10))).unwrap();
            tick()
        });
        let (outcome, hoard) = tokio::join!(modest, async { vec![1_u8; 4 << 20] });
        assert_eq!(outcome.unwrap(), Ok(()));
        drop(hoard);
    });
}

#[test]
fn dropping_the_future_cancels_the_work() {
    let seen = Rc::new(Cell::new(None));
    let kept = seen.clone();
    block_on(async move {
        let work = run(Limits::default(), move || {
            kept.set(wait(std::future::pending::<()>()).err());
        });
        let _ = tokio::time::timeout(Duration::from_millis(10), work).await;
    });
    assert_eq!(seen.get(), Some(Stop::Cancelled));
    assert_eq!(Rc::strong_count(&seen), 1);
}

#[test]
fn a_panic_is_the_outcome_and_the_fiber_serves_again() {
    block_on(async {
        assert!(run(Limits::default(), || panic!("on purpose")).await.is_err());
        assert_eq!(run(Limits::default(), || 7).await.unwrap(), 7);
    });
}

#[test]
fn nothing_waits_outside_a_fiber_or_where_it_may_not() {
    assert_eq!(wait(async {}), Err(Stop::CannotWait));
    let limits = Limits { waiting: Waiting::Refused, ..Limits::default() };
    assert_eq!(block_on(run(limits, || wait(async {}))).unwrap(), Err(Stop::CannotWait));
}

/// Runs off the end of a fiber's stack in a process of its own: `run` below starts it.
#[test]
#[ignore = "it ends the process"]
fn the_end_of_a_stack() {
    fn dive(depth: u64) -> u64 {
        let ballast = std::hint::black_box([depth; 512]);
        if ballast[0] == u64::MAX { 0 } else { dive(depth + 1) + std::hint::black_box(ballast)[0] }
    }
    watch();
    if let Ok(path) = std::env::var("LAST_WORDS") {
        std::fs::write(&path, "").unwrap();
        log_to(Some(path.as_ref()));
        // Rotated: it is the name that counts.
        std::fs::rename(&path, format!("{path}.1")).unwrap();
    }
    let label = Label { request: 0x1234_5678_9ABC_DEF0, script: "handlers/deep.rhai", method: "GET", path: "/deep" };
    let _ = block_on(run_named(label, Limits::default(), || dive(0)));
}

#[test]
fn the_end_of_a_stack_is_named_before_the_process_ends() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("error.log");
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "fiber::tests::the_end_of_a_stack", "--nocapture", "--test-threads=1"])
        .env("LAST_WORDS", &log)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let expected = "FATAL handlers/deep.rhai: the stack of native calls overflowed, which nothing can be saved from; the \
                    process ends\n  request: GET /deep (123456789abcdef0)\n";
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(printed.contains(expected), "{printed}");
    assert_eq!(std::fs::read_to_string(log).unwrap(), expected);
    let signal = std::os::unix::process::ExitStatusExt::signal(&output.status);
    assert!([Some(libc::SIGSEGV), Some(libc::SIGBUS)].contains(&signal), "{}", output.status);
}

#[test]
fn the_stack_grows_with_what_work_may_hold() {
    /// Uses some 64 KiB of stack a step, as freeing a nested value does at which nobody can look.
    fn dive(steps: usize) -> usize {
        let ballast = [steps; 8 << 10];
        std::hint::black_box(&ballast);
        if steps == 0 { 0 } else { dive(steps - 1) + std::hint::black_box(&ballast)[0] / steps }
    }
    for (memory, megabytes) in [(64 << 20, 200), (96 << 20, 350)] {
        let limits = Limits { memory, ..Limits::default() };
        assert_eq!(block_on(run(limits, || dive(megabytes * 16))).unwrap(), megabytes * 16);
    }
}
