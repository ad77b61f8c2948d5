# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by the scripts beside it: packages, builds, messages. Run from the project's top.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

die() {
    printf '%s: %s\n' "$(basename "$0")" "$1" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "this needs root${missing:+, to install $missing}: run it as root, or install sudo"
    fi
}

# Installs what is not there yet. Silent when nothing is missing, and short when it is.
need_packages() {
    missing=$(for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || printf '%s ' "$package"
    done)
    [ -n "$missing" ] || return 0
    printf 'installing %s\n' "$missing"
    local log
    log=$(mktemp)
    # shellcheck disable=SC2086  # a list of names
    if ! { as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        die "apt could not install them; the lines above say why"
    fi
    rm -f "$log"
}

# What every build needs.
# shellcheck disable=SC2034
build_packages=(gcc libc6-dev cmake ninja-build pkg-config libfuse3-dev fuse3 libconfig-dev libxxhash-dev libmount-dev
    libsmartcols-dev libjson-c-dev)

# build NAME [targets]: configures and builds build/NAME as CMakePresets.json says, quietly as long as it works.
build() {
    local name=$1 log
    shift
    log=$(mktemp)
    if ! { cmake --preset "$name" && cmake --build "build/$name" ${1:+--target "$@"}; } >"$log" 2>&1; then
        tail -n 60 "$log" >&2
        rm -f "$log"
        die "the build in build/$name failed; the lines above say why"
    fi
    rm -f "$log"
}
