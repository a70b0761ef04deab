//! The sample configuration and the examples, started as they stand and asked over HTTP.

use std::path::PathBuf;

use crate::served::{Served, copy, rhaid};

const KEYS: [&str; 10] = [
    "61c2339c1bc92bc48120b55513cd568b",
    "bb27bc6b7330aaac63ac809df83311b8",
    "e35402fa00728faf372abaf71623b7f4",
    "bca4bf9d131ab311760c5b790c8568a5",
    "49886a1c018496abb9ba4bf592c08d36",
    "850eedd94a4d9a01962628faac7ace91",
    "d036682c6ac91a41ac9eac064c02a43b",
    "77a767c39adc71fb241285309ff37ee5",
    "75e82d812630bf6d9371339f3e634801",
    "b5125eeabadcd5b3e55a76694d2b62b8",
];
const IMAGE: &str = "/images/13e2d8ca-cd9e-4ca9-8366-0f953fd0f43f";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sample() -> Served {
    Served::copied(&root(), &["conf", "handlers"], "conf/host.yaml")
}

fn fails(message: &str) -> String {
    format!("{{\"status\":\"Fail\",\"error_message\":\"{message}\"}}")
}

#[test]
fn json_api_answers_with_and_without_a_slash() {
    let sample = sample();
    for target in ["/json_api", "/json_api/"] {
        assert_eq!(sample.get(target), (200, "{\"foo\":\"bar\"}".to_owned()));
    }
}

#[test]
fn each_company_sees_its_own_projects() {
    let sample = sample();
    for (company, key) in (1..).zip(KEYS) {
        let project = |number: usize| {
            let id = (company - 1) * 50 + number;
            format!("{{\"id\":{id},\"name\":\"Project {number} for company {company}\"}}")
        };
        let all: Vec<_> = (1..=50).map(project).collect();
        let expected = format!("{{\"status\":\"Success\",\"data\":[{}]}}", all.join(","));
        for target in ["/projects", "/projects.json"] {
            assert_eq!(sample.get(&format!("{target}?key={key}")), (200, expected.clone()));
        }
        let one = format!("{{\"status\":\"Success\",\"data\":{}}}", project(2));
        let id = (company - 1) * 50 + 2;
        for target in ["/projects/ID", "/projects/ID.json", "/project/ID", "/project/ID.json"] {
            let target = target.replace("ID", &id.to_string());
            assert_eq!(sample.get(&format!("{target}?key={key}")), (200, one.clone()));
        }
    }
    assert_eq!(sample.get(&format!("/projects?key={}", KEYS[0])).1.len(), 2211);
}

#[test]
fn who_has_no_business_there_gets_no_project() {
    let sample = sample();
    let key = KEYS[0];
    for (target, status, message) in [
        ("/projects".to_owned(), 401, "Need api key"),
        ("/projects/1".to_owned(), 401, "Need api key"),
        ("/projects?key=nope".to_owned(), 401, "Bad api key"),
        (format!("/projects/51?key={key}"), 404, "Project not found"),
        (format!("/projects/501?key={key}"), 404, "Project not found"),
        (format!("/projects/x?key={key}"), 400, "`id` is `x`, expected an integer"),
        (format!("/nothing?key={key}"), 404, "Not found"),
    ] {
        assert_eq!(sample.get(&target), (status, fails(message)), "{target}");
    }
}

#[test]
fn an_access_of_an_image_is_counted_and_shown_the_next_time() {
    let sample = sample();
    let image = |count: u32, accessed: &str| {
        format!(
            "{{\"image\":{{\"_id\":\"13e2d8ca-cd9e-4ca9-8366-0f953fd0f43f\",\"name\":\"hihi\",\"access\":\"public\",\
             \"type\":\"picture\",\"format\":\"png\",\"owner\":\"someone\",\"status\":\"locked\",\"size\":1024,\
             \"created_at\":\"2012-01-06T22:11:15\",\"accessed_at\":\"{accessed}\",\"access_count\":{count},\
             \"checksum\":null,\"others\":null}}}}"
        )
    };
    assert_eq!(sample.get(IMAGE), (200, image(1000, "2012-01-07T13:14:15")));
    let (status, body) = sample.get(IMAGE);
    let accessed = body.split("\"accessed_at\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert_eq!((status, body), (200, image(1001, &accessed)));
    assert_ne!(accessed, "2012-01-07T13:14:15");
    let unknown = (404, "{\"code\":404,\"message\":\"No image found with id 'none'.\"}".to_owned());
    assert_eq!(sample.get("/images/none"), unknown);
}

#[test]
fn the_front_page_needs_no_key_and_no_source_is_served() {
    let sample = sample();
    let (status, page) = sample.get("/");
    assert_eq!(status, 200);
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    for target in ["/handlers/projects.rhai", "/conf/host.yaml", "/var/demo.db"] {
        let (status, body) = sample.get(&format!("{target}?key={}", KEYS[0]));
        assert_eq!((status, body), (404, fails("Not found")), "{target}");
    }
}

#[test]
fn the_tests_of_the_sample_pass() {
    let folder = tempfile::tempdir().unwrap();
    for part in ["conf", "handlers", "examples"] {
        copy(&root().join(part), &folder.path().join(part));
    }
    let output = rhaid(&folder).arg("test").output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{stdout}");
    assert!(stdout.contains("test result: ok. 7 passed, 0 failed in "), "{stdout}");
}

#[test]
fn the_hello_example_greets() {
    let hello = Served::copied(&root().join("examples/hello"), &["."], "host.yaml");
    assert_eq!(hello.get("/hello?name=you"), (200, "{\"hello\":\"you\"}".to_owned()));
    assert_eq!(hello.get("/hello"), (200, "{\"hello\":\"world\"}".to_owned()));
}

#[test]
fn the_site_example_has_pages_and_an_api() {
    let site = Served::copied(&root().join("examples/site"), &["."], "host.yaml");
    let (status, page) = site.get("/none");
    assert_eq!((status, page.contains("There is nothing here")), (404, true), "{page}");
    let visits = (200, "{\"status\":\"Success\",\"data\":1}".to_owned());
    assert_eq!(site.ask("POST", "/api/visits", ""), visits);
    assert_eq!(site.get("/api/visits"), visits);
    assert_eq!(site.get("/api/none"), (404, fails("Not found")));
    assert_eq!((site.get("/").0, site.get("/start").0), (200, 301));
}

#[test]
fn the_guestbook_example_keeps_what_is_written() {
    let book = Served::copied(&root().join("examples/guestbook"), &["."], "host.yaml");
    assert_eq!(book.get("/entries"), (200, "{\"status\":\"Success\",\"data\":[]}".to_owned()));
    assert_eq!(book.ask("POST", "/entries", "name=Ann&text=Hello+all"), (201, "{\"id\":1}".to_owned()));
    let (status, entries) = book.get("/entries");
    assert_eq!(status, 200);
    assert!(entries.contains("\"id\":1,\"name\":\"Ann\",\"text\":\"Hello all\",\"written_at\":\"20"), "{entries}");
    let empty = fails("`name` and `text` must not be empty");
    assert_eq!(book.ask("POST", "/entries", "name=&text=x"), (400, empty));
    assert_eq!(book.ask("POST", "/entries", "name=x"), (400, fails("`text` is missing, expected a text")));
    assert_eq!(book.ask("DELETE", "/entries/1", ""), (204, String::new()));
    assert_eq!(book.ask("DELETE", "/entries/1", ""), (404, fails("No such entry")));
}

#[test]
fn the_photos_example_keeps_files_and_gives_them_back() {
    let photos = Served::copied(&root().join("examples/photos"), &["."], "host.yaml");
    let png: &[u8] = b"\x89PNG\r\n\x1a\n\0\xff\r\n--x\r\n";
    let upload = |title: &str, file: &[u8]| {
        let mut body = format!("--xx\r\nContent-Disposition: form-data; name=title\r\n\r\n{title}\r\n").into_bytes();
        body.extend(b"--xx\r\nContent-Disposition: form-data; name=photo; filename=\"C:\\a.png\"\r\n\r\n");
        body.extend(file);
        body.extend(b"\r\n--xx--\r\n");
        let (status, body) = photos.send("POST", "/photos", "multipart/form-data; boundary=xx", &body);
        (status, String::from_utf8(body).unwrap())
    };
    assert_eq!(upload("Tom", png), (201, "{\"id\":1}".to_owned()));
    assert_eq!(photos.send("GET", "/photos/1.png", "", b""), (200, png.to_vec()));
    let list = "{\"status\":\"Success\",\"data\":[{\"id\":1,\"title\":\"Tom\",\"filename\":\"a.png\",\"size\":17}]}";
    assert_eq!(photos.get("/photos"), (200, list.to_owned()));
    // More than is kept in memory.
    let large = [png, vec![b'x'; 2 << 20].as_slice()].concat();
    assert_eq!(upload("Tim", &large), (201, "{\"id\":2}".to_owned()));
    assert!(photos.send("GET", "/photos/2.png", "", b"") == (200, large));
    assert_eq!(upload("Tom", b"<script>"), (415, fails("`photo` is no PNG")));
    assert_eq!(upload("", png), (400, fails("`title` is ``, expected a text of 1 to 80 characters")));
    assert_eq!(photos.ask("POST", "/photos", "title=Tom"), (400, fails("`photo` is missing, expected a file")));
    assert_eq!(photos.get("/photos/3.png"), (404, fails("No such photo")));
}
