#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A mount has recorded that a matrix is read by rows and by columns: a replica is recommended, made, and read from:
# recommend.sh FALLSFS FALLSCTL
# shellcheck disable=SC2317  # functions are called by ok and not
source "$(dirname "$0")/common.sh"

fallsctl=$(realpath "$fallsctl")

# advised FILTER [options]: by recommend
advised() {
    local filter=$1
    shift
    "$fallsctl" recommend --json "$@" | jq -c "$filter"
}

# replicas FILTER: of the matrix
replicas() {
    "$fallsctl" replica list --json "$mnt/matrix" | jq -c ".files[].replicas$1"
}

is_filled() {
    [ "$(replicas ' | map(.state) | unique')" = '["filled"]' ]
}

# row I, column I: of a matrix of 1024 x 1024 numbers of 8 bytes
row() {
    echo "array(shape=1024x1024, elem=8, dist=(block,*), grid=1024x1) element $1"
}
column() {
    echo "array(shape=1024x1024, elem=8, dist=(*,block), grid=1x1024) element $1"
}

# see PATTERN: a process reads what a new view has
see() {
    setfattr -n user.falls.view.seen -v "$1" "$mnt/matrix" && cat "$mnt/.falls/views/matrix/seen" &&
        setfattr -x user.falls.view.seen "$mnt/matrix"
}

# all_columns FIRST: one of 128, as the oracle has them
all_columns() {
    python3 -c 'import sys; b = open(sys.argv[1], "rb").read()
sys.stdout.buffer.write(b"".join(b[r * 8192 + c * 8 : r * 8192 + c * 8 + 8] for c in range(int(sys.argv[2]), 1024, 128) for r in range(1024)))' \
        "$work/twin" "$1"
}

make_volume 4
start
head -c 8388608 /dev/urandom >"$work/twin"
"$fallsctl" create -L 'array(shape=1024x1024, elem=8, dist=(block,*), grid=4x1)' "$mnt/matrix" || die 'a file'
cp "$work/twin" "$mnt/matrix"

# -- a trace --
ok 'it is traced' "$fallsctl" trace start --every "$mnt/matrix"
for i in 0 1 2 3 4 5 6 7; do
    see "$(row "$((i * 128 + 5))")"
    see "$(column "$((i * 128 + 7))")"
    see "$(column "$((i * 128 + 7))")" >"$work/column.$i"
done >"$work/seen"
"$fallsctl" trace stop "$mnt/matrix" >"$work/said"
same 'the columns' "$(cat "$work"/column.? | md5sum)" "$(all_columns 7 | md5sum)"

# -- what is advised --
# needs: a trace
same 'a replica by columns, of what is read and not written' \
    "$(advised '[.gain, (.replicas[] | .on_write, .has_room, (.layout | test("dist=[(][*],(block|cyclic)")), .reads > 8), .began]' "$mnt/matrix")" \
    '[true,"drop",true,true,true,null]'
same 'nothing is done' "$(replicas '')" '[]'
as 1000 "$fallsctl" recommend --apply "$mnt/matrix" >"$work/said" 2>"$work/why" && fail 'it is not for others'
ok 'which is said' grep -qE 'Permission denied|only the owner' "$work/why"
ok 'and that it is still to be done' grep -q "^to do: fallsctl replica add -L '.*' .*$mnt/matrix$" "$work/said"
same 'nor has it begun' "$(replicas '')" '[]'

# -- what is done --
# needs: what is advised
layout=$(advised '.replicas[0].layout' "$mnt/matrix" | tr -d '"')
"$fallsctl" recommend --apply --json "$mnt/matrix" >"$work/said" || fail 'it is done'
same 'and said' "$(jq -c '.began' "$work/said")" '{"move":false,"replicas":[true]}'
ok 'it is filled' await 120 is_filled
same 'as was said' "$(replicas '[] | .layout' | tr -d '"' | sed 's/ on .*//')" "$layout"
"$fallsctl" explain --json --view "$(column 700)" "$mnt/matrix" >"$work/explained"
same 'columns are read from it' "$(jq -c '.files[0].reads | map([.replica, .chosen])' "$work/explained")" '[[0,0],[1,1]]'
for i in 0 1 2 3 4 5 6 7; do
    see "$(column "$((i * 128 + 9))")"
done >"$work/seen"
same 'and are right' "$(md5sum <"$work/seen")" "$(all_columns 9 | md5sum)"
same 'it is not advised again' "$(advised '.replicas' "$mnt/matrix")" '[]'
stop
finish
