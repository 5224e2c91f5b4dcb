// SPDX-License-Identifier: GPL-2.0-only
//! Answers short questions on a listening socket, in one thread and in bounded memory, whoever asks:
//! clients that send nothing, or read nothing, cost the others nothing.
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::poll::{poll, PollFd, PollFlags, PollTimeout};

use crate::base::errors::Result;

/// So many at a time. The next one takes the place of the one that came first: an honest client asks
/// and is answered within a millisecond, who is still there has taken his time.
const CLIENTS: usize = 64;
/// A question is no longer: the usual bound of web servers for a request's header.
const QUESTION_BYTES: usize = 8192;
/// Question and answer take no longer: half of the 10 s that Prometheus gives a target by default.
const LIFE: Duration = Duration::from_secs(5);
/// Without descriptors or memory for another client: until the next try.
const PAUSE: Duration = Duration::from_millis(100);

/// What a client gets, shared between those that get the same.
pub struct Answer {
    pub head: String,
    pub body: Arc<Vec<u8>>,
}

/// Where clients come from; neither it nor its streams may block.
pub trait Listener: AsFd + Send + 'static {
    type Stream: Read + Write + AsFd;
    fn next(&self) -> std::io::Result<Self::Stream>;
}

impl Listener for std::net::TcpListener {
    type Stream = std::net::TcpStream;
    fn next(&self) -> std::io::Result<Self::Stream> {
        let (stream, _) = self.accept()?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    }
}

impl Listener for std::os::unix::net::UnixListener {
    type Stream = std::os::unix::net::UnixStream;
    fn next(&self) -> std::io::Result<Self::Stream> {
        let (stream, _) = self.accept()?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    }
}

struct Client<S> {
    stream: S,
    until: Instant,
    question: Vec<u8>,
    answer: Option<Answer>,
    written: usize,
}

/// Whether a client has still to be waited for.
enum State {
    Waits,
    Over,
}

impl<S: Read + Write + AsFd> Client<S> {
    fn new(stream: S) -> Self {
        Self {
            stream,
            until: Instant::now() + LIFE,
            question: Vec::new(),
            answer: None,
            written: 0,
        }
    }

    fn events(&self) -> PollFlags {
        match self.answer {
            None => PollFlags::POLLIN,
            Some(_) => PollFlags::POLLOUT,
        }
    }

    /// As far as it goes without waiting. `respond` answers a question as soon as there is enough of it.
    fn proceed(&mut self, respond: &mut impl FnMut(&[u8], bool) -> Option<Answer>) -> State {
        if self.answer.is_none() {
            if has_left(self.stream.as_fd()) {
                return State::Over;
            }
            // Who needs no question is answered at once.
            self.answer = respond(&self.question, false);
        }
        while self.answer.is_none() {
            let mut bytes = [0; 2048];
            let count = match self.stream.read(&mut bytes) {
                Ok(0) => return State::Over,
                Ok(count) => count,
                Err(error) => return state_after(&error),
            };
            self.question.extend_from_slice(&bytes[..count]);
            let full = self.question.len() >= QUESTION_BYTES;
            self.answer = respond(&self.question, full);
            if full && self.answer.is_none() {
                return State::Over;
            }
        }
        self.write()
    }

    fn write(&mut self) -> State {
        let Some(answer) = &self.answer else {
            return State::Waits;
        };
        let head = answer.head.as_bytes();
        loop {
            let rest = match self.written.checked_sub(head.len()) {
                None => &head[self.written..],
                Some(at) => &answer.body[at..],
            };
            if rest.is_empty() {
                return State::Over;
            }
            match self.stream.write(rest) {
                Ok(0) => return State::Over,
                Ok(count) => self.written += count,
                Err(error) => return state_after(&error),
            }
        }
    }
}

/// Whether nobody reads the answer any more: what was asked for is not done behind the back of who was told that it failed.
/// Who only says no more is still there.
fn has_left(stream: BorrowedFd) -> bool {
    let mut fds = [PollFd::new(stream, PollFlags::empty())];
    let found = poll(&mut fds, PollTimeout::ZERO).is_ok();
    let gone = PollFlags::POLLHUP | PollFlags::POLLERR;
    found
        && fds[0]
            .revents()
            .is_some_and(|events| events.intersects(gone))
}

fn state_after(error: &std::io::Error) -> State {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::Interrupted => State::Waits,
        _ => State::Over,
    }
}

/// Starts the thread. `respond` gets what a client has sent so far, and whether more will not be read;
/// None: more is needed.
pub fn start<L: Listener>(
    name: &str,
    listener: L,
    mut respond: impl FnMut(&[u8], bool) -> Option<Answer> + Send + 'static,
) -> Result<()> {
    std::thread::Builder::new()
        .name(name.into())
        .spawn(move || {
            let mut clients = Vec::new();
            loop {
                round(&listener, &mut clients, &mut respond);
            }
        })?;
    Ok(())
}

fn round<L: Listener>(
    listener: &L,
    clients: &mut Vec<Client<L::Stream>>,
    respond: &mut impl FnMut(&[u8], bool) -> Option<Answer>,
) {
    let ready = wait(listener, clients);
    let now = Instant::now();
    let mut index = 0;
    clients.retain_mut(|client| {
        index += 1;
        let over = ready[index] && matches!(client.proceed(respond), State::Over);
        !over && client.until > now
    });
    if ready[0] {
        accept(listener, clients, respond);
    }
}

/// Which of the listener and the clients have something to do.
fn wait<L: Listener>(listener: &L, clients: &[Client<L::Stream>]) -> Vec<bool> {
    let mut fds = vec![PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
    fds.extend(
        clients
            .iter()
            .map(|c| PollFd::new(c.stream.as_fd(), c.events())),
    );
    let end = clients.iter().map(|client| client.until).min();
    let timeout = end.map_or(PollTimeout::NONE, |end| {
        let left = end.saturating_duration_since(Instant::now());
        PollTimeout::try_from(left.as_millis() + 1).unwrap_or(PollTimeout::MAX)
    });
    let found = poll(&mut fds, timeout).is_ok();
    let ready = |fd: &PollFd| found && fd.revents().is_some_and(|events| !events.is_empty());
    fds.iter().map(ready).collect()
}

/// Takes no more at once than have a place: then those that are there have their turn.
fn accept<L: Listener>(
    listener: &L,
    clients: &mut Vec<Client<L::Stream>>,
    respond: &mut impl FnMut(&[u8], bool) -> Option<Answer>,
) {
    for _ in 0..CLIENTS {
        match listener.next() {
            Ok(stream) => {
                let mut client = Client::new(stream);
                if matches!(client.proceed(respond), State::Over) {
                    continue;
                }
                if clients.len() >= CLIENTS {
                    clients.remove(0);
                }
                clients.push(client);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            // The client has left again.
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(error) => {
                log::debug!("a client cannot be taken: {error}");
                std::thread::sleep(PAUSE);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    const BODY_BYTES: usize = 1 << 20;
    /// Far more than a loaded machine needs, far less than one slow client may take (LIFE).
    const SOON: Duration = Duration::from_secs(3);

    /// Answers whoever has sent an "x" with more than a socket holds.
    fn start_here() -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let body = Arc::new(vec![b'a'; BODY_BYTES]);
        start("serve-test", listener, move |question, full| {
            (full || question.contains(&b'x')).then(|| Answer {
                head: "head ".into(),
                body: body.clone(),
            })
        })
        .unwrap();
        address
    }

    fn ask(address: std::net::SocketAddr) -> usize {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.write_all(b"...x").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        answer.len()
    }

    #[test]
    fn who_does_not_ask_or_read_keeps_nobody_waiting() {
        let address = start_here();
        let began = Instant::now();
        let mut slow = Vec::new();
        for number in 0..3 * CLIENTS {
            let mut stream = TcpStream::connect(address).unwrap();
            // Some ask and never read the answer.
            if number % 2 == 0 {
                let _ = stream.write_all(b"x");
            }
            slow.push(stream);
        }
        assert_eq!(ask(address), BODY_BYTES + 5);
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    }

    /// Else a try begins after `meshpace try` said that the gateway does not answer.
    #[test]
    fn who_has_left_is_asked_for_nothing() {
        use std::os::unix::net::{UnixListener, UnixStream};
        let path = std::env::temp_dir().join(format!("meshpace-left-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        listener.set_nonblocking(true).unwrap();
        let asked = |question: &[u8]| {
            let mut stream = UnixStream::connect(&path).unwrap();
            stream.write_all(question).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            stream
        };
        drop(asked(b"first"));
        let mut waits = asked(b"second");
        let mut done = Vec::new();
        start("left-test", listener, move |question, _| {
            done.extend_from_slice(question);
            (!question.is_empty()).then(|| Answer {
                head: String::new(),
                body: Arc::new(done.clone()),
            })
        })
        .unwrap();
        let mut answer = String::new();
        waits.set_read_timeout(Some(SOON)).unwrap();
        waits.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "second");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_question_without_end_is_cut_off() {
        let address = start_here();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.write_all(&[b'.'; QUESTION_BYTES]).unwrap();
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"head ");
    }
}
