//! A fault of a native function costs the request that it happens to, and no other.

use std::cell::{OnceCell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;

use super::*;
use crate::db::{self, Databases};
use crate::file::Hidden;
use crate::handler::script::Script as Plan;
use crate::handler::{Inherited, Workshop};
use crate::http::{Body, Connection, Id};
use crate::router::HostName;
use crate::script::{Engines, Library, Source};

const SCRIPT: &str = r#"
    let app = router();
    app.get("/panics", |env| { panics(); text("no") });
    app.get("/callback", |env| { let sum = [1, 2].map(|x| x + panics()); text("no") });
    app.get("/held", |env| { let held = [env]; held[0].set("x", held); env.panics(); text("no") });
    app.get("/waits", |env| { sleep(0.05); text("waited") });
    app.get("/fine", |env| text("fine"));
    app
"#;

fn natives(engine: &mut rhai::Engine) {
    engine.register_fn("panics", || -> i64 { panic!("on purpose") });
    engine.register_fn("panics", |_: &mut Env| -> i64 { panic!("on purpose, with the env borrowed") });
}

fn request(path: &str) -> Rc<Request> {
    let address: SocketAddr = "127.0.0.1:80".parse().unwrap();
    Rc::new(Request {
        head: http::Request::builder().uri(path).body(()).unwrap().into_parts().0,
        connection: Rc::new(Connection::new(address, address, 1)),
        server_name: "default".into(),
        script_name: "".into(),
        path_info: 0,
        id: Id(1),
        upload: RefCell::new(Upload::None),
        identity: OnceCell::new(),
        variables: RefCell::default(),
        journal: Default::default(),
    })
}

async fn ask(running: &Running, path: &str) -> (u16, String) {
    let visit = Visit { request: request(path), env: OnceCell::new() };
    match running.handle(&visit).await {
        Outcome::Answer(response) => match response.into_parts() {
            (head, Body::Full(body)) => (head.status.as_u16(), String::from_utf8(body.to_vec()).unwrap()),
            (head, body) => panic!("{} with {body:?}", head.status),
        },
        Outcome::Pass(_) => panic!("the request was passed on"),
    }
}

#[test]
fn a_panic_in_a_native_is_a_500_and_others_go_on() {
    let (inherited, engines) = (Inherited::default(), Engines::new([natives as _]));
    let workshop = Workshop {
        engines: &engines,
        host: &HostName::default(),
        library: &Library::default(),
        inherited: &inherited,
        envelope: &envelope::Settings::default(),
        databases: &Rc::new(Databases::new(&db::Settings::default(), 1)),
        functions: &Rc::from([]),
        redaction: &Arc::default(),
        body_limit: 0,
        body_patience: std::time::Duration::ZERO,
        software: "rhaid",
        hidden: &Rc::new(Hidden::new(Vec::new())),
    };
    let source = Source { name: "h.rhai".into(), path: "h.rhai".into(), text: SCRIPT.into(), line: 1, indent: 0 };
    tokio::runtime::LocalRuntime::new().unwrap().block_on(async {
        let running = Plan::new(source).start(&workshop).await.unwrap();
        let failed = (500, r#"{"status":"Fail","error_message":"Internal server error"}"#.to_owned());
        for path in ["/panics", "/callback", "/held", "/panics"] {
            let (waited, panicked) = tokio::join!(ask(&running, "/waits"), ask(&running, path));
            assert_eq!(panicked, failed, "{path}");
            assert_eq!(waited, (200, "waited".to_owned()), "beside {path}");
            assert_eq!(ask(&running, "/fine").await, (200, "fine".to_owned()), "after {path}");
        }
    });
}
