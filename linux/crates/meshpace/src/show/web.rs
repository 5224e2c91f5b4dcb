// SPDX-License-Identifier: GPL-2.0-only
//! The page for operators, off by default: who may ask for it, and what is answered. It is read only: nothing that is asked
//! changes anything.
use std::io::ErrorKind;
use std::net::{IpAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::base::errors::{usage, Result};
use crate::config::Web;
use crate::show::control::{latest, Rendered, Shared};
use crate::show::files::Files;
use crate::show::history::History;
use crate::show::http::{self, Request};
use crate::show::page;
use crate::show::serve::{self, Answer};

/// Nothing but what this page brings itself, in nobody's frame; no address of it is told to others, and no copy is kept.
const HEADERS: &str = "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
    X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n";
const COOKIE: &str = "meshpace";
/// A token is 128 bits at least: so many digits of base 16, or letters and digits of base 64.
const HEX_DIGITS: usize = 128 / 4;
const LETTERS: usize = 128 / 6 + 1;
const TEXT: &str = "text/plain; charset=utf-8";

/// Whether there can be a page: before anything is set up.
pub fn check(web: &Web) -> Result<()> {
    web.token_file.as_deref().map(read_token).transpose()?;
    Ok(())
}

/// Answers from now on, where the configuration says so.
pub fn serve(web: &Web, files: &Files) -> Result<()> {
    let Some(listen) = web.listen else {
        return Ok(());
    };
    let token = web.token_file.as_deref().map(read_token).transpose()?;
    let listener = TcpListener::bind(listen)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .map_err(|error| {
            usage(format!(
                "web.listen = \"{listen}\": {error}; choose another address"
            ))
        })?;
    let mut server = Server::new(listen.ip(), token, files.shared(), files.history());
    serve::start("web", listener, move |request, full| {
        server.respond(request, full)
    })?;
    log::info!("the page for operators is at {listen}");
    Ok(())
}

fn read_token(file: &Path) -> Result<String> {
    let wrong = |what: &str, remedy: &str| {
        usage(format!(
            "web.token_file {}: {what}; {remedy}",
            file.display()
        ))
    };
    let make = "make one: (umask 077; head -c 16 /dev/urandom | od -An -tx1 | tr -d ' ' > FILE)";
    let text = std::fs::read_to_string(file).map_err(|error| {
        let remedy = match error.kind() {
            ErrorKind::PermissionDenied => "it is its owner's alone: ask as root",
            _ => make,
        };
        wrong(&error.to_string(), remedy)
    })?;
    let mode = std::fs::metadata(file)?.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(wrong(
            &format!("others may use it (mode {mode:o})"),
            "chmod 600",
        ));
    }
    let token = text.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let least = match token.chars().all(|c| c.is_ascii_hexdigit()) {
        true => HEX_DIGITS,
        false => LETTERS,
    };
    if token.len() < least || !token.chars().all(plain) {
        return Err(wrong("is no token of 128 bits in letters and digits", make));
    }
    Ok(token.into())
}

/// In a time that does not tell how much of it is right.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    let differ = a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differ) == 0
}

struct Server {
    listen: IpAddr,
    token: Option<String>,
    status: Shared,
    history: Arc<Mutex<History>>,
    page: Rendered,
    pictures: Rendered,
    assets: [(&'static str, &'static str, Arc<Vec<u8>>); 3],
}

impl Server {
    fn new(
        listen: IpAddr,
        token: Option<String>,
        status: Shared,
        history: Arc<Mutex<History>>,
    ) -> Self {
        let asset = |path, kind, text: &str| (path, kind, Arc::new(text.as_bytes().to_vec()));
        Self {
            listen,
            token,
            status,
            history,
            page: Rendered::default(),
            pictures: Rendered::default(),
            assets: [
                asset("/page.css", "text/css", page::STYLE),
                asset("/page.js", "text/javascript", page::SCRIPT),
                asset("/icon.svg", "image/svg+xml", page::ICON),
            ],
        }
    }

    fn respond(&mut self, bytes: &[u8], full: bool) -> Option<Answer> {
        Some(match http::read(bytes, full)? {
            Err(status) => refusal(status, "no request that is understood here"),
            Ok(request) => self.answer(&request),
        })
    }

    fn answer(&mut self, request: &Request) -> Answer {
        if !request
            .only("host")
            .is_some_and(|host| self.is_called(host))
        {
            return refusal(
                "421 Misdirected Request",
                "this page answers to its IP address, or to localhost",
            );
        }
        let is_head = request.method == "HEAD";
        if !is_head && request.method != "GET" {
            return refusal("405 Method Not Allowed", "GET and HEAD only");
        }
        let mut answer = match self.admit(request) {
            Some(other) => other,
            None => self.document(request.path),
        };
        if is_head {
            answer.body = Arc::default();
        }
        answer
    }

    /// A name may be anybody's who has it lead here (DNS rebinding); an address, and localhost, is what the browser went to.
    fn is_called(&self, host: &str) -> bool {
        let (name, port) = match host.strip_prefix('[') {
            Some(rest) => rest.split_once(']').unwrap_or_default(),
            None => host.split_at(host.find(':').unwrap_or(host.len())),
        };
        if !port
            .trim_start_matches(':')
            .bytes()
            .all(|b| b.is_ascii_digit())
        {
            return false;
        }
        let is_here = |address: IpAddr| {
            self.listen.is_unspecified() || address == self.listen || address.is_loopback()
        };
        name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_here)
    }

    /// What is answered instead of a document; None: who asks may have it.
    fn admit(&self, request: &Request) -> Option<Answer> {
        let token = self.token.as_deref()?;
        let is_token = |given: &str| is_same(given.as_bytes(), token.as_bytes());
        let of_query = |pair: &str| pair.strip_prefix("token=").is_some_and(is_token);
        if request.query.split('&').any(of_query) {
            let headers = format!(
                "{HEADERS}Location: /\r\nSet-Cookie: {COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/\r\n"
            );
            return Some(http::answer(
                "303 See Other",
                TEXT,
                &headers,
                Arc::default(),
            ));
        }
        let bearer = request.only("authorization");
        let bearer = bearer.and_then(|value| value.strip_prefix("Bearer "));
        let cookies = request.all("cookie").flat_map(|value| value.split(';'));
        let cookies = cookies.filter_map(|pair| pair.trim().split_once('='));
        let cookies = cookies.filter(|(name, _)| *name == COOKIE);
        let mut given = bearer.into_iter().chain(cookies.map(|(_, value)| value));
        if given.any(is_token) {
            return None;
        }
        let headers = format!("{HEADERS}WWW-Authenticate: Bearer\r\n");
        let why = b"a token is asked for here: open /?token=TOKEN once\n".to_vec();
        Some(http::answer(
            "401 Unauthorized",
            TEXT,
            &headers,
            Arc::new(why),
        ))
    }

    fn document(&mut self, path: &str) -> Answer {
        let status = latest(&self.status);
        if let Some((_, kind, body)) = self.assets.iter().find(|(name, ..)| *name == path) {
            return http::answer("200 OK", kind, HEADERS, body.clone());
        }
        match path {
            "/" => {
                let body = self.page.of(&status, |status| page::render(status).into());
                http::answer("200 OK", "text/html; charset=utf-8", HEADERS, body)
            }
            "/history.json" => {
                let history = &self.history;
                let body = self.pictures.of(&status, |_| pictures(history));
                http::answer("200 OK", "application/json", HEADERS, body)
            }
            _ => refusal("404 Not Found", "there is the page at / and nothing else"),
        }
    }
}

/// The lock is held while points are reckoned, and not while they are written down: the gateway waits for it.
fn pictures(history: &Mutex<History>) -> Vec<u8> {
    let of = |picture: fn(&History) -> _| {
        picture(&history.lock().expect("its holder ended the program"))
    };
    let both = [of(History::day), of(History::ten_minutes)];
    serde_json::to_vec(&both).unwrap_or_default()
}

fn refusal(status: &str, why: &str) -> Answer {
    let body = Arc::new(format!("{why}\n").into_bytes());
    http::answer(status, TEXT, HEADERS, body)
}

#[cfg(test)]
#[path = "web_tests.rs"]
mod tests;
