# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced behind common.sh by scripts of which a client, made with crash.h, ends the daemon again and again.
# shellcheck disable=SC2154  # variables are common.sh's

# cycles USUALLY FULLY: how often. FALLSFS_CASES counts cases that cost microseconds.
cycles() {
    printf '%s' "${FALLSFS_MOUNT_CASES:-$([ -n "${FALLSFS_FULL:-}" ] && echo "$2" || echo "$1")}"
}

# crash_often NAME CYCLES CLIENT DISK...: what daemons say goes where the client's words go.
crash_often() {
    local name=$1 n=$2 client=$3
    shift 3
    ok "$name" env FALLSFS_CASES="$n" "$client" "$fallsfs" "$mnt" "$@"
    cp "$work/out" "$log"
    check_log
}

# remove_all WHEN: everything can be removed, and no name stays on the disks
remove_all() {
    start
    ok "everything can be removed, $1" find "$mnt" -mindepth 1 -delete
    stop
    same "names that belong to nothing, $1" "$(find "$work"/d*/.fallsfs/{tmp,todo,ns} -mindepth 1 2>/dev/null | head)" ''
}

# A copy of a record may outlive its file when the daemon dies while it is written: it names no bytes, and fsck takes it.
no_subfile_is_left() {
    same 'subfiles that belong to nothing' "$(find "$work"/d*/.fallsfs/obj -type f ! -name '*.m' ! -name '*.m.new' | head)" ''
}
