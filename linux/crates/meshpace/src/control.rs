// SPDX-License-Identifier: GPL-2.0-only
//! The socket by which `status` and `top` ask a running gateway, and the lock that there is one.
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::errors::{anyhow, bail, usage, Context, Result};
use crate::status::Status;
use crate::system;

pub type Shared = Arc<Mutex<Status>>;

fn socket_path(mesh: &str) -> PathBuf {
    system::run_folder().join(format!("{mesh}.sock"))
}

/// Answers each connection with one JSON document, in a thread of its own.
pub fn serve(mesh: &str, status: Shared) -> Result<()> {
    let path = socket_path(mesh);
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).with_context(|| path.display().to_string())?;
    std::thread::Builder::new()
        .name("status".into())
        .spawn(move || {
            for stream in listener.incoming().flatten() {
                if let Err(error) = answer(stream, &status) {
                    log::debug!("status: {error:#}");
                }
            }
        })?;
    Ok(())
}

fn answer(mut stream: UnixStream, status: &Shared) -> Result<()> {
    stream.set_write_timeout(Some(Duration::from_secs(1)))?;
    let document = serde_json::to_vec(&*status.lock().expect("its holder ended the program"))?;
    stream.write_all(&document).map_err(Into::into)
}

pub fn remove_socket(mesh: &str) {
    let _ = std::fs::remove_file(socket_path(mesh));
}

/// Mesh interfaces of the running gateways.
pub fn running() -> Vec<String> {
    let entries = std::fs::read_dir(system::run_folder())
        .into_iter()
        .flatten()
        .flatten();
    let mut found: Vec<_> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".sock").map(String::from))
        .filter(|mesh| UnixStream::connect(socket_path(mesh)).is_ok())
        .collect();
    found.sort();
    found
}

/// Asks the gateway on `mesh`, or the only one that there is.
pub fn ask(mesh: Option<&str>) -> Result<Status> {
    let mesh = match (mesh, running().as_slice()) {
        (Some(mesh), _) => mesh.to_string(),
        (None, [only]) => only.clone(),
        (None, []) => bail!("no gateway is running; start one with: meshpace gateway --mesh IF"),
        (None, several) => {
            return Err(usage(format!(
                "several gateways are running; choose: --mesh {}",
                several.join("|")
            )))
        }
    };
    let mut stream =
        UnixStream::connect(socket_path(&mesh)).map_err(|error| match error.kind() {
            std::io::ErrorKind::PermissionDenied => {
                anyhow!("the gateway on {mesh} may be asked by root only")
            }
            _ => anyhow!(
                "no gateway is running on {mesh}; start one with: meshpace gateway --mesh {mesh}"
            ),
        })?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut text = String::new();
    stream
        .read_to_string(&mut text)
        .with_context(|| format!("the gateway on {mesh} does not answer"))?;
    serde_json::from_str(&text).with_context(|| format!("answer of the gateway on {mesh}"))
}

/// Held as long as the gateway on an interface runs.
pub struct Lock(#[allow(dead_code, reason = "its descriptor holds the lock")] File);

/// Takes the lock of an interface; with `replace` from a gateway that runs already.
pub fn lock(mesh: &str, replace: bool) -> Result<Lock> {
    let folder = system::run_folder();
    std::fs::create_dir_all(&folder).map_err(|error| {
        anyhow!(
            "{}: {error}; run as root, or set MESHPACE_RUN",
            folder.display()
        )
    })?;
    let path = folder.join(format!("{mesh}.lock"));
    let mut file = OpenOptions::new()
        .create(true)
        .read(true)
        .write(true)
        .truncate(false)
        .open(&path)
        .with_context(|| path.display().to_string())?;
    if !try_lock(&file) {
        let mut pid = String::new();
        file.read_to_string(&mut pid)?;
        let pid = pid.trim().parse().unwrap_or(0);
        if !replace {
            bail!("a gateway runs on {mesh} already (pid {pid}); stop it, or take over with --replace");
        }
        end_predecessor(&file, pid, mesh)?;
    }
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())?;
    Ok(Lock(file))
}

fn try_lock(file: &File) -> bool {
    // Safe: a descriptor that is open.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// Asks the running gateway to end; one that does not within half a minute is killed. It may take four
/// for what waits in fq.
fn end_predecessor(file: &File, pid: i32, mesh: &str) -> Result<()> {
    if pid <= 1 {
        bail!("a gateway runs on {mesh} already, and did not say which process it is");
    }
    for (signal, seconds) in [(libc::SIGTERM, 30), (libc::SIGKILL, 1)] {
        // Safe: the process holds our lock, so it is a gateway.
        unsafe { libc::kill(pid, signal) };
        let deadline = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < deadline {
            if try_lock(file) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    bail!("the gateway on {mesh} (pid {pid}) does not end")
}
