//! What becomes of the types of databases: a table that REFERENCE.md prints and a test reads there and runs against real servers.

use std::fmt::Write as _;

/// The types of a sort of database.
struct Types {
    title: &'static str,
    /// A column's type, a literal in it, what a script gets (its type and its text), and its JSON; without JSON it is refused there.
    read: &'static [(&'static str, &'static str, &'static str, &'static str)],
    /// Types without a mapping, with a literal each.
    unmapped: &'static [(&'static str, &'static str)],
    note: &'static str,
}

/// For each sort of database.
const TYPES: &[Types] = &[SQLITE, MYSQL, POSTGRES];

const SQLITE: Types = Types {
    title: "SQLite",
    read: &[
        ("INTEGER", "9223372036854775807", "i64 9223372036854775807", "9223372036854775807"),
        ("REAL", "0.1", "f64 0.1", "0.1"),
        ("REAL", "1", "f64 1.0", "1.0"),
        ("REAL", "9e999", "f64 inf", ""),
        ("TEXT", "'é'", "string é", r#""é""#),
        ("BLOB", "x'00ff'", "blob of 2", r#""AP8=""#),
        ("", "'a'", "string a", r#""a""#),
        ("", "12", "i64 12", "12"),
        ("BOOLEAN", "1", "bool true", "true"),
        ("BOOLEAN", "2", "i64 2", "2"),
        ("DATETIME", "'2014-02-08 16:54:50'", "string 2014-02-08T16:54:50", r#""2014-02-08T16:54:50""#),
        ("TIMESTAMP", "'2014-02-08 16:54:50.1200+02:00'", "string 2014-02-08T14:54:50.12Z", r#""2014-02-08T14:54:50.12Z""#),
        ("DATETIME", "'yesterday'", "string yesterday", r#""yesterday""#),
        ("DATETIME", "1391878490", "i64 1391878490", "1391878490"),
        ("DATE", "'2014-02-08'", "string 2014-02-08", r#""2014-02-08""#),
        ("TIME", "'16:54:50'", "string 16:54:50", r#""16:54:50""#),
        ("DECIMAL(10,2)", "12.5", "Decimal 12.50", "12.50"),
        ("DECIMAL(10,2)", "12", "Decimal 12.00", "12.00"),
        ("DECIMAL(10,0)", "12", "i64 12", "12"),
        ("NUMERIC", "12.345", "Decimal 12.345", "12.345"),
        ("DECIMAL(38,10)", "'1234567890123456789012345678.5'", "f64 1.2345678901234569e27", "1.2345678901234569e+27"),
        ("DECIMAL(30,2)", "0.1+0.2", "f64 0.30000000000000004", "0.30000000000000004"),
        ("JSON", r#"'{"b": 1, "a": null}'"#, r#"map #{"a": (), "b": 1}"#, r#"{"b": 1, "a": null}"#),
        ("JSON", "'no'", "string no", r#""no""#),
        ("INTEGER", "'abc'", "string abc", r#""abc""#),
        ("VARCHAR(2)", "'abcd'", "string abcd", r#""abcd""#),
        ("UNSIGNED BIG INT", "18446744073709551615", "f64 1.8446744073709552e19", "1.8446744073709552e+19"),
        ("INTEGER", "NULL", "()", "null"),
        ("TEXT", "x'ff'", "blob of 1", r#""/w==""#),
    ],
    unmapped: &[],
    note: "\
A value is what was stored, whatever its column was declared as; the declarations BOOLEAN, DATETIME, TIMESTAMP, DECIMAL, NUMERIC and JSON
are followed where the value fits. SQLite itself keeps a DECIMAL as a float, which is exact to 15 digits: one with more of them stays a
float. What an expression gives has no declaration: `SELECT max(at)` is the text as it is stored.",
};

const MYSQL: Types = Types {
    title: "MySQL and MariaDB",
    read: &[
        ("TINYINT", "-128", "i64 -128", "-128"),
        ("TINYINT(1)", "2", "i64 2", "2"),
        ("BOOLEAN", "TRUE", "i64 1", "1"),
        ("SMALLINT", "-32768", "i64 -32768", "-32768"),
        ("MEDIUMINT", "8388607", "i64 8388607", "8388607"),
        ("INT", "-2147483648", "i64 -2147483648", "-2147483648"),
        ("BIGINT", "-9223372036854775808", "i64 -9223372036854775808", "-9223372036854775808"),
        ("BIGINT UNSIGNED", "9223372036854775807", "i64 9223372036854775807", "9223372036854775807"),
        ("BIGINT UNSIGNED", "18446744073709551615", "Decimal 18446744073709551615", "18446744073709551615"),
        ("INT(5) UNSIGNED ZEROFILL", "42", "i64 42", "42"),
        ("YEAR", "2014", "i64 2014", "2014"),
        ("YEAR", "0", "i64 0", "0"),
        ("BIT(10)", "b'1100000001'", "i64 769", "769"),
        ("BIT(64)", "18446744073709551615", "Decimal 18446744073709551615", "18446744073709551615"),
        ("FLOAT", "1.1", "f64 1.1", "1.1"),
        ("DOUBLE", "0.1", "f64 0.1", "0.1"),
        ("DOUBLE", "1e300", "f64 1e300", "1e+300"),
        ("DECIMAL(10,0)", "12", "i64 12", "12"),
        ("DECIMAL(20,0)", "12345678901234567890", "Decimal 12345678901234567890", "12345678901234567890"),
        ("DECIMAL(38,10)", "12.5", "Decimal 12.5000000000", "12.5000000000"),
        ("DECIMAL(40,0)", "1234567890123456789012345678901234567890", "Decimal 1234567890123456789012345678901234567890", "1234567890123456789012345678901234567890"),
        ("DECIMAL(8,2)", "-0.5", "Decimal -0.50", "-0.50"),
        ("DATE", "'2014-02-08'", "string 2014-02-08", r#""2014-02-08""#),
        ("DATE", "'0000-00-00'", "string 0000-00-00", r#""0000-00-00""#),
        ("DATE", "'2014-00-00'", "string 2014-00-00", r#""2014-00-00""#),
        ("DATETIME", "'2014-02-08 16:54:50'", "string 2014-02-08T16:54:50", r#""2014-02-08T16:54:50""#),
        ("DATETIME(6)", "'2014-02-08 16:54:50.120000'", "string 2014-02-08T16:54:50.12", r#""2014-02-08T16:54:50.12""#),
        ("DATETIME", "'0000-00-00 00:00:00'", "string 0000-00-00T00:00:00", r#""0000-00-00T00:00:00""#),
        ("TIMESTAMP NULL", "'2014-02-08 16:54:50'", "string 2014-02-08T16:54:50", r#""2014-02-08T16:54:50""#),
        ("TIMESTAMP(3) NULL", "'2014-02-08 16:54:50.25'", "string 2014-02-08T16:54:50.25", r#""2014-02-08T16:54:50.25""#),
        ("TIME", "'16:54:50'", "string 16:54:50", r#""16:54:50""#),
        ("TIME", "'-838:59:59'", "string -838:59:59", r#""-838:59:59""#),
        ("TIME(6)", "'101:00:00.5'", "string 101:00:00.5", r#""101:00:00.5""#),
        ("CHAR(5)", "'ab'", "string ab", r#""ab""#),
        ("VARCHAR(20) CHARACTER SET utf8mb4", "'é 😀'", "string é 😀", r#""é 😀""#),
        ("VARCHAR(20) CHARACTER SET latin1", "'é'", "string é", r#""é""#),
        ("VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "'Ab'", "string Ab", r#""Ab""#),
        ("LONGTEXT", "'a'", "string a", r#""a""#),
        ("ENUM('a','b')", "'b'", "string b", r#""b""#),
        ("SET('a','b')", "'a,b'", "string a,b", r#""a,b""#),
        ("SET('a','b')", "''", "string ", r#""""#),
        ("JSON", r#"'{"a": [1, null]}'"#, r#"string {"a": [1, null]}"#, r#""{\"a\": [1, null]}""#),
        ("BINARY(4)", "x'00ff'", "blob of 4", r#""AP8AAA==""#),
        ("VARBINARY(4)", "x'00ff'", "blob of 2", r#""AP8=""#),
        ("BLOB", "x'00ff'", "blob of 2", r#""AP8=""#),
        ("GEOMETRY", "ST_GeomFromText('POINT(1 2)')", "blob of 25", r#""AAAAAAEBAAAAAAAAAAAA8D8AAAAAAAAAQA==""#),
        ("UUID", "'123e4567-e89b-12d3-a456-426614174000'", "string 123e4567-e89b-12d3-a456-426614174000", r#""123e4567-e89b-12d3-a456-426614174000""#),
        ("INET4", "'10.0.0.1'", "string 10.0.0.1", r#""10.0.0.1""#),
        ("INET6", "'::1'", "string ::1", r#""::1""#),
        ("INT", "NULL", "()", "null"),
    ],
    unmapped: &[],
    note: "\
TINYINT(1) and BOOLEAN are one type, and 2 fits into it: both are integers. A moment has no zone; sessions are in UTC, so that a TIMESTAMP
is one in UTC. MySQL's JSON columns are values, as SQLite's above; MariaDB's JSON is LONGTEXT, which can't be told from other text, so
it is a string (`json::parse(row.doc)`). A geometry is MySQL's bytes: the SRID, then WKB; `ST_AsGeoJSON(column)` is text. Zero dates are what
the server lets in.",
};

const POSTGRES: Types = Types {
    title: "PostgreSQL",
    read: &[
        ("boolean", "true", "bool true", "true"),
        ("smallint", "-32768", "i64 -32768", "-32768"),
        ("integer", "2147483647", "i64 2147483647", "2147483647"),
        ("bigint", "9223372036854775807", "i64 9223372036854775807", "9223372036854775807"),
        ("serial", "1", "i64 1", "1"),
        ("oid", "4294967295", "i64 4294967295", "4294967295"),
        ("numeric", "12", "i64 12", "12"),
        ("numeric(10,2)", "12.5", "Decimal 12.50", "12.50"),
        ("numeric(10,2)", "12", "Decimal 12.00", "12.00"),
        ("numeric", "1234567890123456789012345678901234567890", "Decimal 1234567890123456789012345678901234567890", "1234567890123456789012345678901234567890"),
        ("numeric", "1234567890123456789012345678901234567890.50", "Decimal 1234567890123456789012345678901234567890.50", "1234567890123456789012345678901234567890.50"),
        ("numeric", "'NaN'", "f64 NaN", ""),
        ("numeric", "'Infinity'", "f64 inf", ""),
        ("numeric", "-0.00000012", "Decimal -0.00000012", "-0.00000012"),
        ("real", "1.1", "f64 1.1", "1.1"),
        ("real", "'NaN'", "f64 NaN", ""),
        ("double precision", "0.1", "f64 0.1", "0.1"),
        ("double precision", "'-Infinity'", "f64 -inf", ""),
        ("text", "'é 😀'", "string é 😀", r#""é 😀""#),
        ("varchar(10)", "'ab'", "string ab", r#""ab""#),
        ("char(5)", "'ab'", "string ab   ", r#""ab   ""#),
        ("name", "'ab'", "string ab", r#""ab""#),
        (r#""char""#, "'a'", "string a", r#""a""#),
        ("bytea", r#"'\x00ff'"#, "blob of 2", r#""AP8=""#),
        ("date", "'2014-02-08'", "string 2014-02-08", r#""2014-02-08""#),
        ("date", "'infinity'", "string infinity", r#""infinity""#),
        ("date", "'0044-03-15 BC'", "string 0044-03-15 BC", r#""0044-03-15 BC""#),
        ("time", "'16:54:50.25'", "string 16:54:50.25", r#""16:54:50.25""#),
        ("time", "'24:00'", "string 24:00:00", r#""24:00:00""#),
        ("timetz", "'16:54:50+02'", "string 16:54:50+02:00", r#""16:54:50+02:00""#),
        ("timestamp", "'2014-02-08 16:54:50.120000'", "string 2014-02-08T16:54:50.12", r#""2014-02-08T16:54:50.12""#),
        ("timestamp", "'-infinity'", "string -infinity", r#""-infinity""#),
        ("timestamptz", "'2014-02-08 16:54:50+02'", "string 2014-02-08T14:54:50Z", r#""2014-02-08T14:54:50Z""#),
        ("interval", "'1 year 2 months 3 days 04:05:06.5'", "string P1Y2M3DT4H5M6.5S", r#""P1Y2M3DT4H5M6.5S""#),
        ("interval", "'-1 day'", "string P-1D", r#""P-1D""#),
        ("uuid", "'123e4567-e89b-12d3-a456-426614174000'", "string 123e4567-e89b-12d3-a456-426614174000", r#""123e4567-e89b-12d3-a456-426614174000""#),
        ("json", r#"'{"b": 1, "a": null}'"#, r#"map #{"a": (), "b": 1}"#, r#"{"b": 1, "a": null}"#),
        ("jsonb", r#"'{"b": 1, "a": null}'"#, r#"map #{"a": (), "b": 1}"#, r#"{"a": null, "b": 1}"#),
        ("inet", "'10.0.0.1'", "string 10.0.0.1", r#""10.0.0.1""#),
        ("inet", "'10.0.0.1/8'", "string 10.0.0.1/8", r#""10.0.0.1/8""#),
        ("inet", "'::1'", "string ::1", r#""::1""#),
        ("cidr", "'10.0.0.0/8'", "string 10.0.0.0/8", r#""10.0.0.0/8""#),
        ("macaddr", "'08:00:2b:01:02:03'", "string 08:00:2b:01:02:03", r#""08:00:2b:01:02:03""#),
        ("macaddr8", "'08:00:2b:01:02:03:04:05'", "string 08:00:2b:01:02:03:04:05", r#""08:00:2b:01:02:03:04:05""#),
        ("integer[]", "'{1,NULL,3}'", "array [1, (), 3]", "[1,null,3]"),
        ("integer[]", "'{{1,2},{3,4}}'", "array [[1, 2], [3, 4]]", "[[1,2],[3,4]]"),
        ("integer[]", "'{}'", "array []", "[]"),
        ("text[]", r#"ARRAY['a"b', NULL]"#, r#"array ["a\"b", ()]"#, r#"["a\"b",null]"#),
        ("numeric[]", "'{1.50,12}'", "array [1.5, 12]", "[1.50,12]"),
        ("timestamptz[]", "ARRAY['2014-02-08 16:54:50Z'::timestamptz]", r#"array ["2014-02-08T16:54:50Z"]"#, r#"["2014-02-08T16:54:50Z"]"#),
        ("jsonb[]", r#"ARRAY['{"a":1}'::jsonb]"#, r#"array [#{"a": 1}]"#, r#"[{"a": 1}]"#),
        ("bytea[]", r#"ARRAY['\x00ff'::bytea]"#, r#"array ["AP8="]"#, r#"["AP8="]"#),
        ("uuid[]", "ARRAY['123e4567-e89b-12d3-a456-426614174000'::uuid]", r#"array ["123e4567-e89b-12d3-a456-426614174000"]"#, r#"["123e4567-e89b-12d3-a456-426614174000"]"#),
        ("boolean[]", "'{t,f}'", "array [true, false]", "[true,false]"),
        ("date[]", "'{2014-02-08}'", r#"array ["2014-02-08"]"#, r#"["2014-02-08"]"#),
        ("mood", "'sad'", "string sad", r#""sad""#),
        ("mood[]", "'{sad}'", r#"array ["sad"]"#, r#"["sad"]"#),
        ("positive", "7", "i64 7", "7"),
        ("email", "'a@b'", "string a@b", r#""a@b""#),
        ("positive[]", "'{7}'", "array [7]", "[7]"),
        ("int4range", "'[1,5)'", "string [1,5)", r#""[1,5)""#),
        ("int4range", "'empty'", "string empty", r#""empty""#),
        ("numrange", "'(1.5,)'", "string (1.5,)", r#""(1.5,)""#),
        ("tsrange", "'[2014-02-08 16:54:50,2015-01-01)'", "string [2014-02-08T16:54:50,2015-01-01T00:00:00)", r#""[2014-02-08T16:54:50,2015-01-01T00:00:00)""#),
        ("tstzrange", "'[2014-02-08 16:54:50Z,)'", "string [2014-02-08T16:54:50Z,)", r#""[2014-02-08T16:54:50Z,)""#),
        ("daterange", "'[2014-02-08,2014-02-09]'", "string [2014-02-08,2014-02-10)", r#""[2014-02-08,2014-02-10)""#),
        ("integer", "NULL", "()", "null"),
    ],
    unmapped: &[
        ("point", "'(1,2)'"), ("point[]", "ARRAY['(1,2)'::point]"), ("box", "'((0,0),(1,1))'"), ("money", "12.5"), ("bit(3)", "b'101'"), ("varbit", "b'101'"), ("tsvector", "'a b'"), ("tsquery", "'a'"), ("jsonpath", "'$.a'"), ("pg_lsn", "'0/0'"), ("regclass", "'pg_class'"), ("pair", "ROW(1, 'a')"),
        ("int4multirange", "'{[1,2),[5,8)}'"),
    ],
    note: "\
`mood` is an enum, `positive` and `email` are domains over integer and text, `pair` is a composite type. A moment with a zone is in UTC;
`infinity` is text. An array is a list, one of several dimensions lists in lists; its elements are as `json::parse` reads them, which takes a
fraction as a float, and an array with NaN or infinity is an error. A multirange can't be looked at even to name its column.",
};

/// Appends the tables.
pub(super) fn write(out: &mut String) {
    for types in TYPES {
        let _ = write!(out, "### {}\n\n| column | literal | script | JSON |\n|---|---|---|---|\n", types.title);
        for (declared, literal, script, json) in types.read {
            let declared = if declared.is_empty() { "none".to_owned() } else { format!("`{declared}`") };
            let json = if json.is_empty() { "500".to_owned() } else { format!("`{json}`") };
            let _ = writeln!(out, "| {declared} | `{literal}` | `{script}` | {json} |");
        }
        for (declared, literal) in types.unmapped {
            let _ = writeln!(out, "| `{declared}` | `{literal}` | an error | no mapping |");
        }
        let _ = write!(out, "\n{}\n\n", types.note);
    }
}
