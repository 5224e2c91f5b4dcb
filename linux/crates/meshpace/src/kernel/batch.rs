// SPDX-License-Identifier: GPL-2.0-only
//! Reads a whole hash map of the kernel's, many entries by one system call.
use std::os::fd::{AsFd, AsRawFd};

use libbpf_rs::{MapFlags, MapHandle};

use crate::base::errors::Result;
use crate::kernel::intf::Plain;

/// Entries read by one system call, as long as no bucket has more.
const BATCH: usize = 256;

/// Calls back with each entry. `flags`: how each is read.
pub fn each<K: Copy + Default, V: Plain>(
    map: &MapHandle,
    flags: MapFlags,
    mut take: impl FnMut(&K, &V),
) -> Result<()> {
    let mut keys = vec![K::default(); BATCH];
    let mut values = vec![V::default(); BATCH];
    let mut place = None;
    loop {
        let (count, next) = some(map, flags, place, &mut keys, &mut values)?;
        for (key, value) in keys.iter().zip(&values).take(count) {
            take(key, value);
        }
        place = next;
        if place.is_none() {
            return Ok(());
        }
    }
}

/// Some entries from a place in the map on; how many, and where to go on. A batch that is not full
/// is not the last: the next bucket may not have fitted. (libbpf-rs's iterator ends there.)
fn some<K: Copy + Default, V: Plain>(
    map: &MapHandle,
    flags: MapFlags,
    place: Option<u32>,
    keys: &mut Vec<K>,
    values: &mut Vec<V>,
) -> Result<(usize, Option<u32>)> {
    let options = libbpf_sys::bpf_map_batch_opts {
        sz: size_of::<libbpf_sys::bpf_map_batch_opts>() as libbpf_sys::size_t,
        elem_flags: flags.bits(),
        ..Default::default()
    };
    let mut next = 0u32;
    loop {
        let mut count = keys.len() as u32;
        let from = place.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // Safe: keys and values hold count elements each, places are bucket numbers.
        let result = unsafe {
            libbpf_sys::bpf_map_lookup_batch(
                map.as_fd().as_raw_fd(),
                from.cast_mut().cast(),
                (&raw mut next).cast(),
                keys.as_mut_ptr().cast(),
                values.as_mut_ptr().cast(),
                &mut count,
                &options,
            )
        };
        match -result {
            0 => return Ok((count as usize, Some(next))),
            libc::ENOENT => return Ok((count as usize, None)),
            libc::EINTR => {}
            // A bucket has more entries than we have room for.
            libc::ENOSPC => {
                keys.resize(2 * keys.len(), K::default());
                values.resize(keys.len(), V::default());
            }
            error => return Err(std::io::Error::from_raw_os_error(error).into()),
        }
    }
}
