#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Disks that are missing, foreign, stale or damaged: what is lost is an error, never zeros or other bytes, and what
# is not lost can be read. damage.sh FALLSFS FALLSCTL
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
source "$(dirname "$0")/common.sh"

blocks=$(dirname "$0")/blocks.py
head -c 49152 /dev/urandom >"$work/src"
head -c 49152 /dev/urandom >"$work/other"

# A letter for each 4 KiB of $work/src as $mnt/f has them; E for any error that is one.
look() {
    timeout 30 python3 "$blocks" "$mnt/${1:-f}" "${2:-$work/src}" | sed '/open/!s/U/E/g'
}

# The subfile of a file: its element, the file's number in the order of creation from 1
subfile() {
    find "$work"/d*/.fallsfs/obj -type f -name "*.$1" -printf '%T@ %p\n' | sort -n | sed -n "$2s/^[^ ]* //p"
}

# 3 disks with a file f in 12 blocks, dealt in turn, and others; unmounted, and a copy of all kept
prepare() {
    make_volume 3
    start -o 'layout=stripe(4K,3)'
    cp "$work/src" "$mnt/f"
    sleep 0.02
    cp "$work/other" "$mnt/g"
    echo small >"$mnt/small"
    mkdir "$mnt/dir"
    ln -s f "$mnt/link"
    stop
    rm -rf "$work/kept"
    mkdir "$work/kept"
    cp -a "$work"/d[0-9]* "$work/kept"
}

# As prepare left it.
again() {
    rm -rf "$work"/d[0-9]*
    cp -a "$work/kept"/* "$work"
    disks=("$work/d0" "$work/d1" "$work/d2")
}

# refused WHAT PATTERN [options]: it does not mount and says why
refused() {
    local what=$1 pattern=$2
    shift 2
    if try_start "$@"; then
        fail "$what: mounted"
        stop
    else
        ok "$what: says why" grep -qiE "$pattern" "$log"
    fi
}

prepare

# -- which disks --

start
same 'undamaged' "$(look)" oooooooooooo
stop

for i in 0 1 2; do
    again
    unset "disks[$i]"
    refused "without d$i" missing
done
again
disks=("$work/d0" "$work/d2")
start -o ro,degraded
# Files begin on all disks in turn.
case $(find "$work/d1/.fallsfs/obj" -type f -name '*.0.[0-2]' -printf '%T@ %p\n' | sort -n | head -1) in
*.0) want=EooEooEooEoo ;;
*.1) want=oEooEooEooEo ;;
*) want=ooEooEooEooE ;;
esac
same 'without d1, degraded' "$(look)" "$want"
same 'names are all there' "$(ls "$mnt")" "$(printf '%s\n' dir f g link small)"
not 'nothing can be written' touch "$mnt/new"
not 'nor removed' rm "$mnt/small"
stop
disks=("$work/d1" "$work/d2")
refused 'without the home disk, degraded' 'home disk' -o ro,degraded
again
rm -rf "$work/d1"
mkdir "$work/d1"
refused 'd1 is empty' 'no .fallsfs|not a disk'
same 'nothing was made there' "$(ls -A "$work/d1")" ''
again
mkdir "$work/foreign"
"$fallsctl" format "$work/foreign" >/dev/null
disks[1]=$work/foreign
refused 'd1 is of another volume' 'volume'
disks=("$work/d0" "$work/d1" "$work/d2" "$work/foreign")
refused 'a foreign disk more' 'volume'
again
disks[1]=$work/d0
refused 'd0 twice' 'twice'
disks=("$work/d0" "$work/d1" "$work/d2" "$work/d2")
refused 'd2 twice' 'twice'
again
cp -a "$work/d2" "$work/copy"
disks=("$work/d0" "$work/copy" "$work/d2")
refused 'a copy beside its original' 'same disk|copies'
rm -rf "$work/copy"

for i in 0 1 2; do
    again
    cp -a "$work/d$i" "$work/old"
    start
    echo newer >"$mnt/new"
    stop
    rm -rf "$work/d$i"
    mv "$work/old" "$work/d$i"
    refused "d$i is a copy from before" 'old copy'
done
again
start
same 'all disks from before are fine' "$(look)" oooooooooooo
stop

for order in '0 2 1' '1 0 2' '1 2 0' '2 0 1' '2 1 0'; do
    disks=()
    for i in $order; do
        disks+=("$work/d$i")
    done
    start
    same "order $order" "$(look) $(cat "$mnt/small")" 'oooooooooooo small'
    stop
done

again
mkdir "$work/ro"
mount --bind "$work/d1" "$work/ro"
mount -o remount,bind,ro "$work/ro"
disks[1]=$work/ro
refused 'd1 is read-only' 'read-only'
start -o ro
same 'd1 is read-only, and so is the mount' "$(look)" oooooooooooo
not 'nothing can be written' sh -c "echo x >'$mnt/new'"
stop
umount "$work/ro"

# -- two at once, none at the end --

again
start
mkdir "$work/mnt2"
not 'a second daemon' timeout 20 "$fallsfs" -f "${disks[@]}" "$work/mnt2"
not 'a second daemon that only reads' timeout 20 "$fallsfs" -f -o ro "${disks[@]}" "$work/mnt2"
not 'format while it is mounted' "$fallsctl" format "${disks[@]}"
not 'format of one of them' "$fallsctl" format "${disks[1]}"
same 'the first does not mind' "$(look)" oooooooooooo
head -c 5000 "$work/src" >"$mnt/new"
crash
start
same 'after kill -9' "$(look) $(look new)" 'oooooooooooo ox----------'
stop
not 'format of disks in use' "$fallsctl" format "${disks[@]}"
for ((n = 0; n < 5; n++)); do
    pids=()
    for place in "$mnt" "$work/mnt2"; do
        "$fallsfs" -f "${disks[@]}" "$place" 2>>"$log" &
        pids+=($!)
    done
    for ((i = 0; i < 500; i++)); do
        alive=0
        for pid in "${pids[@]}"; do
            kill -0 "$pid" 2>/dev/null && alive=$((alive + 1))
        done
        [ "$alive" = 2 ] || break
        sleep 0.02
    done
    [ "$alive" = 2 ] && fail 'two daemons live side by side'
    sleep 0.05
    for place in "$mnt" "$work/mnt2"; do
        is_mounted "$place" && umount "$place"
    done
    for pid in "${pids[@]}"; do
        reap "$pid"
    done
done
start
same 'after a race of daemons' "$(look)" oooooooooooo
stop

# -- lost and damaged subfiles --

# lost WHAT WANT COMMAND...: with the command run on subfile 1 of f, the blocks of f are as wanted; those of the other
# file are right; and so it stays after other blocks are written, synced, remounted
lost() {
    local what=$1 want=$2
    shift 2
    again
    "$@" "$(subfile 1 1)"
    start
    same "$what" "$(look)" "$want"
    same "$what: the other file is as it was" "$(look g "$work/other")" oooooooooooo
    ok "$what: the file can be seen" stat "$mnt/f"
    same "$what: and has its size" "$(stat -c %s "$mnt/f")" 49152
    ok "$what: other blocks can be written" dd if="$work/src" of="$mnt/f" bs=4096 count=1 conv=notrunc,fsync
    stop
    start
    same "$what: after a remount" "$(look)" "$want"
    crash
    start
    same "$what: after a crash" "$(look)" "$want"
    not "$what: cp fails" cp "$mnt/f" "$work/copy.of.f"
    ok "$what: it can be removed" rm "$mnt/f"
    stop
}

lost 'subfile 1 is gone' oEooEooEooEo rm
lost 'subfile 1 is empty' oEooEooEooEo truncate -s 0
lost 'subfile 1 has lost its last block' oooooooooo"E"o truncate -s 12288
lost 'subfile 1 has lost its last byte' oooooooooo"E"o truncate -s 16383
lost 'subfile 1 has lost all but a byte' oEooEooEooEo truncate -s 1

# What was lost and is written behind does not come back as zeros.
again
rm "$(subfile 1 1)"
start
dd if="$work/src" of="$mnt/f" bs=4096 skip=7 seek=7 count=1 conv=notrunc,fsync 2>/dev/null
same 'a block written behind lost ones' "$(look | sed 's/^\(.......\)[oE]/\1?/')" 'oEooEoo?ooEo'
stop
start
same 'the same after a remount' "$(look | sed 's/^\(.......\)[oE]/\1?/')" 'oEooEoo?ooEo'
stop
again
truncate -s 4096 "$(subfile 1 1)"
start
dd if="$work/src" of="$mnt/f" bs=4096 skip=10 seek=10 count=1 conv=notrunc,fsync 2>/dev/null
same 'a block written behind a cut' "$(look | sed 's/^\(..........\)[oE]/\1?/')" 'ooooEooEoo?o'
stop

# all of them, and the file grows
again
for i in 0 1 2; do
    rm "$(subfile $i 1)"
done
start
same 'all subfiles are gone' "$(look)" EEEEEEEEEEEE
ok 'the file can be cut to nothing' truncate -s 0 "$mnt/f"
ok 'and be written anew' cp "$work/src" "$mnt/f"
same 'and is whole' "$(look)" oooooooooooo
stop

again
a=$(subfile 1 1)
b=$(subfile 1 2)
mv "$a" "$work/swap"
mv "$b" "$a"
mv "$work/swap" "$b"
start
same 'subfiles of two files changed places: no bytes of the other' "$(look | tr -d x)" "$(look)"
stop

again
cp "$(subfile 1 1)" "$work/d1/.fallsfs/obj/00/00112233445566778899aabbccddeeff.0.1"
start
same 'a subfile that belongs to nothing' "$(look)" oooooooooooo
stop

# -- flipped bits --

cat >"$work/flip.py" <<'EOT'
import os, sys
what, bit = sys.argv[1], int(sys.argv[2])
with open(what, "r+b") as f:
    f.seek(bit // 8)
    byte = f.read(1)[0] ^ 1 << bit % 8
    f.seek(bit // 8)
    f.write(bytes([byte]))
EOT
again
bits=$(($(stat -c %s "$work/d1/.fallsfs/volume") * 8))
step=$([ -n "${FALLSFS_FULL:-}" ] && echo 1 || echo 499)
for ((bit = 5; bit < bits; bit += step)); do
    cp "$work/kept/d1/.fallsfs/volume" "$work/d1/.fallsfs/volume" # nothing else changes when it is refused
    python3 "$work/flip.py" "$work/d1/.fallsfs/volume" "$bit"
    if try_start; then
        # a bit that says nothing: the case of a letter in a number, a blank
        same "bit $bit of the stamp: mounted, so all is right" "$(look)" oooooooooooo
        stop
        again
    else
        n_checks=$((n_checks + 1))
        [ -s "$log" ] || fail "bit $bit of the stamp: refused without a word"
    fi
done

# A file for each bit of a record.
again
start
mkdir "$mnt/records"
for ((i = 0; i < 2048; i++)); do
    echo "file $i"  >"$mnt/records/$i"
done
stop
python3 - "$work/d0/.fallsfs/ns/records" <<'EOT'
import os, sys
os.chdir(sys.argv[1])
for name in os.listdir("."):
    record = bytearray(os.getxattr(name, "user.fallsfs"))
    bit = int(name)
    assert len(record) == 256
    record[bit // 8] ^= 1 << bit % 8
    os.setxattr(name, "user.fallsfs", bytes(record))
EOT
start
cat >"$work/records.py" <<'EOT'
import errno, os, sys
os.chdir(sys.argv[1])
bad = []
for i in range(2048):
    name = str(i)
    try:
        os.stat(name)
        with open(name) as f:
            bad.append((i, f.read()))
    except OSError as e:
        if e.errno != errno.EUCLEAN:
            bad.append((i, errno.errorcode[e.errno]))
    os.unlink(name)
print(bad[:10])
sys.exit(1 if bad else 0)
EOT
ok 'no file with a flipped bit in its record can be opened, all can be removed' python3 "$work/records.py" "$mnt/records"
same 'others are as they were' "$(look)" oooooooooooo
ok 'the directory can be removed' rmdir "$mnt/records"
stop
for size in 0 255 257; do
    again
    python3 -c "import os, sys; p = sys.argv[1]; r = os.getxattr(p, 'user.fallsfs'); os.setxattr(p, 'user.fallsfs', (r + b'x')[:$size])" \
        "$work/d0/.fallsfs/ns/f"
    start
    same "a record of $size bytes" "$(look)" 'open: EUCLEAN'
    stop
done
again
setfattr -x user.fallsfs "$work/d0/.fallsfs/ns/f"
start
same 'no record' "$(look)" 'open: EUCLEAN'
same 'the others' "$(look g "$work/other")" oooooooooooo
stop

# Layouts have copies on all disks: one that is damaged does no harm, and when all are, nothing wrong is read.
again
text=$(find "$work/d0/.fallsfs/layout" -type f | head -1)
python3 "$work/flip.py" "$text" 58
start -o layout=one
same 'a layout is damaged on the home disk' "$(look | tr -d 'oE')" ''
stop
again
for file in "$work"/d*/.fallsfs/layout/*; do
    for bit in 3 58; do
        python3 "$work/flip.py" "$file" "$bit"
    done
done
start -o layout=one
same 'a layout is damaged on all disks' "$(look)" 'open: EUCLEAN'
ok 'what has another layout works' sh -c "echo x >'$mnt/new' && grep -q x '$mnt/new'"
stop
again
rm "$work"/d*/.fallsfs/layout/*
start -o layout=one
same 'a layout is gone' "$(look | grep -c 'open: E')" 1
stop
again
rm "$work/d0/.fallsfs/layout"/*
start -o layout=one
same 'a layout is gone from the home disk' "$(look)" oooooooooooo
stop

finish
