//! The bytes of a request, as a case file writes them.

/// What is sent in one go, and what the replies to it will be to.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub bytes: Vec<u8>,
    /// The method of each request in the bytes: a reply to HEAD has no body.
    pub methods: Vec<String>,
    /// Whether the bytes stood as such in the file; they may be no whole request then.
    pub form: Form,
}

/// How a request was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    Lines,
    Raw,
}

impl Request {
    /// A request as lines: those of the head, an empty one, the body.
    ///
    /// # Errors
    /// If there is no request line.
    pub fn from_lines(text: &str) -> Result<Request, String> {
        let (head, body) = match text.split_once("\n\n") {
            Some((head, body)) => (head, body),
            None => (text.trim_end_matches('\n'), ""),
        };
        let mut lines = head.lines();
        let request_line = lines.next().unwrap_or_default();
        if request_line.is_empty() {
            return Err("a request begins with a line such as `GET /`".to_owned());
        }
        let mut bytes = request_line.to_owned();
        if !request_line.rsplit(' ').next().is_some_and(|last| last.starts_with("HTTP/")) {
            bytes.push_str(" HTTP/1.1");
        }
        bytes.push_str("\r\n");
        let (mut has_host, mut has_length, mut is_chunked) = (false, false, false);
        for line in lines {
            if line.eq_ignore_ascii_case("!host") {
                has_host = true;
                continue;
            }
            let name = line.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
            has_host |= name == "host";
            has_length |= name == "content-length";
            is_chunked |= name == "transfer-encoding";
            bytes.push_str(line);
            bytes.push_str("\r\n");
        }
        let body = if is_chunked {
            body.lines().flat_map(|line| [line, "\r\n"]).collect()
        } else {
            body.strip_suffix('\n').unwrap_or(body).to_owned()
        };
        if !has_host {
            bytes.push_str("Host: localhost\r\n");
        }
        if !body.is_empty() && !has_length && !is_chunked {
            bytes.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        bytes.push_str("\r\n");
        bytes.push_str(&body);
        let method = request_line.split(' ').next().unwrap_or_default().to_owned();
        Ok(Request { bytes: bytes.into_bytes(), methods: vec![method], form: Form::Lines })
    }

    /// Bytes with `\r \n \t \\ \xNN`; the newlines of the text are not sent.
    ///
    /// # Errors
    /// If there is another escape.
    pub fn from_escaped(text: &str) -> Result<Request, String> {
        let mut bytes = Vec::new();
        let mut rest = text.bytes().filter(|byte| *byte != b'\n');
        while let Some(byte) = rest.next() {
            if byte != b'\\' {
                bytes.push(byte);
                continue;
            }
            bytes.push(match rest.next() {
                Some(b'r') => b'\r',
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'\\') => b'\\',
                Some(b'x') => {
                    let digits = [rest.next().unwrap_or(b' '), rest.next().unwrap_or(b' ')];
                    let digits = String::from_utf8_lossy(&digits);
                    u8::from_str_radix(&digits, 16).map_err(|_| format!("`\\x{digits}` is not a byte"))?
                }
                other => {
                    let other = other.map(char::from).unwrap_or(' ');
                    return Err(format!(r"`\{other}` is not one of `\r`, `\n`, `\t`, `\\` and `\xNN`"));
                }
            });
        }
        let methods = methods(&bytes);
        Ok(Request { bytes, methods, form: Form::Raw })
    }
}

/// The method of each request in `bytes`. What can't be followed to its end counts as the last one.
fn methods(mut bytes: &[u8]) -> Vec<String> {
    let mut methods = Vec::new();
    while !bytes.is_empty() {
        let word = bytes.split(|byte| *byte == b' ').next().unwrap_or_default();
        methods.push(String::from_utf8_lossy(word).into_owned());
        let Some(end) = find(bytes, b"\r\n\r\n") else { break };
        let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        bytes = &bytes[end + 4..];
        let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        if field("transfer-encoding").is_some() {
            let Some(end) = find(bytes, b"0\r\n\r\n") else { break };
            bytes = &bytes[end + 5..];
        } else if let Some(length) = field("content-length").and_then(|value| value.trim().parse::<usize>().ok()) {
            bytes = bytes.get(length..).unwrap_or_default();
        }
    }
    methods
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
