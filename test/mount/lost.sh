#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a file had when a mount ended well is never read as zeros because a subfile is gone or short, whatever crashed
# since. lost.sh FALLSFS FALLSCTL FSCK SUM_STAMP
# shellcheck disable=SC2317  # functions are called by ok and not
source "$(dirname "$0")/common.sh"

fsck=$3 sum_stamp=$4
head -c 6291456 /dev/urandom >"$work/src"

begin() {
    start -o 'layout=stripe(1M,3)'
}

# As a crash leaves it: the dead mount is taken away.
kill_it() {
    crash
    umount -l "$mnt"
}

# subfile ELEMENT of the only file
subfile() {
    find "$work"/d*/.fallsfs/obj -type f -name "*.$1"
}

# A letter for each MiB of f: o as it was written, E an error, X anything else
look() {
    python3 - "$mnt/f" "$work/src" <<'PYTHON'
import errno, os, sys
fd, want = os.open(sys.argv[1], os.O_RDONLY), open(sys.argv[2], "rb").read()
for i in range(6):
    at, n = i << 20, 1 << 20
    try:
        print("o" if os.pread(fd, n, at) == want[at:at + n] else "X", end="")
    except OSError as e:
        print("E" if e.errno == errno.EIO else "X", end="")
print()
PYTHON
}

# A file by cp, without an fsync, in a mount that ends well; then one that does not.
prepare() {
    make_volume 3
    begin
    cp "$work/src" "$mnt/f"
    stop
    begin
}

# -- the mount that crashes does nothing to the file, reads it, appends to it --

nothing() { :; }
reads() { cat "$mnt/f" >/dev/null; }
appends() { printf x >>"$mnt/f"; }
shrinks() { truncate -s 5242880 "$mnt/f"; } # the last MiB of the file is that of element 2

# told WHAT OPTION: fsck finds what is lost, and leaves it
told() {
    n_checks=$((n_checks + 1))
    "$fsck" "$2" "${disks[@]}" >"$work/said" 2>&1
    if [ $(($? & 4)) != 4 ] || ! grep -qE 'missing|short' "$work/said"; then
        fail "$1: fsck $2 says $(cat "$work/said")"
    fi
}

for deed in nothing reads appends shrinks; do
    for loss in removed cut; do
        [ "$deed $loss" = 'reads cut' ] || [ "$deed $loss" = 'shrinks cut' ] && continue
        what="$deed, then $loss"
        prepare
        $deed
        kill_it
        victim=$(subfile 1)
        cp -a "$victim" "$work/victim"
        if [ $loss = removed ]; then
            rm "$victim"
            want=oEooEo
        else
            truncate -s 1048576 "$victim" # its second MiB
            want=ooooEo
        fi
        [ $deed = shrinks ] && want=${want:0:5}X
        told "$what" -n
        begin
        same "$what" "$(look)" "$want"
        same "$what, read again" "$(look)" "$want"
        ok "$what: sync" sync "$mnt/f"
        same "$what, after sync" "$(look)" "$want"
        restart -o 'layout=stripe(1M,3)'
        same "$what, the next mount" "$(look)" "$want"
        kill_it
        told "$what" -y
        begin
        same "$what, after fsck -y" "$(look)" "$want"
        stop
        not "$what: extract" "$fallsctl" extract "${disks[@]}" f
        cp -a "$work/victim" "$victim"
        begin
        same "$what: it is back" "$(look)" "${want//E/o}"
        stop
    done
done

# -- what makes a file longer makes no zeros of what is lost --

# lost_by WHAT COMMAND...: a subfile is cut while nobody has it, or, with OPEN=1, while somebody has read it; then that
lost_by() {
    local what=$1
    shift
    make_volume 2
    start -o 'layout=stripe(4K)'
    yes A | head -c 20000 >"$mnt/f"
    restart -o 'layout=stripe(4K)'
    exec 8<"$mnt/f"
    [ -z "${OPEN:-}" ] || head -c 1 <&8 >/dev/null
    [ -n "${OPEN:-}" ] || { exec 8<&- && stop; }
    find "$work"/d? -name '*.1' -size +4k -exec truncate -s 1000 {} +
    [ -n "${OPEN:-}" ] || start -o 'layout=stripe(4K),direct_io'
    if [ -n "${OPEN:-}" ]; then
        "$@" # nobody has noticed yet
    else
        not "$what" "$@"
    fi
    exec 8<&-
    restart -o 'layout=stripe(4K),direct_io'
    not "$what: lost bytes are an error" dd if="$mnt/f" of=/dev/null bs=16 skip=330 count=1
    stop
    not "$what: extract" "$fallsctl" extract -o "$work/extracted" "${disks[@]}" f
    told "$what" -n
}
lost_by 'fallocate of the same size' fallocate -o 0 -l 20000 "$mnt/f"
lost_by 'fallocate behind the end' fallocate -o 20000 -l 20000 "$mnt/f"
lost_by 'fallocate of one byte' fallocate -o 8000 -l 1 "$mnt/f"
lost_by 'zeros behind the end' fallocate -z -o 30000 -l 9000 "$mnt/f"
lost_by 'zeros inside' fallocate -z -o 6500 -l 1000 "$mnt/f"
OPEN=1 lost_by 'truncate of what is open' truncate -s 40000 "$mnt/f"

# -- many crashes, some mounts between them that end well --

prepare
stop
for ((i = 0; i < 3; i++)); do
    begin
    printf x >>"$mnt/g$i"
    kill_it
    begin
    stop
done
same 'epochs that did not end well' "$(sed -n 's/^unclean = "\(.*\)";/\1/p' "$work/d1/.fallsfs/volume")" '3,5,7'
rm "$(subfile 2)" 2>/dev/null || rm "$(find "$work"/d*/.fallsfs/obj -name '*.2' -size +1000k)"
begin
same 'after many crashes' "$(look)" ooEooE
stop

# -- what fsck -y has looked at after a crash is promised --

make_volume 3
begin
cp "$work/src" "$mnt/f"
kill_it
ok 'fsck -y after a crash' "$fsck" -y "${disks[@]}"
for ((i = 0; i < 2; i++)); do
    begin
    sync
    stop
done
victim=$(subfile 1)
mv "$victim" "$work/victim"
told 'lost since fsck -y' -y
begin
same 'lost since fsck -y' "$(look)" oEooEo
stop
mv "$work/victim" "$victim"
begin
same 'it is back since fsck -y' "$(look)" oooooo
stop

# -- looking at a volume in use --

make_volume 3
begin
cp "$work/src" "$mnt/f"
chmod 644 "$mnt/f"
ok 'extract while it is mounted' "$fallsctl" extract -o "$work/copy" "${disks[@]}" f
ok 'it is the file' cmp "$work/copy" "$work/src"
rm "$work/copy"
victim=$(subfile 1)
rm "$victim"
"$fallsctl" extract "${disks[@]}" f >/dev/null 2>"$work/said"
same 'extract of a lost subfile: status' $? 1
ok 'extract names file, disk and subfile' grep -qE "^f: .*d[0-2], $victim" "$work/said"
"$fallsctl" map "$mnt/f" >/dev/null
same 'map of a lost subfile: status' $? 3
as 1000 "$fallsctl" map "$mnt/f" >/dev/null
same 'map of it as a user: status' $? 3
ok 'map: missing' sh -c "'$fallsctl' map '$mnt/f' | grep -qE '^ *1 .*missing'"
ok 'map of the mount: missing' sh -c "getfattr --only-values -n user.falls.map '$mnt/f' | grep -q 'element=1 .*state=missing'"
ok 'map, as a user: missing' as 1000 sh -c "'$fallsctl' map '$mnt/f' | grep -qE '^ *1 .*missing'"
cp "$work/src" "$mnt/g"
sync "$mnt/g"
truncate -s 1000 "$(getfattr --only-values -n user.falls.map "$mnt/g" | sed -n 's/^element=2 .* object=//p')"
ok 'map of the mount: short' sh -c "getfattr --only-values -n user.falls.map '$mnt/g' | grep -q 'element=2 .*state=short'"
chmod 644 "$mnt/g"
ok 'map, as a user: short' as 1000 sh -c "'$fallsctl' map '$mnt/g' | grep -qE '^ *2 .*short'"
as 1000 "$fallsctl" map "$mnt/g" >/dev/null
same 'map of it as a user: status' $? 3
stop

# -- opening alone stores nothing --

prepare
stop
begin
before=$(stat -c %Z "$work/d0/.fallsfs/ns/f" && stat -c %z "$mnt/f")
sleep 0.02
cat "$mnt/f" >/dev/null
restart -o 'layout=stripe(1M,3)'
cat "$mnt/f" >/dev/null
same 'ctime after reading in two mounts' "$(stat -c %Z "$work/d0/.fallsfs/ns/f" && stat -c %z "$mnt/f")" "$before"
stop

# -- volumes of format 1 --

# downgrade LAST DISK...: their stamps as they were written before format 2, where LAST was the last epoch that did not
# end well
downgrade() {
    local disk last=$1
    shift
    for disk; do
        sed 's/^format = .*/format = 1;/; s/^unclean = .*/unclean = "'"$last"'";/' "$disk/.fallsfs/volume" | "$sum_stamp" >"$work/stamp"
        cp "$work/stamp" "$disk/.fallsfs/volume"
    done
}

formats() {
    sed -n 's/^format = \(.*\);/\1/p' "$work"/d[0-9]*/.fallsfs/volume | tr -d '\n'
}

for which in '1 d0 d1 d2' '0 d0 d1 d2' '0 d1' '0 d0 d2'; do
    prepare
    stop
    # shellcheck disable=SC2086  # words are meant
    (cd "$work" && downgrade $which)
    before=$(cat "$work"/d?/.fallsfs/volume)
    ok "format 1 on $which: fsck -n" "$fsck" -n "${disks[@]}"
    ok "format 1 on $which: extract" "$fallsctl" extract -o "$work/copy" "${disks[@]}" f
    ok "format 1 on $which: what it extracts" cmp "$work/copy" "$work/src"
    rm "$work/copy"
    start -o ro
    same "format 1 on $which, read-only" "$(look)" oooooo
    stop
    same "format 1 on $which: nothing is written" "$(cat "$work"/d?/.fallsfs/volume)" "$before"
    begin
    same "format 1 on $which" "$(look)" oooooo
    same "format 1 on $which: stamped anew" "$(formats)" 222
    printf x >>"$mnt/f"
    kill_it
    rm "$(subfile 1)"
    begin
    want=oEooEo
    [ "${which:0:1}" = 0 ] || want=oXooXo # epoch 1 promises nothing
    same "format 1 on $which, then a crash" "$(look)" $want
    stop
done

finish
