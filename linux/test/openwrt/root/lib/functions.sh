# SPDX-License-Identifier: GPL-2.0-only
# Stands for OpenWrt's /lib/functions.sh (README.md). Its names for what was read are the same: CONFIG_SECTION_KEY.
# shellcheck shell=dash disable=SC3043

reset_cb() {
	config_cb() { :; }
	option_cb() { :; }
	list_cb() { :; }
}
reset_cb

# What `uci export` prints is commands of these.
package() { :; }

config() {
	CONFIG_SECTION=$2
	CONFIG_SECTIONS="$CONFIG_SECTIONS $2"
	eval "CONFIG_${2}_TYPE=\$1"
	config_cb "$1" "$2"
}

option() {
	eval "CONFIG_${CONFIG_SECTION}_$1=\$2"
	option_cb "$1" "$2"
}

list() {
	local name="CONFIG_${CONFIG_SECTION}_$1" number
	eval "number=\$((\${${name}_LENGTH:-0} + 1)) ${name}_LENGTH=\$((\${${name}_LENGTH:-0} + 1))"
	eval "${name}_ITEM$number=\$2 $name=\"\${$name:+\$$name }\$2\""
	list_cb "$1" "$2"
}

config_load() {
	CONFIG_SECTIONS='' CONFIG_SECTION=''
	[ -r "$UCI_FILES/$1" ] || return 1
	eval "$(cat "$UCI_FILES/$1")"
	[ -z "$CONFIG_SECTION" ] || config_cb
}

# config_get VARIABLE SECTION KEY [DEFAULT]
config_get() { eval "$1=\${CONFIG_${2}_${3}:-\$4}"; }

config_get_bool() {
	config_get "$@"
	eval "case \$$1 in
	1 | on | true | yes | enabled) $1=1 ;;
	0 | off | false | no | disabled) $1=0 ;;
	*) $1=\$4 ;;
	esac"
}

# config_foreach FUNCTION TYPE [ARGUMENT]...
config_foreach() {
	local call="$1" wanted="$2" section type
	shift 2
	for section in $CONFIG_SECTIONS; do
		config_get type "$section" TYPE
		[ "$type" != "$wanted" ] || "$call" "$section" "$@"
	done
}

# config_list_foreach SECTION KEY FUNCTION [ARGUMENT]...
config_list_foreach() {
	local section="$1" key="$2" call="$3" length number=1 one
	shift 3
	config_get length "$section" "${key}_LENGTH" 0
	while [ "$number" -le "$length" ]; do
		config_get one "$section" "${key}_ITEM$number"
		"$call" "$one" "$@"
		number=$((number + 1))
	done
}
