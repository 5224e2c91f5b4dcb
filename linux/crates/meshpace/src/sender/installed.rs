// SPDX-License-Identifier: GPL-2.0-only
//! The sender's programs in the kernel: loading, registering, pinning, and taking them out again.
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, ObjectBuilder};

use crate::base::errors::{anyhow, usage, Context, Result};
use crate::base::system;
use crate::kernel::intf::{mp_sender_settings, Plain};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sender.bpf.o"));

/// The congestion control's name.
pub const NAME: &str = "meshpace";

const STRUCT_OPS: &str = "mp_meshpace";
const SOCKETS: &str = "mp_senders";
const SETTINGS: &str = ".data.settings";
const LIST: &str = "mp_list";

/// Pins, in a folder of their own.
/// The registration: a link, or before Linux 6.4 the map.
const PIN_LINK: &str = "congestion_control";
const PIN_MAP: &str = "congestion_control_map";
const PIN_SOCKOPS: &str = "sockops";
const PIN_SETTINGS: &str = "settings";
const PIN_LIST: &str = "list";

/// Where things are pinned: a folder of a mounted bpffs.
pub fn folder() -> PathBuf {
    let chosen = std::env::var_os("MESHPACE_PINS");
    chosen.map_or_else(|| PathBuf::from("/sys/fs/bpf/meshpace"), PathBuf::from)
}

/// The file that lists the sockets (mp_list); there is none where the kernel refuses that program.
pub fn list() -> PathBuf {
    folder().join(PIN_LIST)
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

/// What a kernel takes beyond the congestion control itself.
#[derive(Clone, Copy)]
pub struct Taken {
    /// a link for struct_ops: Linux 6.4 and later
    pub links: bool,
    /// the program that lists the sockets: no kernel that is locked down against tracing
    pub list: bool,
}

/// Loads the object, with all that this kernel takes; an error is that of the first attempt.
pub fn load() -> Result<(Object, Taken)> {
    let ways = [(true, true), (false, true), (true, false), (false, false)];
    let [all, less @ ..] = ways.map(|(links, list)| Taken { links, list });
    load_for(all).or_else(|refused| {
        less.into_iter()
            .find_map(|taken| load_for(taken).ok())
            .ok_or(refused)
    })
}

fn load_for(taken: Taken) -> Result<(Object, Taken)> {
    let mut open = ObjectBuilder::default().name(NAME)?.open_memory(OBJECT)?;
    for mut map in open.maps_mut() {
        if map.name() == STRUCT_OPS && !taken.links {
            map.set_map_flags(0)?;
        }
    }
    for mut program in open.progs_mut() {
        if program.name() == LIST {
            program.set_autoload(taken.list);
        }
    }
    let object = open.load().with_context(|| {
        system::why_refused(
            "loading the congestion control (Linux 5.15 with BTF and CONFIG_BPF_JIT is needed; \
             the verifier's reasons: MESHPACE_LOG=debug)",
        )
    })?;
    Ok((object, taken))
}

impl Installed {
    /// None: it is not on.
    pub fn open() -> Result<Option<Self>> {
        let path = folder().join(PIN_SETTINGS);
        if !path.exists() {
            return Ok(None);
        }
        let settings =
            MapHandle::from_pinned_path(&path).with_context(|| path.display().to_string())?;
        Ok(Some(Self { settings }))
    }

    /// Loads, registers and pins. On an error nothing stays.
    pub fn install(settings: &mp_sender_settings) -> Result<Self> {
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
        let (mut object, taken) = load()?;
        let mut installed = None;
        let mut sockets = None;
        for mut map in object.maps_mut() {
            match map.name().to_str() {
                Some(SETTINGS) => {
                    let handle = Self {
                        settings: MapHandle::try_from(&map)?,
                    };
                    handle.set(settings)?;
                    installed = Some(handle);
                    map.pin(folder().join(PIN_SETTINGS))?;
                }
                Some(SOCKETS) => sockets = Some(MapHandle::try_from(&map)?),
                Some(STRUCT_OPS) => {
                    let mut link = map.attach_struct_ops().map_err(refused)?;
                    if taken.links {
                        link.pin(folder().join(PIN_LINK))?;
                    } else {
                        // The map itself stands for the registration.
                        link.disconnect();
                        map.pin(folder().join(PIN_MAP))?;
                    }
                }
                _ => {}
            }
        }
        let sockets = sockets.ok_or_else(|| anyhow!("no map {SOCKETS}"))?;
        attach_programs(&mut object, &sockets, taken)?;
        if !taken.list {
            log::warn!("this kernel refuses the program that lists sockets: flows are paced, and status cannot show them");
        }
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
            .ok_or_else(|| {
                anyhow!("the settings are another version's; meshpace sender off, then on")
            })
    }

    /// Takes everything out; established flows keep it until they end. False: there was nothing.
    pub fn remove() -> Result<bool> {
        let folder = folder();
        if !folder.exists() {
            return Ok(false);
        }
        // A registration without link ends with its map's only element; a link with its pin.
        if let Ok(map) = MapHandle::from_pinned_path(folder.join(PIN_MAP)) {
            map.delete(&0u32.to_ne_bytes())
                .context("unregistering the congestion control")?;
        }
        for pin in [PIN_LINK, PIN_MAP, PIN_SOCKOPS, PIN_LIST, PIN_SETTINGS] {
            match std::fs::remove_file(folder.join(pin)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| folder.join(pin).display().to_string())
                }
                _ => {}
            }
        }
        std::fs::remove_dir(&folder).with_context(|| folder.display().to_string())?;
        Ok(true)
    }
}

fn attach_programs(object: &mut Object, sockets: &MapHandle, taken: Taken) -> Result<()> {
    use std::os::fd::AsFd;
    for program in object.progs_mut() {
        let (mut link, pin) = match program.name().to_str() {
            Some("mp_sockops") => {
                let cgroup = cgroup_root()?;
                (
                    program
                        .attach_cgroup(cgroup.as_raw_fd())
                        .context("sock_ops")?,
                    PIN_SOCKOPS,
                )
            }
            Some(LIST) if taken.list => (
                program.attach_iter(sockets.as_fd()).context("list")?,
                PIN_LIST,
            ),
            _ => continue,
        };
        link.pin(folder().join(pin))?;
    }
    Ok(())
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
