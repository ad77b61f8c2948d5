#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The sections of the paper's tables in files of several layouts, byte by byte: paper.sh FALLSFS FALLSCTL PAPER.
# FALLSFS_FULL: of larger arrays, in all ways.
# shellcheck disable=SC2317  # functions are called by ok and not
# shellcheck source-path=SCRIPTDIR source=../mount/common.sh
source "$(dirname "$0")/../mount/common.sh"
paper=$3
side=$([ -n "${FALLSFS_FULL:-}" ] && echo 2048 || echo 512)
ranks=(1 2 4 8 16 64)
[ -n "${FALLSFS_FULL:-}" ] || ! grep -q __asan_init "$fallsfs" || ranks=(2 16)

# sections LAYOUT HEADER SIDE: of files with that layout, the array behind that header.
sections() {
    make_volume 4
    start -o "layout=$1"
    ok "sections, $1" timeout 3600 "$paper" "$mnt" "$3" "$2" "${ranks[@]}"
    stop
}

sections 'stripe(1M)' 0 $((2 * side))
sections 'stripe(64K) disp 1000' 1000 "$side"
sections "array(shape=${side}x$side, elem=4, order=col, dist=(*,block), grid=1x4)" 0 "$side"
sections "array(shape=${side}x$side, elem=4, order=col, dist=(block,*), grid=4x1) disp 1000" 1000 "$side"
sections "array(shape=${side}x$side, elem=4, order=col, dist=(cyclic(24),cyclic(16)), grid=2x2)" 0 "$side"
sections 'var(300001,50000,123456) disp 77' 77 "$side"
finish
