// SPDX-License-Identifier: GPL-2.0-only
//! What is told of a running gateway, and of the machine.
pub mod control;
pub mod doctor;
pub mod files;
mod hidden;
pub mod metrics;
pub mod requests;
pub mod serve;
pub mod socket;
pub mod status;
pub mod top;
pub mod tries;
