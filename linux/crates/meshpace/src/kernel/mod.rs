// SPDX-License-Identifier: GPL-2.0-only
//! What is shared with the kernel: the BPF programs and their maps, core/'s functions, packets and where they are sent.
pub mod address;
pub mod attach;
pub mod batch;
pub mod checksum;
pub mod classes;
pub mod echo;
pub mod flow_state;
pub mod icmp;
pub mod intf;
pub mod law;
pub mod packet;
pub mod port;
pub mod programs;
pub mod record;
pub mod timestamp;
pub mod trace;
