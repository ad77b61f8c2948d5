#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Writes past the kernel's pages beside reads through them. direct.sh FALLSFS FALLSCTL AIO
# shellcheck disable=SC2317  # functions are called by ok and not
source "$(dirname "$0")/common.sh"

aio=$3

make_volume 2
for options in '' -s '-o direct_io' '-o threads=2'; do
    # shellcheck disable=SC2086  # none, or several
    start $options
    for how in read map; do
        ok "what was written is read, by $how, ${options:-as usual}" timeout 60 "$aio" "$mnt/f" 250 "$how"
    done
    stop
done
finish
