// SPDX-License-Identifier: GPL-2.0-only
//! Types and functions of core/ and of linux/bpf/intf.h, generated from the headers.
#![allow(non_camel_case_types, non_upper_case_globals, dead_code, clippy::all)]

include!(concat!(env!("OUT_DIR"), "/intf.rs"));

/// A type that is plain bytes for the kernel: no padding that matters, no pointers.
///
/// # Safety
/// Implement it only for the `repr(C)` structs of intf.h, for which any bytes are a value.
pub unsafe trait Plain: Copy + Default {
    fn bytes(&self) -> &[u8] {
        // Safe: the trait's promise.
        unsafe { std::slice::from_raw_parts((self as *const Self).cast(), size_of::<Self>()) }
    }

    /// The first bytes as a value; None when there are too few.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < size_of::<Self>() {
            return None;
        }
        // Safe: the trait's promise, and the length was checked.
        Some(unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) })
    }
}

unsafe impl Plain for mp_flow {}
unsafe impl Plain for mp_flow_key {}
unsafe impl Plain for mp_host {}
unsafe impl Plain for u64 {}
unsafe impl Plain for mp_heard {}
unsafe impl Plain for mp_host_key {}
unsafe impl Plain for mp_address {}
unsafe impl Plain for mp_cap {}
unsafe impl Plain for mp_class {}
unsafe impl Plain for mp_line_news {}
unsafe impl Plain for mp_settings {}
unsafe impl Plain for mp_limits {}
unsafe impl Plain for mp_event {}
unsafe impl Plain for mp_order {}
unsafe impl Plain for mp_record {}
unsafe impl Plain for mp_sender_settings {}
unsafe impl Plain for mp_sender {}
