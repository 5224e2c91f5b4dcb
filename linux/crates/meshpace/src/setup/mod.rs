// SPDX-License-Identifier: GPL-2.0-only
//! What is set up on the machine, looked after and put back: rules, qdiscs, programs at the mesh interface.
pub mod bypass;
pub mod changes;
pub mod clsact;
mod contest;
pub mod ifb;
pub mod iptables;
pub mod machine;
pub mod nftables;
pub mod release;
pub mod rules;
pub mod unpaced;
pub mod unseen;
pub mod watch;
