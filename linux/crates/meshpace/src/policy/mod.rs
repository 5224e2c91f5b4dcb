// SPDX-License-Identifier: GPL-2.0-only
//! What hosts and flows may have: shares, goodput control, wake-ups of senders and what all of it may cost.
pub mod asks;
pub mod goodput;
pub mod prompts;
pub mod shares;
pub mod strangers;
