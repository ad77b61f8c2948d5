#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Disks that are full, of the volume's files or of somebody else's, and disks that become read-only under a mount: what
# was there stays, what needs them fails, all else goes on. room.sh FALLSFS FALLSCTL FSCK
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
source "$(dirname "$0")/common.sh"
fsck=$3

blocks=$(dirname "$0")/blocks.py
head -c 49152 /dev/urandom >"$work/src"
head -c 49152 /dev/urandom >"$work/other"

# A letter for each 4 KiB of $work/src as $mnt/f has them.
look() {
    timeout 30 python3 "$blocks" "$mnt/${1:-f}" "${2:-$work/src}"
}

# -- full disks --

# full_volume SIZE...: disks on file systems of so many MiB, made with $mkfs_options
mkfs_options=()
full_volume() {
    local i=0 size
    for path in "$work"/d[0-9]*; do
        umount "$path" 2>/dev/null
    done
    rm -rf "$work"/d[0-9]*
    disks=()
    for size in "$@"; do
        rm -f "$work/image$i"
        truncate -s "${size}M" "$work/image$i"
        mkfs.ext4 -q -m 0 "${mkfs_options[@]}" "$work/image$i"
        mkdir "$work/d$i"
        mount -o loop,errors=remount-ro "$work/image$i" "$work/d$i" || die 'cannot mount a file system of its own'
        disks+=("$work/d$i")
        i=$((i + 1))
    done
    "$fallsctl" format "${disks[@]}" >"$work/out" 2>&1 || die "format: $(cat "$work/out")"
}

# Leaves no block of disk $1 free.
stuff() {
    dd if=/dev/zero of="$work/d$1/theirs" bs=1M 2>/dev/null
    while printf x >"$work/d$1/theirs$RANDOM$RANDOM"; do :; done 2>/dev/null
    sync -f "$work/d$1"
}

cat >"$work/fill.py" <<'EOT'
"""Fills the mount, then checks that exactly what was written is there; removes; does it again."""
import errno, os, random, sys, time
os.chdir(sys.argv[1])
rng = random.Random(int(sys.argv[2]))

def fill(name, sync):
    model = bytearray()
    fd = os.open(name, os.O_RDWR | os.O_CREAT, 0o644)
    while True:
        data = rng.randbytes(rng.choice([100, 5000, 70000, 1 << 20]))
        try:
            n = os.write(fd, data)
        except OSError as e:
            assert e.errno == errno.ENOSPC, e
            break
        model += data[:n]
        if sync:
            try:
                os.fsync(fd)
            except OSError as e:
                assert e.errno == errno.ENOSPC, e
    return fd, model

def check(fd, model, what):
    size = os.fstat(fd).st_size
    assert size == len(model), f"{what}: size {size}, written {len(model)}"
    got = os.pread(fd, size + 1, 0)
    while len(got) < size:
        more = os.pread(fd, size, len(got))
        assert more, f"{what}: ends at {len(got)}"
        got += more
    if got != model:
        at = next(i for i in range(size) if got[i] != model[i])
        raise AssertionError(f"{what}: differs at {at}")

least, is_even = int(sys.argv[3]), sys.argv[4:] == ["even"]
for turn in range(2):
    free = os.statvfs(".").f_bavail * os.statvfs(".").f_frsize
    fd, model = fill("big", turn == 1)
    assert len(model) > least, f"full with {len(model)} bytes"
    assert len(model) > free * 0.8, f"df promised {free}, there was room for {len(model)}"
    left = os.statvfs(".").f_bavail * os.statvfs(".").f_frsize if is_even else 0
    assert left < 2 << 20, f"full, and df says {left} are free"
    check(fd, model, "full")
    try:
        os.pwrite(fd, b"x" * 2000000, len(model) + 5000)
    except OSError as e:
        assert e.errno == errno.ENOSPC, e
    else:
        model = bytearray(os.pread(fd, 1 << 30, 0)) if os.fstat(fd).st_size < 1 << 30 else model
    size = os.fstat(fd).st_size
    os.ftruncate(fd, size + 3000000)
    tail = os.pread(fd, 3000000, size)
    assert not any(tail), f"old bytes behind the end, at {size + next(i for i in range(len(tail)) if tail[i])}"
    os.ftruncate(fd, len(model) - 12345)
    del model[-12345:]
    check(fd, model, "cut")
    os.pwrite(fd, b"over", 1000)
    model[1000:1004] = b"over"
    check(fd, model, "written over")
    os.close(fd)
    names = 0
    try:
        while names < 5000:
            os.close(os.open(f"n{names}", os.O_CREAT | os.O_WRONLY))
            names += 1
    except OSError as e:
        assert e.errno == errno.ENOSPC, e
    for i in range(names):
        os.unlink(f"n{i}")
    fd = os.open("big", os.O_RDWR)
    check(fd, model, "later")
    os.close(fd)
    os.unlink("big")
    for _ in range(200): # the last close may reach the daemon after the unlink
        got = os.statvfs(".").f_bavail * os.statvfs(".").f_frsize
        if got > free * 0.95:
            break
        time.sleep(0.05)
    assert got > free * 0.95, f"free before {free}, after removing {got}"
EOT
for layout in 'stripe(64K)' 'stripe(1000,3)' one 'stripe(1M)'; do
    full_volume 16 16 16
    start -o "layout=$layout"
    least=$([ "$layout" = one ] && echo 8000000 || echo 20000000)
    ok "full, $layout" timeout 120 python3 "$work/fill.py" "$mnt" 1 "$least" "$([ "$layout" = one ] || echo even)"
    stop
done
full_volume 32 16 32
start -o 'layout=stripe(64K)'
avail() {
    stat -f -c '%a * %S / 1048576' "$1" | bc
}
mkdir "$mnt/small"
setfattr -n user.falls.layout -v 'one on d1' "$mnt/small" || fail 'a directory takes a layout'
ok 'what a file there can take is what its disk has' [ "$(avail "$mnt/small")" -lt 16 ]
ok 'elsewhere it is what all have' [ "$(avail "$mnt")" -gt 30 ]
rmdir "$mnt/small"
ok 'one of three is full' timeout 120 python3 "$work/fill.py" "$mnt" 2 20000000
dd if=/dev/zero of="$mnt/rest" bs=1M 2>/dev/null
ok 'what is there can be read when all is full' cmp -n "$(stat -c %s "$mnt/rest")" "$mnt/rest" /dev/zero
stop
start
ok 'a full volume mounts, and files can be removed' rm "$mnt/rest"
ok 'and written' cp "$work/src" "$mnt/f"
same 'the file' "$(look)" oooooooooooo
stop

# A full disk is nothing to files on others, also with a layout that nobody had before.
full_volume 32 16 32
dd if=/dev/zero of="$work/d1/theirs" bs=64K 2>/dev/null
start
ok 'a new layout beside a full disk' "$fallsctl" create -L 'stripe(12K) on d0,d2' "$mnt/beside"
ok 'holds bytes' cp "$work/src" "$mnt/beside"
stop

# Files start on any disk: what is promised must hold wherever this one does.
full_volume 32 16 48
for layout in one 'stripe(64K,2)' 'var(1M,2M,3M)'; do
    start -o "layout=$layout"
    for ((i = 0; i < 6; i++)); do
        promised=$(stat -f -c '%a * %S' "$mnt" | bc)
        dd if=/dev/zero of="$mnt/f" bs=64K 2>/dev/null
        ok "one file of $layout takes what df says" [ "$(stat -c %s "$mnt/f")" -ge $((promised * 9 / 10)) ]
        rm "$mnt/f"
    done
    stop
done

# -- disks of uneven sizes --

# fill.py's little sister: files of 2 MiB, until three that were made one after the other have no room.
cat >"$work/many.py" <<'EOT'
"""Makes files in DIRECTORY until it is full; prints how many MiB they have. Nothing but ENOSPC may fail."""
import errno, os, sys
os.chdir(sys.argv[1])
piece, total, refused, n = b"x" * (1 << 20), 0, 0, 0
while refused < 3:
    try:
        fd = os.open(f"f{n}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        n += 1
        try:
            for _ in range(2):
                total += os.write(fd, piece)
            refused = 0
        finally:
            os.close(fd)
    except OSError as e:
        assert e.errno == errno.ENOSPC, e
        refused += 1
print(total >> 20)
EOT

layout_of() {
    getfattr --absolute-names -n user.falls.layout --only-values "$1"
}

# The disks that files in a directory lie on, each once, in the order of the paths.
first_disks() {
    local file
    for file in "$@"; do
        getfattr -n user.falls.at.0 --only-values "$file" 2>/dev/null | grep -o 'disk=d[0-9]*'
    done | sort | uniq -c | sort -k2 | awk '{ printf "%s%s:%s", sep, $2, $1; sep = " " }' | sed 's/disk=//g'
}

disk_free() {
    avail "$work/d$1"
}

full_volume 64 160 256
start -o 'layout=stripe(512K)'
mkdir "$mnt/old"
whole=$(($(disk_free 0) + $(disk_free 1) + $(disk_free 2)))
ok 'before, df says what the smallest allows' [ "$(avail "$mnt")" -lt $((3 * 64)) ]
used=$(timeout 120 python3 "$work/many.py" "$mnt/old") || fail 'disks of uneven sizes are filled'
ok "of $whole MiB on disks of uneven sizes nearly all are used: $used" [ "$used" -ge $((whole * 9 / 10)) ]
ok 'the volume is full' [ "$(avail "$mnt")" -lt 12 ]
same 'a layout that was made with room' "$(layout_of "$mnt/old/f0")" \
    'stripe(512K) on d0-d2'
ok 'and one that was made later' sh -c "getfattr -R -n user.falls.layout --only-values '$mnt/old' 2>/dev/null | grep -q 'stripe(512K) on d1-d2\|stripe(512K) on d2'"
truncate -s 224M "$work/image3"
mkfs.ext4 -q -m 0 "$work/image3"
mkdir "$work/d3"
mount -o loop,errors=remount-ro "$work/image3" "$work/d3" || die 'cannot mount a file system of its own'
ok 'an empty disk joins a full volume' "$fallsctl" disk add "$mnt" "$work/d3"
disks+=("$work/d3")
ok 'df says at once what it has' [ "$(avail "$mnt")" -ge 190 ]
ok 'a file goes there' sh -c "head -c 100M /dev/zero >'$mnt/new'"
same 'alone' "$(layout_of "$mnt/new")" 'stripe(512K) on d3'
ok 'a list that is typed is kept' "$fallsctl" create -L 'stripe(512K) on d0,d3' "$mnt/typed"
same 'to the letter' "$(layout_of "$mnt/typed")" 'stripe(512K) on d0,d3'
same 'status names the full disks' "$("$fallsctl" status --json "$mnt" | jq -c '.volumes[0].left_out')" '["d0","d1","d2"]'
ok 'and what helps' sh -c "'$fallsctl' status '$mnt' | grep '^note: d0, d1 and d2 are nearly full' | grep -q 'fallsctl disk add'"
ok 'a file is spread anew' "$fallsctl" migrate --restripe --wait "$mnt/old/f0"
same 'to the disk with room' "$(layout_of "$mnt/old/f0")" 'stripe(512K) on d3'
ok 'balance' "$fallsctl" disk balance "$mnt"
restart -o 'layout=stripe(512K)'
ok 'all of it can be read' bash -c "cat '$mnt'/old/* | cmp -n 104857600 - <(tr '\0' x </dev/zero)"
rm -r "$mnt/old" "$mnt/new"
sync -f "$work/d0"
none_is_left_out() {
    [ "$("$fallsctl" status --json "$mnt" | jq -c '.volumes[0].left_out')" = '[]' ]
}
await 10 none_is_left_out
: >"$mnt/again"
same 'disks that have room again are taken again' "$(layout_of "$mnt/again")" \
    'stripe(512K) on d0-d3'
stop

# Files of one piece never go to a full disk while another has room, also where the list was typed.
full_volume 32 64 64
dd if=/dev/zero of="$work/d1/theirs" bs=1M 2>/dev/null
start -o 'layout=one'
mkdir "$mnt/typed"
setfattr -n user.falls.layout -v 'one on d0,d1,d2' "$mnt/typed" || fail 'a directory takes a layout'
for ((i = 0; i < 30; i++)); do
    for file in "$mnt/f$i" "$mnt/typed/f$i"; do
        head -c 100000 /dev/zero >"$file" || fail 'a file of one piece'
    done
done
ok "none starts on a full disk: $(first_disks "$mnt"/f* "$mnt"/typed/f*)" \
    sh -c "case '$(first_disks "$mnt"/f* "$mnt"/typed/f*)' in *d1*) exit 1 ;; *d0:*d2:*) ;; *) exit 1 ;; esac"
stuff 0
refused=0
for ((i = 0; i < 40; i++)); do
    setfattr -n user.falls.layout -v "stripe($((4096 + 64 * i))) on d0" "$mnt/typed" 2>/dev/null || refused=$((refused + 1))
done
ok 'a home disk that is full takes no more texts of layouts' [ "$refused" -gt 0 ]
same 'what found no room leaves nothing' "$(find "$work/d0/.fallsfs/layout" -name '*.new')" ''
rm "$work"/d0/theirs*
"$fallsctl" create -L 'one on d1' "$mnt/bound" || fail 'a list that is typed is kept, full or not'
refused 'who is bound to it has no room' 'No space left' dd if=/dev/zero of="$mnt/bound" bs=1M count=1
ok 'and learns which disk that is' sh -c "getfattr --absolute-names --only-values -n user.falls.lasterror '$mnt/bound' | grep 'd1 .*is full'"
ok 'so does the log' grep "$mnt/bound: d1 .*is full" "$log"
restart -o 'layout=one,reserve=0'
same 'with no reserve no disk is left out' "$(: >"$mnt/any" && layout_of "$mnt/any")" \
    'one on d0-d2'
stop

# -- the home disk is full of what is not ours --

cat >"$work/crammed.py" <<'EOT'
"""What must work on files that are there, however full the home disk is."""
import errno, os, sys
os.chdir(sys.argv[1])

def read(name):
    with open(name, "rb") as f:
        return f.read()

for i in range(1000): # what a directory has room for
    try:
        os.mkdir(f"dir{i}")
    except OSError as e:
        assert e.errno == errno.ENOSPC, e
        break
else:
    raise AssertionError("the disk is not full")
fd = os.open("a", os.O_RDWR)
os.pwrite(fd, b"A" * 100000, 0)
os.fsync(fd)
os.ftruncate(fd, 50000)
os.fsync(fd)
os.close(fd)
assert read("a") == b"A" * 50000
os.rename("a", "b")
assert not os.path.exists("a") and read("b") == b"A" * 50000
os.rename("b", "a")
os.unlink("c")
os.chmod("d", 0o600)
os.utime("d", (1, 1))
os.truncate("d", 0)
assert os.stat("d").st_size == 0
os.unlink("d")
for i in range(1500):
    os.unlink(f"many/{i}")
os.rmdir("many")
EOT
full_volume 16 32
start -o 'layout=one on d1'
for name in a b c d; do
    head -c 100000 "$work/src" >"$mnt/$name"
done
mkdir "$mnt/many"
for ((i = 0; i < 1500; i++)); do
    echo "$i" >"$mnt/many/$i"
done
restart -o 'layout=one on d1'
stuff 0
ok 'a full home disk' timeout 60 python3 "$work/crammed.py" "$mnt"
stuff 0
ok 'status says so' sh -c "'$fallsctl' status '$mnt' | grep -q 'action: disk d0 is full'"
restart -o 'layout=one on d1'
same 'a volume mounts with a full home disk' "$(stat -c %s "$mnt/a")" 50000
crash
stuff 0
start -o 'layout=one on d1'
same 'and after a crash' "$(stat -c %s "$mnt/a")" 50000
rm -f "$work"/d0/theirs*
ok 'with room all works again' sh -c "mkdir '$mnt/dir' && cp '$work/src' '$mnt/dir/f'"
same 'what was written then' "$(look dir/f)" oooooooooooo
stop

# -- texts of layouts, when the home disk is full --

mkfs_options=(-I 512)
full_volume 32 32 32
mkfs_options=()
start -o 'layout=stripe(64K)'
mkdir "$mnt/dir"
stuff 0
ok 'a directory takes a layout that nobody had, for the other disks' setfattr -n user.falls.layout -v 'stripe(33K)' "$mnt/dir"
not 'but not one for the home disk' setfattr -n user.falls.layout -v 'stripe(34K) on d0,d1' "$mnt/dir"
: >"$mnt/dir/f" || fail 'a file is made by it'
same 'so a file there has it' "$(layout_of "$mnt/dir/f")" 'stripe(33K) on d1-d2'
cp "$work/src" "$mnt/dir/f"
crash
start
same 'and can be read after a crash, with the text where its bytes are' "$(look dir/f)" oooooooooooo
rm "$work"/d0/theirs*
stop
"$fsck" -y "${disks[@]}" >"$work/fsck" 2>&1
ok 'fsck brings the text to the home disk' grep -q "layout's text is missing here: is written anew" "$work/fsck"

# -- no room for names --

reason() {
    getfattr --absolute-names --only-values -n user.falls.lasterror "$1" 2>/dev/null
}

inodes_free() {
    stat -f -c %d "$mnt"
}

full_volume 32 32
start -o allow_other
ok 'with room there are names' [ "$(inodes_free)" -gt 100 ]
setfattr -n user.long -v "$(head -c 900 /dev/zero | tr '\0' x)" "$mnt"
refused 'a file has so much room for attributes' 'No space left' setfattr -n user.more -v "$(head -c 300 /dev/zero | tr '\0' x)" "$mnt"
ok 'that is not the disk' grep -q '^d0 .* no room for more attributes' <(reason "$mnt")
refused 'nor is it with layouts' 'Argument list too long' setfattr -n user.falls.layout \
    -v "stripe(64K) # $(head -c 400 /dev/zero | tr '\0' x)" "$mnt"
stuff 0
same 'where the home disk has no block, df promises nothing' "$(avail "$mnt") $(inodes_free)" '0 0'
"$fallsctl" status "$mnt" >"$work/status"
ok 'status says what that means' grep -q '^action: disk d0 is full: .* home disk: no name can be made' "$work/status"
ok 'and that one more disk is of no use' grep -q "'fallsctl disk add' does not help" "$work/status"
not 'nor is it proposed' grep -q 'brings room' "$work/status"
not 'nor to ordinary users' grep -q 'brings room' <(as 1000 "$fallsctl" status "$mnt")
stop
mkfs_options=(-N 600)
full_volume 32 32
mkfs_options=()
start
for ((i = 0; i < 700; i++)); do
    mkdir "$mnt/dir$i" 2>/dev/null || break
done
refused 'a home disk without inodes' 'No space left' mkdir "$mnt/one_more"
ok 'is not full: it has no inode' grep -q '^d0 .* has no free inode' <(reason "$mnt")
same 'df promises nothing' "$(avail "$mnt") $(inodes_free)" '0 0'
"$fallsctl" status "$mnt" >"$work/status"
ok 'nor does status' grep -q '^one new file can take 0 ' "$work/status"
ok 'which says why' grep -q '^action: disk d0 has no free inode: .*does not help' "$work/status"
same 'and the state' "$("$fallsctl" status --json "$mnt" | jq -c '[.volumes[0].disks[].state]')" '["no-inodes","online"]'
rmdir "$mnt/dir0" "$mnt/dir1"
ok 'with one that is free there is room' [ "$(avail "$mnt")" -gt 10 ]
stop
mkfs_options=(-N 600)
full_volume 32 32 32
mkfs_options=()
start -o 'layout=stripe(64K)'
for ((i = 0; i < 700; i++)); do
    : 2>/dev/null >"$work/d1/theirs$i" || break
done
sleep 1.2
ok 'a disk without inodes has none of a new file' cp "$work/src" "$mnt/f"
same 'which lies on the others' "$(layout_of "$mnt/f")" 'stripe(64K) on d0,d2'
ok 'there is room for it' [ "$(avail "$mnt")" -gt 30 ]
refused 'who names it is told why not' "d1 ($work/d1) has no free inode" "$fallsctl" create -L 'one on d1' "$mnt/bound"
stop

# -- a disk becomes read-only: others take its place --

# What the mount itself says of a disk.
state_of() {
    getfattr --absolute-names -n user.falls.disks --only-values "$mnt" | awk -v disk="$1" '$1 == disk { print $2 }'
}

await_state() {
    has_state() {
        [ "$(state_of "$1")" = "$2" ]
    }
    await 5 has_state "$@" && return
    state_of "$1"
    return 1
}

errors_of() {
    "$fallsctl" status --json "$mnt" | jq ".volumes[0].disks[$1].errors"
}

full_volume 48 48 48
start -o 'layout=stripe(64K),allow_other'
"$fallsctl" create -L 'one on d1' "$mnt/bound"
"$fallsctl" create -L 'stripe(64K) on d1,d2' "$mnt/moves"
mkdir "$mnt/dir"
cp "$work/src" "$mnt/bound"
cp "$work/src" "$mnt/moves"
sync "$mnt"/*
before=$(avail "$mnt")
if ! mount -o remount,abort "$work/d1" 2>/dev/null; then
    echo 'skipped: this kernel aborts no file system'
    finish
fi
ok 'a disk that nobody may write to is found out, unasked' await_state d1 read-only
ok 'the log says so' log_says "d1 \\($work/d1\\) is read-only: new files go to other disks"
same 'no request has failed for it' "$(errors_of 1)" 0
ok 'a new file' cp "$work/src" "$mnt/new"
same 'leaves it out' "$(layout_of "$mnt/new") $(look new)" 'stripe(64K) on d0,d2 oooooooooooo'
ok "df promises $(avail "$mnt") MiB, not $before" [ "$(avail "$mnt")" -le $((before * 2 / 3 + 1)) ]
ok 'the volume is smaller by what was free' [ "$(stat -f -c '%b * %S / 1048576' "$mnt" | bc)" -lt 90 ]
ok 'a layout that nobody had' setfattr -n user.falls.layout -v 'stripe(36K)' "$mnt/dir"
refused 'a file that lies there' 'Read-only file system' dd if="$work/other" of="$mnt/bound" bs=4096 count=1 conv=notrunc
ok 'is told which disk that is' grep -q '^d1 .* is read-only, and subfile 0' <(reason "$mnt/bound")
refused 'a list that is typed' 'Read-only file system' setfattr -n user.falls.layout -v 'stripe(40K) on d1' "$mnt/dir"
ok 'names it as well' grep -q '^d1 .* is read-only' <(reason "$mnt/dir")
as 1000 "$fallsctl" status "$mnt" >"$work/status"
same 'there is something to do, also for ordinary users' "$?" 3
ok 'whose status names the disk' grep -qE '^d1 .* read-only ' "$work/status"
ok 'and what to do' grep -q '^action: disk d1 is read-only: dmesg' "$work/status"
not 'nor is it called full' grep -q 'nearly full' "$work/status"
ok 'what lies there is moved, and that ends' timeout 20 "$fallsctl" migrate --restripe --wait "$mnt/moves"
same 'all of it' "$(layout_of "$mnt/moves") $(look moves)" 'stripe(64K) on d0,d2 oooooooooooo'
same 'with a word of what stays behind' "$("$fallsctl" jobs --json "$mnt" | jq -r '.jobs[-1] | "\(.state) \(.error)"')" \
    'done Read-only file system'
errors=$(errors_of 1)
sleep 1.5
same 'nobody goes on trying' "$(errors_of 1)" "$errors"
refused 'it cannot leave the volume' "d1 ($work/d1) is read-only, and is to note" "$fallsctl" disk drain "$mnt" d1
refused 'nothing moves there' 'is read-only' "$fallsctl" migrate -L 'one on d1' --wait "$mnt/new"
mount -o remount,abort "$work/d0"
ok 'the home disk is found out as well' await_state d0 read-only
ok 'the log says what that means' log_says 'd0 .* is read-only: it is the home disk'
refused 'no name can be made' 'Read-only file system' mkdir "$mnt/name"
ok 'it is said why' grep -q '^the home disk d0 .* is read-only' <(reason "$mnt")
same 'there is no room for names' "$(avail "$mnt") $(inodes_free)" '0 0'
umount "$mnt"
reap "$daemon"
daemon=

# -- a disk becomes read-only: what lies there --

# Its file system finds an error, as it would when the disk fails.
break_disk() {
    echo 'a test' >"/sys/fs/ext4/$(basename "$(findmnt -no SOURCE "$work/d$1")")/trigger_fs_error"
}

full_volume 16 16
start -o 'layout=one on d0'
cp "$work/src" "$mnt/f0"
restart -o 'layout=one on d1'
cp "$work/src" "$mnt/f1"
cp "$work/src" "$mnt/cut"
sync "$mnt"/* "$mnt"
not 'a disk in use cannot be made read-only by hand' mount -o remount,ro "$work/d1"
if ! break_disk 1 2>/dev/null; then
    echo 'skipped: this kernel lets nobody break a file system'
    finish
fi
same 'what is on a read-only disk can be read' "$(look f1)" oooooooooooo
exec 3<>"$mnt/f1"
not 'but not written' dd if="$work/other" of="$mnt/f1" bs=4096 count=1 conv=notrunc
not 'nor synced' dd if="$work/other" of="$mnt/f1" bs=4096 count=1 conv=notrunc,fsync
not 'nor anything new be made there' sh -c "echo x >'$mnt/new'"
not 'nor cut' truncate -s 4096 "$mnt/cut"
exec 3>&-
same 'and it stays as it was' "$(look f1) $(stat -c %s "$mnt/f1")" 'oooooooooooo 49152'
ok 'what is to be cut can be read' cmp -n 4096 "$mnt/cut" "$work/src"
ok 'files on other disks are written' dd if="$work/other" of="$mnt/f0" bs=49152 count=1 conv=notrunc,fsync
same 'and read' "$(look f0 "$work/other")" oooooooooooo
ok 'names change' sh -c "mkdir '$mnt/dir' && mv '$mnt/f0' '$mnt/dir/f0'"
same 'status says so' "$("$fallsctl" status --json "$mnt" | jq -c '[.volumes[0].disks[].state]')" '["online","read-only"]'
ok 'and what to do' sh -c "'$fallsctl' status '$mnt' | grep -q 'action: disk d1 is read-only: dmesg'"
rm "$mnt/new"
umount "$mnt"
reap "$daemon"
daemon=
umount "$work/d1"
e2fsck -fy "$work/image1" >/dev/null 2>&1
mount -o loop,errors=remount-ro "$work/image1" "$work/d1"
start -o 'layout=one on d1'
same 'once it is mounted again, all is there' "$(look f1) $(look dir/f0 "$work/other")" 'oooooooooooo oooooooooooo'
ok 'and cut or not' cmp -n 4096 "$mnt/cut" "$work/src"
ok 'what was cut does not come back' sh -c "[ \$(stat -c %s '$mnt/cut') = 49152 ] || { truncate -s 20000 '$mnt/cut' && cmp -n 15904 -i 4096:0 '$mnt/cut' /dev/zero; }"
ok 'and can be written' dd if="$work/other" of="$mnt/f1" bs=49152 count=1 conv=notrunc,fsync
same 'as was written' "$(look f1 "$work/other")" oooooooooooo
break_disk 0
same 'with the home disk read-only, files are read' "$(look f1 "$work/other") $(look dir/f0 "$work/other")" \
    'oooooooooooo oooooooooooo'
same 'and names' "$(cd "$mnt" && echo *)" 'cut dir f1'
not 'nothing is made' mkdir "$mnt/new"
not 'nothing is removed' rm "$mnt/f1"
same 'all is still there' "$(look f1 "$work/other")" oooooooooooo
umount "$mnt"
reap "$daemon"
daemon=
finish
