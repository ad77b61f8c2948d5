#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The roads to a mount: command line, configuration, mount(8)'s helpers; disks that come late or not at all, names of
# all kinds, what a killed daemon left. test_mounting.sh FALLSFS FALLSCTL
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/common.sh"

if [ "$(id -u)" != 0 ] || [ ! -e /dev/fuse ]; then
    echo 'needs root and /dev/fuse'
    exit 77
fi
make_volume 2
d0=$work/d0 d1=$work/d1

# -- the command line --

mounts "$d0" "$d1" "$mnt"
has 'type and source' " fuse\.fallsfs $d0:$d1 rw,.*default_permissions,allow_other"
has 'no devices, no set-user-ID' 'nosuid,nodev'
# shellcheck disable=SC2317  # it is called by name
read_ahead() {
    [ "$(cat "/sys/class/bdi/$(mountpoint -d "$mnt")/read_ahead_kb")" = "$1" ]
}
eventually 'reads ahead 4M' read_ahead 4096
echo data >"$mnt/file"
says 1 "fallsfs: $d0 is in use by another fallsfs *: unmount the volume there first" "$d0" "$d1" "$mnt"
same 'a second mount changed nothing' "$(cat "$mnt/file")" data
unmount
# at once after umount, though the daemon is still busy ending
for _ in 1 2 3; do
    mounts "$d0" "$d1" "$mnt"
    umount "$mnt"
done
# a daemon that has been unmounted, and writes for longer than one waits for a daemon that serves
cat >"$work/hold.py" <<'EOT'
import fcntl, struct, sys, time
f = open(sys.argv[1], "r+b")
fcntl.fcntl(f, 38, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)) # F_OFD_SETLKW
f.truncate(int(sys.argv[2]))
print("held", flush=True)
time.sleep(float(sys.argv[3]))
EOT
python3 "$work/hold.py" "$d0/.fallsfs/lock" 0 60 >"$work/held" &
holder=$!
eventually 'somebody serves' grep -q held "$work/held"
says 1 "fallsfs: $d0 is in use by another fallsfs *" "$d0" "$d1" "$mnt"
kill "$holder"
wait "$holder" 2>/dev/null
python3 "$work/hold.py" "$d0/.fallsfs/lock" 1 5 >"$work/held" &
eventually 'somebody is ending' grep -q held "$work/held"
mounts "$d0" "$d1" "$mnt"
same 'after waiting for another daemon' "$(cat "$mnt/file")" data
same 'who serves is not ending' "$(stat -c %s "$d0/.fallsfs/lock" "$d1/.fallsfs/lock" | xargs)" '0 0'
head -c 30000000 /dev/urandom >"$mnt/much"
cat >"$work/watch.py" <<'EOT'
import os, sys, time
end = time.monotonic() + 20
print("watching", flush=True)
while os.stat(sys.argv[1]).st_size != 1:
    if time.monotonic() > end:
        sys.exit("it never says that it is ending")
EOT
python3 "$work/watch.py" "$d1/.fallsfs/lock" >"$work/watched" 2>&1 &
holder=$!
eventually 'somebody watches' grep -q watching "$work/watched"
unmount
wait "$holder" || fail "a daemon that ends: $(cat "$work/watched")"
# shellcheck disable=SC2317  # it is called by name
has_ended() {
    [ ! -s "$d1/.fallsfs/lock" ]
}
eventually 'says so until it has' has_ended
cd "$work" || exit 1
mkdir below
mounts d0 ./d1/ mnt/
has 'relative paths become absolute' " fuse\.fallsfs $d0:$d1 "
unmount
ln -s mnt link
ln -s d1 link1
cd below || exit 1
mounts ../d0 ../link1 ../link
has 'links are followed' " fuse\.fallsfs $d0:$d1 "
cd "$work" || exit 1
unmount
mounts -s -- "$d0" "$d1" "$mnt"
same 'one thread' "$(cat "$mnt/file")" data
unmount
mounts -o ro,noatime -o 'max_read=131072,fsname=a\,b,read_ahead=512K' "$d1:$d0" "$mnt"
has 'options' ' ro,nosuid,nodev,noatime.* a,b .*max_read=131072'
eventually 'reads ahead 512K' read_ahead 512
not 'read-only' touch "$mnt/new"
same 'with max_read' "$(cat "$mnt/file")" data
unmount

# Who serves a mount asks it nothing: killed while it waits for itself, it could never end. In a namespace of its own,
# where nobody else looks at the mount.
cat >"$work/alone" <<'SCRIPT'
# The copies of mounts that other tests have now would keep their daemons and devices in use.
while read -r path; do umount -l "$path"; done < <(awk '$5 ~ /\/fallsfs\.[^/]*\// { print $5 }' /proc/self/mountinfo)
"$1" -f -d "$2" "$3" "$4" >"$5" 2>&1 &
until dev=$(awk -v path="$4" '$5 == path { print $3 }' /proc/self/mountinfo) && [ -n "$dev" ] &&
    [ "$(cat "/sys/class/bdi/$dev/read_ahead_kb")" = 4096 ]; do
    kill -0 $! || exit 1
    sleep 0.02
done
kill $!
wait $!
SCRIPT
ok 'mounts alone' timeout 60 unshare -m bash "$work/alone" "$fallsfs" "$d0" "$d1" "$mnt" "$work/debug"
same 'it asks itself nothing' "$(grep -c 'opcode: INIT' "$work/debug") $(grep 'opcode:' "$work/debug" | grep -v INIT)" '1 '

# what mount.fuse3 makes of mount -t fuse.fallsfs
mounts "$d0:$d1" "$mnt" -o rw,noexec,nosuid,nodev
has 'fuse.fallsfs' 'rw,nosuid,nodev,noexec'
unmount
mounts "$d0:$d1" "$mnt" -o rw,x-systemd.automount,nofail,_netdev,user=root,comment=x,defaults,dev,suid
has 'dev and suid are never given' 'rw,nosuid,nodev,relatime'
unmount
for words in suid dev,noexec noexec,suid,dev,rw; do
    "$fallsfs" -o "$words" "$d0" "$d1" "$mnt" >"$work/said" 2>&1
    ok "$words: said to be in vain" grep -qF -- '-o suid,dev: set-user-ID bits and device files never work' "$work/said"
    unmount
done
"$fallsfs" "$d0:$d1" "$mnt" -o noexec,suid,dev,suid >"$work/said" 2>&1
ok 'also behind mount.fuse3' grep -qF -- '-o suid,dev: ' "$work/said"
unmount
"$fallsfs" "$d0:$d1" "$mnt" -o noexec,dev,suid >"$work/said" 2>&1
same 'what mount.fuse3 adds is passed over' "$(cat "$work/said")" ''
unmount

# words of fstab, and what reading moves
for words in nodiratime diratime strictatime nostrictatime lazytime nolazytime iversion noiversion norelatime nosymfollow \
    nosymfollow,symfollow; do
    mounts "$d0:$d1" "$mnt" -o "$words"
    ok "$words: serves" is_served "$mnt"
    unmount
done
mounts "$d0:$d1" "$mnt" -o nosymfollow,nodiratime
has 'nosymfollow' 'nosuid,nodev,relatime,nosymfollow'
ok 'the configuration has both' grep -qF 'options = "nodiratime,nosymfollow"' "$mnt/.falls/config"
ln -s file "$mnt/link"
not 'a symlink that is not followed' cat "$mnt/link"
rm "$mnt/link"
unmount
for words in relatime noatime nodiratime strictatime; do
    mounts "$d0:$d1" "$mnt" -o "$words"
    mkdir -p "$mnt/dir"
    touch -ad 2001-01-01 "$mnt/file" "$mnt/dir"
    cat "$mnt/file" >/dev/null
    ls "$mnt/dir"
    case $words in
    noatime) want='2001 2001' ;;
    nodiratime) want="$(date +%Y) 2001" ;;
    *) want="$(date +%Y) $(date +%Y)" ;;
    esac
    same "$words: what reading moves" "$(stat -c %x "$mnt/file" "$mnt/dir" | cut -c1-4 | paste -sd ' ')" "$want"
    unmount
done

mkdir "$work/bin"
ln -s "$fallsfs" "$work/bin/fallsfs"
if [ -x /sbin/mount.fuse3 ]; then
    ok 'mount.fuse3' env PATH="$work/bin:$PATH" /sbin/mount.fuse3 "$d0:$d1" "$mnt" -t fuse.fallsfs -o rw,nofail
    ok 'mount.fuse3: serves' is_served "$mnt"
    unmount
fi

# -- mount(8)'s helper --
# needs: the command line

helper() {
    env PATH="$work/bin:$PATH" sh "$etc/mount.fallsfs" "$@"
}
ok 'helper' helper "$d0:$d1" "$mnt" -v -o rw,noexec -o 'layout=stripe(64K),noatime' -t fallsfs
ok 'helper: serves' is_served "$mnt"
has 'helper: options' 'nosuid,nodev,noexec,noatime'
unmount
ok 'helper, -f is fake' helper "$d0:$d1" "$mnt" -fn -o rw
not 'helper, -f is fake: nothing is mounted' is_mounted "$mnt"
ok 'helper, options first, sloppy, in the namespace of a process' helper -sn -N $$ -o ro "$d0:$d1" "$mnt"
ok 'helper, in a namespace: serves' is_served "$mnt"
unmount
ok 'helper, in the namespace of a file' helper "$d0:$d1" "$mnt" -N "/proc/$$/ns/mnt"
unmount
not 'helper: no place' helper "$d0:$d1" -o rw
not 'helper: one word too many' helper "$d0" "$d1" "$mnt"
not 'helper: unknown option' helper "$d0:$d1" "$mnt" -x
not 'helper: no value' helper "$d0:$d1" "$mnt" -o
helper "$work/nowhere" "$mnt" >/dev/null 2>&1
same 'helper: status' $? 1
if [ "${CI:-}" = true ] && [ ! -e /sbin/mount.fallsfs ] && [ ! -e /usr/local/bin/fallsfs ] && [ -w /sbin ]; then
    ln -s "$fallsfs" /usr/local/bin/fallsfs
    install -m 755 "$etc/mount.fallsfs" /sbin/mount.fallsfs
    ok 'mount -t fallsfs' mount -t fallsfs "$d0:$d1" "$mnt" -o noexec
    rm -f /sbin/mount.fallsfs /usr/local/bin/fallsfs
    ok 'mount -t fallsfs: serves' is_served "$mnt"
    unmount
fi

# -- configurations --

cat >"$conf" <<EOT
mount = "$mnt";
disks = ( "$d1", { path = "$d0"; } );
options = "noatime,noexec,ro";
layout = { default = "one"; };
io = { read_ahead = "1M"; threads = 3; direct = true; };
EOT
mounts -c "$conf"
has 'configuration' " ro,nosuid,nodev,noexec,noatime.* $d1:$d0 "
eventually 'configuration: reads ahead 1M' read_ahead 1024
unmount
mounts -c "$conf" -o rw,atime,read_ahead=256K,nodirect_io
has 'the command line wins' " rw,nosuid,nodev,noexec,relatime"
eventually 'the command line wins: reads ahead 256K' read_ahead 256
unmount
for words in atime noatime,atime noatime,atime,noexec exec,noatime,atime 'fsname=a\,noatime,noatime,atime'; do
    mounts "$d0:$d1" "$mnt" -o "$words"
    has "$words" ' rw,nosuid,nodev(,noexec)?,relatime'
    same "$words, as it shows them" "$(sed -n 's/^options = "\(.*\)";/\1/p' "$mnt/.falls/config")" \
        "$(sed -E 's/(^|,)noatime,atime//; s/^atime$//; s/^,//; s/\\,/\\\\,/' <<<"$words")"
    unmount
done
mounts "$d0:$d1" "$mnt" -o atime,noatime
has 'noatime, the last word' ' rw,nosuid,nodev,noatime'
unmount
mounts /not:/looked/at "$mnt" -o "rw,config=$conf"
has 'the disks of the configuration win' " $d1:$d0 "
unmount
echo 'read_only = true;' >"$conf"
mounts "$d0:$d1" "$mnt" -o "config=$conf"
has 'the source counts when the configuration names no disks' " ro,.* $d0:$d1 "
unmount

# -- what a killed daemon left --
# needs: the command line

for _ in 1 2; do
    "$fallsfs" -f "$d0" "$d1" "$mnt" 2>>"$log" &
    daemon=$!
    eventually 'to be killed' is_served "$mnt"
    crash
    not 'the mount is dead' is_served "$mnt"
    mounts "$d0" "$d1" "$mnt"
    same 'a single mount' "$(awk -v path="$mnt" '$5 == path' /proc/self/mountinfo | wc -l)" 1
    same 'after a kill' "$(cat "$mnt/file")" data
    unmount
done
"$fallsfs" -f "$d0" "$d1" "$mnt" 2>>"$log" &
daemon=$!
eventually 'to be killed' is_served "$mnt"
crash
cd "$work" || exit 1
mounts d0 d1 ./mnt//
same 'a single mount, at a relative path' "$(awk -v path="$mnt" '$5 == path' /proc/self/mountinfo | wc -l)" 1
unmount

# -- disks that come late, or not at all --
# needs: what a killed daemon left

mv "$d1" "$work/away"
says 1 "fallsfs: cannot open the disk $d1: No such file or directory" "$d0" "$d1" "$mnt" -o wait_disks=1
(sleep 2 && mv "$work/away" "$d1") &
mounts "$d0" "$d1" "$mnt" -o wait_disks=20
same 'after waiting for a directory' "$(cat "$mnt/file")" data
unmount
mkdir "$work/kept"
mv "$d1/.fallsfs" "$work/kept/.fallsfs"
(sleep 2 && mv "$work/kept/.fallsfs" "$d1/.fallsfs") &
SECONDS=0
mounts d0 d1 mnt -o wait_disks=20
ok 'mounted as soon as it could be' test "$SECONDS" -lt 10
same 'after waiting for a mount' "$(cat "$mnt/file")" data
unmount
SECONDS=0
says 1 'fallsfs: disk d1 of the volume is missing; *' "$d0" "$mnt" -o wait_disks=20
ok 'nobody waits for a disk that was not named' test "$SECONDS" -lt 10

mounts "$d0" "$d1" "$mnt" -o 'layout=one on d0'
echo first >"$mnt/on-d0"
unmount
mounts "$d0" "$d1" "$mnt" -o 'layout=one on d1'
echo second >"$mnt/on-d1"
unmount
printf 'disks = ( "%s", "%s" ); mount = "%s"; missing = "readonly";' "$d0" "$d1" "$mnt" >"$conf"
mounts -c "$conf"
has 'missing=readonly with all disks' ' rw,'
unmount
mv "$d1/.fallsfs" "$work/kept/.fallsfs"
says 1 "fallsfs: $d1 is not a disk of a fallsfs volume*" -c "$conf" -o missing=refuse
says 0 "fallsfs: $d1 is not a disk of a fallsfs volume*. Going on read-only with the disks that are there, *" -c "$conf"
ok 'missing=readonly: serves' is_served "$mnt"
has 'missing=readonly' ' ro,'
same 'what is there' "$(cat "$mnt/on-d0")" first
not 'what is missing' cat "$mnt/on-d1"
not 'changing anything' touch "$mnt/new"
unmount
rmdir "$d1"
mounts "$d0" "$d1" "$mnt" -o ro,degraded
same 'degraded' "$(cat "$mnt/on-d0")" first
unmount
mkdir "$d1"
mv "$work/kept/.fallsfs" "$d1/.fallsfs"
# d1 holds no names: d0 does, and without it there is nothing
mv "$d0" "$work/away"
says 1 "*the home disk d0 ($d0 when last seen) is missing*" -c "$conf"
# nothing was named but disks that are all there: no reason to go on read-only
mv "$work/away" "$d0"
says 1 'fallsfs: disk d1 of the volume is missing; *' "$d0" "$mnt" -o missing=readonly
mounts -c "$conf"
same 'all disks are back' "$(cat "$mnt/on-d1")" second
unmount

# -- names of all kinds --
# needs: mount(8)'s helper

# knows N WORD...: fallsctl sees N disks, all well, and where they are mounted
# shellcheck disable=SC2317  # ok calls it
knows() {
    local n=$1
    shift
    "$fallsctl" status --json "$@" >"$work/status"
    cat "$work/status"
    jq -e --argjson n "$n" --arg mnt "$mnt" '.volumes[0] | .mountpoint == $mnt and .actions == [] and
        (.disks | length) == $n and all(.disks[]; .state == "online" and .fs != null)' "$work/status"
}

for name in 'a:b' 'a,b' 'a b' 'a\b' 'a\:b' 'a"b' 'a%sb' $'a\nb' $'a\tb' '-o' 'ä→' 'a=b' '#a' '@include "x"' $'a\\'; do
    eventually "the daemon before $name ends" rm -rf "$work/odd"
    mkdir -p "$work/odd/$name" "$work/odd/e" "$work/odd/m $name"
    ok "format $name" "$fallsctl" format "$work/odd/$name" "$work/odd/e"
    mnt="$work/odd/m $name"
    says 0 '' -- "$work/odd/$name" "$work/odd/e" "$mnt"
    eventually "serves at $name" stat -f "$mnt/."
    ok "status of $name" knows 2 "$mnt"
    ok "status of $name, by its disks" knows 2 "$work/odd/e" "$work/odd/$name"
    eventually "umount $name" umount "$mnt"
    # the same from a configuration
    quoted=${name//\\/\\\\}
    quoted=${quoted//\"/\\\"}
    printf 'mount = "%s"; disks = ( "%s", "%s" );' "$work/odd/m $quoted" "$work/odd/$quoted" "$work/odd/e" >"$conf"
    says 0 '' -c "$conf"
    eventually "umount $name, configured" umount "$mnt"
    # the same in one word, as in fstab
    quoted=${name//\\/\\\\}
    quoted=${quoted//:/\\:}
    says 0 '' "$work/odd/$quoted:$work/odd/e" "$mnt"
    eventually "serves at $name, in one word" stat -f "$mnt/."
    # what the kernel lists as the source is such a word again
    quoted=$(findmnt -J -o SOURCE "$mnt" | jq -r '.filesystems[0].source')
    eventually "umount $name, in one word" umount "$mnt"
    ok "helper, by the source of $name" helper "$quoted" "$mnt"
    eventually "serves at $name, by its source" stat -f "$mnt/."
    eventually "umount $name, by its source" umount "$mnt"
done
mnt=$work/mnt

# -- many disks: longer than what a mount's source may be --

many=()
for ((i = 0; i < 40; i++)); do
    many+=("$work/many/$(printf '%0200d' "$i")")
done
mkdir -p "${many[@]}"
ok 'format many' "$fallsctl" format "${many[@]}"
mounts "${many[@]}" "$mnt"
has 'the first disks name the source' " ${many[0]}:${many[1]}:.*:\.\.\. "
ok 'status knows the others' knows 40 "$mnt"
ok 'status knows the mount of the last' knows 40 "${many[@]}"
unmount

# -- with what the systemd unit leaves it --

capabilities=$(sed -n 's/^CapabilityBoundingSet=//p' "$etc/fallsfs@.service" | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')
ok 'with few capabilities' setpriv --bounding-set "-all,$capabilities" --no-new-privs "$fallsfs" "$d0" "$d1" "$mnt"
eventually 'with few capabilities: serves' is_served "$mnt"
install -d -o 1234 -g 1234 "$mnt/hers"
as 1234 sh -c "echo hers >'$mnt/hers/file' && chmod 600 '$mnt/hers/file'"
same 'with few capabilities: who owns what' "$(stat -c %u:%g:%a "$mnt/hers/file")" 1234:1234:600
ok 'with few capabilities: a device' mknod "$mnt/null" c 1 3
same 'with few capabilities: another'"'"'s' "$(cat "$mnt/hers/file")" hers
unmount

finish
