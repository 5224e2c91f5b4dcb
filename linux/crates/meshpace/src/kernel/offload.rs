// SPDX-License-Identifier: GPL-2.0-only
//! Receive offloads of an interface. They join segments into super packets, which leave in one
//! burst whatever the law says.
use std::ffi::c_char;
use std::os::fd::AsRawFd;

use nix::sys::socket::{socket, AddressFamily, SockFlag, SockType};
use serde::{Deserialize, Serialize};

use crate::base::errors::{usage, Context, Result};

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

/// A question about an interface by ioctl, in the namespace of this process.
fn interface_ioctl(
    name: &str,
    request: libc::Ioctl,
    fill: impl FnOnce(&mut libc::ifreq),
) -> Result<libc::ifreq> {
    if name.len() >= libc::IFNAMSIZ {
        return Err(usage(format!("'{name}' is too long for an interface name")));
    }
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Inet, SockType::Datagram, flags, None).context("socket")?;
    // Safe: all zero is a valid ifreq.
    let mut ifreq: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in ifreq.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as c_char;
    }
    fill(&mut ifreq);
    // Safe: ifreq names an interface; what it points to is the caller's and fits the request.
    if unsafe { libc::ioctl(socket.as_raw_fd(), request, &raw mut ifreq) } < 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    Ok(ifreq)
}

/// One ethtool request with a value.
fn request(interface: &str, command: u32, value: u32) -> Result<u32> {
    let mut data = EthtoolValue { command, value };
    let pointer = (&raw mut data).cast();
    interface_ioctl(interface, libc::SIOCETHTOOL as _, |ifreq| {
        ifreq.ifr_ifru.ifru_data = pointer;
    })
    .with_context(|| format!("ethtool {interface}"))?;
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
