// SPDX-License-Identifier: GPL-2.0-only
//! The sender's programs in the kernel: loading, registering, pinning, and taking them out again.
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, ObjectBuilder};

use crate::base::errors::{anyhow, usage, Context, Result};
use crate::base::system;
use crate::kernel::intf::{mp_sender_settings, Plain};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sender.bpf.o"));

/// The congestion control's name.
pub const NAME: &str = "meshpace";

/// The names that a flow may choose, of the whole machine.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// A pin that is removed takes the registration back after an RCU grace period, by a work of the kernel's: milliseconds, on a
/// busy machine tenths of a second.
const UNREGISTERED_WITHIN: Duration = Duration::from_secs(5);

const STRUCT_OPS: &str = "mp_meshpace";
const SOCKETS: &str = "mp_senders";
const SETTINGS: &str = ".data.settings";
const SOCKOPS: &str = "mp_sockops";

/// Pins, in a folder of their own.
/// The registration: a link, or before Linux 6.4 the map.
const PIN_LINK: &str = "congestion_control";
const PIN_MAP: &str = "congestion_control_map";
const PIN_SOCKOPS: &str = "sockops";
const PIN_SETTINGS: &str = "settings";
const PIN_SOCKETS: &str = "sockets";
/// Of the settings once more, by which programs they are: those of another version are replaced.
const PIN_OBJECT: &str = "object-";

/// This program's (FNV-1a).
fn object_pin() -> PathBuf {
    let hash = OBJECT.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    folder().join(format!("{PIN_OBJECT}{hash:016x}"))
}

/// Where things are pinned: a folder of a mounted bpffs.
pub fn folder() -> PathBuf {
    let chosen = std::env::var_os("MESHPACE_PINS");
    chosen.map_or_else(|| PathBuf::from("/sys/fs/bpf/meshpace"), PathBuf::from)
}

/// The installed sender.
pub struct Installed {
    settings: MapHandle,
}

fn cgroup_root() -> Result<File> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").context("/proc/self/mounts")?;
    let path = mounts
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>())
        .find(|fields| fields.get(2) == Some(&"cgroup2"))
        .and_then(|fields| fields.get(1).map(|path| (*path).to_string()))
        .ok_or_else(|| anyhow!("no cgroup2 is mounted; mount -t cgroup2 none /sys/fs/cgroup"))?;
    File::open(&path).with_context(|| path)
}

/// Loads the object; before Linux 6.4 struct_ops has no links.
pub fn load() -> Result<(Object, bool)> {
    match load_for(true) {
        Ok(object) => Ok((object, true)),
        Err(first) => load_for(false)
            .map(|object| (object, false))
            .map_err(|_| first),
    }
}

fn load_for(links: bool) -> Result<Object> {
    let mut open = ObjectBuilder::default().name(NAME)?.open_memory(OBJECT)?;
    for mut map in open.maps_mut() {
        if map.name() == STRUCT_OPS && !links {
            map.set_map_flags(0)?;
        }
    }
    open.load().with_context(|| {
        system::why_refused(
            "loading the congestion control (Linux 5.15 with BTF and CONFIG_BPF_JIT is needed; \
             the verifier's reasons: MESHPACE_LOG=debug)",
        )
    })
}

impl Installed {
    /// None: it is not on, or by half, as where `on` was killed: without its registration or its sock_ops program it
    /// paces nobody.
    pub fn open() -> Result<Option<Self>> {
        let folder = folder();
        let pinned = |pin| folder.join(pin).exists();
        let registered = pinned(PIN_LINK) || pinned(PIN_MAP);
        if !registered || !pinned(PIN_SOCKOPS) || !pinned(PIN_SETTINGS) {
            return Ok(None);
        }
        let path = folder.join(PIN_SETTINGS);
        let settings =
            MapHandle::from_pinned_path(&path).with_context(|| path.display().to_string())?;
        Ok(Some(Self { settings }))
    }

    /// Else it is another version's, such as before an upgrade.
    pub fn is_this_version(&self) -> bool {
        object_pin().exists()
    }

    /// Loads, registers and pins, in place of what is there by half. On an error nothing stays.
    pub fn install(settings: &mp_sender_settings) -> Result<Self> {
        Self::remove()?;
        // A registration that somebody has just taken out; what is another's is refused below.
        let _ = wait_until_unregistered();
        let folder = folder();
        let parent = folder.parent().unwrap_or(&folder);
        if !system::is_bpffs(parent) {
            return Err(usage(format!(
                "{} is no BPF file system, where the sender is pinned; mount -t bpf bpf /sys/fs/bpf",
                parent.display()
            )));
        }
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let installed = Self::install_into(settings);
        if installed.is_err() {
            let _ = Self::remove();
        }
        installed
    }

    fn install_into(settings: &mp_sender_settings) -> Result<Self> {
        let (mut object, links) = load()?;
        let mut installed = None;
        for mut map in object.maps_mut() {
            match map.name().to_str() {
                Some(SETTINGS) => {
                    let mut handle = Self {
                        settings: MapHandle::try_from(&map)?,
                    };
                    handle.settings.pin(object_pin())?;
                    handle.set(settings)?;
                    installed = Some(handle);
                    map.pin(folder().join(PIN_SETTINGS))?;
                }
                Some(SOCKETS) => map.pin(folder().join(PIN_SOCKETS))?,
                Some(STRUCT_OPS) => {
                    if !links {
                        // The map itself stands for the registration, which nothing but a pin takes back: that comes first.
                        map.pin(folder().join(PIN_MAP))?;
                    }
                    let mut link = map.attach_struct_ops().map_err(refused)?;
                    if links {
                        link.pin(folder().join(PIN_LINK))?;
                    } else {
                        link.disconnect();
                    }
                }
                _ => {}
            }
        }
        attach_to_cgroups(&mut object)?;
        installed.ok_or_else(|| anyhow!("no map {SETTINGS}"))
    }

    pub fn set(&self, settings: &mp_sender_settings) -> Result<()> {
        self.settings
            .update(&0u32.to_ne_bytes(), settings.bytes(), MapFlags::ANY)
            .context("settings")
    }

    /// As they are set.
    pub fn settings(&self) -> Result<mp_sender_settings> {
        let bytes = self
            .settings
            .lookup(&0u32.to_ne_bytes(), MapFlags::ANY)
            .context("settings")?;
        bytes
            .and_then(|bytes| mp_sender_settings::from_bytes(&bytes))
            .ok_or_else(another_version)
    }

    /// The map of what is known of each socket.
    pub fn sockets() -> Result<MapHandle> {
        MapHandle::from_pinned_path(folder().join(PIN_SOCKETS)).map_err(|_| another_version())
    }

    /// Takes everything out, and returns when new flows cannot have it any more; established ones keep it until they end.
    /// False: there was nothing.
    pub fn remove() -> Result<bool> {
        let folder = folder();
        if !folder.exists() {
            return Ok(false);
        }
        let registered = folder.join(PIN_LINK).exists() || folder.join(PIN_MAP).exists();
        // A registration without link ends with its map's only element; a link with its pin.
        if let Ok(map) = MapHandle::from_pinned_path(folder.join(PIN_MAP)) {
            match map.delete(&0u32.to_ne_bytes()) {
                Err(error) if error.kind() != libbpf_rs::ErrorKind::NotFound => {
                    return Err(error).context("unregistering the congestion control");
                }
                _ => {} // pinned, and not registered yet
            }
        }
        // All that is there: another version may have pinned more.
        for pin in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let pin = pin.with_context(|| folder.display().to_string())?.path();
            match std::fs::remove_file(&pin) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| pin.display().to_string())
                }
                _ => {}
            }
        }
        std::fs::remove_dir(&folder).with_context(|| folder.display().to_string())?;
        if registered {
            wait_until_unregistered()?;
        }
        Ok(true)
    }
}

fn wait_until_unregistered() -> Result<()> {
    let since = Instant::now();
    while std::fs::read_to_string(AVAILABLE)
        .is_ok_and(|names| names.split_whitespace().any(|name| name == NAME))
    {
        if since.elapsed() > UNREGISTERED_WITHIN {
            return Err(anyhow!(
                "{AVAILABLE} has {NAME} still: another program holds it; bpftool link show lists what does"
            ));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn attach_to_cgroups(object: &mut Object) -> Result<()> {
    let program = object
        .progs_mut()
        .find(|program| program.name() == SOCKOPS)
        .ok_or_else(|| anyhow!("no program {SOCKOPS}"))?;
    let cgroup = cgroup_root()?;
    let mut link = program
        .attach_cgroup(cgroup.as_raw_fd())
        .context("sock_ops")?;
    link.pin(folder().join(PIN_SOCKOPS))?;
    Ok(())
}

fn another_version() -> anyhow::Error {
    anyhow!("what is installed is another version's, or not whole; meshpace sender off, then on")
}

/// Containers share the kernel's congestion controls, but not the folder of the pins.
fn refused(error: libbpf_rs::Error) -> anyhow::Error {
    match error.kind() {
        libbpf_rs::ErrorKind::AlreadyExists => anyhow!(
            "this machine has a congestion control meshpace, which another container or another \
             MESHPACE_PINS installed; turn it off there: meshpace sender off"
        ),
        _ => anyhow::Error::new(error).context("registering the congestion control"),
    }
}
