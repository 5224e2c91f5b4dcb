/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loads the law through the kernel's verifier and runs it there: random inputs must give bit for bit
 * what they give here. Argument: every-function.c compiled for BPF. Exits with 77 without the right.
 */
#include "check.h"
#include "every-function.c"

#include <elf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOT_PERMITTED 77
#define OBJECT_MAX (1u << 20)
#define LOG_MAX (1u << 24)
#define DATA_MAX (1u << 16)

static _Alignas(8) char object[OBJECT_MAX];
static _Alignas(8) char data[DATA_MAX]; /* all sections of data, one after the other: one map */
static size_t data_bytes;
static size_t base_of_section[64];
static size_t call_at; /* offset of the probe in data */

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(__NR_bpf, command, attr, sizeof(*attr));
}

static const Elf64_Shdr *section(uint32_t i)
{
	const Elf64_Ehdr *elf = (const void *)object;

	return (const Elf64_Shdr *)(object + elf->e_shoff) + i;
}

static const char *section_name(uint32_t i)
{
	return object + section(((const Elf64_Ehdr *)object)->e_shstrndx)->sh_offset +
	       section(i)->sh_name;
}

static uint32_t section_called(const char *name)
{
	uint32_t n = ((const Elf64_Ehdr *)object)->e_shnum, i;

	for (i = 0; i < n; i++)
		if (strcmp(section_name(i), name) == 0)
			return i;
	CHECK(false, "no section %s", name);
	return 0;
}

static void read_object(const char *path)
{
	FILE *file = fopen(path, "rb");

	CHECK(file, "cannot open %s", path);
	CHECK(fread(object, 1, OBJECT_MAX, file) > sizeof(Elf64_Ehdr), "%s is no object", path);
	fclose(file);
	CHECK(memcmp(object, ELFMAG, SELFMAG) == 0, "%s is no ELF object", path);
}

static void lay_out_data(void)
{
	uint32_t n = ((const Elf64_Ehdr *)object)->e_shnum, i;

	CHECK(n <= 64, "%u sections", n);
	for (i = 0; i < n; i++) {
		const Elf64_Shdr *s = section(i);

		if (!(s->sh_flags & SHF_ALLOC) || s->sh_flags & SHF_EXECINSTR)
			continue;
		base_of_section[i] = data_bytes;
		CHECK(data_bytes + s->sh_size + 8 <= DATA_MAX, "too much data");
		if (s->sh_type == SHT_PROGBITS)
			memcpy(data + data_bytes, object + s->sh_offset, s->sh_size);
		data_bytes += (s->sh_size + 7) & ~7ull;
	}
}

/* Points every 64-bit load of an address at its place in the map; notes where the probe lies. */
static void relocate(uint32_t code_section, uint32_t rel_section, int map)
{
	const Elf64_Shdr *rel = section(rel_section);
	struct bpf_insn *code = (void *)(object + section(code_section)->sh_offset);
	const Elf64_Sym *symbols = (const void *)(object + section(rel->sh_link)->sh_offset);
	const char *names = object + section(section(rel->sh_link)->sh_link)->sh_offset;
	size_t i;

	for (i = 0; i < rel->sh_size / sizeof(Elf64_Rel); i++) {
		const Elf64_Rel *r = (const Elf64_Rel *)(object + rel->sh_offset) + i;
		const Elf64_Sym *symbol = &symbols[ELF64_R_SYM(r->r_info)];
		struct bpf_insn *load = &code[r->r_offset / sizeof(*code)];
		size_t at = base_of_section[symbol->st_shndx] + symbol->st_value;

		CHECK(load->code == (BPF_LD | BPF_DW | BPF_IMM), "not a load: a call?");
		if (strcmp(names + symbol->st_name, "probe") == 0)
			call_at = at;
		load[1].imm = (int32_t)at + load[0].imm;
		load[0].imm = map;
		load[0].src_reg = BPF_PSEUDO_MAP_VALUE;
	}
}

static int create_map(void)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .max_entries = 1 };

	attr.value_size = (uint32_t)data_bytes;
	return bpf(BPF_MAP_CREATE, &attr);
}

static int load_program(const char *name)
{
	const Elf64_Shdr *s = section(section_called(name));
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_SCHED_CLS, .log_level = 4 };
	char *log = calloc(1, LOG_MAX);
	int program;

	CHECK(log, "no memory");
	attr.insns = (uintptr_t)(object + s->sh_offset);
	attr.insn_cnt = (uint32_t)(s->sh_size / sizeof(struct bpf_insn));
	attr.license = (uintptr_t) "GPL";
	attr.log_buf = (uintptr_t)log;
	attr.log_size = LOG_MAX;
	program = bpf(BPF_PROG_LOAD, &attr);
	CHECK(program >= 0, "the verifier refuses %s (%s): ... %s", name, strerror(errno),
	      log + (strlen(log) > 1500 ? strlen(log) - 1500 : 0));
	printf("%s: %u instructions; %s", name, attr.insn_cnt, strstr(log, "processed"));
	free(log);
	return program;
}

static void map_access(int command, int map)
{
	uint32_t key = 0;
	union bpf_attr attr = { .map_fd = (uint32_t)map };

	attr.key = (uintptr_t)&key;
	attr.value = (uintptr_t)data;
	CHECK(bpf(command, &attr) == 0, "map: %s", strerror(errno));
}

/* New input upon the state that earlier ones left. */
static void random_input(void)
{
	uint32_t i;

	call.now_ns += (uint64_t)random_log(1e3, 1e9);
	call.rtt_ns = (uint64_t)random_log(1e5, 6e10);
	call.number = random_extreme_u64();
	call.seq = random_one_in(4) ? call.seq - random_below(5000) : call.sent.max_end;
	call.len = random_below(1461);
	call.ack = random_one_in(4) ? call.ack : call.seq + call.len;
	call.ticks = (uint32_t)random_extreme_u64();
	call.us = random_below(2000);
	call.bytes = random_below(16);
	call.options_len = random_below(41);
	call.path = (struct mp_path){ .hops = random_below(31), .kbps = random_below(1000000),
				       .data_bytes = 1500, .ack_bytes = 40 };
	for (i = 0; i < 4; i++)
		call.links[i] = random_below(60000);
	call.radio = (struct mp_radio){ .signal_dbm_q8 = (int16_t)random_u64(),
					 .sense_dbm_q8 = (int16_t)random_u64(),
					 .exponent_q8 = (uint16_t)random_u64(),
					 .frequency_mhz = random_below(70000) };
	call.reach.known = random_below(MP_REACH_HOPS + 2);
	for (i = 0; i < FLOWS; i++) {
		call.flow[i].delivered_bytes += random_below(10000000);
		call.flow[i].segment_bytes = 1460;
		call.flow[i].paced_here = !random_one_in(4);
	}
}

static const struct program {
	const char *name;
	int (*here)(void *context);
} programs[] = {
	{ "tc/record", call_record },     { "tc/ack", call_ack },
	{ "tc/estimate", call_estimate }, { "tc/interval", call_interval },
	{ "tc/dupack", call_dupack },     { "tc/option", call_option },
	{ "tc/goodput", call_goodput },   { "tc/radio", call_radio },
	{ "tc/links", call_links },	   { "tc/shaper", call_shaper },
	{ "tc/reach", call_reach },	   { "tc/even", call_even },
	{ "tc/police", call_police },     { "tc/signalled", call_signalled },
	{ "tc/asks", call_asks },	   { "tc/unanswered", call_unanswered },
};
#define PROGRAMS (sizeof(programs) / sizeof(programs[0]))

static void compare(int map, const int *program)
{
	static char packet[64];
	size_t run, i;

	for (run = 0; run < 2000 * PROGRAMS; run++) {
		union bpf_attr attr = { 0 };

		i = run % PROGRAMS;
		if (i == 0)
			random_input();
		memcpy(data + call_at, &call, sizeof(call));
		map_access(BPF_MAP_UPDATE_ELEM, map);
		attr.test.prog_fd = (uint32_t)program[i];
		attr.test.data_in = (uintptr_t)packet;
		attr.test.data_size_in = sizeof(packet);
		CHECK(bpf(BPF_PROG_TEST_RUN, &attr) == 0, "run: %s", strerror(errno));
		map_access(BPF_MAP_LOOKUP_ELEM, map);
		programs[i].here(NULL);
		CHECK(memcmp(data + call_at, &call, sizeof(call)) == 0,
		      "%s computes otherwise in the kernel", programs[i].name);
	}
}

int main(int argc, char **argv)
{
	int map, program[PROGRAMS];
	char rel[64];
	size_t i;

	check_begin(argc - 1, argv + 1);
	CHECK(argc > 1, "usage: %s OBJECT [SEED]", argv[0]);
	read_object(argv[1]);
	lay_out_data();
	map = create_map();
	if (map < 0 && (errno == EPERM || errno == ENOSYS)) {
		puts("bpf() is not permitted here: skipped");
		return NOT_PERMITTED;
	}
	CHECK(map >= 0, "map: %s", strerror(errno));
	for (i = 0; i < PROGRAMS; i++) {
		snprintf(rel, sizeof(rel), ".rel%s", programs[i].name);
		relocate(section_called(programs[i].name), section_called(rel), map);
		program[i] = load_program(programs[i].name);
	}
	compare(map, program);
	return check_end();
}
