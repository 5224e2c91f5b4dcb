/* SPDX-License-Identifier: GPL-2.0-only */
/* TCP options of a trace's packets, by name or as bytes, and what they say. Included by trace.h alone. */
#ifndef MESHPACE_REPLAY_OPTIONS_H
#define MESHPACE_REPLAY_OPTIONS_H

static inline void trace_add_option(struct trace_packet *p, const uint8_t *bytes, uint32_t n)
{
	if (p->option_bytes + n > sizeof(p->options))
		return;
	memcpy(p->options + p->option_bytes, bytes, n);
	p->option_bytes += n;
}

static inline void trace_put_u32(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 24);
	at[1] = (uint8_t)(value >> 16);
	at[2] = (uint8_t)(value >> 8);
	at[3] = (uint8_t)value;
}

/* sack:LEFT-RIGHT:LEFT-RIGHT... */
static inline void trace_add_sack(struct trace_reader *reader, struct trace_packet *p, const char *text)
{
	uint8_t option[4 + 4 * 8] = { 1, 1, 5, 2 };
	uint32_t bytes = 4, left, right;
	int used;

	while (*text == ':') {
		if (bytes + 8 > sizeof(option) ||
		    sscanf(text, ":%" SCNu32 "-%" SCNu32 "%n", &left, &right, &used) != 2)
			trace_refuse(reader, "no block of a SACK", text);
		trace_put_u32(option + bytes, left);
		trace_put_u32(option + bytes + 4, right);
		bytes += 8;
		text += used;
	}
	option[3] = (uint8_t)(bytes - 2);
	trace_add_option(p, option, bytes);
}

/* ts:STAMP:ECHO, timestamps (RFC 7323). */
static inline void trace_add_timestamps(struct trace_reader *reader, struct trace_packet *p, const char *text)
{
	uint8_t option[MP_ECHO_LOOK_BYTES] = { 1, 1, MP_TIMESTAMPS_KIND, MP_TIMESTAMPS_BYTES };
	uint32_t stamp, echo;

	if (sscanf(text, ":%" SCNu32 ":%" SCNu32, &stamp, &echo) != 2)
		trace_refuse(reader, "no timestamps", text);
	trace_put_u32(option + 4, stamp);
	trace_put_u32(option + 8, echo);
	trace_add_option(p, option, sizeof(option));
}

/* hex:..., all bytes as they were. */
static inline void trace_add_hex(struct trace_reader *reader, struct trace_packet *p, const char *text)
{
	unsigned value;
	uint8_t byte;
	int used;

	for (; *text; text += 2) {
		if (sscanf(text, "%2x%n", &value, &used) != 1 || used != 2)
			trace_refuse(reader, "no bytes", text);
		byte = (uint8_t)value;
		trace_add_option(p, &byte, 1);
	}
}

static inline void trace_add_named(struct trace_reader *reader, struct trace_packet *p, char *name)
{
	static const struct {
		const char *name;
		uint32_t n;
		uint8_t bytes[20];
	} plain[] = {
		{ "sackok", 4, { 1, 1, 4, 2 } },
		{ "md5", 20, { 1, 1, 19, 18 } },
		{ "mptcp", 4, { 30, 4 } },
		{ "ask", MP_ASK_BYTES, { MP_OPTION_KIND, MP_ASK_BYTES, MP_OPTION_EXID >> 8, MP_OPTION_EXID & 0xff } },
	};
	uint8_t scale[] = { 1, 3, 3, 0 };
	size_t i;

	for (i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (strcmp(name, plain[i].name) == 0) {
			trace_add_option(p, plain[i].bytes, plain[i].n);
			return;
		}
	if (strncmp(name, "sack:", 5) == 0) {
		trace_add_sack(reader, p, name + 4);
	} else if (strncmp(name, "ts:", 3) == 0) {
		trace_add_timestamps(reader, p, name + 2);
	} else if (strncmp(name, "hex:", 4) == 0) {
		trace_add_hex(reader, p, name + 4);
	} else if (strncmp(name, "scale:", 6) == 0) {
		scale[3] = (uint8_t)trace_number(reader, name + 6);
		trace_add_option(p, scale, sizeof(scale));
	} else {
		trace_refuse(reader, "no option", name);
	}
}

/* What one option says; the first block of a SACK is a D-SACK where it ends at the ACK or before (RFC 2883). */
static inline void trace_understand_option(struct trace_packet *p, const uint8_t *option, uint32_t bytes,
					   bool last)
{
	uint32_t right;

	if (option[0] == 3 && bytes == 3)
		p->window_scale = (uint32_t)mp_min_u64(option[2], 14) + 1;
	if (option[0] == 19 || option[0] == 29)
		p->has_signature = true;
	if (option[0] == 30)
		p->mptcp = true;
	if (option[0] == MP_OPTION_KIND && bytes == MP_ASK_BYTES && last && mp_ask_read(option))
		p->asks = true;
	if (option[0] == MP_SACK_KIND) {
		p->sack_at = (uint32_t)(option - p->options);
		p->sack_bytes = bytes;
	}
	if (option[0] == MP_SACK_KIND && bytes >= 10) {
		right = (uint32_t)option[6] << 24 | (uint32_t)option[7] << 16 |
			(uint32_t)option[8] << 8 | option[9];
		p->dsack = p->dsack || mp_seq_up_to(right, p->ack);
	}
}

/* The highest block of an ACK's SACK; of one that a signature covers none. */
static inline struct mp_range trace_sack_top(const struct trace_packet *p)
{
	return mp_sack_top(p->options + p->sack_at, p->has_signature ? 0 : p->sack_bytes, p->ack);
}

/* A broken list is read up to where it breaks. */
static inline void trace_understand(struct trace_packet *p)
{
	uint32_t at = 0, bytes;

	while (at + 2 <= p->option_bytes && p->options[at] != MP_TCPOPT_END) {
		bytes = p->options[at] == MP_TCPOPT_NOP ? 1 : p->options[at + 1];
		if (bytes == 0 || at + bytes > p->option_bytes)
			return;
		if (bytes == 1 && p->options[at] != MP_TCPOPT_NOP)
			return;
		if (bytes > 1)
			trace_understand_option(p, p->options + at, bytes, at + bytes == p->option_bytes);
		at += bytes;
	}
}

static inline void trace_read_options(struct trace_reader *reader, struct trace_packet *p, char *text)
{
	char *rest, *name;

	for (name = strtok_r(text, "+", &rest); name; name = strtok_r(NULL, "+", &rest))
		trace_add_named(reader, p, name);
	if (p->option_bytes % 4)
		trace_refuse(reader, "no multiple of four bytes of options", name ? name : "opt");
	trace_understand(p);
}

#endif
