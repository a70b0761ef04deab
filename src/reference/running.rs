//! What an operator reads: changes while the server runs, signals, systemd.

pub(super) const RUNNING: &str = "\
## Reload

Changed files are taken up while the server runs: scripts, what they import, the configuration and its includes, new migrations,
lists of keys. All workers go over to the new generation at once; a request ends on the one that it began with. Files are compared by
content, so that editors' temporary files and a save that changes nothing reload nothing; a file that is being written is waited for.
Where something is wrong the error log says it in the form of `rhaid -t`, and the old generation goes on until it is mended.

- What a script's top level holds starts afresh; `store::` and the pools of databases whose settings are the same stay.
- Everything in the configuration is taken up but `user`, which needs a restart; the log says so, and the rest is taken up.
- `listen`: new addresses are bound before old ones are closed, and one that can't be bound refuses the whole reload. What stays in the
  configuration keeps its socket. An address that is gone takes those who have connected already, begins no new connection, and is
  closed after a second; each connection to it ends with its next answer (`connection: close`). A unix socket whose `owner`, `group` or
  `permission` is another stays the same socket. `8080` and `127.0.0.1:8080` may follow each other or stand side by side: the more
  specific one takes its own. What only root may bind (ports below 1024), and what overlaps with an address that root has bound, is
  refused when the process has become its `user`: a restart takes it up. `--listen` on the command line holds at a reload too.
- `num-threads`: new workers have the generation ready before they take part; those that are too many take no more connections, end
  each with its next answer, idle ones after 30 s, cut no answer, and end then. `max-requests` and the databases' `max-connections` are
  shared out anew.
- `max-connections` and `http1-request-timeout` hold for connections that are open, too.
- A reload waits for every worker; one that computes in one long step lets it wait, which the log says after 10 s, while all of them
  serve the old generation. Between two scripts that it compiles a worker answers requests. Reloads that are asked for meanwhile
  come after. When the server is to end nothing more is taken up; migrations that are being applied come to their end.
- At the end (SIGTERM, SIGINT) who has connected gets an answer if it asks within a second; then idle connections are closed, and
  requests in flight have 30 s.
- Each step from the root to a file is watched: folders that are replaced, deleted and made again, or come later, links that are swapped,
  modules that an import looked for, files that a pattern of `!file` comes to find, and whatever a refused configuration names that is
  not there. A relative path begins at the folder that was the current one at the start. Only of folders in which everybody makes
  files, such as `/tmp`, it goes unnoticed that one directly below is replaced.
- A file that somebody still has open and writes to is waited for until it is closed, or nothing was written for two seconds; one that
  was emptied, for three.
- `rhaid reload` lets the running server reload, waits, and ends with 0, or with 78 and the mistakes in the form of `rhaid -t`, so that a
  deploy script knows. What is read was read after it asked, also where another reload was under way. `rhaid status` says which
  generation is served, since when and by what, and what was refused last, and ends with 0 also then; `--json` for programs. Both
  end with 71 where no server of the configuration runs or it does not answer in time (`rhaid reload --timeout 60`).
- They speak to the server over a socket that its user alone may open: beside the pid file that it began with (`rhaid.pid`: `rhaid.sock`), and in
  `rhaid-UID/` of the folder for temporary files, by the path of the configuration, so that it is found where no pid file is named. Root
  finds another user's by the first. Where several servers have one configuration the first is asked, until it ends.
- `status: ON` serves the same at a path.
- SIGUSR1 opens all log files anew: for whoever rotates logs by renaming them. Without the signal it is noticed within a second, while
  lines come. `copytruncate` needs no signal.
- SIGHUP reloads at once. `watch: OFF` or `--no-watch` leaves it at that. Where the system can't watch files (inotify has run out), or
  doesn't hear of changes (NFS, SMB, FUSE, 9p and the like), they are looked at once a second, and a line says so.

## Signals

| signal | what it does |
|---|---|
| TERM, INT | takes no more connections, answers what is in flight (at most 30 s), ends; a second one ends it at once |
| HUP | reloads |
| USR1 | opens the log files anew |
| USR2 | starts the program anew, which takes over the sockets; this process ends when the new one serves |

USR2 replaces the binary and loses no connection: put the new one in the place of the old (`mv`, not `cp`), then
`kill -USR2 $(cat rhaid.pid)`. What is started is the path that the process was started by, with the same arguments, folder and
environment. It takes the sockets that its configuration names, binds others, starts its scripts, applies migrations, and serves; only then
the old one takes no more connections. Who has one there may ask once more, and what is in flight is answered, for up to a minute. If
the new one ends, or does not serve within 60 s, the old one goes on, and the error log has what the other wrote to its standard error
output; until it serves that is kept back, afterwards it goes where the old one's went.

- The pid file names the old process until the new one is ready, and the new one from then on; there is no second file.
- `store::` and what scripts hold at their top level start empty. Both processes serve for a moment: migrations have to leave what the
  old scripts need.
- With `user` the new process starts as that user. Ports below 1024 are inherited, but it can't bind others; its logs, its pid file and
  the folders of both have to be that user's to write, or it does not start, which the log says.

## systemd

With `Type=notify` the server says when it serves, when it ends, and which process replaces it, so that `kill -USR2` (`systemctl kill -s USR2
--kill-whom=main rhaid`) does not end the service. Sockets that systemd has bound (`LISTEN_FDS`, a `.socket` unit) are taken in place of
binding the addresses that they have; those that `listen` does not name are closed, and a line says so. Where there is no `listen` they are
what is listened on. The file of a unix socket that systemd made stays. `deploy/` has both units.

";
