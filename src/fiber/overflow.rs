//! The last words of a process that has run off the end of a fiber's stack: which script, which request.
//!
//! Scripts have a quarter of their stack's 4 MiB watched at each step, and far more address space lies below for what
//! nobody can look at. What gets through all of that ends the process, as it must: nothing of the stack can be undone.

use std::cell::Cell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::mem;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::control::{Control, current};

/// What a signal handler's stack has at least; the handler itself needs some hundred bytes.
const STACK: usize = 64 << 10;
/// Signals that the end of a stack is told with, and what was done at them before.
const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

static BEFORE: [AtomicUsize; 2] = [const { AtomicUsize::new(libc::SIG_DFL) }; 2];
/// The path of the file that gets the last words too; null where there is none.
static LOG: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
}

/// Names work, for its messages and for the last words of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label<'a> {
    /// The number of the request; 0 where there is none.
    pub request: u64,
    /// Where the script stands.
    pub script: &'a str,
    /// Of the request.
    pub method: &'a str,
    /// Of the request, without its query, in which keys may stand.
    pub path: &'a str,
}

/// Has the end of a fiber's stack on this thread named on the standard error output, and in what [`log_to`] says,
/// before the process ends by the signal.
pub fn watch() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(install);
    if !WATCHED.replace(true) {
        give_stack();
    }
}

/// The file that gets the last words too, if one does. It is opened by its name then, as logs are rotated.
pub fn log_to(file: Option<&Path>) {
    let path = file.and_then(|it| std::path::absolute(it).ok());
    let path = path.and_then(|it| CString::new(it.into_os_string().into_vec()).ok());
    // Never freed: a handler may be reading it. There are as few as there are error logs.
    LOG.store(path.map_or(ptr::null_mut(), CString::into_raw), Ordering::Release);
}

fn install() {
    for (signal, before) in SIGNALS.iter().zip(&BEFORE) {
        // SAFETY: both actions are of this type, for which all zeros are a value; the handler does only what a
        // handler may.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            let mut old: libc::sigaction = mem::zeroed();
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_fault;
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            if libc::sigaction(*signal, ptr::null(), &raw mut old) == 0 {
                before.store(
                    if old.sa_flags & libc::SA_SIGINFO == 0 { libc::SIG_DFL } else { old.sa_sigaction },
                    Ordering::Relaxed,
                );
                libc::sigaction(*signal, &raw const action, ptr::null_mut());
            }
        }
    }
}

/// A stack for the handler, where the thread has none: the standard library gives one to those that it starts.
fn give_stack() {
    // SAFETY: the stack that is handed over is never freed: a thread that runs fibers lives as long as the process.
    unsafe {
        let mut old: libc::stack_t = mem::zeroed();
        if libc::sigaltstack(ptr::null(), &raw mut old) == 0 && old.ss_flags & libc::SS_DISABLE != 0 {
            let stack = Box::leak(vec![0_u8; STACK].into_boxed_slice());
            let given = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: STACK };
            libc::sigaltstack(&raw const given, ptr::null_mut());
        }
    }
}

/// Runs on the signal's own stack, in the middle of anything: nothing here allocates, locks or waits.
extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives a valid `info`, which names an address for these signals.
    let address = unsafe { (*info).si_addr() }.addr();
    let before =
        SIGNALS.iter().position(|it| *it == signal).map_or(libc::SIG_DFL, |at| BEFORE[at].load(Ordering::Relaxed));
    match current() {
        Some(control) if control.is_off_the_stack(address) => speak(control),
        _ if before != libc::SIG_DFL && before != libc::SIG_IGN => {
            // SAFETY: what was installed before is such a function, as `SA_SIGINFO` said.
            let before: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = unsafe { mem::transmute(before) };
            return before(signal, info, context);
        }
        _ => {}
    }
    // The instruction is tried again when this returns, and now ends the process as if nobody had looked.
    // SAFETY: resetting the action is allowed in a handler.
    unsafe {
        let mut default: libc::sigaction = mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(signal, &raw const default, ptr::null_mut());
    }
}

fn speak(control: &Control) {
    let Label { request, script, method, path } = control.label;
    let mut id = [0; 16];
    for (at, digit) in id.iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(request >> (60 - 4 * at)) as usize & 15];
    }
    let name = if script.is_empty() { "a script" } else { script };
    let place = LOG.load(Ordering::Acquire);
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC | libc::O_NONBLOCK;
    // SAFETY: opening is allowed in a handler, and the path ends with a zero and is never freed.
    let log = if place.is_null() { -1 } else { unsafe { libc::open(place, flags, 0o644) } };
    for file in [libc::STDERR_FILENO, log].into_iter().filter(|it| *it >= 0) {
        let say = |text: &[u8]| {
            // SAFETY: the bytes are there for as long as it is called; whether it is written can't matter any more.
            unsafe { libc::write(file, text.as_ptr().cast(), text.len()) };
        };
        say(b"FATAL ");
        say(name.as_bytes());
        say(b": the stack of native calls overflowed, which nothing can be saved from; the process ends\n");
        if !method.is_empty() {
            say(b"  request: ");
            say(method.as_bytes());
            say(b" ");
            say(path.as_bytes());
            say(b" (");
            say(&id);
            say(b")\n");
        }
    }
}
