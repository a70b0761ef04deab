//! What REFERENCE.md says of statements, migrations and dumps.

pub(super) const STATEMENTS: &str = "\
## Statements

A placeholder is `?` on every database, one for each parameter, in order; PostgreSQL's `$1` and SQLite's `?1` and `:name` are mistakes.
In strings, quoted names and comments, as the database itself reads them, a `?` is a `?`. `??` stands for an operator: `doc ?? 'key'` is
PostgreSQL's `doc ? 'key'`.

A list takes the place of one placeholder: `WHERE id IN (?)` with `[[1, 2]]`. With an empty list `IN (?)` finds nothing and `NOT IN (?)`
everything; anywhere else an empty list is NULL.

A parameter is what its place makes of it: `true` is 1 in a number, a number its digits in text, digits in text a number; `()` is NULL. Dates
and moments are text, as `2014-02-08T16:54:50`. For JSON there is `json::text(value)`.

- PostgreSQL reads text as the type of its place, as it reads a literal: UUIDs, dates, JSON, addresses, enums, ranges, arrays (`{1,NULL}`),
  numbers of any length. In text `true` is `true`. Bytes go into bytea alone.
- MySQL and MariaDB take no `Z` behind a moment: `time::now().sub_string(0, 19)`. A number between quotes compares as a number, and a
  text without digits is 0 there: `WHERE id = 'x'` finds 0.
- SQLite stores what a column's type does not fit as it is, unless its table is `STRICT`; blobs are bytes, not text.

What a column does not take is an error of the `kind` `value`, with `column` where the database names it; NaN and infinity are never sent
(`parameters`). No error has the value in it. An integer that is larger than its column finds nothing, and is refused when it is stored.

`BEGIN`, `COMMIT`, `SAVEPOINT` and the like are refused: `db::transaction` does that. After a statement that failed PostgreSQL takes no other
in its transaction, also where the error was caught: what may fail goes into a transaction inside of it. On the others the transaction
goes on; MySQL refuses tables to be made or changed in one, as that would commit it. Where a table has changed, its statements are prepared
again; in a transaction of PostgreSQL's the error is `schema_changed`.

";

pub(super) const TYPES: &str = "\
## Types of columns

What a column of each type gives to a script, as its type and its text, and to JSON. NULL is `()` in every one. JSON has no NaN and no
infinity: there the answer is 500, and the log names the column. A type that has no mapping is an error which names the column and the
type, never a silent null; `column::text`, or `CAST(column AS CHAR)`, is text.

";

pub(super) const MIGRATIONS: &str = "\
## Migrations and dumps

The folder `migrations` of a database has files of SQL, `001_name.sql`, which are applied at start in the order of their numbers, each
once. `001_name.mysql.sql`, `001_name.postgres.sql` or `001_name.sqlite.sql` stands in the place of `001_name.sql` on that database, or is
for it alone. The table `rhaid_migrations` says which were applied, when, and with which checksum: where a file was changed or is missing,
rhaid does not start. Of several processes that start at once one applies each.

- A file runs in a transaction, so `BEGIN` and `COMMIT` are mistakes in it. Where a statement fails, its file leaves no trace, and the message
  has its line. MySQL and MariaDB take back nothing that makes or changes a table: there the statements before that line stay and have to be
  undone by hand, so a statement a file is best.
- A statement ends at a `;` outside of strings, quoted names and comments; SQLite's `CREATE TRIGGER … BEGIN … END;` and PostgreSQL's
  `$$ … $$` and `BEGIN ATOMIC … END` are one. On MySQL a line `DELIMITER //` before a body with semicolons, and `DELIMITER ;` after it, are
  followed as its own client does, and `/*!40101 … */` is code.
- A `?` is what it is to the database: nothing fills placeholders here.

`rhaid db status` says of each migration whether it is applied, pending, changed or missing, and changes nothing; it ends with 0 if all are
applied, else with 1.

`rhaid db load FILE --database NAME` runs the statements of a dump (`mysqldump`, `pg_dump --inserts`, SQLite's `.dump`), or of any other
file of SQL in UTF-8 (blobs in a dump of MySQL's may be as they are), without holding more than one of them, which may have 64 MiB. It
applies no migrations; they may follow. It stops at the first statement that fails. On SQLite and PostgreSQL a file without a transaction of
its own is loaded whole or not at all, and the message says what stays. `-` is the standard input: `gzip -dc dump.sql.gz | rhaid db load -`.

";
