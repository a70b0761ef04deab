//! What REFERENCE.md says beside its tables.

pub(super) const HEAD: &str = "\
# Reference

Made from the tables in the source: `UPDATE=1 cargo test --test reference` writes it anew.

";

pub(super) const DIRECTIVES: &str = "\
## Directives

A directive stands at the top of the file (global), in a host, or in a path; what stands further out holds further in, too.
Handlers of a path answer in the order of the file: the first that does not pass (status 399) answers. Sizes are written as
`1024`, `10 MB` (10⁷) or `10 MiB`, durations as `500ms`, `30s`, `1m` or plain seconds, switches as `ON` and `OFF`. `!file
other.yaml` includes a file, `!env NAME` is an environment variable, and so is `${NAME}` or `${NAME:-default}` in any value but a
script (`$${` is a plain `${`).

Every answer of a path, whoever made it, errors and 404 too, is finished in this order: `error-doc`, `expires`, `header.*`
(outer levels first), `cors`. Only what is no HTTP request at all is refused without any of them.

";

pub(super) const LOGS: &str = "\
## Fields of an access log

`access-log: {path: access.log, format: '%h %s', escape: json}` takes h2o's specifiers. A format for h2o means the same, except that an
unknown one is a mistake; those for what is not here (`%{ssl.…}x`, `%{http2.…}x`, `%{http3.…}x`, `%{proxy.…}x`, `%{cc.name}x`,
`%{delivery-rate}x`, `%{extensible-priorities}x`, `%{response-header-…}x`) are absent. What is absent is `-`; with `escape: json` it is
`null`, also in place of a whole text (`\"%u\"`). `<` and `>` after the `%` are passed over: there is one reply. What a client sent is
written with `\\xNN` for control characters, quotes and what is not ASCII; with `escape: json` as JSON has it. No field shows the value
of a cookie, of a name and password before a host in a URL, or of a parameter or header that an `auth.api-key` names or that is called
a password, secret, token or the like, as `Authorization` and `X-API-Key` are: `***` stands there. The line is written when the reply's body was handed on, as a whole or to
its last part; a request whose client went away before has the status 499.

| specifier | what it is |
|---|---|
";

pub(super) const SCRIPT: &str = "\
## A script

The language is [Rhai](https://rhai.rs/book/) with all of its standard library, but for what is said here. A script's value, its last
expression without a `;`, is its app: a closure `|env| …`, a router, or a map with `handle`; or the script defines `fn handle(env)`.

```rhai
let app = router();
const LIMIT = 10;
let names = freeze([\"Ann\", \"Bob\"]);
fn few(list) { list.len() <= global::LIMIT }
app.get(\"/names\", |env| if few(names) { json(names) } else { fail(500, `more than ${LIMIT}`) });
app
```

- The top level runs once on each worker, when the server starts; a mistake in it keeps the server from starting. Functions that are
  misspelt in a handler are found when it runs: tests and `rhaid call` find them.
- Closures see the variables of the top level, each call a copy of its own: what it changes is gone after the call. Functions see only their
  arguments and constants, as `global::NAME`. What requests share is in `store::` and in databases.
- An absent key of a map, of `env` and of its parts is `()`: `env.query.page ?? \"1\"`, `row?.name`. Other variables have to be
  declared.
- Some functions of Rhai change the variable that they are called on and give `()`: `text.trim()`, `text.replace(a, b)`, `list.sort()`. What
  can't be changed, as `env.form.name`, has to be put into a variable first; `text::trim(env.form.name)` gives a new text.
- Integers have 64 bits, and what is more than that is an error; `7 / 2` is 3, `7.0 / 2` is 3.5. A text in backticks has `${…}` in it,
  `'x'` is one character.
- `print(value)` and `debug(value)` write to the error log, `debug` with file and line. `sleep(seconds)` waits while others are served.
  `parse_json` and `to_json` are `json::parse` and `json::text`. `eval` is not there.
- A map goes to JSON with its keys in the order of the literal in the script that has the same keys, otherwise sorted; a row in the
  order of its SELECT. A blob is base64.

";

pub(super) const ENV: &str = "\
## The env

What a handler gets. A key that is not there is `()`. A script may set keys (`env.user = \"Ann\"`); later handlers of the path
see them. Header fields come as `HTTP_…`: upper case, `-` as `_`, several joined by `, `. `get(key[, default]) set(key, value)
contains(key) keys() values() len() to_map()` are there as well.

";

pub(super) const BESIDE: &str = "
Beside them:

";

pub(super) const FIELDS: &str = "
`params`, `query`, `form`, `path`, `headers` and `cookies` are looked up by name (`env.query[\"page\"]` or `env.query.page`):
a string, or `()`. Of a name that stands several times the last value counts (of a cookie the first), and `all(\"name\")` gives each
of them; `tag[]=a&tag[]=b` is the same as `tag=a&tag=b`, and `a[b]` is a name like any other. `get(name[, default]) keys()
values() len() contains(name) to_map()` and `in` work as with maps. They can't be changed.

Readers on `params`, `query`, `form` and `path` check a value; what does not fit is answered with 400, which names the field:
`int(name)`, `float(name)`, `bool(name)`, `string(name)`, `date(name)` (`2024-02-29`), `datetime(name)` (RFC 3339, given in UTC), and
`list(name, \"int\")` for all values of a name. The field must be there, unless a second argument says what else counts
(`env.query.int(\"page\", 1)`) or has more to say:

| option | what it says |
|---|---|
| `\"default\"` | what an absent field is (quoted, since `default` is a word of Rhai's) |
| `required` | `false`: an absent field is `()`; `true`: a list must have a value |
| `min`, `max` | bounds of numbers and dates |
| `values` | the only ones: `#{values: [\"name\", \"id\"]}` |
| `min_length`, `max_length` | characters of a text |
| `pattern` | a regular expression that the whole text must match; without `max_length` a text of more than 65,536 bytes does not fit, and none that is too long for `regex::` |
| `empty_is_absent` | `true`: an empty text counts as none, as a form sends it |
| `type`, `min_items`, `max_items` | for lists: `list(\"ids\", #{type: \"int\", max_items: 9})` |

`env.query.int(\"page\", #{min: 1, max: 100, \"default\": 1})` answers `?page=x` with
`` `page` is `x`, expected an integer from 1 to 100 ``.

";

pub(super) const BODY: &str = "\
## The body

It has arrived when the script begins: up to 1 MiB in memory, more in a temporary file. It is checked when a script first reads it:
a malformed one is answered with 400, which says where, and no `catch` sees it; one larger than `rhai.max-memory` can be read in
parts only, as a whole it is 413. After the request it can't be read any more.

- `env.body` is the text.
- `env[\"rack.input\"]` has `read()` for all that is left, `read(n)` for at most `n` bytes of it, never a part of a character (`()`
  at the end), `gets()` for the next line, `each(|line| …)`, `blob()` and `blob(n)` for bytes, and `rewind()`.
- `env.json` is the value of a body whose content type is `application/json` or ends in `+json`, with any root. Only the members of
  an object are `params`. (`curl --json` sends such a body; `curl -d` alone says that it is a form.)
- `env.form` has the fields of a form, in either of HTML's two encodings, and `env.files` the files of one in `multipart/form-data`:
  `env.files.photo`, and `env.files.all(\"photo\")` where a field has several. A file has `name` (of the field), `filename`
  (without a path), `content_type` (or `()`; all three are what the client says) and `size` in bytes, and is read like
  `rack.input`. A form may have 1,000 parts, each with 16 KiB of head; a field that is no file may have 1 MiB.

";

pub(super) const REPLIES: &str = "\
## Replies

A handler returns `[status, headers, body]`: an integer from 200 to 999; a map, or an array of `[name, value]`, whose values may
have several lines, up to 1,000 in all; a string, a blob, an array of them, what `file` gives, or `()` for nothing. The length is
counted, whatever `content-length` says (but for HEAD without a body), and what belongs to the connection is left out.

Or it returns what one of the functions below makes, which can be read and changed like the triple (`let r = json(x); r[0] = 201; r`, or
`r.status`, `r.headers`, `r.body`). `reply.header(name, value)` sets a header of it, `reply.cookie(name, value, options)` adds a cookie,
and both give the reply: `json(x).header(\"cache-control\", \"no-store\").cookie(\"seen\", 1)`.

The status 399 passes to the next handler of the path: its headers go with the answer. `x-fallthru-set-NAME`, with any status, is not
sent: it sets `NAME` in the env of later handlers, and for the access log. `throw` of a reply, or of `#{status: 403, message: \"…\"}`,
ends the request with it.

`file` takes a path relative to the current folder, and never one with `..` in it. Where a client has a part in the path, name the
folder: `file(env.path.name, #{root: \"uploads\"})` leads nowhere else, not by links either. What `file.dir` never shows (scripts, the
configuration, databases, logs) is as if it were not there: 404, which `catch` sees as `#{status: 404, message}`; the log names the
file. GET and HEAD are answered under their conditions (`If-None-Match` and the like, one `Range`); an `etag` or `last-modified`
that is set on the reply counts in the place of the file's own. With another status than 200 the whole file is sent.

A cookie's value is percent-encoded where it has to be, as `env.cookies` decodes it. What a browser would refuse is an error: a name
that is no token, `same_site: \"none\"` or `partitioned` without `secure`, `__Host-` without `path: \"/\"`. `max_age` is in seconds (0 ends
the cookie), `expires` is seconds since 1970 or an HTTP date. Without `path` the browser takes the folder of the request.

";

pub(super) const ROUTER: &str = "\
## The router

`router()` makes one, whose functions add to it; the script's value is the router. All of it is declared when the script starts.

- **Routes**: `get post put patch delete head options` take a pattern and a handler; `route` takes the method, or a list of them,
  first: `app.route(\"PURGE\", \"/cache\", |env| …)`; `any` is for every method but OPTIONS, which comes without an API key.
- **Patterns** are matched with `PATH_INFO`; the first route that was declared and fits answers, and how many there are does not
  matter for how long that takes. `:name` takes one segment, not empty, decoded once, into `env.path`; `*name` at the end takes all
  that is left, also nothing; `(.json)` or `(.json|.csv)` at the end may be there or not, and no other suffix is taken off.
- **HEAD** is answered by GET's route where it has none of its own, **OPTIONS** by 204 with `Allow`, another method by 405 with `Allow`.
- **Slashes and dots**: `/projects/` is `/projects` for GET and HEAD, otherwise not found, and never a redirect; a pattern that ends in
  `/` fits only so; `//` is an empty segment, which fits no name. `.` and `..`, encoded or not, are resolved before routes are looked
  at; `%2F` stays in its segment.
- **`before(|env| …)`** runs before the routes, in the order of declaration; one that gives a reply ends the request. The route is known
  by then: `env.path` is there. Where no route fits, they run before the 404 or 405. They do not run for the 204 to OPTIONS.
- **`after(|env, reply| …)`** runs with every reply, also that of a filter, of an error, of a 404, 405 or OPTIONS, as Sinatra's. It may
  change the reply (`reply.status = 201`), or give another. It does not run where a limit or a panic ended the script.
- **`not_found(|env| …)`** answers where no route fits. A handler's own 404 stays as it is.
- **`rescue(|error, env| …)`** answers errors of filters and handlers: `error.message`, `error.place`, `error.status` where it was thrown
  with one or is the client's fault (400), `error.kind` of a database error, and whatever else was in a map that was thrown. `()` leaves the
  error to the next `rescue` further out, and to the usual answer in the end. With an answer from 500 on the error is logged
  all the same. What it throws itself is a plain 500, with both errors in the log. Limits can't be rescued, and a reply that is thrown is no
  error.
- **`group(\"/admin\", |g| { … })`** declares routes below a prefix, which may have names, with `before`, `after`, `not_found` and `rescue` of
  their own, inside of the router's; `g.get(\"/\", …)` is `/admin` and `/admin/`. They are also there for what is not found below the prefix.
  The prefix may be left out.
- **`mount(\"/v1\", other)`** puts all of another router below a prefix, as Rack does: within it `SCRIPT_NAME` ends with the prefix and
  `PATH_INFO` is what follows. The filters of the outer router run first, and see its own `PATH_INFO`.

A route may declare its parameters, and words for the description that `openapi` makes, in a map before its handler:

```rhai
let app = router();
app.get(\"/projects/:id(.json)\", #{
    summary: \"A project with its tasks\",
    params: #{
        id: \"int\",
        page: #{type: \"int\", min: 1, \"default\": 1},
        sort: #{type: \"string\", values: [\"name\", \"id\"], summary: \"What the tasks are sorted by\"}
    }
}, |env| success(env.params.page));
app
```

- `params`: names with a type or a map of bounds, as the readers take them (`type`, `min`, `max`, `values`, `min_length`, `max_length`,
  `pattern`, `min_items`, `max_items`, `empty_is_absent`, `required`, `default`, `summary`; `\"int[]\"` is a list). They are looked for where
  `env.params` looks: in the path, the query, a form or a JSON body. Those of the path are always there; others may be absent unless
  they are `required: true`. `body` is the same for what comes in a form or a JSON object only.
- They are checked before the handler and after the `before` filters, so that a 401 goes before a 400. What does not fit is 400 with all
  faults in one message; `rescue` gets each by its name in `error.params`.
- `env.params` has the values in their types and with defaults; `env.path`, `env.query`, `env.form` and `env.json` are as they came.
- `summary`, `description`, `tags` (a list; else the first segment of the path), `deprecated`, and `response`: what the route answers when
  all is well, a map of fields or such a map in a list, in the envelope, or a media type (`response: \"text/html\"`).
- An unknown key or type, or a default that does not fit, is a mistake when the script starts.

`env.format` is the form in which the client wants the answer. Where the route declares suffixes: that of the path, else the one that
`Accept` wants most, else the first. Where it does not: `json`, `html`, `txt`, `xml` or `csv` if `Accept` names it, or `()`.

```rhai
let app = router();
app.rescue(|error, env| if error.kind == \"unique\" { fail(409, \"There is one already\") });
app.after(|env, reply| { reply.headers += #{\"x-request-id\": env.id}; });
app.get(\"/users/:id(.json|.html)\", |env| {
    let user = db::first(\"SELECT id, name FROM users WHERE id = ?\", [env.path.int(\"id\")]);
    if user == () { return fail(404, \"User not found\"); }
    if env.format == \"html\" { html(`<h1>${user.name}</h1>`) } else { success(user) }
});
app.group(\"/admin\", |g| {
    g.before(|env| auth::require(env));
    g.get(\"/\", |env| text(\"hello, \" + env.auth.name));
});
app
```

";

pub(super) const MODULES: &str = "\
## Modules

`import \"lib/util\" as util;` at the top of a script makes the file `lib/util.rhai` known to it: its functions as `util::greet(\"you\")`,
its constants as `util::NAME`, variables that it exports, and what it imports itself as `util::deep::add(1, 2)`; in closures and in
functions. Names are looked for beside the importing file, then in the folders of `rhai.module-path`; those that begin with `./` or
`../` only beside it. They don't lead out of the folder of the script (for an inline one: that of the configuration) or of the folder
of the path in which they were found, neither by `..` nor by a link.

A module runs once on each worker when the server starts, and is shared by the scripts that import it; an `import` in a function, in
a block or with a computed name would read files while a request waits, and is refused. A module's functions see its own functions,
constants (`global::NAME`) and imports, whatever the caller's are called, and so do closures wherever they are called, and functions
that are given by their names (`util::each(list, shout)`). `private fn` is not seen outside. Functions for a type of `this`
(`fn map.greet()`) are seen in their own file only.

";

pub(super) const FAULTS: &str = "\
## Faults of scripts

A script that fails is answered with 500 (503 where `rhai.timeout` was over) and the plain message of the envelope; the header
`x-request-id` has the request's number, under which the error log has file, line, source, calls and request. With
`rhai.development: ON` a browser sees all of that on a page, with parameters, headers and env; who does not ask for HTML gets the
envelope with `error` behind it (`Accept: text/plain`: the text alone). API keys, cookies, `Authorization` and what is called a
password, secret, token or the like are `***` there.

`try { … } catch (error) { … }` sees what was thrown: the value of `throw`; of a database's fault a map with `kind` (`unique`,
`foreign_key`, `not_null`, `check`, `syntax`, `connection`, `timeout`, `busy`, `parameters`, `value` or `other`), `message`, and where they are
known `code`, `constraint` and `column`; of Rhai's own errors a map with `error` and `message`. Limits can't be caught.

";

pub(super) const FUNCTIONS: &str = "\
## Functions

They are there in all scripts, in functions and closures too. What waits (databases, `sleep(seconds)`, the hashing of
passwords) can't be called at a script's top level, which runs once when the server starts.

";

pub(super) const ROWS: &str = "\
## Rows

What `db::query` gives has `len`, `rows[0]` (from the end with `rows[-1]`), `for row in rows`, `filter(closure)`, `map(closure)` and
`to_array()`; a row has its columns as `row.name`, `row[\"name\"]` and `row[0]`, and `keys() values() len() contains(name) to_map()`. Both
go to JSON as they are, in the order of the SELECT. A row can't be changed: `to_map()` makes a map that can. `db::first(…) == ()` asks
whether there was one.

";

pub(super) const FROZEN: &str = "\
## Frozen values

Each call gets a copy of what a handler's closure captured, so a big table would be copied for each request. `freeze(value)` makes one
that all calls share and none can change: `let names = freeze(#{a: 1, …})`. It is read as the list or the map that it was, to any
depth: `frozen.name`, `frozen[\"name\"]`, `frozen[0]`, `for item in frozen` (a map gives its keys), `in`, `==`, and `len() is_empty()
contains(value) keys() values() get(name) filter(closure) map(closure) find(closure)`; `to_map()` and `to_array()` give a copy that can be
changed. It goes to JSON as the value would. What `config::get` gives is frozen.

";

pub(super) const TESTS: &str = "\
## Tests

`rhaid test` runs each function `test_…` of the files `*_test.rhai`: with an app of its own in the same process, and with fresh
databases to which the migrations were applied; `store::` is empty. The script's top level and `setup()`, where there is one, run
before each test. A test may use as much as a handler (`rhai.max-operations`, `rhai.max-memory`), and take a minute. It fails by any
error; these functions are there beside all others:

";
