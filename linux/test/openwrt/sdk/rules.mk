# SPDX-License-Identifier: GPL-2.0-only
# Stands for OpenWrt's rules.mk (../README.md).
INCLUDE_DIR:=$(TOPDIR)/include
STAGING_DIR:=/staging
TARGET_CPPFLAGS:=-I$(STAGING_DIR)/usr/include
CP:=cp -fpR
INSTALL_DIR:=install -d -m 755
INSTALL_BIN:=install -m 755
INSTALL_CONF:=install -m 600
INSTALL_DATA:=install -m 644
