#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A disk fails while it is in use: files with copies 2 can be read on, are repaired, and another disk may fail then.
# failing.sh FALLSFS FALLSCTL FSCK
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/images.sh"
fsck=$3
size=$((12 * 65536 + 1000))

# The names of all files.
names() {
    (cd "$work/src" && find . -type f)
}

make_files() {
    local i
    rm -rf "$work/src"
    mkdir -p "$work/src/dir" "$mnt/dir"
    for i in one two dir/three dir/four; do
        head -c "$size" /dev/urandom >"$work/src/$i"
        dd if="$work/src/$i" of="$mnt/$i" bs=100000 conv=fsync status=none || return 1
    done
}

all_there() {
    local name
    while read -r name; do
        cmp "$work/src/$name" "$mnt/$name" || return 1
    done < <(names)
}

# Writes each stripe of a file with the bytes that it has, and prints how often that worked, and how often it did not.
write_stripes() {
    python3 - "$work/src/$1" "$mnt/$1" <<'PYTHON'
import errno, os, sys
want, fd = open(sys.argv[1], "rb").read(), os.open(sys.argv[2], os.O_WRONLY)
good = bad = other = 0
for at in range(0, len(want), 65536):
    try:
        part = want[at:at + 65536]
        good += os.pwrite(fd, part, at) == len(part)
    except OSError as e:
        bad += e.errno == errno.EIO
        other += e.errno != errno.EIO
print(good, bad, other)
PYTHON
}

# All stripes of all files can be written, and synced.
all_writable() {
    local name said
    while read -r name; do
        said=$(write_stripes "$name")
        [ "$said" = '13 0 0' ] || {
            echo "$name: $said"
            return 1
        }
        sync "$mnt/$name" || return 1
    done < <(names)
}

# status_names NUMBER: by 3, and by what it says
status_names() {
    "$fallsctl" status "$mnt" >"$work/status"
    [ $? = 3 ] && grep "d$1" "$work/status" | grep -i error
}

# The daemon may end with an error, as what it could not write to the disk is lost there; the others are whole.
end_with_failed() {
    await 10 umount "$mnt" || fail 'cannot unmount'
    reap "$daemon"
    daemon=
    check_log
}

# What fsck finds, but for what the disks lack that have failed.
found() {
    "$fsck" -n "${disks[@]}" | grep -vE "^d[$fails$next] (obj/[^:]*: orphan|layout/[^:]*: layout: the layout's text is missing)|can be repaired with"
}

repairs() {
    "$fsck" -y "${disks[@]}" || [ $? = 1 ]
}

# As after the disk was mended, and the machine started again.
mend() {
    local i
    for i in "$@"; do
        await 10 umount "$work/d$i"
        bring_back "$i"
    done
}

# one_fails LAYOUT FAILS NEXT TYPE...: d$FAILS fails, and d$NEXT when all is repaired
one_fails() {
    local layout=$1 fails=$2 next=$3 good bad other
    shift 3
    make_disks "$@"
    start -o "direct_io,layout=$layout"
    ok 'files are made' make_files
    shut_down "$fails"
    ok "all can be read, $layout, $*" all_there
    ok 'status tells of it' status_names "$fails"
    read -r good bad other <<<"$(write_stripes one)"
    ok 'writes to it are errors' test "$bad" -gt 0
    ok 'others are not' test "$good" -gt 0
    same 'and no others' "$other" 0
    ok 'all can still be read' all_there
    ok 'a file is repaired' setfattr -n user.falls.migrate -v repair "$mnt/one"
    ok 'a directory is' "$fallsctl" repair "$mnt/dir"
    ok 'all are' "$fallsctl" repair --all "$mnt"
    ok "all is there, $layout, $*" all_there
    ok "all can be written, $layout, $*" all_writable
    same 'nothing lies on the disk that fails' "$("$fallsctl" map --json "$mnt"/one "$mnt"/dir/three |
        jq -c "[.files[].subfiles[].disk] | unique | index(\"d$fails\")")" null
    shut_down "$next"
    ok "all is there with another disk lost, $layout, $*" all_there
    end_with_failed
    mend "$fails" "$next"
    start
    ok "all is there with all disks, $layout, $*" all_there
    ok "all can be written again, $layout, $*" all_writable
    stop
    # what nobody could remove from a disk that failed is there, and texts are not that came meanwhile
    same "fsck, $layout, $*" "$(found)" ''
    ok 'it repairs that' repairs
    ok 'all is well then' "$fsck" -n "${disks[@]}"
    remove_disks
}

one_fails 'stripe(64K) copies 2' 1 2 ext4 ext4 xfs
one_fails 'stripe(64K) copies 2' 2 1 ext4 ext4 xfs ext4
one_fails 'stripe(64K,3) copies 2' 1 3 ext4 ext4 ext4 ext4
finish
