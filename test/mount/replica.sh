#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Files lie in further layouts, which come and go while programs use them: replica.sh FALLSFS FALLSCTL FSCK
# shellcheck disable=SC2317  # functions are called by ok and not
source "$(dirname "$0")/common.sh"

fallsctl=$(realpath "$fallsctl")
fallsfs=$(realpath "$fallsfs")
fsck=$(realpath "$3")
views=$mnt/.falls/views

replica() {
    "$fallsctl" replica "$@"
}

value() {
    getfattr -n "user.falls.$1" --only-values "$2" 2>/dev/null
}

# of FILE NUMBER FIELD: what a replica's JSON has there
of() {
    "$fallsctl" replica list --json "$1" 2>/dev/null | jq -r ".files[].replicas[] | select(.number == $2) | .$3"
}

# is_filled FILE...: all their replicas are
is_filled() {
    [ "$("$fallsctl" replica list --json "$@" 2>/dev/null | jq -c '[.files[].replicas[] | .state] | unique')" = '["filled"]' ]
}

filled() {
    await 120 is_filled "$@" && return
    "$fallsctl" replica list "$@"
    return 1
}

# subfiles [NUMBER]: of replicas, on all disks
subfiles() {
    find "${disks[@]}" -path '*/.fallsfs/obj/*' -name "*.r${1:-[0-9]*}.*" | wc -l
}

# maps: of replicas, on all disks
maps() {
    find "${disks[@]}" -path '*/.fallsfs/obj/*' -name '*.r' | wc -l
}

# formats: of the stamps
formats() {
    sed -n 's/^format = \([0-9]*\);/\1/p' "${disks[@]/%//.fallsfs/volume}" | tr -d '\n'
}

# object FILE NUMBER ELEMENT: the path of a replica's subfile
object() {
    "$fallsctl" map --replicas --json "$1" | jq -r ".files[].replicas[] | select(.replica == $2 and .element == $3) | .object"
}

# put FILE OFFSET BYTES: random ones, to the file and to its twin beside the mount
put() {
    head -c "$3" /dev/urandom >"$work/put"
    dd if="$work/put" of="$1" bs=64K seek="$2" oflag=seek_bytes conv=notrunc status=none &&
        dd if="$work/put" of="$work/twin" bs=64K seek="$2" oflag=seek_bytes conv=notrunc status=none
}

# every FILE: what element 2 of stripe(4K,4) has
every() {
    python3 -c 'import sys; b = open(sys.argv[1], "rb").read(); sys.stdout.buffer.write(b"".join(b[i : i + 4096] for i in range(8192, len(b), 16384)))' "$1"
}

# as_twin FILE: it is its twin, read by itself and by a view, whoever has what the kernel remembers
as_twin() {
    cmp "$1" "$work/twin" && cmp "$views/${1#"$mnt"/}/two" <(every "$work/twin")
}

make_volume 4
start -o 'layout=one on d0'
head -c 9000001 /dev/urandom >"$work/twin"

# -- one is added --
cp "$work/twin" "$mnt/f"
setfattr -n user.falls.view.two -v 'stripe(4K,4) element 2' "$mnt/f"
same 'a file has none' "$(replica list --json "$mnt/f" | jq -c '.files[].replicas')" '[]'
not 'so it has no such attribute' getfattr -n user.falls.replicas "$mnt/f"
same 'nor does the volume know of any' "$(formats)" 2222
blocks=$(stat -c %b "$mnt/f")
ok 'add' replica add -L 'stripe(4K)' --wait "$mnt/f"
same 'it is there' "$(value replicas "$mnt/f" | sed 's/ room=[0-9]* / /')" \
    'replica=1 state=filled percent=100 has=9000001 durable=9000001 bytes=9000001 on_write=drop only=0: layout=stripe(4K) on d0-d3'
same 'no older fallsfs uses the volume' "$(formats)" 3333
same 'its subfiles' "$(subfiles 1) $(maps)" '4 1'
same 'what they take counts' $(($(stat -c %b "$mnt/f") > blocks * 19 / 10)) 1
same 'as much as the disks say' "$(stat -c %b "$mnt/f")" \
    "$(($(find "${disks[@]}" -path '*/obj/*' -name '*.[r0-9]*.*' -exec stat -c %b {} + | paste -sd+)))"
ok 'all is read' as_twin "$mnt/f"
same 'map tells of the file' "$("$fallsctl" map --json "$mnt/f" | jq -c '.files[] | [(.subfiles | length), .replicas]')" '[1,null]'
same 'and of replicas' "$("$fallsctl" map --replicas --raw --noheadings -o REPLICA,ELEMENT,STATE "$mnt/f")" '- 0 present
1 0 present
1 1 present
1 2 present
1 3 present'
ok 'which others see, too' sh -c "chmod 644 '$mnt/f' && setpriv --reuid 1000 --clear-groups '$fallsctl' map --replicas '$mnt/f' | grep -q 'r1\\.3'"
same 'JSON of its layout counts them' "$(value layout.json "$mnt/f" | jq .replicas)" 1

# -- sections are read from it --
# needs: one is added
# Other bytes are put where the replica has them: whoever reads those has read the replica.
object=$(object "$mnt/f" 1 2)
head -c "$(stat -c %s "$object")" /dev/zero | tr '\0' H >"$work/marked"
dd if="$work/marked" of="$object" conv=notrunc status=none
restart -o 'layout=one on d0'
# What is in memory is read there.
find "${disks[@]}" -path "*/obj/*" -name "*.0.*" -exec dd of={} oflag=nocache conv=notrunc,fdatasync count=0 status=none \;
ok 'a view is' sh -c "dd if='$views/f/two' bs=1M status=none | grep -q HHHHHHHH"
ok 'the file is not' cmp "$mnt/f" "$work/twin"
ok 'it goes' replica drop 1 "$mnt/f"
ok 'and the file is what it was' as_twin "$mnt/f"

# -- writes --
# needs: one is added
"$fallsctl" replica drop --all "$mnt/f"
ok 'one that is dropped by writes, one that follows' sh -c "'$fallsctl' replica add -L 'stripe(4K)' '$mnt/f' && '$fallsctl' replica add --on-write update --wait -L 'stripe(100000) on d1-d3' '$mnt/f'"
drops=$("$fallsctl" replica list --json "$mnt/f" | jq '.files[].replicas[] | select(.on_write == "drop") | .number')
follows=$("$fallsctl" replica list --json "$mnt/f" | jq '.files[].replicas[] | select(.on_write == "update") | .number')
ok 'both are filled' filled "$mnt/f"
exec 5<"$mnt/f" # what is known of it in memory stays
ok 'write' put "$mnt/f" 3000000 70000
same 'one lacks that' "$(($(of "$mnt/f" "$drops" has) < 9000001))" 1
same 'the other has it' "$(of "$mnt/f" "$follows" has)" 9000001
ok 'all is read' as_twin "$mnt/f"
ok 'it is filled again' filled "$mnt/f"
ok 'all is read then' as_twin "$mnt/f"
exec 5<&-

# -- all that changes a file --
# needs: writes
ok 'longer' put "$mnt/f" 12000000 300000
ok 'longer: read' as_twin "$mnt/f"
for command in "truncate -s 7000001" "truncate -s 8000000" "fallocate -p -o 1000000 -l 2000000" "truncate -s 8500000"; do
    ok "$command" sh -c "$command '$mnt/f' && $command '$work/twin'"
    ok "$command: read" as_twin "$mnt/f"
done
cat >"$work/mapped.py" <<'END'
import mmap, random, sys
rng = random.Random(5)
maps = []
for path in sys.argv[1:]:
    with open(path, "r+b") as file:
        maps.append(mmap.mmap(file.fileno(), 0))
for _ in range(200):
    at, byte = rng.randrange(len(maps[0])), rng.randrange(256)
    for m in maps:
        m[at] = byte
for m in maps:
    m.flush()
END
ok 'mapped' python3 "$work/mapped.py" "$mnt/f" "$work/twin"
ok 'mapped: read' as_twin "$mnt/f"
mkdir "$mnt/dir"
ok 'rename' mv "$mnt/f" "$mnt/dir/g"
ok 'rename: read' as_twin "$mnt/dir/g"
ok 'filled again' filled "$mnt/dir/g"
ok 'filled again: read' as_twin "$mnt/dir/g"
ok 'back' mv "$mnt/dir/g" "$mnt/f"
ok 'to nothing' sh -c ": >'$mnt/f' && : >'$work/twin'"
ok 'and anew' put "$mnt/f" 0 5000000
ok 'anew: read' as_twin "$mnt/f"
ok 'anew: filled' filled "$mnt/f"
ok 'anew: read then' as_twin "$mnt/f"

# -- another mount --
# needs: all that changes a file
restart
same 'it knows them' "$(replica list --json "$mnt/f" | jq -c '[.files[].replicas[] | .state, .has, .durable]')" \
    '["filled",5000000,5000000,"filled",5000000,5000000]'
ok 'read' as_twin "$mnt/f"
ok 'written' put "$mnt/f" 100000 100000
crash
umount -l "$mnt"
start
cp "$mnt/f" "$work/copy"
same 'what a dead daemon wrote is there' "$(stat -c %s "$work/copy")" 5000000
cp "$work/copy" "$work/twin"
ok 'by views, too' as_twin "$mnt/f"
ok 'filled' filled "$mnt/f"
ok 'by views then' as_twin "$mnt/f"
restart -o ro
ok 'a mount that cannot write reads' as_twin "$mnt/f"
ok 'and tells' replica list "$mnt/f"
refused 'it adds none' 'read-only' replica add -S 64K "$mnt/f"
refused 'and drops none' 'read-only' replica drop --all "$mnt/f"
restart -o 'layout=one on d0'

# -- while it is written --
# needs: another mount
"$fallsctl" replica drop --all "$mnt/f"
cat >"$work/writes.py" <<'END'
import os, random, sys
rng = random.Random(7)
fds = [os.open(path, os.O_RDWR) for path in sys.argv[2:]]
while not os.path.exists(sys.argv[1]):
    at, piece = rng.randrange(4900000), rng.randbytes(rng.randrange(1, 90000))
    for fd in fds:
        os.pwrite(fd, piece, at)
END
python3 "$work/writes.py" "$work/enough" "$mnt/f" "$work/twin" &
writes=$!
for i in 1 2 3; do
    ok "added meanwhile, $i" replica add -L "stripe(${i}000)" --on-write "$([ $i = 2 ] && echo drop || echo update)" "$mnt/f"
done
for number in $("$fallsctl" replica list --json "$mnt/f" | jq '.files[].replicas[].number'); do
    [ $((number % 2)) = 1 ] && ok 'dropped meanwhile' replica drop "$number" "$mnt/f"
done
touch "$work/enough"
ok 'the writer' wait "$writes"
ok 'is read' as_twin "$mnt/f"
ok 'is filled' filled "$mnt/f"
ok 'is read then' as_twin "$mnt/f"

# -- who may, and how many --
cp "$work/twin" "$mnt/mine"
chown 1000 "$mnt/mine"
chmod 666 "$mnt/mine"
ok 'the owner' as 1000 "$fallsctl" replica add -S 64K "$mnt/mine"
refused 'who may write' 'only the owner' as 1001 "$fallsctl" replica add -S 64K "$mnt/mine"
refused 'nor drop' 'only the owner' as 1001 "$fallsctl" replica drop --all "$mnt/mine"
ok 'who may read is told' as 1001 "$fallsctl" replica list "$mnt/mine"
ok 'root' replica add -S 128K --only 1M:2M "$mnt/mine"
ok 'and a third' replica add -S 256K --only 0:4K "$mnt/mine"
refused 'no fourth' 'as many as may be' replica add -S 512K "$mnt/mine"
refused 'with this number' 'Too many users' setfattr -n user.falls.replicas -v 'add one' "$mnt/mine"
second=$("$fallsctl" replica list --json "$mnt/mine" | jq '.files[].replicas[1].number')
ok 'one goes' replica drop "$second" "$mnt/mine"
refused 'once' 'has no replica' replica drop "$second" "$mnt/mine"
ok 'another comes' replica add -S 512K "$mnt/mine"
same 'under a number of its own' "$(replica list --json "$mnt/mine" | jq -c '[.files[].replicas[] | .number > '"$second"']')" '[false,true,true]'
refused 'as the file lies' 'lies so itself' replica add -L 'one on d0' "$mnt/mine"
refused 'no layout' 'column 1' replica add -L 'stripes(1M)' "$mnt/mine"
refused 'no disk' 'd0 to d3' replica add -L 'one on d9' "$mnt/mine"
refused 'a directory' 'no file' replica add -S 64K "$mnt/dir"
refused 'elsewhere' 'no file or directory in a mounted fallsfs' replica add -S 64K "$work/twin"
refused 'no such order' "say 'add'" sh -c "setfattr -n user.falls.replicas -v become '$mnt/mine' || getfattr -n user.falls.lasterror --only-values '$mnt/mine' >&2; exit 1"
refused 'it is not removed' 'Operation not permitted' setfattr -x user.falls.replicas "$mnt/mine"
ok 'of several files' sh -c "'$fallsctl' replica add -S 4K '$mnt/f' '$mnt/nowhere'; [ \$? = 3 ]"

# -- a part of a file --
truncate -s 40M "$mnt/part"
ok 'of what the file has, and may get' replica add -L 'stripe(4K)' --only 39M:4M --wait "$mnt/part"
same 'no more' "$(of "$mnt/part" 1 bytes) $(of "$mnt/part" 1 offset) $(of "$mnt/part" 1 length)" '1048576 40894464 4194304'
same 'holes stay holes' "$(of "$mnt/part" 1 room)" 0
truncate -s 50M "$mnt/part"
same 'it grows with the file' "$(of "$mnt/part" 1 bytes)" 4194304

# -- costs --
# needs: a part of a file
cp "$work/twin" "$mnt/costs"
ok 'add' replica add -L 'stripe(4K)' --wait "$mnt/costs"
"$fallsctl" explain --json --view 'stripe(4K,4)' --element 2 "$mnt/costs" >"$work/explained"
same 'explain says which is read' "$(jq -c '.files[].reads | [.[] | .chosen == .windows], (.[0].seconds > .[1].seconds)' "$work/explained")" '[false,true]
true'
ok 'and says so to people' sh -c "'$fallsctl' explain --view 'stripe(4K,4)' --element 2 '$mnt/costs' | grep -q 'from replica 1: .* chosen'"
printf x >"$mnt/bare"
same 'of a file without it says nothing' "$("$fallsctl" explain --json "$mnt/bare" | jq '.files[].reads | length')" 0

# -- the end of a file --
# needs: who may, and how many
# needs: a part of a file
# needs: costs
same 'there are some' "$(($(subfiles) > 0))" 1
rm "$mnt/f" "$mnt/mine" "$mnt/part" "$mnt/costs"
leftovers() {
    find "${disks[@]}" -path '*/.fallsfs/obj/*' -name '*.r*'
}
same 'nothing of them stays' "$(left_soon)" ''
stop
ok 'fsck' "$fsck" -n "${disks[@]}"

# -- full disks --
# Each disk is a file system of its own, and has less room than what counts as full.
small_volume() {
    local i
    rm -rf "$work"/d[0-9]*
    disks=()
    for i in 0 1; do
        truncate -s 60M "$work/image$i"
        mkfs.ext4 -q -m 0 "$work/image$i"
        disks+=("$work/d$i")
        mkdir "$work/d$i"
        mount -o loop "$work/image$i" "$work/d$i" || die 'cannot mount a file system of its own'
        mkdir "$work/d$i/d"
    done
    disks=("$work/d0/d" "$work/d1/d")
    "$fallsctl" format "${disks[@]}" >"$work/out" 2>&1 || die "format: $(cat "$work/out")"
}

numbers() {
    "$fallsctl" replica list --json "$1" 2>/dev/null | jq -c '[.files[].replicas[].number]'
}

[ -z "$daemon" ] || stop
[ -z "$daemon" ] || stop
small_volume
start -o 'layout=one on d1'
head -c 9000000 /dev/urandom >"$work/twin"
cp "$work/twin" "$mnt/f"
ok 'one that follows' replica add -L 'stripe(1M) on d1' --on-write update "$mnt/f"
ok 'one that does not' replica add -L 'stripe(2M) on d1' --wait "$mnt/f"
ok 'both are filled' filled "$mnt/f"
refused 'a third has no room' 'not enough of it' sh -c "dd if=/dev/zero of='$mnt/large' bs=1M count=20 status=none && '$fallsctl' replica add -L 'stripe(4M) on d1' '$mnt/large'"
same 'nothing goes for that' "$(numbers "$mnt/f")" '[1,2]'
exec 5<"$mnt/f"
ok 'who writes gets the room' dd if=/dev/zero of="$mnt/more" bs=1M count=8 status=none
same 'that the one had which does not follow' "$(numbers "$mnt/f")" '[1]'
exec 5<&-
restart -o 'layout=one on d1'
ok 'who writes on gets the room' dd if=/dev/zero of="$mnt/again" bs=1M count=8 status=none
same 'of files that nobody uses, too' "$(find "${disks[@]}" -name '*.r1.*' | wc -l)" 0
ok 'the file is what it was' cmp "$mnt/f" "$work/twin"
same 'none is listed' "$(numbers "$mnt/f")" '[]'
not 'what is full is full' dd if=/dev/zero of="$mnt/end" bs=1M count=60 status=none
stop
for name in "$work"/d[01]; do
    umount "$name"
done
finish
