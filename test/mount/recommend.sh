#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A mount has recorded that a matrix is read by rows and by columns: a replica is recommended, made, and read from:
# recommend.sh FALLSFS FALLSCTL FSCK
# shellcheck disable=SC2317  # functions are called by ok and not
source "$(dirname "$0")/common.sh"

fallsctl=$(realpath "$fallsctl")
fsck=$(realpath "$3")
views=$mnt/.falls/views

# a matrix of 1024 x 1024 numbers of 8 bytes
shape='shape=1024x1024, elem=8'

# advised FILTER [options]: by recommend
advised() {
    local filter=$1
    shift
    "$fallsctl" recommend --json "$@" | jq -c "$filter"
}

# is_filled FILE: its replicas are
is_filled() {
    [ "$("$fallsctl" replica list --json "$1" 2>/dev/null | jq -c '[.files[].replicas[] | .state] | unique')" = '["filled"]' ]
}

# see VIEW PATTERN: what it shows of the matrix, once more read from the disks
see() {
    setfattr -n "user.falls.view.$1" -v "$2" "$mnt/matrix" && cat "$views/matrix/$1" >"$work/seen" &&
        setfattr -x "user.falls.view.$1" "$mnt/matrix"
}

# work_on_it: two processes read single rows, two read columns
work_on_it() {
    local i
    for i in 0 1; do
        for row in $(seq "$((i + 5))" 90 1023); do
            printf '%s {(%d,%d,8388608,1)}\n' "row$row" "$((row * 8192))" "$((row * 8192 + 8191))"
        done >"$work/rows.$i"
        for column in $(seq "$((i * 512))" 60 "$((i * 512 + 511))"); do
            printf '%s {(%d,%d,8192,1024)}\n' "column$column" "$((column * 8))" "$((column * 8 + 7))"
        done >"$work/columns.$i"
    done
    return 0
}

make_volume 4
start
head -c 8388608 /dev/urandom >"$work/twin"
"$fallsctl" create -L "array($shape, dist=(block,*), grid=4x1)" "$mnt/matrix" || die 'a file'
cp "$work/twin" "$mnt/matrix"
