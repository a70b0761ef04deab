//! The native namespaces that scripts call: one file each, one line each in [`BINDINGS`].

mod auth;
mod bytes;
mod config;
mod crypto;
mod db;
mod json;
mod kind;
mod limit;
mod log;
mod regex;
mod store;
pub mod testing;
mod text;
mod time;
mod url;

use crate::script::name_of;

pub use store::{Settings as StoreSettings, forget_all as forget_store};

/// All namespaces.
pub const BINDINGS: &[Binding] = &[
    auth::BINDING,
    config::BINDING,
    crypto::BINDING,
    db::BINDING,
    json::BINDING,
    log::BINDING,
    regex::BINDING,
    store::BINDING,
    text::BINDING,
    time::BINDING,
    url::BINDING,
];

/// A namespace.
pub struct Binding {
    /// What stands before `::`.
    pub name: &'static str,
    /// What it is for.
    pub summary: &'static str,
    /// Its functions, for the reference.
    pub functions: &'static [Function],
    /// Puts the functions into the namespace.
    pub register: fn(&mut rhai::Module),
}

/// A function of a namespace.
pub struct Function {
    /// As it is called, without the namespace; optional arguments in brackets.
    pub signature: &'static str,
    /// What it does, and when it fails.
    pub summary: &'static str,
    /// A script, and after ` → ` its value as JSON.
    pub example: &'static str,
}

/// Makes all namespaces known to an engine.
pub fn register(engine: &mut rhai::Engine) {
    for binding in BINDINGS {
        let mut module = rhai::Module::new();
        (binding.register)(&mut module);
        engine.register_static_module(binding.name, module.into());
    }
}

/// Full names of all functions, such as `db::query`, for suggestions.
pub fn names() -> impl Iterator<Item = String> {
    BINDINGS
        .iter()
        .flat_map(|binding| binding.functions.iter().map(|it| format!("{}::{}", binding.name, name_of(it.signature))))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use std::rc::Rc;

    use super::*;
    use crate::db::{self, Databases};
    use crate::directive::apply;
    use crate::fiber;
    use crate::file::Hidden;
    use crate::http::{Connection, Id, Request, Upload};
    use crate::reply::{Content, Reply};
    use crate::script::{
        Context, Ended, Engines, Library, MAKERS, Modules, Script, Settings, Source, Values, forms, named,
    };
    use crate::{auth, envelope};

    const TABLE: &str = "CREATE TABLE example (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        INSERT INTO example VALUES (1, 'one'), (2, 'two');";

    /// Runs a handler's body with a database of two rows, behind the key `secret`.
    fn answer(body: &str) -> Reply {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        std::fs::create_dir(at("migrations")).unwrap();
        std::fs::write(at("migrations/001_example.sql"), TABLE).unwrap();
        let text =
            format!("databases: {{main: {{url: 'sqlite:{}', migrations: {}}}}}", at("example.db"), at("migrations"));
        let settings = apply(db::Settings::default(), &text).unwrap();
        db::migrate(&settings).unwrap();
        let key = "auth.api-key: {query: key, required: OFF, sql: SELECT name FROM example WHERE name = ?}";
        let values = "rhai.settings: {greeting: hello, mail: {port: 25, hosts: [a, b]}}";
        let values = apply(Values::default(), values).unwrap();
        let context = Context {
            shapes: Default::default(),
            envelope: envelope::Settings::default(),
            auth: apply(auth::Settings::default(), key).unwrap(),
            software: "rhaid".into(),
            hidden: Rc::new(Hidden::new(Vec::new())),
            settings: values.to_script(),
            values,
            databases: Rc::new(Databases::new(&settings, 1)),
            closures: Default::default(),
        };
        let source = Source {
            name: "example.rhai".into(),
            path: "example.rhai".into(),
            text: format!("|env| {{ {body} }}").into(),
            line: 1,
            indent: 0,
        };
        let engines = Engines::new([register as _]);
        let limits = Settings::default();
        let functions: Rc<[String]> = names().collect();
        let head = ::http::Request::builder().uri("/?key=secret").body(()).unwrap().into_parts().0;
        let address: std::net::SocketAddr = "127.0.0.1:80".parse().unwrap();
        let request = Rc::new(Request {
            head,
            connection: Rc::new(Connection::new(address, address, 1)),
            server_name: "default".into(),
            script_name: "".into(),
            path_info: 0,
            id: Id(1),
            upload: RefCell::new(Upload::None),
            identity: std::cell::OnceCell::new(),
            variables: RefCell::default(),
            journal: Default::default(),
        });
        let ended = tokio::runtime::LocalRuntime::new().unwrap().block_on(async {
            let modules = Modules::gather(&source, &[]).into();
            let load = || Script::load(&engines, modules, &Library::default(), &limits, context, functions);
            let script = fiber::run(limits.start_limits(), load).await.unwrap().map_err(|it| it.to_string()).unwrap();
            let env = script.env(request);
            env.set_auth(named(Some("example")));
            let ended = fiber::run(limits.limits(), || script.respond(&env)).await.unwrap();
            env.end();
            ended
        });
        match ended {
            Ended::Reply(reply) => reply,
            other => panic!("{body}: {other:?}"),
        }
    }

    fn shown(reply: &Reply) -> String {
        match &reply.body {
            Content::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Content::File(_) => "the file".to_owned(),
        }
    }

    #[test]
    fn each_example_gives_what_it_says() {
        for function in BINDINGS.iter().flat_map(|it| it.functions) {
            let (code, expected) = function.example.split_once(" → ").expect("an example has ` → ` and its value");
            let reply = answer(&format!("json({{ {code} }})"));
            assert_eq!(shown(&reply), expected, "{}", function.example);
        }
    }

    #[test]
    fn each_maker_gives_what_it_says() {
        for maker in MAKERS {
            let (code, expected) = maker.example.split_once(" → ").expect("an example has ` → ` and its reply");
            let reply = answer(code);
            assert_eq!(format!("{} {}", reply.status, shown(&reply)), expected);
        }
    }

    #[test]
    fn what_is_registered_is_in_the_table_and_the_other_way_round() {
        let signatures = Engines::new([register as _]).signatures();
        for binding in BINDINGS {
            let registered = signatures.iter().filter(|it| it.namespace == binding.name);
            let registered: BTreeSet<_> = registered.map(|it| (it.name.as_str(), it.parameters.len())).collect();
            let forms = binding.functions.iter().flat_map(|it| forms(it.signature));
            let told: BTreeSet<_> = forms.map(|(name, parameters)| (name, parameters.len())).collect();
            assert_eq!(registered, told, "{}", binding.name);
        }
    }

    #[test]
    fn no_function_has_a_reserved_word_for_its_name() {
        for name in names() {
            let last = name.rsplit("::").next().unwrap_or_default();
            assert!(rhai::Engine::new().compile(format!("fn {last}() {{}}")).is_ok(), "{name}");
        }
    }
}
