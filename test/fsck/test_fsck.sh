#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Each kind of damage, done by hand to a real volume: told, repaired, and not told again; looking changes nothing.
# test_fsck.sh FSCK FALLSCTL FALLSFS SET_RECORD SUM_STAMP
# shellcheck disable=SC2015,SC2317  # complain never fails; clean_up is called by the trap
set -uo pipefail
# shellcheck source=../support/only.sh
source "$(dirname "$0")/../support/only.sh"

fsck=$1 fallsctl=$2 fallsfs=$3 set_record=$4 sum_stamp=$5
work=$(mktemp -d)
failed=0
pid=

clean_up() {
    cd / || exit 1
    umount "$work/m" 2>/dev/null || fusermount3 -u "$work/m" 2>/dev/null
    umount "$work/d1/.fallsfs/obj" 2>/dev/null
    rm -rf "$work"
}
trap clean_up EXIT
cd "$work" || exit 1
home=d0/.fallsfs

complain() {
    printf '%s\n' "$1"
    failed=1
}

finish() {
    exit "$failed"
}

start() {
    "$fallsfs" -f -o 'layout=stripe(4K,3)' d0 d1 d2 m 2>/dev/null &
    pid=$!
    while ! mountpoint -q m && kill -0 "$pid" 2>/dev/null; do
        sleep 0.02
    done
    mountpoint -q m
}

# The mount is gone before its daemon is.
stop() {
    umount m 2>/dev/null || fusermount3 -u m
    wait "$pid" 2>/dev/null
}

# Everything there is below the disks, as one sum: content, attributes, times.
sum() {
    {
        find d? -printf '%p %y %s %m %n %U %G %T@ %C@ %l\n' | sort
        find d? -type f -print0 | sort -z | xargs -0 sha256sum
        find d0/.fallsfs/ns -type f -print0 | sort -z | xargs -0 getfattr -d -e hex 2>/dev/null
    } | sha256sum
}

# again: the volume as it was made
again() {
    rm -rf d?
    cp -a kept/. .
}

id_of() {
    "$set_record" "$home/ns/$1"
}

# subfile FILE ELEMENT
subfile() {
    find d?/.fallsfs/obj -name "$(id_of "$1").*.$2"
}

# says STATUS PATTERN OPTION...: fsck of d0 d1 d2; its output stays in ./out
says() {
    local status=$1 pattern=$2 got
    shift 2
    timeout 60 "$fsck" "$@" d0 d1 d2 >out 2>&1
    got=$?
    # shellcheck disable=SC2053  # a glob is meant
    if [ "$got" != "$status" ] || [[ $(cat out) != $pattern ]]; then
        complain "$what: fsck $*: status $got, expected $status; it says
$(cat out)
  expected $pattern"
    fi
}

# looks STATUS PATTERN [OPTION...]: and changes nothing
looks() {
    local before
    before=$(sum)
    says "$1" "$2" -n "${@:3}"
    [ "$(sum)" = "$before" ] || complain "$what: fsck -n changed something"
}

# is FILE ORIGINAL: what extract reads is what was written
is() {
    "$fallsctl" extract d0 d1 d2 "$1" 2>/dev/null | cmp -s - "$2" || complain "$what: $1 is not what was written"
}

# lost_bytes FILE: reading all of it is an error
lost_bytes() {
    "$fallsctl" extract d0 d1 d2 "$1" >/dev/null 2>&1 && complain "$what: reading $1 is no error"
}

others_are_well() {
    is g g
    is s/h g
}

# repaired WHAT PATTERN: told, repaired, then nothing is wrong
repaired() {
    what=$1
    looks 4 "$2"
    says 1 "$2" -y
    looks 0 '*nothing is wrong'
    says 0 '*nothing is wrong' -y
    others_are_well
}

# left WHAT PATTERN [STATUS]: told each time; 5 when something else could be repaired
left() {
    what=$1
    looks 4 "$2"
    says "${3-4}" "$2" -y
    says 4 "$2" -y
    looks 4 "$2"
    others_are_well
}

mkdir d0 d1 d2 m
head -c 50000 /dev/urandom >f
head -c 50000 /dev/urandom >g
"$fallsctl" format d0 d1 d2 >/dev/null
if ! start; then
    printf 'cannot mount here: skipped\n'
    exit 77
fi
cp f m/f
cp g m/g
mkdir -p m/s/t
cp g m/s/h
printf 'small' >m/s/small
: >m/empty
truncate -s 100000 m/hole
ln m/f m/s/t/second
ln -s f m/link
chmod 640 m/f
touch -d '2001-02-03 04:05:06.789' m/f
what='in use'
says 8 '*in use*' -n
says 8 '*in use*' -y
stop
mkdir kept
cp -a d0 d1 d2 kept

what='unmounted a moment ago, and its daemon still busy'
for _ in 1 2 3; do
    again
    start || complain "$what: cannot be mounted"
    head -c 20000000 /dev/urandom >m/new
    umount m 2>/dev/null || fusermount3 -u m
    says 0 '*nothing is wrong' -n
    stop 2>/dev/null
done
again

# -- the command line --

what='command line'
"$fsck" --help | grep -q '^usage: fsck.fallsfs' || complain 'no help'
says 16 '*unknown option: -x*' -x
says 16 '*give -y, too*' --copies
for both in '-y -n' '-n -y' -yn -na '-p -n'; do
    # shellcheck disable=SC2086  # some are two words
    says 16 '*-n writes nothing, and -y, -a and -p repair: which?*' $both
done
says 16 '*give -y, too*' --home-lost
"$fsck" >/dev/null 2>&1
[ $? = 16 ] || complain 'no disks is wrong usage'
"$fsck" d0 d1 >out 2>&1
[ $? = 8 ] && grep -q 'd2 of the volume is missing' out || complain 'a missing disk is told'
"$fsck" d0 d1 nowhere >out 2>&1
[ $? = 8 ] || complain 'no such disk'
what='a clean volume'
looks 0 '6 files, * objects: nothing is wrong'
says 0 'the last mount ended well: nothing to check' -a
says 0 '*nothing is wrong' -p -f
says 0 '*nothing is wrong' -yf

# -- subfiles --

again
object=$(subfile f 1)
mv "$object" kept.object
left 'a subfile is missing' '*/f: d*missing: * bytes are lost, the first is byte 4096 of the file*'
lost_bytes f
mv kept.object "$object"
what='it is back'
looks 0 '*nothing is wrong'
is f f

again
truncate -s 5000 "$(subfile f 0)"
left 'a subfile is short' '*/f: d*short: * bytes are lost, the first is byte 13192 of the file*'
lost_bytes f

again
printf 'tail' >>"$(subfile f 2)"
repaired 'a subfile is long' '*/f: d*long: a subfile has * is cut (*'
is f f

for thing in 'ln -s /etc/passwd' mkdir mkfifo; do
    again
    object=$(subfile f 1)
    rm "$object"
    $thing "$object"
    left "$thing in place of a subfile" '*/f: d*missing: *' 5
    [ ! -e "$object" ] && [ ! -L "$object" ] || complain "$what: still there"
    lost_bytes f
done

again
ln "$(subfile f 1)" planted
left 'a subfile has a second name' '*/f: d*linked: *'
rm planted

again
object=$(subfile f 1)
mv "$object" kept.object
cp -a --no-preserve=links "$(subfile f 2)" "$object"
left 'a subfile has the bytes of another' '*/f: d*foreign: *'
lost_bytes f
mv kept.object "$object"
what='the right one is back'
looks 0 '*nothing is wrong'
is f f

# -- objects that nobody owns --

again
id=$(id_of f)
xx=${id:0:2}
stray=0123456789abcdef0123456789abcdef
printf x >"d1/.fallsfs/obj/01/$stray.0.0"
printf x >"d1/.fallsfs/obj/02/$stray.0.0"
printf x >"d1/.fallsfs/obj/$xx/$id.7.0"
printf x >"d1/.fallsfs/obj/$xx/$id.0.9"
printf x >"d1/.fallsfs/obj/$xx/$id.0.h"
printf x >"d1/.fallsfs/obj/$xx/$id.m.new"
printf x >"d1/.fallsfs/obj/$xx/$id.00.1"
printf x >"d1/.fallsfs/obj/$xx/junk"
printf x >"d1/.fallsfs/obj/$xx/.nfs0001"
mkdir "d1/.fallsfs/obj/$xx/dir"
for disk in d0 d1 d2; do
    [ -e "$disk/.fallsfs/obj/$xx/$id.0.0" ] || printf x >"$disk/.fallsfs/obj/$xx/$id.0.0"
done
repaired orphans '*orphan: *'
[ "$(find d1/.fallsfs/lost -mindepth 1 | wc -l)" -ge 9 ] || complain 'orphans: not in lost/'
[ -e "d1/.fallsfs/lost/$stray.0.0" ] && [ -e "d1/.fallsfs/lost/$stray.0.0.1" ] || complain 'orphans: one name, two objects'
[ -e "d1/.fallsfs/obj/$xx/.nfs0001" ] || complain 'orphans: .nfs files are the client'"'"'s'
is f f

# -- orphans that are removed --
# needs: objects that nobody owns

# A file whose stub a crash took before anything was promised; its objects, and one of another generation of f.
crash_left() {
    again
    printf '%09000d' 0 >"d1/.fallsfs/obj/01/$stray.0.0"
    printf x >"d2/.fallsfs/obj/01/$stray.0.1"
    printf x >"d1/.fallsfs/obj/01/$stray.m"
    printf x >"d1/.fallsfs/obj/$xx/$id.7.0"
}

crash_left
what='orphans that are freed'
looks 4 '*d1 obj/01/'"$stray"'.0.0: orphan: no file has this id: is removed, which frees 12288 bytes (can be*4 orphans with 24576 bytes can be removed*' --free-orphans
says 1 '*4 orphans with 24576 bytes removed*' -y --free-orphans
looks 0 '*nothing is wrong' --free-orphans
[ -z "$(find d? -name "$stray*" -o -name "$id.7.0")" ] && [ ! -e d1/.fallsfs/lost ] || complain "$what: some are left"
others_are_well

crash_left
what='orphans that are freed from lost/'
says 1 '*goes to lost/*' -y
printf x >d1/.fallsfs/lost/mine
printf x >"d1/.fallsfs/lost/$stray.0.0.3"
printf x >"d1/.fallsfs/lost/$id.0.0"
looks 4 '*5 orphans with * bytes can be removed*' --free-orphans
says 1 '*5 orphans with * bytes removed*' -y --free-orphans
[ "$(find d?/.fallsfs/lost -type f -printf '%f\n' | sort | tr '\n' ' ')" = "$(printf '%s\n' mine "$id.0.0" | sort | tr '\n' ' ')" ] ||
    complain "$what: not those without a file are gone: $(find d?/.fallsfs/lost -type f)"

crash_left
what='orphans and a damaged record'
find d?/.fallsfs/obj -name '*.m' -delete
setfattr -n user.fallsfs -v nonsense "$home/ns/g"
looks 4 '*orphans: none is removed: *' --free-orphans
says 5 '*orphans: none is removed: *' -y --free-orphans
[ -e "d1/.fallsfs/obj/01/$stray.0.0" ] || complain "$what: removed"
rm "$home/ns/g"
says 1 '*orphans with * bytes removed*' -y --free-orphans
what='orphans and a missing disk'
crash_left
"$fsck" --free-orphans -y d0 d1 >out 2>&1
[ $? = 8 ] && grep -q 'd2 of the volume is missing' out && [ -e "d1/.fallsfs/obj/01/$stray.0.0" ] || complain "$what: $(cat out)"
says 16 '*may get one yet*' --free-orphans --home-lost -y

again
what='a file that lost its name is no orphan'
says 0 '*nothing is wrong' -y --copies
"$set_record" "$home/ns/g" epoch=0
mv "$home/ns/g" stub.of.g
looks 4 '*/g: d*orphan: no file has this id, but a copy tells its path: it may have lost its name: goes to lost/*' --free-orphans
says 1 '*/g: d*orphan: *goes to lost/*' -y --free-orphans
says 0 '*nothing is wrong' -y --free-orphans
mv stub.of.g "$home/ns/g"
for disk in d0 d1 d2; do
    [ ! -d $disk/.fallsfs/lost ] || mv $disk/.fallsfs/lost/* "$disk/.fallsfs/obj/$(id_of g | cut -c1-2)"
done
others_are_well

again
empty=$(find d1/.fallsfs/obj -mindepth 1 -type d -empty | head -n 1)
rmdir "$empty"
mkdir d2/.fallsfs/obj/zz
repaired 'directories' '*directory: a directory is missing*'
[ -d "$empty" ] || complain 'directories: not made anew'

again
rm -r d1/.fallsfs/obj
"$fsck" -y d0 d1 d2 >lines 2>&1
[ "$(grep -c 'a directory is missing' lines)" = 1 ] || complain "obj/ is lost: $(grep -c 'a directory is missing' lines) lines tell it"
[ "$(find d1/.fallsfs/obj -mindepth 1 -maxdepth 1 -type d | wc -l)" = 256 ] || complain 'obj/ is lost: not all of it is made anew'

again
mapfile -t empty < <(find d1/.fallsfs/obj -mindepth 1 -type d -empty | head -n 3)
rmdir "${empty[@]}"
ln -s /etc "${empty[0]}"
mkfifo "${empty[1]}"
printf x >"${empty[2]}"
repaired 'something else in the place of a directory' '*stranger: *: goes to lost/*directory: a directory is missing*'
[ -d "${empty[0]}" ] && [ -d "${empty[1]}" ] && [ -d "${empty[2]}" ] || complain 'something else: no directory comes in its place'

# -- layouts --

again
layout=$(find d1/.fallsfs/layout -type f | head -n 1)
printf x >>"$layout"
rm d2/.fallsfs/layout/*
printf x >d0/.fallsfs/layout/junk.new
repaired 'layout texts' '*layout: the layout'"'"'s text is damaged here: is written anew*'
is f f

again
rm d?/.fallsfs/layout/*
what='all layout texts are lost'
looks 4 '*/f: layout: its layout is lost*'
says 4 '*/f: layout: its layout is lost*' -y
[ "$(find d?/.fallsfs/obj -type f | wc -l)" = "$(find kept/d?/.fallsfs/obj -type f | wc -l)" ] ||
    complain "$what: objects moved"

# -- what users have said --

again
mkdir "$home/ns/dir"
setfattr -n user.fallsfs.layout -v 'stripe(64K) on d0,d2 # so' "$home/ns/dir"
setfattr -n user.fallsfs.array -v 'shape=8x8 type=f8' "$home/ns/dir"
setfattr -n user.fallsfs.array -v 'shape=8x8 type=f8' "$home/ns/g"
looks 0 '*nothing is wrong'
setfattr -n user.fallsfs.layout -v 'stripe(64K) on d3' "$home/ns/dir"
setfattr -n user.fallsfs.layout -v 0x6f6e650061 "$home/ns"
setfattr -n user.fallsfs.array -v 'shape=' "$home/ns/g"
repaired 'texts of directories and files' '*default: the layout*/dir: default: *'
[ "$(getfattr -d -m 'user.fallsfs\.' "$home/ns" "$home/ns/dir" "$home/ns/g" | grep -v '^#' | xargs)" = 'user.fallsfs.array=shape=8x8 type=f8' ] ||
    complain "$what: not the bad ones, and no others, are gone"
is g g

# -- records --

again
setfattr -n user.fallsfs -v nonsense "$home/ns/g"
find d?/.fallsfs/obj -name '*.m' -delete
find kept/d?/.fallsfs/obj -name '*.m' -delete
what='a record is damaged, no copy'
looks 4 '*/g: record: *no copy*'
says 4 '*/g: record: *' -y
says 4 '*/g: record: *' -y
[ "$(find d?/.fallsfs/obj -type f | wc -l)" = "$(find kept/d?/.fallsfs/obj -type f | wc -l)" ] ||
    complain "$what: objects moved"
is f f

# flip FILE BYTE MASK: bits of one byte of the record
flip() {
    local hex at=$((2 * $2))
    hex=$(getfattr -n user.fallsfs -e hex --only-values "$home/ns/$1" | od -An -v -tx1 | tr -d ' \n')
    setfattr -n user.fallsfs -v "0x${hex:0:at}$(printf '%02x' $((0x${hex:at:2} ^ $3)))${hex:at+2}" "$home/ns/$1"
}

# spoil FILE: two bits of the record, its id as it was
spoil() {
    flip "$1" 100 3
}

# The mark at the front, the id, the size, the checksum: test_check flips all the others.
for byte in 0 17 31 96 255; do
    again
    find d?/.fallsfs/obj -name '*.m' -delete
    flip g "$byte" 64
    flip f "$byte" 1
    repaired "a flipped bit in byte $byte of a record" '*/g: record: one bit of its record was flipped: is flipped back*'
    is f f
    is s/t/second f
done

again
what=copies
says 0 '*nothing is wrong' -y --copies
for file in g s/h; do
    spoil "$file"
done
repaired 'damaged records, copies by id' '*/g: d*record: its record is damaged: is restored*'

again
says 0 '*nothing is wrong' -y --copies
setfattr -x user.fallsfs "$home/ns/f"
setfattr -n user.fallsfs -v "$(printf '%0300d' 0)" "$home/ns/g"
repaired 'records without an id, copies by path' '*/g: d*record: its record is damaged: is restored*'
is f f
is s/t/second f

again
says 0 '*nothing is wrong' -y --copies
flip g 16 170
repaired 'a record with another id, the copy by path' '*/g: d*record: its record is damaged: is restored*'

# elsewhere was g, g was s/h, and the copies of both say g.
two_copies_say_g() {
    local copy
    again
    says 0 '*nothing is wrong' -y --copies
    copy=$(find d1 d2 -name "$(id_of g).m")
    cp "$copy" copy.of.g
    mv "$home/ns/g" "$home/ns/elsewhere"
    mv "$home/ns/s/h" "$home/ns/g"
    says 0 '*nothing is wrong' -y --copies
    cp copy.of.g "$copy"
}

what='two copies with one path'
two_copies_say_g
setfattr -n user.fallsfs -v nonsense "$home/ns/g"
setfattr -n user.fallsfs -v nonsense "$home/ns/elsewhere"
objects=$(find d?/.fallsfs/obj -type f | wc -l)
says 4 '*/g: record: *no copy*' -y
says 4 '*/g: record: *no copy*' -y
[ "$(find d?/.fallsfs/obj -type f | wc -l)" = "$objects" ] || complain "$what: objects moved"

what='two copies with one path, one of a sound file'
two_copies_say_g
setfattr -n user.fallsfs -v nonsense "$home/ns/g"
says 1 '*/g: d*record: its record is damaged: is restored*' -y
is g g
is elsewhere g

if [ "$(id -u)" = 0 ]; then
    again
    says 0 '*nothing is wrong' -y --copies
    setfattr -n user.fallsfs -v nonsense "$home/ns/f"
    chown 1 "$home/ns/f"
    left 'the copy of a file of somebody else' '*/f: record: *no copy*'
fi

again
cp -a "$home/ns/g" "$home/ns/twin"
left 'two stubs with one id' '*: twins: *'

# -- unfinished work --

again
ln "$home/ns/g" "$home/todo/$(id_of g)"
repaired 'a removal that did not happen' '*todo: a removal was begun and did not happen*'

again
id=$(id_of s/small)
mv "$home/ns/s/small" "$home/todo/$id"
printf x >"$home/tmp/x"
mkdir "$home/tmp/dir"
repaired 'a removal, and tmp/' '*todo: a removed file was not removed to the end*tmp: *'
[ -z "$(find d? -name "$id*")" ] || complain 'a removal: something is left'

again
"$set_record" "$home/ns/f" state=1 size=10000
repaired 'a truncation' '*/f: cut: *'
is f <(head -c 10000 f)

again
id=$(id_of f)
"$set_record" "$home/ns/f" gen=1 oldest_gen=0
for element in 0 1 2; do
    cp "$(subfile f "$element")" "$(subfile f "$element" | sed 's/\.0\.\(.\)$/.1.\1/' | head -n 1)"
done
repaired 'an old generation' '*/f: old: *'
[ -z "$(find d? -name "$id.0.*")" ] || complain 'an old generation: is left'
is f f

# -- stamps --

again
printf x >>d1/.fallsfs/volume
repaired 'a stamp is damaged' '*d1: stamp: *is written anew*'
again
: >d2/.fallsfs/volume
repaired 'a stamp is empty' '*d2: stamp: *is written anew*'
again
rm d0/.fallsfs/volume
repaired 'a stamp is gone' '*d0: stamp: *is written anew*'

stamp_left() {
    what=$1
    looks 4 '*stamp: *'
    says 4 '*stamp: *' -y
}
again
printf x >>d1/.fallsfs/volume
printf x >>d2/.fallsfs/volume
stamp_left 'two stamps are damaged'
again
sed 's/^checksum.*//' d2/.fallsfs/volume >d1/.fallsfs/volume
stamp_left 'a stamp of another disk, damaged'
again
sed -i 's/^epoch = "1"/epoch = "0"/' d1/.fallsfs/volume
stamp_left 'the damaged stamp of an old copy'
again
mv d1 elsewhere
: >elsewhere/.fallsfs/volume
ln -s elsewhere d1
stamp_left 'an empty stamp somewhere else'
rm -rf elsewhere d1

# newer DISK...: their stamps, and one more setting, as a later format may have them
newer() {
    local disk
    for disk; do
        { sed 's/^format = .*/format = 99;/; /^checksum/d' "$disk/.fallsfs/volume" && echo 'sums = true;'; } |
            "$sum_stamp" >stamp
        cp stamp "$disk/.fallsfs/volume"
    done
}

# refused COMMAND...: in words
refused() {
    timeout 60 "$@" >out 2>&1 && complain "$what: $*: is not refused"
    grep -q 'made by a newer fallsfs' out || complain "$what: $* says $(cat out)"
}

for disks in d1 'd0 d1 d2'; do
    again
    what="newer stamps on $disks"
    # shellcheck disable=SC2086  # words are meant
    newer $disks
    before=$(sum)
    says 8 '*made by a newer fallsfs*' -n
    for option in -n -y -a -yf; do
        refused "$fsck" "$option" d0 d1 d2
    done
    refused "$fsck" -y d2 d1
    refused "$fallsfs" -f d0 d1 d2 m
    refused "$fallsfs" -f -o ro,degraded d0 d1 m
    refused "$fallsctl" extract d0 d1 d2 f
    refused "$fallsctl" status "$PWD/d1"
    mkdir empty
    refused "$fsck" --home-lost -y d1 d2 empty
    rmdir empty
    [ "$(sum)" = "$before" ] || complain "$what: something was changed"
done
again
what='a newer stamp beside a damaged one'
newer d1
printf x >>d2/.fallsfs/volume
refused "$fsck" -y d0 d1 d2
refused "$fsck" -y d2 d1 d0
again
what='a disk of a newer volume'
cp -a d1 joins
newer joins
start
"$fallsctl" disk add m "$PWD/joins" >out 2>&1 && complain "$what: is taken"
grep -q 'made by a newer fallsfs' out || complain "$what: is not told: $(cat out)"
stop
rm -rf joins

# -- after a crash --

again
start
cp g m/new
cp f m/later
rm m/s/small
printf 'more' >>m/g
kill -9 "$pid"
wait "$pid" 2>/dev/null
umount m 2>/dev/null || fusermount3 -u m
what='a killed daemon'
before=$(sum)
timeout 60 "$fsck" d0 d1 d2 >out 2>&1
# A copy that was being written at that moment is one thing that may be left.
grep -v 'm\.new: orphan: a copy of a record was never finished' out | grep -E 'missing|short|orphan|record|long' >found &&
    complain "$what: $(cat found)"
[ "$(sum)" = "$before" ] || complain "$what: fsck -n changed something"
timeout 60 "$fsck" -a d0 d1 d2 >out 2>&1
[ $? -le 1 ] || complain "$what: fsck -a: $(cat out)"
looks 0 '*nothing is wrong'
is new g
is later f
is g <(cat g && printf more)
start && cmp -s m/later f || complain "$what: cannot be mounted afterwards"
stop

# -- the home disk is lost --

again
what='home disk'
says 0 '*nothing is wrong' -y --copies
"$fsck" --home-lost -y d0 d1 d2 >out 2>&1
[ $? = 8 ] && grep -q 'not lost' out || complain "$what: is not lost, and taken for it: $(cat out)"
mkdir other
says_home() {
    local status=$1
    shift
    timeout 60 "$fsck" --home-lost -y "$@" >out 2>&1
    local got=$?
    [ "$got" = "$status" ] || complain "$what: fsck --home-lost $*: status $got, expected $status: $(cat out)"
}
says_home 8 d0 d1 d2 other
says_home 8 d1 d2
mv d0 was
says_home 8 d1 d2
says_home 8 d1 other
printf x >other/x
says_home 8 d1 d2 other
rm other/x
mv other d0
says_home 5 d2 d0 d1
grep -q '/f: d.: name: ' out || grep -q '/s/t/second: d.: name: ' out || complain "$what: f has no name: $(cat out)"
name=f
[ -e "$home/ns/f" ] || name=s/t/second
[ "$(stat -c '%a %s' "$home/ns/$name")" = '640 0' ] || complain "$what: mode"
[ "$(stat -c %Y "$home/ns/$name")" = "$(date -d '2001-02-03 04:05:06' +%s)" ] || complain "$what: time"
lost_bytes "$name"
what='home disk, second run'
says 4 '*missing: *' -y
what='home disk, bytes that were elsewhere'
"$fallsctl" extract --partial d0 d1 d2 "$name" 2>/dev/null >got
[ "$(stat -c %s got)" = 50000 ] || complain "$what: size"
python3 - got f <<'PYTHON' || complain "$what: are not what they were"
import sys
got, want = (open(name, 'rb').read() for name in sys.argv[1:])
units = [(got[at:at + 4096], want[at:at + 4096]) for at in range(0, len(want), 4096)]
same = sum(a == b for a, b in units)
assert all(a == b or not any(a) for a, b in units) and 7 <= same < len(units)
PYTHON
what='home disk, whole again'
cp -a was/.fallsfs/obj/. "$home/obj/"
rm -rf was
"$fsck" -y d0 d1 d2 >/dev/null 2>&1
is "$name" f
is g g
start && cmp -s "m/$name" f && cp g m/more || complain "$what: cannot be mounted"
stop
is more g

# A file system whose server is gone lies over the objects of a disk.
kill_objects() {
    python3 - "$1/.fallsfs/obj" <<'PYTHON'
import ctypes, os, sys
fd = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fd},rootmode=40000,user_id=0,group_id=0"
sys.exit(ctypes.CDLL(None).mount(b"dead", sys.argv[1].encode(), b"fuse", 0, options.encode()) != 0)
PYTHON
}

if [ "$(id -u)" = 0 ]; then
    again
    what='home disk, copies that cannot be read'
    says 0 '*nothing is wrong' -y --copies
    for copy in d2/.fallsfs/obj/*/*.m; do
        mv "$copy" "d1${copy#d2}"
    done
    mv d0 was
    mkdir d0
    kill_objects d1 || complain "$what: no mount"
    says_home 8 d0 d1 d2
    grep -q '^d1 obj: unreadable: .*again when they can' out || complain "$what: $(cat out)"
    umount d1/.fallsfs/obj
    says_home 5 d0 d1 d2
    lost_bytes g
    cp -a was/.fallsfs/obj/. "$home/obj/"
    rm -rf was
    "$fsck" -y d0 d1 d2 >/dev/null 2>&1
    is g g
fi

again
what='home disk, names that collide'
says 0 '*nothing is wrong' -y --copies
copy=$(find d1 d2 -name "$(id_of g).m")
cp "$copy" copy.of.g
mv "$home/ns/g" "$home/ns/elsewhere"
mv "$home/ns/s/h" "$home/ns/g"
id=$(id_of elsewhere)
says 0 '*nothing is wrong' -y --copies
cp copy.of.g "$copy"
printf x >>"$(find d1 d2 -name "$(id_of f).m")" # damaged: as if it were not there
removed=$(id_of s/small)
find d? -name "$removed.0.*" -delete # as if it had been removed, the copy being left by a crash
mv d0 was
mkdir d0
says_home 5 d0 d1 d2
[ -e "$home/ns/g" ] && [ -n "$(find "$home/ns/lost+found" -type f)" ] || complain "$what: $(cat out)"
[ ! -e "$home/ns/f" ] && [ ! -e "$home/ns/s/t/second" ] || complain "$what: a name from a damaged copy"
[ ! -e "$home/ns/s/small" ] || complain "$what: a name for a file that is gone"
cp -a was/.fallsfs/obj/. "$home/obj/"
for file in "$home/ns/g" "$home/ns/lost+found"/*; do
    is "${file#"$home/ns/"}" g
done
rm -rf was

# -- for programs --

again
what=json
printf 'tail' >>"$(subfile f 2)"
rm "$(subfile g 0)"
"$fsck" --json d0 d1 d2 >out
jq -e '.output_version == 1 and (.findings | length) == 2 and .can_be_repaired == 1 and .left == 1 and .exit == 4 and
        (.findings | map(.kind) | sort) == ["long", "missing"] and (.findings[0].file | length) > 0' out >/dev/null ||
    complain 'json: findings'
"$fsck" --json d0 d1 >out 2>/dev/null
jq -e '.error | length > 10' out >/dev/null || complain 'json: error'
"$fsck" --json -y d0 d1 d2 >out
jq -e '.repaired == 1 and .exit == 5' out >/dev/null || complain 'json: repaired'

# -- whatever is there: it ends, and a second run finds nothing more to repair --

for seed in $(seq "${FALLSFS_FSCK_ROUNDS-12}"); do
    again
    what="random damage, seed $seed"
    [ $((seed % 2)) = 0 ] || "$fsck" -y --copies d0 d1 d2 >/dev/null
    python3 - "$seed" <<'PYTHON'
import os, random, sys
rng = random.Random(int(sys.argv[1]))
files = sorted(os.path.join(top, name) for disk in ('d0', 'd1', 'd2') for top, _, names in os.walk(disk) for name in names)
files = [f for f in files if not f.endswith(('/volume', '/lock')) and not os.path.islink(f)]
for _ in range(12):
    f = rng.choice(files)
    what = rng.randrange(6)
    try:
        if what == 0:
            os.truncate(f, rng.randrange(20000))
        elif what == 1:
            os.unlink(f)
        elif what == 2:
            os.rename(f, rng.choice(files) + rng.choice(['', '.x', '.0.1']))
        elif what == 3 and '/ns/' in f:
            record = bytearray(os.getxattr(f, 'user.fallsfs'))
            record[rng.randrange(len(record))] ^= 1 << rng.randrange(8)
            os.setxattr(f, 'user.fallsfs', bytes(record))
        elif what == 4 and '/ns/' in f:
            os.setxattr(f, 'user.fallsfs', os.urandom(rng.choice([1, 255, 256, 257])))
        elif what == 5:
            with open(f, 'r+b') as out:
                out.seek(rng.randrange(1 + os.path.getsize(f)))
                out.write(os.urandom(rng.randrange(300)))
    except OSError:
        pass
PYTHON
    before=$(sum)
    timeout 60 "$fsck" d0 d1 d2 >out 2>&1
    [ $? -le 5 ] || complain "$what: $(cat out)"
    [ "$(sum)" = "$before" ] || complain "$what: fsck -n changed something"
    timeout 60 "$fsck" -y d0 d1 d2 >first 2>&1
    [ $? -le 5 ] || complain "$what: $(cat first)"
    timeout 60 "$fsck" -y d0 d1 d2 >out 2>&1
    case $? in
    0 | 4) ;;
    *) complain "$what: the second run repairs what the first did not:
$(cat first)
-- second
$(cat out)" ;;
    esac
    start || complain "$what: cannot be mounted"
    find m -type f -exec cat {} + >/dev/null 2>&1
    stop
done

finish
