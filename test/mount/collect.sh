#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fallsctl collect: what is in the archive and what is not, who may read it, for root and for an ordinary user, and that a
# daemon which does not answer keeps nobody. collect.sh FALLSFS FALLSCTL
# shellcheck disable=SC2034,SC2317  # common.sh uses it; functions are called by ok and not
users_mount=1
source "$(dirname "$0")/common.sh"
export TMPDIR=$work/tmp
mkdir -m 1777 "$TMPDIR"

# unpack ARCHIVE: its one directory becomes $work/is
unpack() {
    rm -rf "$work/is" "$work/unpacked"
    mkdir "$work/unpacked"
    tar -xzf "$1" -C "$work/unpacked" && mv "$work/unpacked"/fallsfs-* "$work/is"
}

has() {
    grep -qE -- "$2" "$work/is/$1" || { cat "$work/is/$1"; false; }
}

make_volume 2
start -o 'layout=stripe(8K)'
yes 'no bytes of files' | head -c 16K >"$mnt/known by its name" # bytes on both disks, wherever it starts
echo one >"$mnt/other"

# -- root --

ok 'collect' "$fallsctl" collect -o "$work/root.tar.gz" "$mnt"
cp "$work/out" "$work/says"
ok 'says what is in it' grep -qF 'names are: of disks, mount points' "$work/says"
same 'who may read it' "$(stat -c %a "$work/root.tar.gz")" 600
ok 'unpack' unpack "$work/root.tar.gz"
same 'what is in it' "$(find "$work/is" -type f -printf '%f\n' | sort | paste -sd' ')" \
    'config.txt daemons.txt logs.txt mounts.txt status.txt versions.txt'
ok 'status' has status.txt "mounted at $mnt  2 of 2 disks"
ok 'status for programs' has status.txt "\"mountpoint\":\"$mnt\""
ok 'configuration' has config.txt 'default = "stripe\(8K\)"'
ok 'figures' has config.txt '"operations":\['
ok 'what disks cost' has config.txt '"calibrated":false'
ok 'what disks do' has status.txt '^DISK  STATE'
ok 'versions' has versions.txt "^$("$fallsctl" --version)$"
ok 'mounts' has mounts.txt " $mnt .* fuse.fallsfs "
ok 'daemons' has daemons.txt "$(basename "$fallsfs")"
not 'bytes of files' grep -rq 'no bytes of files' "$work/is"
refused 'what is there already stays' 'File exists' "$fallsctl" collect -o "$work/root.tar.gz" "$mnt"
ok 'it is whole' tar -tzf "$work/root.tar.gz"
refused 'what is no mount' 'no fallsfs is mounted there' "$fallsctl" collect -o "$work/no.tar.gz" "$work"
not 'no archive of it' test -e "$work/no.tar.gz"
refused 'a place that is none' 'No such file' "$fallsctl" collect -o "$work/nowhere/no.tar.gz" "$mnt"
cd "$work" || die 'cd'
ok 'for programs, under a name of its own' "$fallsctl" collect --json
cp "$work/out" "$work/says"
ok 'which is told' jq -e '.parts | map(.name) | index("status.txt") != null' "$work/says"
ok 'and where it is' unpack "$(jq -r .file "$work/says")"
ok 'all mounts' has status.txt "mounted at $mnt "

# -- what the daemon logs to --

restart -o noatime
mv "$work/d1/.fallsfs/obj" "$work/d1/.fallsfs/away"
not 'a file that has lost a disk' cat "$mnt/known by its name" "$mnt/other"
mv "$work/d1/.fallsfs/away" "$work/d1/.fallsfs/obj"
ok 'collect' "$fallsctl" collect -o "$work/log.tar.gz" "$mnt"
ok 'unpack' unpack "$work/log.tar.gz"
ok 'the log names the file' has logs.txt 'known by its name|/other'

# -- a daemon that is stopped --

kill -STOP "$daemon"
ok 'ends' timeout 120 "$fallsctl" collect -o "$work/stopped.tar.gz" "$mnt"
kill -CONT "$daemon"
ok 'unpack' unpack "$work/stopped.tar.gz"
ok 'and says who did not answer' has config.txt 'no answer within'
ok 'has the rest' has mounts.txt " $mnt .* fuse.fallsfs "

# -- an ordinary user --

ok "root's mount" as 1000 "$fallsctl" collect -o "$TMPDIR/others.tar.gz" "$mnt"
ok 'unpack' unpack "$TMPDIR/others.tar.gz"
ok 'what the mount tells everybody' has status.txt "mounted at $mnt"
not 'what the daemon logs to' has logs.txt 'proc/.*/fd/2'
stop

mkdir "$work/own" "$work/own/d0" "$work/own/d1" "$work/own/mnt"
chown -R 1000:1000 "$work/own"
ok 'a volume of their own' as 1000 "$fallsctl" format "$work/own/d0" "$work/own/d1"
ok 'mounted' as 1000 "$fallsfs" "$work/own/d0" "$work/own/d1" "$work/own/mnt"
ok 'collect' as 1000 "$fallsctl" collect -o "$TMPDIR/own.tar.gz"
ok 'unpack' unpack "$TMPDIR/own.tar.gz"
ok 'status' has status.txt "mounted at $work/own/mnt  2 of 2 disks"
ok 'configuration' has config.txt 'default = "stripe\(1M\)"'
same 'whose it is' "$(stat -c '%u %a' "$TMPDIR/own.tar.gz")" '1000 600'
ok 'umount' as 1000 "$fallsctl" umount "$work/own/mnt"

# -- afterwards --

same 'nothing is left where it collected' "$(find "$TMPDIR" -mindepth 1 ! -name '*.tar.gz')" ''

finish
