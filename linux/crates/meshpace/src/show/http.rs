// SPDX-License-Identifier: GPL-2.0-only
//! The little of HTTP/1.1 that is spoken here: one request without a body, one answer, the connection ends.
use std::sync::Arc;

use crate::show::serve::Answer;

/// A request's line and headers.
pub struct Request<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub query: &'a str,
    headers: &'a str,
}

/// The status line of a refusal.
pub type Refusal = &'static str;

/// What has come so far; None: it is not whole yet, and `full`: nor will it be.
pub fn read(bytes: &[u8], full: bool) -> Option<Result<Request<'_>, Refusal>> {
    let ended = |end: &[u8]| bytes.windows(end.len()).any(|found| found == end);
    if !ended(b"\r\n\r\n") && !ended(b"\n\n") {
        return full.then_some(Err("431 Request Header Fields Too Large"));
    }
    Some(request(bytes).ok_or("400 Bad Request"))
}

fn request(bytes: &[u8]) -> Option<Request<'_>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (line, headers) = text.split_once('\n')?;
    let mut words = line.split_ascii_whitespace();
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !version.starts_with("HTTP/1.") {
        return None;
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Some(Request {
        method,
        path,
        query,
        headers,
    })
}

impl<'a> Request<'a> {
    /// The values of all headers of a name, which is in small letters.
    pub fn all(&self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let lines = self.headers.lines().take_while(|line| !line.is_empty());
        let pairs = lines.filter_map(|line| line.split_once(':'));
        let named = pairs.filter(move |(key, _)| key.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.trim())
    }

    /// The value of a header that is there once.
    pub fn only(&self, name: &'a str) -> Option<&'a str> {
        let mut all = self.all(name);
        all.next().filter(|_| all.next().is_none())
    }
}

/// `headers`: whole lines.
pub fn answer(status: &str, kind: &str, headers: &str, body: Arc<Vec<u8>>) -> Answer {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{headers}Connection: close\r\n\r\n",
        body.len()
    );
    Answer { head, body }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_found_whoever_writes_them_how() {
        let bytes = b"GET /a?b=c HTTP/1.1\r\nHost: x:1\r\nCOOKIE:a=b\r\nhost:  y\r\n\r\nHost: z";
        let Some(Ok(found)) = read(bytes, false) else {
            panic!("whole");
        };
        assert_eq!(
            (found.method, found.path, found.query),
            ("GET", "/a", "b=c")
        );
        assert_eq!(found.all("host").collect::<Vec<_>>(), ["x:1", "y"]);
        assert_eq!(
            (found.only("host"), found.only("cookie")),
            (None, Some("a=b"))
        );
        assert_eq!(found.only("none"), None);
    }

    #[test]
    fn what_is_no_request_is_refused_and_what_is_not_whole_waited_for() {
        for bytes in [
            &b"GET /\r\n\r\n"[..],
            b"GET / SIP/2.0\r\n\r\n",
            b"GET / x HTTP/1.1\r\n\r\n",
            b"\xff\xfe / HTTP/1.1\r\n\r\n",
            b"\r\n\r\n",
            b"\n\n",
        ] {
            assert_eq!(read(bytes, false).unwrap().err(), Some("400 Bad Request"));
        }
        assert!(read(b"GET / HTTP/1.1\r\nA: ", false).is_none());
        assert!(read(b"GET / HTTP/1.1\r\nA: ", true).unwrap().is_err());
    }
}
