#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Texts of layouts go with the last file that has them, and not before, whatever happens to the daemon: texts.sh
# FALLSFS FALLSCTL FSCK SETTER
# shellcheck disable=SC2317,SC2154,SC2016  # functions are called by ok and not; what common.sh sets; words for other shells
source "$(dirname "$0")/common.sh"
fsck=$3
setter=$4

texts() {
    find "$work"/d*/.fallsfs/layout -type f
}

# at_most N: texts on each disk, once what goes on in the background is over.
at_most() {
    are_few() {
        [ "$(texts | wc -l)" -le $(($1 * ${#disks[@]})) ]
    }
    await 10 are_few "$1" && return
    texts
    return 1
}

# -- one empty file, new texts again and again --

make_volume 3
start -o 'layout=one'
: >"$mnt/f"
ok 'one file has 100 layouts, one after the other' "$setter" 100 "$mnt/f"
ok 'the one it has is there, and the one of new files' at_most 2
ok 'a file with the layout before last' "$setter" 1 "$mnt/f"
rm "$mnt/f"
ok 'none but that of new files' at_most 1

many() {
    local i
    for ((i = 1; i <= 66; i++)); do
        : >"$mnt/g$i"
        "$setter" 1 "$mnt/g$i" || return 1
        rm "$mnt/g$i"
    done
}
ok 'files are made, laid out and removed' many
ok 'none but that of new files, again' at_most 1

directories() {
    local i
    for ((i = 1; i <= 5; i++)); do
        setfattr -n user.falls.layout -v "stripe($((i * 8))K)" "$mnt/dir" || return 1
    done
}
mkdir "$mnt/dir"
ok 'a directory has 5 layouts, one after the other' directories
ok 'the one it has' at_most 2
restart -o 'layout=one'
same 'a directory keeps its layout' "$(getfattr --only-values -n user.falls.layout "$mnt/dir")" 'stripe(40K)'
echo new >"$mnt/dir/file"
same 'and gives it to files' "$(getfattr --only-values -n user.falls.layout "$mnt/dir/file")" 'stripe(40K) on d0-d2'
rm -r "$mnt/dir"
stop
ok 'an orderly end leaves none' at_most 0

# -- the daemon is killed while layouts change --
# needs: one empty file

# Files with bytes and files without get layouts until the mount is gone.
change_layouts() {
    local i
    for ((i = 1;; i++)); do
        : >"$mnt/e$((i % 7))" || return
        "$setter" 3 "$mnt/e$((i % 7))" || return
        head -c 70000 "$work/src" >"$mnt/e$((i % 7))" || return
        setfattr -n user.falls.migrate -v "stripe($((i % 50 + 1))K)" "$mnt/f$((i % 5))"
        rm -f "$mnt/e$(((i + 3) % 7))" || return
    done
}

nothing_lost() {
    "$fsck" -n --json "${disks[@]}" >"$work/found"
    if grep -E '"fate":"left"|"error":' "$work/found"; then
        return 1
    fi
}

head -c 300000 /dev/urandom >"$work/src"
start -o 'layout=stripe(64K)'
for i in 0 1 2 3 4; do
    cp "$work/src" "$mnt/f$i"
done
for ((round = 0; round < ${FALLSFS_MOUNT_CASES:-5}; round++)); do
    change_layouts >"$work/changes" 2>&1 &
    changing=$!
    sleep "0.$((RANDOM % 60 + 10))"
    crash
    wait "$changing"
    umount -l "$mnt"
    ok 'a check after a kill finds nothing that is lost' nothing_lost
    start -o 'layout=stripe(64K)'
    for i in 0 1 2 3 4; do
        ok 'a file is as it was' cmp "$work/src" "$mnt/f$i"
    done
    for file in "$mnt"/e*; do
        ok 'a file can be read' cat "$file"
    done
done
stop
"$fsck" -y "${disks[@]}" >"$work/out" 2>&1
ok 'a check finds nothing then' "$fsck" -n "${disks[@]}"
for i in 0 1 2 3 4; do
    ok 'a file is taken out' sh -c "'$fallsctl' extract ${disks[*]} f$i >'$work/extracted'"
    ok 'it is as it was' cmp "$work/src" "$work/extracted"
done
start -o 'layout=one'
ok 'files get one layout' env mnt="$mnt" sh -c 'for f in "$mnt"/*; do setfattr -n user.falls.migrate -v "stripe(1M)" "$f"; done'
ok 'they are laid out so' "$fallsctl" jobs wait "$mnt"
stop
"$fsck" -y "${disks[@]}" >"$work/out" 2>&1
same 'a check with repair leaves the texts that files have' "$(texts | wc -l)" 3
same 'it says that some went, and of no other finding' "$(sed 's/.*: //; s/^[0-9]* //' "$work/out")" \
    $'their texts are removed\nnothing else was found'

# -- texts of an earlier mount, removed while files are used --

make_volume 3
start -o 'layout=one'
mkdir "$mnt/a" "$mnt/b"
for i in 1 2 3 4 5 6; do
    : >"$mnt/a/f$i"
    setfattr -n user.falls.layout -v "stripe(${i}K)" "$mnt/a/f$i"
    echo "bytes of $i" >"$mnt/a/f$i"
done
restart -o 'layout=one'
rm "$mnt/a/f1"
head -c 1 "$mnt/a/f2" >"$work/out"
exec 3<"$mnt/a/f2"
rm "$mnt/a/f2" "$mnt/a/f3"
same 'who removes files leaves texts of an earlier mount' "$(getfattr --only-values -n user.falls.layouts "$mnt")" 7
mkdir "$mnt/theirs"
chown 1000 "$mnt/theirs"
refused 'others may not' 'Operation not permitted' as 1000 setfattr -n user.falls.layouts -v prune "$mnt/theirs"
refused 'no such order' 'Invalid argument' setfattr -n user.falls.layouts -v remove "$mnt"
ok 'prune' "$fallsctl" layout prune "$mnt"
same 'it says what it did' "$(cat "$work/out")" "$mnt: 5 texts of layouts, before 7"
same 'a removed file that is open is as it was' "$(cat <&3)" 'bytes of 2'
exec 3<&-
prune_to() {
    for ((i = 0; i < 100; i++)); do
        "$fallsctl" layout prune --json "$mnt/a" >"$work/pruned" || return 1
        [ "$(jq '.files[0].after' "$work/pruned")" = "$1" ] && return 0
        sleep 0.05
    done
    cat "$work/pruned"
    return 1
}
ok 'its text goes when it has gone' prune_to 4

# Files go from one directory to the other, and get other layouts, while texts are looked for.
move_files() {
    local i
    for ((i = 0; ; i++)); do
        mv "$mnt/a/f4" "$mnt/a/f5" "$mnt/b" || return
        mv "$mnt/b/f4" "$mnt/b/f5" "$mnt/a" || return
        mkdir "$mnt/a/deep" && mv "$mnt/a/f6" "$mnt/a/deep" && mv "$mnt/a/deep" "$mnt/b" || return
        mv "$mnt/b/deep/f6" "$mnt/a" && rmdir "$mnt/b/deep" || return
        rm -f "$mnt/new" && : >"$mnt/new" && setfattr -n user.falls.layout -v "stripe($((i % 3 + 1))K)" "$mnt/new" || return
        echo new >"$mnt/new"
        sleep 0.02
    done
}
prune_all_the_time() {
    local end=$((SECONDS + 4))
    while ((SECONDS < end)); do
        "$fallsctl" layout prune "$mnt" || ! getfattr -n user.falls.lasterror "$mnt" | grep -v 'moved all the time' || return 1
    done
}
move_files 2>"$work/moves" &
moving=$!
ok 'texts are looked for while files move' prune_all_the_time
kill "$moving"
wait "$moving" 2>/dev/null
crash
umount -l "$mnt"
start -o 'layout=one'
for i in 4 5 6; do
    same 'a file is as it was' "$(find "$mnt" -name "f$i" -exec cat {} +)" "bytes of $i"
done
ok 'the new one can be read' find "$mnt" -type f -exec cat '{}' +
stop
ok 'nothing is lost' nothing_lost

"$fsck" -y "${disks[@]}" >"$work/out" 2>&1
start -o 'layout=one'
: >"$mnt/bad"
stop
setfattr -n user.fallsfs -v x "$work/d0/.fallsfs/ns/bad"
start -o 'layout=one'
not 'where a record is damaged nothing is removed' "$fallsctl" layout prune "$mnt"
same 'and somebody says why' "$(grep -c 'ns/bad is damaged' "$work/out")" 1
finish
