//! `file.dir` and `file.file`: what the configuration says of them.

use std::future::ready;
use std::path::PathBuf;
use std::sync::Arc;

mod serve;

use serve::Files;

use super::{Building, Kind, Plan, Workshop};
use crate::directive::{self, Directive, Level, Problems, Repeat};

/// How files are served; inherited from level to level.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Names of the files that stand for their folder; the first that exists is served.
    pub index: Vec<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { index: ["index.html", "index.htm", "index.txt"].map(str::to_owned).to_vec() }
    }
}

impl directive::Settings for Settings {
    const DIRECTIVES: &'static [Directive<Settings>] = &[Directive {
        name: "file.index",
        levels: &[Level::Global, Level::Host, Level::Path],
        repeat: Repeat::Once,
        summary: "The names of the files that stand for their folder; the first that exists is served. \
                  Default: `[index.html, index.htm, index.txt]`.",
        example: "file.index: [index.html, README.txt]",
        apply: |settings, value| {
            let mut problems = Problems::default();
            let names = value.items();
            let names = names.iter().filter_map(|it| problems.check(it.text_as("the name of a file")));
            settings.index = names.map(str::to_owned).collect();
            problems.or(())
        },
    }];
}

/// `file.dir`: the files of a folder.
pub const FOLDER: Kind = Kind {
    name: "file.dir",
    summary: "Serves the files below a folder; scripts, the configuration and database files are never served.",
    example: "file.dir: public",
    read: |value| Ok(Arc::new(Folder(value.existing_folder()?))),
};

/// `file.file`: one file.
pub const SINGLE: Kind = Kind {
    name: "file.file",
    summary: "Serves one file, whatever follows the path.",
    example: "file.file: public/index.html",
    read: |value| Ok(Arc::new(Single(value.existing_file()?))),
};

/// A folder to serve.
#[derive(Debug)]
pub struct Folder(pub PathBuf);

impl Plan for Folder {
    fn build<'a>(&'a self, workshop: &'a Workshop<'a>) -> Building<'a> {
        let files = Files::dir(self.0.clone(), workshop.inherited.file.index.clone(), workshop.hidden.clone());
        Box::pin(ready(Ok(Box::new(files.with_errors(workshop.envelope.clone())) as Box<dyn super::Handler>)))
    }
}

/// A file to serve.
#[derive(Debug)]
pub struct Single(pub PathBuf);

impl Plan for Single {
    fn build<'a>(&'a self, workshop: &'a Workshop<'a>) -> Building<'a> {
        let files = Files::one(self.0.clone(), workshop.hidden.clone());
        Box::pin(ready(Ok(Box::new(files.with_errors(workshop.envelope.clone())) as Box<dyn super::Handler>)))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::directive::{Section, parse};

    fn index(text: &str) -> Result<Vec<String>, String> {
        let value = parse(Path::new("host.yaml"), text).unwrap().entries().unwrap().remove(0).1;
        let mut settings = Settings::default();
        let applied = settings.apply("file.index", &value).expect("a directive of files");
        applied.map(|()| settings.index).map_err(|it| it.to_string())
    }

    #[test]
    fn an_index_replaces_the_one_above() {
        assert_eq!(index("file.index: a.html"), Ok(vec!["a.html".into()]));
        assert_eq!(index("file.index: [a.html, b.html]"), Ok(vec!["a.html".into(), "b.html".into()]));
        assert_eq!(index("file.index: []"), Ok(Vec::new()));
    }

    #[test]
    fn an_index_is_a_list_of_names() {
        let expected = "host.yaml:1:13: `file.index` is a mapping, expected the name of a file\n  \
                        1 | file.index: {a: b}\n    |             ^";
        assert_eq!(index("file.index: {a: b}"), Err(expected.into()));
    }

    #[test]
    fn a_missing_folder_is_a_mistake() {
        let value = parse(Path::new("host.yaml"), "file.dir: none/at/all").unwrap().entries().unwrap().remove(0).1;
        let message = (FOLDER.read)(&value).unwrap_err().0[0].message().to_owned();
        assert_eq!(message, "`file.dir` is `none/at/all`, which does not exist");
    }
}
