//! The cookies of a request (RFC 6265 §4.2).

use std::rc::Rc;

use percent_encoding::percent_decode_str;
use rhai::{Dynamic, ImmutableString};

use super::fields::Pairs;
use super::{Env, header};

impl Env {
    pub(super) fn cookies(&self) -> &Rc<Pairs> {
        self.0.cookies.get_or_init(|| {
            let mut pairs = Vec::new();
            for line in self.0.request.head.headers.get_all(http::header::COOKIE) {
                let line = header::text(line);
                pairs.extend(line.split(';').filter_map(|pair| pair.trim().split_once('=')).map(cookie));
            }
            // The first counts, as in Rack: a browser sends the cookie of the longer path first.
            Pairs::cookies(pairs)
        })
    }
}

fn cookie((name, value): (&str, &str)) -> (ImmutableString, Dynamic) {
    // `+` stays: it is no encoded space here, and base64 has it.
    let decoded = percent_decode_str(value).decode_utf8();
    (name.trim_end().into(), decoded.map_or_else(|_| value.into(), |text| text.as_ref().into()))
}
