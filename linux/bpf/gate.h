/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which packets netfilter brings before the daemon (xt_bpf): those that it may hold, and only as long as it
 * is well. A daemon that hangs or is stopped holds nothing that comes then, without anybody's help.
 *
 * What it has caught until then stays caught. The wires' senders send that again; but a TCP socket of this box
 * sends nothing again that still lies in a queue here (Linux, skb_still_in_host_queue), and would stand still
 * for as long as the daemon does. So packets of this box's own, which have come by no interface, are not held;
 * to the caps of their hosts the program at the mesh interface keeps them (caps.h).
 */
#ifndef MESHPACE_BPF_GATE_H
#define MESHPACE_BPF_GATE_H

#include <linux/if_ether.h>
#include <linux/in.h>

#include "counters.h"

/* Where the IP header tells what follows: IPv4's protocol, IPv6's next header. */
#define MP_IP4_PROTOCOL 9
#define MP_IP6_NEXT 6

/* The protocol that follows the IP header, with which a packet begins here; 0: unknown. */
MP_INLINE uint8_t mp_next_protocol(struct __sk_buff *skb)
{
	uint32_t at = skb->protocol == bpf_htons(ETH_P_IPV6) ? MP_IP6_NEXT : MP_IP4_PROTOCOL;
	uint8_t protocol = 0;

	if (bpf_skb_load_bytes(skb, at, &protocol, sizeof(protocol)))
		return 0;
	return protocol;
}

SEC("socket")
int mp_gate(struct __sk_buff *skb)
{
	uint8_t protocol;

	if (!skb->ingress_ifindex || !mp_alive(bpf_ktime_get_ns()))
		return 0;
	protocol = mp_next_protocol(skb);
	return protocol == IPPROTO_TCP || (protocol == IPPROTO_UDP && mp_settings.udp_waits);
}

#endif
