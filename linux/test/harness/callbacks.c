// SPDX-License-Identifier: GPL-2.0-only
/*
 * Another program on the sockets of the machine, as a monitor has it: counts the callbacks of the
 * connections with one port (PORT), whose header options it asks to write, and writes none.
 */
#include <linux/bpf.h>

#define SEC(name) __attribute__((section(name), used))

static void *(*lookup)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static long (*set_flags)(struct bpf_sock_ops *ops, int flags) = (void *)BPF_FUNC_sock_ops_cb_flags_set;

struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	int (*max_entries)[32];
	__u32 *key;
	__u64 *value;
} mp_seen SEC(".maps");

SEC("sockops")
int mp_watch(struct bpf_sock_ops *ops)
{
	__u32 op = ops->op;
	__u64 *count = lookup(&mp_seen, &op);

	if (!count || __builtin_bswap32(ops->remote_port) != PORT)
		return 1;
	__sync_fetch_and_add(count, 1);
	if (op == BPF_SOCK_OPS_TCP_CONNECT_CB)
		set_flags(ops, ops->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
