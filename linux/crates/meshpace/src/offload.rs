// SPDX-License-Identifier: GPL-2.0-only
//! Receive offloads of an interface. They join segments into super packets, which leave in one
//! burst whatever the law says.
use std::ffi::c_char;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use serde::{Deserialize, Serialize};

use crate::errors::{bail, usage, Context, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Offload {
    /// generic receive offload, by the kernel
    Gro,
    /// large receive offload, by the driver
    Lro,
}

const GET_GRO: u32 = 0x2b;
const SET_GRO: u32 = 0x2c;
const GET_FLAGS: u32 = 0x25;
const SET_FLAGS: u32 = 0x26;
const FLAG_LRO: u32 = 1 << 15;

#[repr(C)]
struct EthtoolValue {
    command: u32,
    value: u32,
}

/// One ethtool request with a value, by ioctl.
fn request(interface: &str, command: u32, value: u32) -> Result<u32> {
    let name = interface.as_bytes();
    if name.len() >= libc::IFNAMSIZ {
        return Err(usage(format!(
            "'{interface}' is too long for an interface name"
        )));
    }
    // Safe: a new descriptor that is owned here alone.
    let socket = unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            bail!("socket: {}", std::io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    let mut data = EthtoolValue { command, value };
    // Safe: all zero is a valid ifreq.
    let mut ifreq: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in ifreq.ifr_name.iter_mut().zip(name) {
        *to = *from as c_char;
    }
    ifreq.ifr_ifru.ifru_data = (&raw mut data).cast();
    // Safe: ifreq names an interface and points to a struct of the size that the command wants.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut ifreq) } < 0 {
        return Err(std::io::Error::last_os_error())
            .with_context(|| format!("ethtool {interface}"));
    }
    Ok(data.value)
}

/// Whether it is on; an interface that does not know it has it off.
pub fn is_on(interface: &str, offload: Offload) -> bool {
    match offload {
        Offload::Gro => request(interface, GET_GRO, 0).is_ok_and(|on| on != 0),
        Offload::Lro => request(interface, GET_FLAGS, 0).is_ok_and(|flags| flags & FLAG_LRO != 0),
    }
}

pub fn set(interface: &str, offload: Offload, on: bool) -> Result<()> {
    match offload {
        Offload::Gro => request(interface, SET_GRO, on.into()).map(drop),
        Offload::Lro => {
            let flags = request(interface, GET_FLAGS, 0)?;
            let flags = if on {
                flags | FLAG_LRO
            } else {
                flags & !FLAG_LRO
            };
            request(interface, SET_FLAGS, flags).map(drop)
        }
    }
}
