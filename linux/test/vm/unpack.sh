# SPDX-License-Identifier: GPL-2.0-only
# What the scripts here have in common that prepare machines, to be sourced: Debian's packages, unpacked and not
# installed, also those of another architecture, of which this machine's apt does not learn.

fail() { echo "vm/$(basename "$0" .sh): $1" >&2; exit 1; }

# alone FOLDER: two tests at once must not unpack twice into it
alone() {
    mkdir -p "$1"
    exec 9>"$1/lock"
    flock 9
}

# lists: this machine's package lists, where a fresh machine has none yet; PACKAGE is one that is wanted
lists() {
    apt-cache show "$1" >/dev/null 2>&1 || apt-get update -qq ||
        fail 'no package lists; run apt-get update as root, then again'
}

# configure FOLDER ARCHITECTURE: apt for it, by the machine's own sources and keys, as if nothing were installed
configure() {
    mkdir -p "$1"/{lists,cache}/partial "$1/cache/archives/partial"
    : >"$1/status"
    cat >"$1/conf" <<END
APT::Architecture "$2";
APT::Architectures { "$2"; };
APT::Install-Recommends "false";
Acquire::Languages "none";
Dir::State "$1";
Dir::State::Lists "$1/lists";
Dir::State::status "$1/status";
Dir::Cache "$1/cache";
END
    foreign "$1" apt-get update -qq 2>"$1/complaints" || fail "apt-get update: $(cat "$1/complaints")"
}

# foreign FOLDER COMMAND...: apt's command, for the architecture that the folder is configured for
foreign() { APT_CONFIG=$1/conf "${@:2}"; }

# newest_kernel APT META: the package that Debian's package META stands for
newest_kernel() {
    local kernel
    kernel=$(foreign "$1" apt-cache depends "$2" | awk '/Depends: linux-image-/ && !found { print $2; found = 1 }')
    [ -n "$kernel" ] || fail "no $2 among the Debian packages; it is in Debian 12"
    echo "$kernel"
}

# download FOLDER PACKAGE...: into FOLDER. That apt is not sandboxed there is no matter of ours.
download() {
    (cd "$1" && apt-get download -qq "${@:2}" 2>"$1/complaints") ||
        fail "a package cannot be downloaded: $(cat "$1/complaints")"
    rm "$1/complaints"
}

# unpack_here FOLDER PACKAGE...: programs that run on this machine, without their documents
unpack_here() {
    local deb
    mkdir -p "$1/debs"
    lists "$2"
    download "$1/debs" "${@:2}"
    for deb in "$1"/debs/*.deb; do dpkg-deb -x "$deb" "$1"; done
    rm -rf "$1/debs" "$1/usr/share"
}
