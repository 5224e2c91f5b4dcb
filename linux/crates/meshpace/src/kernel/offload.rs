// SPDX-License-Identifier: GPL-2.0-only
//! Receive offloads of an interface. They join segments into super packets, which leave in one
//! burst whatever the law says.
use serde::{Deserialize, Serialize};

use crate::base::errors::{Context, Result};
use crate::base::system;

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

/// One ethtool request with a value.
fn request(interface: &str, command: u32, value: u32) -> Result<u32> {
    let mut data = EthtoolValue { command, value };
    let pointer = (&raw mut data).cast();
    system::interface_ioctl(interface, libc::SIOCETHTOOL as _, |ifreq| {
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
