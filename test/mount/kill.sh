#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kill -9 of the daemon while processes write, many times; then everything is removed, and nothing may be left on the
# disks: kill.sh FALLSFS FALLSCTL CLIENT
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/crash.sh"

cycles=$(cycles 500 20000)
make_volume 3
crash_often "kill -9 $cycles times" "$cycles" "$3" "${disks[@]}"
remove_all "at the end"
no_subfile_is_left

# A guard that is slow to come: nobody is served before it watches, or a daemon that is killed meanwhile, with a thread in
# the kernel that waits for a page, would stay for ever, and its programs with it.
printf '#!/bin/sh\nexec strace -f -o "%s" -e trace=prctl -e inject=prctl:delay_enter=1000000 "%s" "$@"\n' \
    "$work/calls" "$fallsfs" >"$work/slowly"
chmod +x "$work/slowly"
fallsfs=$work/slowly
make_volume 1
start
ok 'the guard watches' grep -q 'prctl(PR_SET_PDEATHSIG, SIGUSR1) *= 0' "$work/calls"
stop
finish
