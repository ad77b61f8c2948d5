#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Other users, and whoever can write on a disk, get nothing that is not theirs: security.sh FALLSFS FALLSCTL
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
# shellcheck disable=SC2034  # read by common.sh
users_mount=1
source "$(dirname "$0")/common.sh"

blocks() {
    timeout 20 python3 "$(dirname "$0")/blocks.py" "$@"
}

# The subfiles of the one file there is, in order of their elements.
subfiles() {
    find "$work"/d*/.fallsfs/obj -type f -name '*.*.[0-9]*' -printf '%f %p\n' | sort -t. -k3n | cut -d' ' -f2
}

# -- what lies on the disks is the daemon's --

make_volume 3
start -o 'layout=stripe(4K)'
head -c 40960 /dev/urandom >"$work/secret"
ok 'a file that is for root' install -m 600 "$work/secret" "$mnt/secret"
ok 'a file for all' install -m 666 "$work/secret" "$mnt/open"
for disk in "${disks[@]}"; do
    same "$disk/.fallsfs is closed" "$(stat -c %a "$disk/.fallsfs")" 700
    not 'another user looks in' as 1000 ls "$disk/.fallsfs"
    not 'another user lists names' as 1000 ls "$disk/.fallsfs/ns"
done
same 'subfiles are closed on their own' "$(find "$work"/d*/.fallsfs/obj -type f -perm /077 | head)" ''
same 'so are stamps and layouts' "$(find "$work"/d*/.fallsfs/{volume,lock,layout} -type f -perm /077 | head)" ''
not 'another user reads the file' as 1000 cat "$mnt/secret"

# -- attributes --
# needs: what lies on the disks

echo x >"$mnt/f"
chown 1000:1000 "$mnt/f"
same 'the record is not listed' "$(getfattr -d -m - "$mnt/f")" ''
not 'the record cannot be read' getfattr -n user.fallsfs "$mnt/f"
not 'nor set' setfattr -n user.fallsfs -v x "$mnt/f"
not 'nor set by the owner' as 1000 setfattr -n user.fallsfs -v x "$mnt/f"
not 'nor removed' setfattr -x user.fallsfs "$mnt/f"
for name in system.x system.nfs4_acl security.x security.capability trusted.x; do
    not "a user sets $name" as 1000 setfattr -n "$name" -v x "$mnt/f"
done
not 'root sets what nobody knows' setfattr -n system.x -v x "$mnt/f"
not 'a user makes a layout of a file that is not theirs' as 2000 setfattr -n user.falls.layout -v one "$mnt/f"
ok 'the file is whole' grep -q x "$mnt/f"
ok 'copying takes no record along' sh -c "cp -a '$mnt/open' '$mnt/copy' && cmp '$mnt/open' '$mnt/copy'"

# -- nothing in the mount gives rights --
# needs: what lies on the disks

ok 'nosuid and nodev' grep -qE " $mnt [^-]*nosuid,nodev[^-]* - fuse.fallsfs " /proc/self/mountinfo
cp /usr/bin/id "$mnt/id"
chmod 6755 "$mnt/id"
same 'setuid does not raise' "$(as 1000 "$mnt/id" -u)" 1000
mknod "$mnt/null" c 1 3
chmod 666 "$mnt/null"
not 'devices cannot be opened' cat "$mnt/null"
stop

# -- things planted where subfiles should be --
# needs: nothing in the mount

# planted WHAT COMMAND: with the command run on the path of the second subfile, reading and writing fail, at once
planted() {
    local what=$1 victim status map
    shift
    make_volume 3
    start -o 'layout=stripe(4K,3)'
    install -m 644 "$work/secret" "$mnt/f"
    stop
    victim=$(subfiles | sed -n 2p)
    rm "$victim"
    "$@" "$victim"
    start
    map=$(blocks "$mnt/f" "$work/secret")
    same "$what: its blocks cannot be read, the others can" "${map//U/E}" 'oEooEooEoo'
    timeout 10 dd if="$work/secret" of="$mnt/f" bs=4096 count=10 conv=notrunc >/dev/null 2>&1
    status=$?
    same "$what: writing fails, at once" "$status" 1
    timeout 10 sh -c ": >'$mnt/f'" 2>/dev/null
    [ $? -lt 124 ] || fail "$what: truncating hangs"
    ok "$what: the file can be removed" timeout 10 rm -f "$mnt/f"
    stop
}

echo 'root only' >"$work/shadow"
chmod 600 "$work/shadow"
before=$(stat -c '%a %s %h %Y' "$work/shadow")
planted 'a symlink' ln -s "$work/shadow"
planted 'a dangling symlink' ln -s "$work/nowhere"
planted 'a FIFO' mkfifo
planted 'a device' sh -c 'mknod "$1" c 1 5' sh
planted 'a directory' mkdir
planted 'a socket' python3 -c 'import os, socket, sys
os.chdir(os.path.dirname(sys.argv[1]))
socket.socket(socket.AF_UNIX).bind(os.path.basename(sys.argv[1]))'
planted 'a hard link' ln "$work/shadow"
same 'what they led to is as it was' "$(cat "$work/shadow")" 'root only'
same 'no file was made elsewhere' "$(ls "$work/nowhere" 2>/dev/null)" ''
rm -f "$work"/d*/.fallsfs/obj/*/*
same 'its attributes are as they were' "$(stat -c '%a %s %h %Y' "$work/shadow")" "$before"

# where a subfile is yet to be made
make_volume 3
start -o 'layout=stripe(4K,3)'
head -c 4096 "$work/secret" >"$mnt/f"
first=$(subfiles)
for disk in "${disks[@]}"; do
    id=$(basename "$first")
    for i in 1 2; do
        ln -s "$work/made" "$disk/.fallsfs/obj/$(basename "$(dirname "$first")")/${id%.*}.$i" 2>/dev/null
    done
done
timeout 10 dd if="$work/secret" of="$mnt/f" bs=4096 count=3 conv=notrunc >/dev/null 2>&1
same 'a symlink in the place of a new subfile is not followed' "$(ls "$work/made" 2>/dev/null)" ''
stop

# a directory of subfiles that leads elsewhere
make_volume 2
start -o 'layout=stripe(4K,2)'
install -m 644 "$work/secret" "$mnt/f"
stop
dir=$(dirname "$(subfiles | sed -n 2p)")
mv "$dir" "$work/elsewhere"
ln -s "$work/elsewhere" "$dir"
start
map=$(blocks "$mnt/f" "$work/secret")
same 'a symlink in the place of a directory is not followed' "${map//U/E}" 'oEoEoEoEoE'
stop
rm -rf "$work/elsewhere"

# -- the volume's own files --

# broken WHAT COMMAND FILE...: with the command run on the file, nothing mounts, and nothing hangs
broken() {
    local what=$1
    shift
    make_volume 2
    "$@"
    not "$what: refused" try_start
    [ -z "$daemon" ] || stop
}

for name in volume lock; do
    file=$work/d1/.fallsfs/$name
    broken "$name is a FIFO" sh -c "rm '$file' && mkfifo '$file'"
    broken "$name is a directory" sh -c "rm '$file' && mkdir '$file'"
    broken "$name is a symlink" sh -c "mv '$file' '$work/moved' && ln -s '$work/moved' '$file'"
    broken "$name is a device" sh -c "rm '$file' && mknod '$file' c 1 5"
done
broken 'an endless stamp' truncate -s 1T "$work/d1/.fallsfs/volume"
broken 'an empty stamp' truncate -s 0 "$work/d1/.fallsfs/volume"
broken '.fallsfs is open to all' chmod 755 "$work/d1/.fallsfs"
broken '.fallsfs is open to a group' chmod 710 "$work/d1/.fallsfs"
broken '.fallsfs is somebody else'"'"'s' chown 1000 "$work/d1/.fallsfs"
broken 'ns is a symlink' sh -c "rmdir '$work/d0/.fallsfs/ns' && ln -s / '$work/d0/.fallsfs/ns'"
broken '.fallsfs is a symlink' sh -c "mv '$work/d1/.fallsfs' '$work/moved.dir' && ln -s '$work/moved.dir' '$work/d1/.fallsfs'"

# -- an ordinary user --

user=1000
mkdir -m 700 "$work/home"
chown 1000:1000 "$work/home"
umnt=$work/home/mnt
ulog=$work/ulog
as "$user" mkdir "$umnt" "$work/home/d0" "$work/home/d1"

user_start() {
    setpriv --reuid "$user" --regid "$user" --clear-groups \
        "$fallsfs" -f "$@" "$work/home/d0" "$work/home/d1" "$umnt" >"$ulog" 2>&1 &
    udaemon=$!
    for ((i = 0; i < 500; i++)); do
        [ "$(as "$user" stat -f -c %t "$umnt" 2>/dev/null)" = 65735546 ] && return 0
        kill -0 "$udaemon" 2>/dev/null || return 1
        sleep 0.02
    done
    return 1
}

user_stop() {
    ok 'the user unmounts' as "$user" "$fallsctl" umount "$umnt"
    reap "$udaemon"
    same 'the daemon ends well' $? 0
    cp "$ulog" "$log"
    check_log
}

in_home() {
    as "$user" sh -ec "cd '$umnt'; $1"
}

ok 'a user formats' as "$user" "$fallsctl" format "$work/home/d0" "$work/home/d1"
user_start -o 'layout=stripe(4K)' || die "a user mounts: $(cat "$ulog")"
ok 'nosuid and nodev' grep -qE " $umnt [^-]*nosuid,nodev[^-]* - fuse.fallsfs " /proc/self/mountinfo
not 'root does not look in' ls "$umnt"
not 'nor another user' as 2000 ls "$umnt"
ok "root's status finds nothing to be done about it" "$fallsctl" status "$umnt"
ok 'nor has df' "$fallsctl" df "$umnt"
same 'it tells of the disks' "$("$fallsctl" df "$umnt" | grep -c "$work/home/d[01]")" 2
ok 'their disks may be measured by who owns them' as "$user" "$fallsctl" calibrate --seconds 1 --size 32M "$umnt"
same 'whose the figures are, too' "$(stat -c '%u %a' "$work"/home/d?/.fallsfs/costs)" "$user 600
$user 600"
not 'not by another user' as 2000 "$fallsctl" calibrate --seconds 1 --size 32M "$umnt"
use_as_user() {
    as "$user" bash -ec '
        cd "$1"
        for mode in 000 200 400 444 600 044 777; do
            umask 0
            python3 -c "
import os, sys
fd = os.open(\"f$mode\", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o$mode)
assert os.write(fd, b\"by descriptor\") == 13 and os.pread(fd, 99, 0) == b\"by descriptor\"
os.fsync(fd)
"
            [ "$(stat -c %a "f$mode")" = "$((10#$mode))" ]
            ln "f$mode" "l$mode"
            setfattr -n user.x -v y "l$mode" || [ $((8#$mode & 0200)) = 0 ]
        done
        ! cat f000 && ! cat f200 && cat f400 && cat f444 && ! cat f044
        ! sh -c "echo x >>f000" && sh -c "echo x >>f200" && ! sh -c "echo x >>f444"
        chmod 000 f600 && ! cat f600 && chmod 640 f600 && cat f600
        mkdir d && echo x >d/x && chmod 0 d && ! ls d && chmod 700 d && cat d/x && chmod 500 d && ! touch d/y && chmod 700 d
        ! chown 2000 f600
        truncate -s 5 f600 && [ "$(cat f600)" = "by de" ]
        : >f777 && [ "$(stat -c "%s %a" f777)" = "0 777" ]
    ' sh "$umnt"
}
ok 'files of all modes' use_as_user
known=$(in_home 'find . -printf "%P %m %s %n %u\n" | sort')
user_stop
user_start -o 'layout=stripe(4K)' || die "a user mounts again: $(cat "$ulog")"
same 'modes are as they were' "$(in_home 'find . -printf "%P %m %s %n %u\n" | sort')" "$known"
ok 'files can be removed' in_home 'rm -f f000 l444 && mv f200 f400 && rm -rf d'
ok 'git init, commit, clone' in_home "export HOME=$work/home GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
    git init -q one && cd one && seq 10000 >f && git add f && git commit -qm one && cd .. &&
    git clone -q one two && git clone -q --no-hardlinks one three && git -C three gc -q && git -C three fsck && cmp one/f three/f && rm -rf two"
kill -9 "$udaemon"
reap "$udaemon"
user_start || die "a user mounts after a crash: $(cat "$ulog")"
ok 'what was there is there' in_home 'cmp one/f three/f && git -C three fsck'
user_stop
if ! grep -q '^user_allow_other' /etc/fuse.conf; then
    not 'a user may not let others in' user_start -o allow_other
fi
not 'nor use disks of others' as 2000 "$fallsfs" -f "$work/home/d0" "$work/home/d1" "$umnt"
finish
