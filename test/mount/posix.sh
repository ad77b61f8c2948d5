#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What programs expect of a POSIX file system: the same checks on a plain directory, which shows that they are right,
# and on the mount; a matrix of rights, compared between both. posix.sh FALLSFS FALLSCTL CHECKS RIGHTS
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
source "$(dirname "$0")/common.sh"
checks=$3
rights=$4

leftovers() {
    find "$work/d0/.fallsfs/ns" "$work/d0/.fallsfs/todo" "$work/d0/.fallsfs/tmp" -mindepth 1
    find "$work"/d*/.fallsfs/obj -type f
}

mkdir -m 755 "$work/plain" "$work/plain/rights"

# -- checks --

ok 'the checks themselves, on a plain directory' "$checks" "$work/plain"

for options in 'layout=stripe(4K)' 'layout=stripe(7,2) disp 1000' 'layout=stripe(4K),direct_io'; do
    make_volume 3
    start -o "$options"
    ok "checks, $options" "$checks" "$mnt"
    same "subfiles and names that belong to nothing, $options" "$(left_soon)" ''
    stop
done

# -- rights --

ok 'rights on a plain directory' sh -c "'$rights' '$work/plain/rights' >'$work/rights.plain'"
make_volume 3
start
mkdir -m 755 "$mnt/rights"
ok 'rights on the mount' sh -c "'$rights' '$mnt/rights' >'$work/rights.mount'"
same 'who may do what' "$(diff "$work/rights.mount" "$work/rights.plain" | head -20)" ''

# -- a large directory, listed again and again --
# needs: rights

# Time of the daemon's processors, in ticks.
ticks() {
    awk '{ print $14 + $15 }' "/proc/$daemon/stat"
}

mkdir "$mnt/large"
python3 -c 'import os, sys
for i in range(8000): os.close(os.open(f"{sys.argv[1]}/f{i}", os.O_CREAT | os.O_WRONLY, 0o644))' "$mnt/large"
restart -o layout=one
before=$(ticks)
python3 -c 'import os, sys
for e in os.scandir(sys.argv[1]): e.stat(follow_symlinks=False)' "$mnt/large"
once=$(($(ticks) - before))
before=$(ticks)
ok 'a directory is listed with attributes, again and again' python3 -c 'import os, sys
for _ in range(6):
    assert sum(e.stat(follow_symlinks=False).st_size + 1 for e in os.scandir(sys.argv[1])) == 8000' "$mnt/large"
again=$(($(ticks) - before))
ok "what the kernel knows it is not told again: $once ticks once, $again for six times more" test "$again" -le $((3 * once + 2))

find "$mnt/large" -name 'f?????*' -delete
find "$mnt/large" -name 'f[1-9]???' -delete
ls -ln "$mnt/large" >"$work/out"
exec 9>>"$mnt/large/f7"
ls -ln "$mnt/large" >"$work/out"
echo more >&9
echo other >"$mnt/large/f8"
chmod 600 "$mnt/large/f9"
ln "$mnt/large/f10" "$mnt/large/second"
rm "$mnt/large/f11"
echo new >"$mnt/large/f11"
mv "$mnt/large/f12" "$mnt/large/f13"
touch -d '2001-02-03' "$mnt/large/f14"
truncate -s 1000 "$mnt/large/f15"
# shellcheck disable=SC2012  # the names are ours
same 'what was changed is listed so' "$(ls -ln --time-style=+%Y "$mnt/large" | awk '$7 ~ /^(f7|f8|f9|f1[0-5]|second)$/ { print $7, $1, $2, $5, $6 == 2001 }' | tr '\n' ';')" \
    'f10 -rw-r--r-- 2 0 0;f11 -rw-r--r-- 1 4 0;f13 -rw-r--r-- 1 0 0;f14 -rw-r--r-- 1 0 1;f15 -rw-r--r-- 1 1000 0;f7 -rw-r--r-- 1 5 0;f8 -rw-r--r-- 1 6 0;f9 -rw------- 1 0 0;second -rw-r--r-- 2 0 0;'
exec 9>&-
finish
