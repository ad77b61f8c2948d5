#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Disks join a mounted volume and leave it: disks.sh FALLSFS FALLSCTL FSCK
# shellcheck disable=SC2317  # functions are called by ok and not
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "$0")/common.sh"
fsck=$3

seed=${FALLSFS_SEED:-$RANDOM}
RANDOM=$seed

# Files that are looked at again and again: small, large, sparse, in layouts of all kinds.
make_files() {
    local i
    mkdir "$mnt/dir" "$mnt/bound"
    for i in 1 2 3 4 5; do
        "$fallsctl" create -L 'stripe(64K)' "$mnt/f$i" # with units of 1M, chance decides how even disks can become
        head -c $((i * 700000)) /dev/urandom >>"$mnt/f$i"
    done
    for i in {1..20}; do
        echo "$i" >"$mnt/dir/s$i"
    done
    : >"$mnt/empty"
    truncate -s 1T "$mnt/sparse"
    echo end >>"$mnt/sparse"
    truncate -s 5M "$mnt/hole"
    "$fallsctl" create -L 'stripe(64K,7)' "$mnt/many"
    "$fallsctl" create -L 'one on d1' "$mnt/bound/one"
    "$fallsctl" create -L '{d1:(0,999,3000,1);(1000,2999,3000,1)} disp 100' "$mnt/bound/element"
    "$fallsctl" create -L 'array(shape=100x100, elem=8, dist=(block,block), grid=2x2)' "$mnt/array"
    for i in many bound/one bound/element array; do
        head -c 300000 /dev/urandom >>"$mnt/$i"
    done
    mkfifo "$mnt/dir/fifo"
    ln -s ../f1 "$mnt/dir/link"
    ln "$mnt/f2" "$mnt/dir/f2"
    (cd "$mnt" && find . -type f ! -name sparse ! -name grown -exec sha256sum {} +) >"$work/sums"
}

same_bytes() {
    (cd "$mnt" && sha256sum --quiet -c "$work/sums") && [ "$(tail -c 4 "$mnt/sparse")" = end ]
}

# The numbers of the disks that a file lies on, holes included.
lies_on() {
    "$fallsctl" map --json "$1" | jq -r '[.files[0].subfiles[].disk] | unique | join(" ")'
}

add_disk() {
    disks+=("$work/d$1")
    mkdir "$work/d$1"
}

drop_disk() {
    local i
    for i in "${!disks[@]}"; do
        [ "${disks[$i]}" != "$work/d$1" ] || unset "disks[$i]"
    done
    disks=("${disks[@]}")
}

# -- a disk joins --

make_volume 3
start
make_files
add_disk 3
ok 'a look at what would join' disk add -n "$mnt" "$work/d3"
same 'nothing was done' "$(ls -A "$work/d3")" ''
ok 'a disk joins' disk add "$mnt" "$work/d3"
refused 'twice' 'a disk of this volume already: d3' disk add "$mnt" "$work/d3"
same 'the mount tells' "$(getfattr --only-values -n user.falls.disks "$mnt" | cut -d' ' -f1,2 | tr '\n' ' ')" 'd0 in d1 in d2 in d3 in '
same 'status shows it' "$("$fallsctl" status --json "$mnt" | jq -c '.volumes[0] | [(.disks | length), .actions]')" '[4,[]]'
same 'also to others' "$(as 1000 "$fallsctl" status --json "$mnt" | jq -c '.volumes[0] | [[.disks[].state], .layout]')" \
    '[["in","in","in","in"],"stripe(1M) on d0-d3"]'
same 'what a file can take is what df says' "$("$fallsctl" df -b --json "$mnt" | jq '.volumes[0].one_file / 1000000000 | floor')" \
    "$(stat -f -c '%a * %S / 1000000000' "$mnt" | bc)"
echo new >"$mnt/new"
same 'new files lie there, too' "$(lies_on "$mnt/new")" 'd0 d1 d2 d3'
same 'old ones do not' "$(lies_on "$mnt/f1")" 'd0 d1 d2'
ok 'nothing has changed' same_bytes
mkdir "$work/full" "$mnt/inside"
touch "$work/full/file"
refused 'what is not empty' 'is not empty' disk add "$mnt" "$work/full"
refused 'what is not there' 'No such file' disk add "$mnt" "$work/none"
refused 'what is no directory' 'is not a directory' disk add "$mnt" "$work/full/file"
refused 'the mount itself' 'lies on a fallsfs mount' disk add "$mnt" "$mnt/inside"
refused 'another volume' 'is not in a mounted fallsfs' disk add "$work" "$work/full"
rm -r "$work/full"
mkdir "$work/other0" "$work/other1"
"$fallsctl" format "$work/other0" "$work/other1" >"$work/out"
refused 'a disk of another volume' 'already has a .fallsfs' disk add "$mnt" "$work/other0"
mkdir "$mnt/theirs"
chown 1000 "$mnt/theirs"
refused 'others may not' 'Operation not permitted' as 1000 setfattr -n user.falls.disks -v "add $work/other0" "$mnt/theirs"
refused 'no order' "say 'add /mnt/d4'" disk_order 'join d2'
ok 'with --json' test "$(disk add -n --json "$mnt" "$work/other0" | jq -r '.disks[0].state')" = planned
stop
unset 'disks[3]'
not 'a mount without it' try_start
ok 'says which is missing' grep -q 'disk d3 of the volume is missing; it was .*/d3 when last seen' "$log"
disks+=("$work/d3")
start
ok 'the next mount has the same' same_bytes

# -- balance --
# needs: a disk joins

would_be_even() {
    disk balance -n --json "$mnt" | tee /dev/stderr | jq -e '[.disks[].after] | (max - min) < 1500000'
}
ok 'it says what each would have' would_be_even
same 'it says so to scripts' "$(disk balance -n -b --raw -o disk,after "$mnt")" \
    "$(disk balance -n --json "$mnt" | jq -r '"DISK AFTER", (.disks[] | "\(.disk) \(.after)")')"
same 'a look moves nothing' "$(lies_on "$mnt/f5")" 'd0 d1 d2'
ok 'the disks are balanced' disk balance "$mnt"
same 'the largest file lies there, too, and on as many as before' "$(lies_on "$mnt/f5" | grep -o 'd3') $(lies_on "$mnt/f5" | wc -w)" 'd3 3'
same 'those bound to a disk stay' "$(lies_on "$mnt/bound/one") $(lies_on "$mnt/bound/element" | cut -c1-5)" 'd1 d0 d1'
disk balance "$mnt" >"$work/out" # what files really have may not be what was thought
same 'then there is nothing to do' "$(disk balance --json "$mnt" | jq .files_moved)" 0
ok 'balanced, with the same bytes' same_bytes

# -- a disk leaves --
# needs: balance

refused 'the home disk' 'is the home disk' disk drain "$mnt" d0
refused 'no disk' 'is no disk of' disk drain "$mnt" d7
same 'a look at what would leave' "$(disk drain -n --json "$mnt" d1 | jq -c '[.disks[1].after, .files_to_move > 20]')" '[0,true]'
same 'it changed nothing' "$(getfattr --only-values -n user.falls.disks "$mnt" | sed -n 2p | cut -d' ' -f2)" in
setfattr -n user.falls.layout -v 'stripe(64K) on d1-d2' "$mnt/dir"
setfattr -n user.falls.layout -v 'one on d1' "$mnt/bound"
ok 'it begins to leave, slowly' disk_order 'limit=1 leave d1'
ok 'status says what to do' test "$("$fallsctl" status --json "$mnt" | jq -r '.volumes[0] | .disks[1].state + .actions[0][0:20]')" = 'leavingdisk d1 is to leave:'
echo x >"$mnt/dir/meanwhile"
same 'nothing new goes there' "$(lies_on "$mnt/dir/meanwhile") $(echo y >"$mnt/also"; lies_on "$mnt/also")" 'd2 d0 d2 d3'
refused 'what is for it alone' 'leave the volume, or have left it' "$fallsctl" layout set -L 'one on d1' "$mnt/empty"
ok 'it stays after all' disk drain --stop "$mnt" d1
same 'it is as before' "$(getfattr --only-values -n user.falls.disks "$mnt" | sed -n 2p | cut -d' ' -f2) $(echo z >"$mnt/dir/z"; lies_on "$mnt/dir/z")" 'in d1 d2'
refused 'one that is not to leave' 'is not to leave' disk_order 'drop d1'
exec 9<>"$mnt/held"
head -c 100000 /dev/zero >&9
rm "$mnt/held"
disk_order 'leave d1'
refused 'as long as a file is open' 'files have layouts with d1' disk_order 'drop d1'
only_one_is_left() {
    disk_order 'drop d1' 2>/dev/null | grep -q '^1 files have'
}
await 10 only_one_is_left
cp -a "$work/d1/.fallsfs" "$work/was"
exec 9>&-
ok 'a disk leaves, by its path' disk drain "$mnt" "$work/d1"
same 'nothing is left on it' "$(ls -A "$work/d1")" ''
same 'no file lies there' "$(find "$mnt" -type f -exec "$fallsctl" map --json {} + | jq '[.files[].subfiles[] | select(.disk == "d1")] | length')" 0
ok 'and all files are the same' same_bytes
same 'it is not shown any more' "$("$fallsctl" status --json "$mnt" | jq -c '.volumes[0] | [[.disks[].disk], .actions]')" '[["d0","d2","d3"],[]]'
ok 'it is gone, and that is said again' disk drain "$mnt" d1
same 'in words' "$(cut -d: -f1 "$work/out")" 'd1 has left the volume, 0 files were moved'
same 'and as JSON, by its path' "$(disk drain --json "$mnt" "$work/d1" | jq -c '[.has_left, .files_moved]')" '[true,0]'
refused 'it cannot stay' 'd1 has left the volume: ' disk drain --stop "$mnt" d1
stop

# has_left WHAT: whoever names all disks is told to leave this one out
has_left() {
    not "a mount with it, $1" try_start
    ok "says that it has left, $1" grep -q 'd1, once d1, has left the volume: leave it out' "$log"
    refused "fsck with it, $1" 'has left the volume: leave it out' "$fsck" -y "${disks[@]}"
    refused "extract with it, $1" 'has left the volume: leave it out' "$fallsctl" extract "${disks[@]}" f5
}

has_left 'when nothing is left'
mkdir -m 700 "$work/d1/.fallsfs"
has_left 'when an empty directory is left'
cp -a "$work/was/volume" "$work/d1/.fallsfs"
has_left 'when its stamp is left'
rm -r "$work/d1/.fallsfs"
mv "$work/was" "$work/d1/.fallsfs"
has_left 'when all is left'
rm -r "$work/d1/.fallsfs"
drop_disk 1
ok 'fsck finds nothing' "$fsck" -n "${disks[@]}"
"$fallsctl" extract "${disks[@]}" f5 >"$work/f5"
start
ok 'a mount without it' cmp "$work/f5" "$mnt/f5"
ok 'has all files' same_bytes
disks+=("$work/d1")
ok 'it may join again' disk add --pool spare "$mnt" "$work/d1"
same 'as another one' "$(getfattr --only-values -n user.falls.disks "$mnt" | tail -1)" "d4 in spare $work/d1"
ok 'in its pool' setfattr -n user.falls.layout -v 'one on pool:spare' "$mnt/empty"
same 'which is known' "$(lies_on "$mnt/empty")" d4
restart
ok 'and the next mount has all' same_bytes

# -- a disk that cannot be done without --
# needs: a disk leaves

restart -o 'layout=one on d3'
refused 'what new files are to lie on' "default layout 'one on d3'" disk drain "$mnt" d3
same 'stays' "$(getfattr --only-values -n user.falls.disks "$mnt" | sed -n 4p | cut -d' ' -f2)" in
stop
start -o ro
refused 'a read-only mount' 'the mount is read-only' disk drain "$mnt" d3
stop

# -- two copies, and fewer and fewer disks --

layout_of() {
    getfattr --absolute-names --only-values -n user.falls.layout "$1"
}

make_volume 3
start
"$fallsctl" create -L 'stripe(64K) copies 2' "$mnt/twice" 2>"$work/said"
head -c 1M /dev/urandom >>"$mnt/twice"
sum=$(sha256sum <"$mnt/twice")
ok 'a disk leaves' disk drain "$mnt" d1
same 'copies stay' "$(layout_of "$mnt/twice")" 'stripe(64K) on d0,d2,d2 copies 2'
refused 'the second last disk' 'stays on the disk: its layout has copies 2' disk drain "$mnt" d2
same 'the layout is the same' "$(layout_of "$mnt/twice")" 'stripe(64K) on d0,d2,d2 copies 2'
refused 'nor does the file leave it alone' 'No space left' setfattr -n user.falls.migrate -v leave "$mnt/twice"
ok 'and says why' grep -q 'the second copy' <(getfattr --absolute-names --only-values -n user.falls.lasterror "$mnt/twice")
refused 'a default for two disks' 'the volume has only one that stays' "$fallsctl" layout set -L 'one copies 2' "$mnt"
ok 'it stays' disk drain --stop "$mnt" d2
ok 'spread anew' "$fallsctl" migrate --restripe --wait "$mnt/twice"
same 'with its copies' "$(layout_of "$mnt/twice")" 'stripe(64K) on d0,d2 copies 2'
ok 'a disk joins' disk add "$mnt" "$work/d1"
ok 'balanced' disk balance "$mnt"
ok 'copies are still there' grep -q ' copies 2$' <(layout_of "$mnt/twice"; echo)
same 'the bytes are' "$(sha256sum <"$mnt/twice")" "$sum"
stop
make_volume 1
refused 'a default for two disks of one' "default layout 'one copies 2', column 12: copies 2 puts" \
    "$fallsfs" -o 'layout=one copies 2' "${disks[@]}" "$mnt"

# -- files that fill the disks --

if [ "$(id -u)" = 0 ]; then
    make_volume 1
    rm -r "$work/d0"
    disks=()
    for i in 0 1 2 3; do
        mkdir "$work/d$i"
        mount -t tmpfs -o size=24M tmpfs "$work/d$i"
        disks+=("$work/d$i")
    done
    "$fallsctl" format "${disks[@]}" >"$work/out"
    start
    same 'disks on devices of their own: nobody warns' \
        "$("$fallsctl" create -L 'stripe(1M) copies 2' "$mnt/twice" 2>&1 && rm "$mnt/twice")" ''
    head -c 40M /dev/urandom >"$mnt/large" # 10 MiB on each disk, and no room for it twice
    sum=$(sha256sum <"$mnt/large")
    ok 'a disk leaves though its file does not fit twice' disk drain "$mnt" d2
    same 'the file is the same' "$(sha256sum <"$mnt/large")" "$sum"
    head -c 15M /dev/urandom >"$mnt/more"
    not 'a disk that the others have no room for' disk drain "$mnt" d1
    same 'keeps its files' "$(sha256sum <"$mnt/large")" "$sum"
    ok 'and is let be' disk drain --stop "$mnt" d1
    stop
    for i in 0 1 2 3; do
        umount "$work/d$i"
    done
fi

# -- killed anywhere --

# One daemon after the other, until a command is through: killed COMMAND...
killed() {
    local i pid status
    for ((i = 0; ; i++)); do
        "$@" >"$work/said" 2>&1 &
        pid=$!
        if ((i < 8)); then
            sleep "0.$(printf %03d $((RANDOM % 400)))"
            crash
            wait "$pid" 2>/dev/null
            umount -l "$mnt"
            "$try_disks" || return 1
            same_bytes || return 1
        else
            wait "$pid"
            status=$?
            ((status == 0)) || tail -3 "$work/said"
            return "$status"
        fi
    done
}

# A mount with a disk that may have left: then it says so.
try_with() {
    try_start && return
    [ -z "$says" ] || grep -q "$says" "$log" || fail "with d$unsure, seed $seed: $(cat "$log")"
    return 1
}

# The list of disks that counts may have the one that joins, or has left.
with_or_without() {
    local other=$work/d$unsure
    disks=("$work/d0" "$work/d2" "$work/d3")
    [ "$unsure" = 1 ] || disks+=("$work/d1")
    if ((RANDOM % 2 == 0)); then
        disks+=("$other")
        try_with && return
        drop_disk "$unsure"
        try_start
    else
        try_start && return
        disks+=("$other")
        try_with
    fi
}

make_volume 4
start
make_files
try_disks=with_or_without
cycles=${FALLSFS_MOUNT_CASES:-$([ -n "${FALLSFS_FULL:-}" ] && echo 100 || echo 2)}
for ((n = 0; n < cycles && n_failed == 0; n++)); do
    mkdir -p "$work/d4"
    unsure=4
    says=
    killed disk add "$mnt" "$work/d4" >"$work/end" || grep -q 'a disk of this volume already' "$work/end" ||
        fail "joining, seed $seed: $(cat "$work/end")"
    disks=("$work/d0" "$work/d1" "$work/d2" "$work/d3" "$work/d4")
    try_disks=try_start
    killed disk balance "$mnt" >"$work/end" || fail "balancing, seed $seed: $(cat "$work/end")"
    try_disks=with_or_without
    says='has left the volume: leave it out'
    killed disk drain "$mnt" "$work/d4" >"$work/end" ||
        fail "leaving, seed $seed: $(cat "$work/end")"
    drop_disk 4
    ok "after all that, seed $seed" same_bytes
    stop
    ok "fsck finds nothing, seed $seed" "$fsck" -n "${disks[@]}"
    rm -rf "$work/d4"
    start
done
finish
