# SPDX-License-Identifier: GPL-2.0-only
# Stands for OpenWrt's bpf.mk (../../README.md).
BPF_DEPENDS:=@HAS_BPF_TOOLCHAIN
CLANG:=/llvm-bpf/bin/clang
