#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by the scripts beside it: what fallsfs says and how it ends, and mounts by daemons in the background. The rest
# is in ../mount/common.sh.
# shellcheck source-path=SCRIPTDIR source=../mount/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../mount/common.sh"

# shellcheck disable=SC2034  # for the scripts
etc=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../etc" && pwd)
# shellcheck disable=SC2034
conf=$work/fast.conf

# says STATUS OUTPUT-GLOB WORD...: fallsfs ends so, and says that on standard output and error
says() {
    local status=$1 want=$2 got got_status
    shift 2
    n_checks=$((n_checks + 1))
    got=$(timeout 20 "$fallsfs" "$@" 2>&1 </dev/null)
    got_status=$?
    # shellcheck disable=SC2053  # a glob is meant
    if [ "$got_status" != "$status" ] || [[ $got != $want ]]; then
        fail "fallsfs $* (status $got_status, expected $status)"
        printf '    says     %s\n    expected %s\n' "$got" "$want"
    fi
}

# mounts WORD...: the daemon that goes into the background serves $mnt; what is there stays until unmount
mounts() {
    says 0 '' "$@"
    ok "fallsfs $*: serves" is_served "$mnt"
}

unmount() {
    is_mounted "$mnt" || { fail 'umount: nothing is mounted' && return; }
    eventually "umount" umount "$mnt" || umount -l "$mnt"
}

# has WHAT WORD: the mount's line in mountinfo has this word
has() {
    n_checks=$((n_checks + 1))
    awk -v path="$mnt" '$5 == path' /proc/self/mountinfo | tail -n 1 | grep -qE "$2" && return 0
    fail "$1: $(grep "$mnt" /proc/self/mountinfo)"
}

# eventually NAME COMMAND...: within a minute, however busy the machine is
eventually() {
    local name=$1
    shift
    n_checks=$((n_checks + 1))
    for ((i = 0; i < 3000; i++)); do
        "$@" >"$work/out" 2>&1 && return 0
        sleep 0.02
    done
    fail "$name: $(cat "$work/out")"
    return 1
}
