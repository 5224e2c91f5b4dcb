# SPDX-License-Identifier: GPL-2.0-only
# Stands for the feed's rust-package.mk (../../../../../README.md): shows with what cargo would be called.
RUST_ARCH_DEPENDS:=@(aarch64||mips||x86_64)
CARGO_PKG_VARS=CARGO_PROFILE_RELEASE_OPT_LEVEL=z CARGO_PROFILE_RELEASE_PANIC=unwind CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true
Build/Compile=env $(CARGO_PKG_VARS) /usr/bin/env && echo "CARGO_PATH=$(PKG_BUILD_DIR)/$(MAKE_PATH)"
RustBinPackage=
