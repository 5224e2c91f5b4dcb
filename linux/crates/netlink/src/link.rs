// SPDX-License-Identifier: GPL-2.0-only
//! Addresses of packet sockets, of which `nix` only reads what the kernel gave.

use nix::sys::socket::{LinkAddr, SockaddrLike};

/// Of frames of this ethertype that leave by an interface, to a neighbour where the kernel writes the header;
/// interface 0: of all that come in.
pub fn address(interface: i32, ethertype: u16, neighbour: [u8; 6]) -> LinkAddr {
    let mut hardware = [0; 8];
    hardware[..6].copy_from_slice(&neighbour);
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: ethertype.to_be(),
        sll_ifindex: interface,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 6,
        sll_addr: hardware,
    };
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: a live sockaddr_ll, its size and its family.
    let address = unsafe { LinkAddr::from_raw(std::ptr::from_ref(&address).cast(), Some(length)) };
    address.expect("family and size are a packet socket's")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_back() {
        let address = address(7, 0x0800, [1, 2, 3, 4, 5, 6]);
        assert_eq!(
            (address.ifindex(), address.protocol()),
            (7, 0x0800_u16.to_be())
        );
        assert_eq!(address.addr(), Some([1, 2, 3, 4, 5, 6]));
    }
}
