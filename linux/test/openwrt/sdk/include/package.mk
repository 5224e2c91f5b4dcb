# SPDX-License-Identifier: GPL-2.0-only
# Stands for OpenWrt's package.mk (../../README.md): make variables|prepare|compile|install|scripts OUT=FOLDER
PKG_BUILD_DIR:=$(OUT)/build
PKG_INSTALL_DIR:=$(OUT)/ipkg-install
.PHONY: variables prepare compile install scripts

define BuildPackage
$(eval $(Package/$(1)))
variables:
	@echo 'PKG_NAME=$(PKG_NAME) PKG_VERSION=$(PKG_VERSION) PKG_BUILD_DEPENDS=$(PKG_BUILD_DEPENDS)'
	@echo 'SECTION=$(SECTION) CATEGORY=$(CATEGORY)'
	@echo 'DEPENDS=$(strip $(DEPENDS))'
	@echo 'CONFFILES=$(strip $(Package/$(1)/conffiles))'
prepare:
	$(Build/Prepare)
compile:
	@$(Build/Compile)
install:
	$(call Package/$(1)/install,$(OUT)/root)
export PRERM:=$$(Package/$(1)/prerm)
scripts:
	@echo "$$$$PRERM" >$(OUT)/prerm
endef
