// SPDX-License-Identifier: GPL-2.0-only
//! Who is answered, and what.
use super::*;
use crate::show::status::{Host, Status};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn server(listen: &str, token: Option<&str>) -> Server {
    let host = Host {
        address: "10.1.0.2".into(),
        group: Some("<script>alert(1)</script> & \"co\"".into()),
        ..Host::default()
    };
    let status = Status {
        mesh: "mesh0".into(),
        hosts: vec![host],
        ..Status::default()
    };
    Server::new(
        listen.parse().unwrap(),
        token.map(String::from),
        Arc::new(Mutex::new(Arc::new(status))),
        Arc::default(),
    )
}

fn ask(server: &mut Server, line: &str, headers: &str) -> (u32, Answer) {
    let request = format!("{line} HTTP/1.1\r\n{headers}\r\n");
    let answer = server.respond(request.as_bytes(), false).unwrap();
    let status = answer.head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

fn status(server: &mut Server, line: &str, headers: &str) -> u32 {
    ask(server, line, headers).0
}

#[test]
fn what_is_there_is_answered_with_all_headers_and_nothing_else_is() {
    let mut here = server("127.0.0.1", None);
    for path in [
        "/",
        "/page.css",
        "/page.js",
        "/icon.svg",
        "/history.json",
        "/?a=b",
    ] {
        let (status, answer) = ask(
            &mut here,
            &format!("GET {path}"),
            "Host: 127.0.0.1:9871\r\n",
        );
        assert_eq!(status, 200, "{path}");
        assert!(!answer.body.is_empty());
        for header in ["default-src 'none'", "nosniff", "no-referrer", "no-store"] {
            assert!(answer.head.contains(header), "{path}: {header}");
        }
        let length = format!("Content-Length: {}\r\n", answer.body.len());
        let (status, head) = ask(&mut here, &format!("HEAD {path}"), "Host: localhost\r\n");
        assert!(status == 200 && head.body.is_empty() && head.head.contains(&length));
    }
    for path in [
        "/../etc/passwd",
        "/page.css/",
        "//",
        "/%2e%2e/",
        "/status.json",
        "*",
        "http://127.0.0.1/",
    ] {
        assert_eq!(
            status(&mut here, &format!("GET {path}"), "Host: localhost\r\n"),
            404
        );
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "get", "CONNECT"] {
        assert_eq!(
            status(&mut here, &format!("{method} /"), "Host: localhost\r\n"),
            405
        );
    }
}

/// Else a page of anybody's has the browser of an operator read this one (DNS rebinding).
#[test]
fn only_addresses_of_this_box_are_answered_to() {
    let mut here = server("127.0.0.1", None);
    let mut of = |headers: &str| status(&mut here, "GET /", headers);
    for host in [
        "127.0.0.1",
        "127.0.0.1:9871",
        "localhost:8080",
        "LOCALHOST",
        "[::1]:9871",
    ] {
        assert_eq!(of(&format!("Host: {host}\r\n")), 200, "{host}");
    }
    for host in [
        "evil.example",
        "127.0.0.1.evil.example:9871",
        "10.1.0.1",
        "localhost.evil.example",
        "",
        "[::1",
        "[evil]",
        "127.0.0.1:9871@evil.example",
    ] {
        assert_eq!(of(&format!("Host: {host}\r\n")), 421, "{host}");
    }
    assert_eq!(of(""), 421);
    assert_eq!(of("Host: localhost\r\nHost: localhost\r\n"), 421);
    let mut everywhere = server("0.0.0.0", Some(TOKEN));
    let with = format!("Authorization: Bearer {TOKEN}\r\n");
    let mut of = |host: &str| status(&mut everywhere, "GET /", &format!("Host: {host}\r\n{with}"));
    assert_eq!((of("10.1.0.1:9871"), of("gateway.lan:9871")), (200, 421));
}

#[test]
fn who_has_no_token_sees_nothing() {
    let mut away = server("10.1.0.1", Some(TOKEN));
    let mut of =
        |line: &str, headers: &str| ask(&mut away, line, &format!("Host: 10.1.0.1\r\n{headers}"));
    let wrong = "f".repeat(32);
    for headers in [
        String::new(),
        format!("Authorization: Bearer {wrong}\r\n"),
        format!("Authorization: Bearer {}\r\n", &TOKEN[..31]),
        format!("Authorization: Bearer {TOKEN}0\r\n"),
        format!("Authorization: Basic {TOKEN}\r\n"),
        format!("Cookie: other={TOKEN}; meshpace={wrong}\r\n"),
        "Cookie: meshpace=\r\n".into(),
    ] {
        for path in ["/", "/history.json", "/page.js", "/none", "/?token="] {
            let (status, answer) = of(&format!("GET {path}"), &headers);
            assert_eq!(status, 401, "{path} {headers}");
            assert!(!String::from_utf8_lossy(&answer.body).contains("10.1.0.2"));
        }
    }
    for headers in [
        format!("Authorization: Bearer {TOKEN}\r\n"),
        format!("Cookie: a=b; meshpace={TOKEN}\r\n"),
    ] {
        assert_eq!(of("GET /", &headers).0, 200);
    }
    let (status, answer) = of(&format!("GET /?a=b&token={TOKEN}"), "");
    assert_eq!(status, 303);
    let cookie = format!("Set-Cookie: meshpace={TOKEN}; HttpOnly; SameSite=Strict; Path=/\r\n");
    assert!(answer.head.contains(&cookie) && answer.head.contains("Location: /\r\n"));
}

#[test]
fn names_from_outside_are_no_markup() {
    let mut here = server("127.0.0.1", None);
    let (_, answer) = ask(&mut here, "GET /", "Host: localhost\r\n");
    let text = String::from_utf8_lossy(&answer.body);
    assert!(
        text.contains("&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;co&quot;"),
        "{text}"
    );
    assert!(!text.contains("<script>alert"));
}

#[test]
fn a_token_is_of_128_bits_and_the_gateway_s_alone() {
    let folder = std::env::temp_dir().join(format!("meshpace-token-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("token");
    let of = |text: &str, mode| {
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        read_token(&file).map_err(|error| error.to_string())
    };
    assert_eq!(of(&format!("{TOKEN}\n"), 0o600).unwrap(), TOKEN);
    assert!(of("ghij_klmnopqrstuv-wxyz", 0o600).is_ok());
    for (text, mode, says) in [
        (&TOKEN[..31], 0o600, "128 bits"),
        ("ghijklmnopqrstuvwxyz0", 0o600, "128 bits"),
        ("", 0o600, "128 bits"),
        ("0123456789abcdef 0123456789abcdef", 0o600, "128 bits"),
        (TOKEN, 0o640, "chmod 600"),
    ] {
        let said = of(text, mode).unwrap_err();
        assert!(said.contains(says) && !said.contains('\n'), "{said}");
        assert!(
            text.is_empty() || !said.contains(text),
            "a token is no word of the log's"
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(read_token(&file)
        .unwrap_err()
        .to_string()
        .contains("make one"));
}
