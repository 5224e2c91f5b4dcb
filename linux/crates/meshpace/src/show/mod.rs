// SPDX-License-Identifier: GPL-2.0-only
//! What is told of a running gateway, and of the machine.
pub mod control;
pub mod doctor;
pub mod files;
pub mod metrics;
pub mod serve;
pub mod status;
pub mod top;
