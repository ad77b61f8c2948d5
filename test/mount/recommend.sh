#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A matrix on a mount is to be read by rows and by columns: a replica is recommended, made, and read from:
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

# part KIND I: a view of a matrix of 1024 x 1024 numbers of 8 bytes: every 32nd row from row I on, or 16 columns
part() {
    case $1 in
    rows) echo "array(shape=1024x1024, elem=8, dist=(cyclic,*), grid=32x1) element $2" ;;
    columns) echo "array(shape=1024x1024, elem=8, dist=(*,block), grid=1x64) element $2" ;;
    esac
}

# chosen KIND I: whether a replica would be read for a part
chosen() {
    "$fallsctl" explain --json --view "$(part "$@")" "$mnt/matrix" | jq '[.files[0].reads[] | select(.replica > 0) | .chosen] | max > 0'
}

# oracle I: the columns of part I
oracle() {
    python3 -c 'import sys; b = open(sys.argv[1], "rb").read()
sys.stdout.buffer.write(b"".join(b[r * 8192 + int(sys.argv[2]) * 128 :][:128] for r in range(1024)))' "$work/twin" "$1"
}

make_volume 4
start
head -c 8388608 /dev/urandom >"$work/twin"
"$fallsctl" create -L 'array(shape=1024x1024, elem=8, dist=(block,*), grid=4x1)' "$mnt/matrix" || die 'a file'
cp "$work/twin" "$mnt/matrix"

setfattr -n user.falls.array -v 'shape=1024x1024 elem=8' "$mnt/matrix" || die 'an array'
asked=()
for i in 0 1 2 3; do
    asked+=(--section "$((i * 256 + 3)):$((i * 256 + 3)),0:1023*100" --section "0:1023,$((i * 256)):$((i * 256 + 15))*20")
done

# -- what is advised --
same 'a replica of what is read and not written' \
    "$(advised '[.gain, (.replicas[0] | .on_write, .has_room, .reads > 0), .began]' "${asked[@]}" "$mnt/matrix")" '[true,"drop",true,true,null]'
same 'nothing is done' "$(replicas '')" '[]'
chmod 644 "$mnt/matrix"
as 1000 "$fallsctl" recommend --apply "${asked[@]}" "$mnt/matrix" >"$work/said" 2>"$work/why" && fail 'it is not for others'
ok 'which is said' grep -qE 'Permission denied|only the owner' "$work/why"
ok 'and that it is still to be done' grep -q "^to do: fallsctl replica add -L '.*' .*$mnt/matrix$" "$work/said"
same 'nor has it begun' "$(replicas '')" '[]'

# -- what is done --
# needs: what is advised
layout=$(advised '.replicas[0].layout' "${asked[@]}" "$mnt/matrix" | tr -d '"')
"$fallsctl" recommend --apply --json "${asked[@]}" "$mnt/matrix" >"$work/said" || fail 'it is done'
same 'and said' "$(jq -c '(.candidates[] | select(.is_now) | .layout) as $now | [.began.replicas[0], .began.move == ($now != .best)]' "$work/said")" '[true,true]'
ok 'the file is there' "$fallsctl" jobs wait "$mnt"
ok 'the replica is filled' await 60 is_filled
same 'as was said' "$(replicas '[0].layout' | tr -d '"' | sed 's/ on .*//')" "$layout"
ok 'rows or columns are read from it' grep -q true <(chosen rows 1; chosen columns 40)
for i in 5 40; do
    setfattr -n user.falls.view.seen -v "$(part columns "$i")" "$mnt/matrix"
    ok "and are right: $i" cmp "$mnt/.falls/views/matrix/seen" <(oracle "$i")
done
same 'it is not advised again' "$(advised '.replicas' "${asked[@]}" "$mnt/matrix")" '[]'
stop
finish
