//! Files that are only appended to, each by a thread of its own, so that no worker ever waits for
//! a disk; what is written into them is not known here.

use std::collections::VecDeque;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::directive::{Node, Problem};

mod output;

use output::{Appended, Output};

/// Bytes that may wait for the disk; what comes on top of them is dropped.
///
/// 8 MiB are about a second of a busy server's access log.
const QUEUE: usize = 8 << 20;

/// All files that are open, so that a path that is named twice is written by one thread.
static OPEN: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

/// A handle of a file that is appended to in the background.
///
/// Handles of one file share its queue, which keeps the order of what is sent. When the last one is
/// dropped the file is closed as soon as everything has been written; nobody waits for that.
pub struct LogFile(Arc<Shared>);

/// How a file says that lines are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// As a sentence.
    #[default]
    Text,
    /// As an object of JSON, for each line is one.
    Json,
}

/// Whether a character of a line would do something else than show itself: control characters, ends of lines, and
/// those that turn the direction of what follows (Unicode's `Bidi_Control`), so that a line reads as another.
pub fn steers(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

struct Shared {
    /// The file's, also while it is another's.
    path: Option<PathBuf>,
    form: Form,
    queue: Mutex<Queue>,
    /// Wakes the writing thread: something was sent, or the last handle was dropped.
    sent: Condvar,
    /// Wakes who waits for what was sent to be written.
    written: Condvar,
}

/// What the handles of a file agree on: the device and number of its inode, as a file may have
/// several names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Stderr,
    Inode(u64, u64),
}

struct Queue {
    target: Target,
    /// Whether the file is to be opened anew.
    is_renewed: bool,
    blocks: VecDeque<Vec<u8>>,
    /// Bytes in `blocks`, and in those that are being written.
    bytes: usize,
    /// Lines that found no room since this was last written to the file.
    dropped: u64,
    /// How many blocks were ever taken in, and how many of them are done; what is to be said about
    /// dropped lines counts as one.
    taken: u64,
    done: u64,
    handles: usize,
    /// The thread has ended: there was no handle left.
    ended: bool,
}

impl LogFile {
    /// Opens `path` for appending, and creates it where it does not exist. Where it is open already
    /// the form stays what it is.
    ///
    /// # Errors
    /// If the file can't be opened, or no thread be started; the message names the path.
    pub fn open(path: &Path, form: Form) -> io::Result<LogFile> {
        let file = match Appended::open(path) {
            // Whoever the process has become since then may not, but has it.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return opened(path).ok_or(error),
            file => file?,
        };
        let (device, inode) = file.identity();
        let path = file.path().to_owned();
        share(Target::Inode(device, inode), Some(path), form, file)
    }

    /// Writes to the standard error output.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn stderr(form: Form) -> io::Result<LogFile> {
        share(Target::Stderr, None, form, io::stderr())
    }

    /// Appends `block`, which holds whole lines, when the disk has time for it.
    ///
    /// Where 8 MiB wait already the block is dropped; its lines are counted, and a line in the file
    /// says how many they were.
    pub fn send(&self, block: Vec<u8>) {
        if block.is_empty() {
            return;
        }
        let mut queue = self.0.lock();
        if queue.bytes + block.len() > QUEUE {
            queue.taken += u64::from(queue.dropped == 0);
            queue.dropped += lines(&block).max(1);
        } else {
            queue.bytes += block.len();
            queue.taken += 1;
            queue.blocks.push_back(block);
        }
        drop(queue);
        self.0.sent.notify_one();
    }

    /// Waits until everything that was sent before has been written, for at most `patience`.
    ///
    /// Returns whether it has: a disk that hangs must not keep the server from ending.
    pub fn flush(&self, patience: Duration) -> bool {
        self.0.wait(Instant::now() + patience)
    }

    /// Whether both write to the same file.
    pub fn is_same(&self, other: &LogFile) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Waits until all files have got what was sent to them, also those without a handle, for at most
/// `patience`: the last step of a server that ends.
///
/// Returns whether they have.
pub fn flush_all(patience: Duration) -> bool {
    let until = Instant::now() + patience;
    let open: Vec<_> = registry().iter().filter_map(Weak::upgrade).collect();
    open.iter().all(|file| file.wait(until))
}

/// Lets each file be opened anew by its path, for what is sent from now on: whoever rotates logs has renamed it. That
/// is noticed without being asked, too, but only while lines come, and once a second.
pub fn reopen_all() {
    for file in registry().iter().filter_map(Weak::upgrade) {
        file.lock().is_renewed = true;
        file.sent.notify_one();
    }
}

impl Clone for LogFile {
    fn clone(&self) -> LogFile {
        self.0.lock().handles += 1;
        LogFile(Arc::clone(&self.0))
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        self.0.lock().handles -= 1;
        self.0.sent.notify_one();
    }
}

impl fmt::Debug for LogFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LogFile").field(&self.0.path).finish()
    }
}

/// Reads the path of a log file from the configuration, without opening it.
///
/// # Errors
/// If it is a folder, or its own folder does not exist.
pub fn path(node: &Node) -> Result<PathBuf, Problem> {
    let expected = "the path of a file";
    let path = PathBuf::from(node.text_as(expected)?);
    if path.as_os_str().is_empty() || path.is_dir() {
        return Err(node.expected(expected));
    }
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty() && !it.is_dir());
    folder.map_or(Ok(()), |folder| {
        let (name, at, folder) = (node.name(), path.display(), folder.display());
        let problem = node.problem(format!("`{name}` is `{at}`, but there is no folder `{folder}`"));
        Err(problem.hint(format!("`mkdir -p {folder}` makes it; paths are relative to the current folder")))
    })?;
    Ok(path)
}

fn registry() -> MutexGuard<'static, Vec<Weak<Shared>>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A handle of the file at `path`, if it is open.
fn opened(path: &Path) -> Option<LogFile> {
    let metadata = fs::metadata(path).ok()?;
    let target = Target::Inode(metadata.dev(), metadata.ino());
    find(&registry(), target, None)
}

/// A handle of the file that is open as `target`, or was by this path and will be again.
fn find(registry: &[Weak<Shared>], target: Target, path: Option<&Path>) -> Option<LogFile> {
    registry.iter().filter_map(Weak::upgrade).find_map(|file| {
        let mut queue = file.lock();
        let is_moved = queue.target != target && path.is_some() && file.path.as_deref() == path;
        if queue.ended || !(queue.target == target || is_moved) {
            return None;
        }
        queue.handles += 1;
        queue.is_renewed |= is_moved;
        drop(queue);
        file.sent.notify_one();
        Some(LogFile(file))
    })
}

/// Gives a handle of the file that is open as `target`, or was by this path and will be again, else starts a thread that
/// writes to `output`.
fn share(target: Target, path: Option<PathBuf>, form: Form, output: impl Output) -> io::Result<LogFile> {
    let mut registry = registry();
    registry.retain(|file| file.strong_count() > 0);
    if let Some(file) = find(&registry, target, path.as_deref()) {
        return Ok(file);
    }
    let file = start(target, path, form, output)?;
    registry.push(Arc::downgrade(&file.0));
    Ok(file)
}

fn start(target: Target, path: Option<PathBuf>, form: Form, output: impl Output) -> io::Result<LogFile> {
    let queue = Mutex::new(Queue::new(target));
    let shared = Arc::new(Shared { path, form, queue, sent: Condvar::new(), written: Condvar::new() });
    let writer = Arc::clone(&shared);
    thread::Builder::new().name(String::from("log")).spawn(move || writer.write_all_to(output))?;
    Ok(LogFile(shared))
}

impl Queue {
    fn new(target: Target) -> Queue {
        Queue {
            target,
            is_renewed: false,
            blocks: VecDeque::new(),
            bytes: 0,
            dropped: 0,
            taken: 0,
            done: 0,
            handles: 1,
            ended: false,
        }
    }
}

fn lines(block: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', block).count() as u64
}

impl Shared {
    /// A thread that panicked while it held the lock left the queue whole: each change is one step.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, until: Instant) -> bool {
        let mut queue = self.lock();
        let goal = queue.taken;
        while queue.done < goal {
            let Some(left) = until.checked_duration_since(Instant::now()).filter(|it| !it.is_zero()) else {
                return false;
            };
            queue = self.written.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// The writing thread: it ends when there is no handle and nothing left to write.
    fn write_all_to(&self, mut output: impl Output) {
        let mut lost = 0;
        let mut queue = self.lock();
        loop {
            while queue.blocks.is_empty() && queue.dropped == 0 && !queue.is_renewed {
                if queue.handles == 0 {
                    queue.ended = true;
                    return;
                }
                queue = self.sent.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            let blocks = std::mem::take(&mut queue.blocks);
            // Dropped lines came after these blocks: there was room for them.
            let dropped = std::mem::take(&mut queue.dropped);
            let is_asked = std::mem::take(&mut queue.is_renewed);
            drop(queue);
            // Before what was sent until now is written: it is too late for the old file to be looked through.
            let renewed = output.renew(is_asked);
            lost = write(&mut output, self.form, &blocks, lost, dropped);
            queue = self.lock();
            if let Some((device, inode)) = renewed {
                queue.target = Target::Inode(device, inode);
            }
            queue.bytes -= blocks.iter().map(Vec::len).sum::<usize>();
            queue.done += blocks.len() as u64 + u64::from(dropped > 0);
            self.written.notify_all();
        }
    }
}

/// Writes `blocks` and how many lines are missing before and after them; returns how many are
/// missing without the file saying so, because it could not be written.
fn write(output: &mut impl Write, form: Form, blocks: &VecDeque<Vec<u8>>, lost: u64, dropped: u64) -> u64 {
    let mut missing = confess(output, form, lost);
    for block in blocks {
        if let Err(error) = output.write_all(block) {
            // Said once for a row of failures. The error log may be the file that fails, so this
            // goes past it; where that fails too there is nobody left to tell.
            if missing == 0 {
                let _ = writeln!(io::stderr(), "a log file can't be written: {error}");
            }
            missing += lines(block);
        }
    }
    confess(output, form, missing + dropped)
}

fn confess(output: &mut impl Write, form: Form, missing: u64) -> u64 {
    let sentence = format!("{missing} lines are missing here: they came faster than they could be written");
    let line = match form {
        Form::Text => format!("({sentence})\n"),
        Form::Json => format!("{{\"level\":\"WARN\",\"message\":\"{sentence}\"}}\n"),
    };
    if missing == 0 || output.write_all(line.as_bytes()).is_ok() { 0 } else { missing }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::mpsc;

    const PATIENCE: Duration = Duration::from_secs(20);

    impl Output for Slow {}

    /// A disk that writes one block for each permit.
    struct Slow {
        permits: mpsc::Receiver<()>,
        content: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.permits.recv();
            self.content.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_is_sent_is_appended_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        fs::write(&path, "old\n").unwrap();
        let file = LogFile::open(&path, Form::Text).unwrap();
        for number in 0..1000 {
            file.send(format!("{number}\n").into_bytes());
        }
        assert!(file.flush(PATIENCE));
        let expected: String = (0..1000).map(|number| format!("{number}\n")).collect();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("old\n{expected}"));
    }

    #[test]
    fn paths_that_name_the_same_file_share_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        let first = LogFile::open(&path, Form::Text).unwrap();
        std::os::unix::fs::symlink(&path, folder.path().join("b.log")).unwrap();
        assert!(first.is_same(&LogFile::open(&folder.path().join("b.log"), Form::Text).unwrap()));
        assert!(!first.is_same(&LogFile::open(&folder.path().join("c.log"), Form::Text).unwrap()));
    }

    #[test]
    fn a_file_that_was_dropped_is_still_written_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        let file = LogFile::open(&path, Form::Text).unwrap();
        file.send(b"last words\n".to_vec());
        drop(file);
        assert!(flush_all(PATIENCE));
        assert_eq!(fs::read_to_string(&path).unwrap(), "last words\n");
        LogFile::open(&path, Form::Text).unwrap().send(b"again\n".to_vec());
        assert!(flush_all(PATIENCE));
        assert_eq!(fs::read_to_string(&path).unwrap(), "last words\nagain\n");
    }

    #[test]
    fn a_file_that_was_renamed_is_opened_anew() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let read = |name: &str| fs::read_to_string(at(name)).unwrap();
        let file = LogFile::open(&at("a.log"), Form::Text).unwrap();
        let send = |line: &str| {
            file.send(format!("{line}\n").into_bytes());
            assert!(file.flush(PATIENCE));
        };
        send("1");
        fs::rename(at("a.log"), at("a.log.1")).unwrap();
        send("2");
        reopen_all();
        send("3");
        assert_eq!((read("a.log.1"), read("a.log")), ("1\n2\n".into(), "3\n".into()));
        // Without being asked, while lines come.
        fs::rename(at("a.log"), at("a.log.2")).unwrap();
        thread::sleep(Duration::from_millis(1100));
        send("4");
        assert_eq!((read("a.log.2"), read("a.log")), ("3\n".into(), "4\n".into()));
        // Emptied in its place, as `copytruncate` does it.
        fs::write(at("a.log"), "").unwrap();
        send("5");
        assert_eq!(read("a.log"), "5\n");
        // Whoever opens the path after it was renamed shares what others have open.
        fs::remove_file(at("a.log")).unwrap();
        assert!(file.is_same(&LogFile::open(&at("a.log"), Form::Text).unwrap()));
        send("6");
        assert_eq!(read("a.log"), "6\n");
        fs::rename(at("a.log"), at("a.log.3")).unwrap();
        fs::create_dir(at("a.log")).unwrap();
        reopen_all();
        send("7");
        assert_eq!(read("a.log.3"), "6\n7\n", "the old one goes on");
    }

    #[test]
    fn a_slow_disk_drops_what_has_no_room_and_says_how_much() {
        let (permit, permits) = mpsc::channel();
        let content = Arc::new(Mutex::new(Vec::new()));
        let file =
            start(Target::Inode(0, 0), None, Form::Text, Slow { permits, content: Arc::clone(&content) }).unwrap();
        let block = [vec![b'x'; QUEUE / 4 - 1], vec![b'\n']].concat();
        for _ in 0..4 {
            file.send(block.clone());
        }
        file.send(b"one\ntwo\n".to_vec());
        assert!(!file.flush(Duration::ZERO));
        drop(permit);
        assert!(file.flush(PATIENCE));
        file.send(b"three\n".to_vec());
        assert!(file.flush(PATIENCE));
        let content = content.lock().unwrap();
        let tail = String::from_utf8_lossy(&content[QUEUE..]);
        assert_eq!(tail, "(2 lines are missing here: they came faster than they could be written)\nthree\n");
    }

    #[test]
    fn lines_that_could_not_be_written_are_counted_in_the_next_that_can() {
        struct Full(bool, Vec<u8>);
        impl Write for Full {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                if self.0 { Err(io::ErrorKind::StorageFull.into()) } else { self.1.write(bytes) }
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut disk = Full(true, Vec::new());
        let blocks = VecDeque::from([b"a\nb\n".to_vec()]);
        let lost = write(&mut disk, Form::Text, &blocks, 0, 1);
        assert_eq!(lost, 3);
        disk.0 = false;
        assert_eq!(write(&mut disk, Form::Text, &blocks, lost, 0), 0);
        let expected = "(3 lines are missing here: they came faster than they could be written)\na\nb\n";
        assert_eq!(String::from_utf8(disk.1).unwrap(), expected);
    }

    #[test]
    fn the_path_of_a_log_file_has_a_folder_and_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            let root = crate::directive::parse(Path::new("host.yaml"), &format!("error-log: {text}")).unwrap();
            path(&root.entries().unwrap()[0].1).map_err(|problem| problem.message().to_owned())
        };
        let below = |name: &str| folder.path().join(name).display().to_string();
        assert_eq!(read(&below("a.log")), Ok(folder.path().join("a.log")));
        assert_eq!(read("a.log"), Ok(PathBuf::from("a.log")));
        let (at, missing) = (below("no/a.log"), below("no"));
        assert_eq!(read(&at), Err(format!("`error-log` is `{at}`, but there is no folder `{missing}`")));
        assert_eq!(read(&below("")), Err(format!("`error-log` is `{}`, expected the path of a file", below(""))));
        assert_eq!(read("''"), Err(String::from("`error-log` is ``, expected the path of a file")));
    }

    #[test]
    fn among_lines_of_json_what_is_missing_is_one_too() {
        let mut file = Vec::new();
        assert_eq!(confess(&mut file, Form::Json, 3), 0);
        let line: serde_json::Value = serde_json::from_slice(&file).unwrap();
        assert_eq!(line["message"], "3 lines are missing here: they came faster than they could be written");
        assert!(file.ends_with(b"\n"));
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named() {
        let error = LogFile::open(Path::new("/nowhere/a.log"), Form::Text).unwrap_err();
        assert!(error.to_string().starts_with("log file `/nowhere/a.log` can't be opened: "), "{error}");
    }
}
