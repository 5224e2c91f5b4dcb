// SPDX-License-Identifier: GPL-2.0-only
//! Netlink: the wire format of its messages, a socket that asks and is answered, and how its errors, as all
//! of the system's, are told. What the messages of a
//! family mean is in the crates that ask: routes, radios and batman-adv in `meshpace-paths`, netfilter's
//! queue in `meshpace`; of the kernel's traffic control what holds packets is in [`tc`], of its TCP sockets
//! what there is to see in [`diag`].

pub mod codec;
pub mod diag;
pub mod link;
pub mod socket;
pub mod tc;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod words;
