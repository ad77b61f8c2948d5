#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A volume with disks on NFS, by the kernel's own server and client: run by uml.sh, as root of a kernel of its own.
# nfs.sh FALLSFS FALLSCTL OPS_EQUAL KILL CHECKS RACE
#
#     /mnt/disk        ext4 in a file in memory, with a directory for each disk
#     /mnt/nfs0 ..     the same directories through NFS 4.2, from this very machine
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
shopt -s extglob
export TMPDIR=/mnt/work
mkdir -p /mnt/work
mount -t tmpfs tmpfs /mnt/work
source "$(dirname "$0")/../mount/common.sh"
ops_equal=$3
kill_daemon=$4
checks=$5
race=$6
plain=/mnt/disk/plain
tree=$(cd "$(dirname "$0")/../.." && pwd)

# nfs PROGRAM ARGUMENT...: one of the programs of NFS
nfs() {
    LD_LIBRARY_PATH=$NFS_ROOT/usr/lib/x86_64-linux-gnu:$NFS_ROOT/lib/x86_64-linux-gnu timeout 30 "$@"
}

# step WORDS: how far it is
step() {
    printf '%3d s  %s\n' "$SECONDS" "$*"
}

serve() {
    nfs rpc.nfsd -V 3 -V 4.1 -V 4.2 4 || return
    echo Y >/proc/fs/nfsd/v4_end_grace # nobody has anything to reclaim
}

start_server() {
    local i
    truncate -s 400M /mnt/work/image
    mkfs.ext4 -q -b 4096 /mnt/work/image || return
    mkdir /mnt/disk
    mount -o loop /mnt/work/image /mnt/disk || return
    rm -rf /mnt/disk/lost+found
    mkdir -p /var/lib/nfs/rpc_pipefs /var/lib/nfs/v4recovery
    touch /var/lib/nfs/etab /var/lib/nfs/rmtab
    mount -t nfsd nfsd /proc/fs/nfsd || return
    echo 10 >/proc/fs/nfsd/nfsv4leasetime
    echo 10 >/proc/fs/nfsd/nfsv4gracetime
    echo 1 >/proc/sys/fs/nfs/nlm_grace_period # until then nobody gets a lock
    nfs exportfs -i -o rw,no_root_squash,insecure,no_subtree_check,fsid=0 127.0.0.1:/mnt/disk || return
    grep -q ^_rpc: /etc/passwd || echo '_rpc:x:65533:65534::/run/rpcbind:/usr/sbin/nologin' >>/etc/passwd
    mkdir -p /run/rpcbind
    nfs rpcbind || return # the server does not start without it
    nfs rpc.mountd -p 20048 >/dev/null 2>&1 || return
    serve || return
    for i in 0 1 2 3; do
        mkdir -m 777 "/mnt/disk/d$i" "/mnt/nfs$i"
        nfs mount.nfs4 "127.0.0.1:/d$i" "/mnt/nfs$i" -o vers=4.2 || return
    done
}

stop_server() {
    local i
    for i in /mnt/nfs{0,1,2,3} /mnt/bad; do
        umount -f "$i" || return
    done
    nfs rpc.nfsd 0
    umount /mnt/disk/bad /mnt/disk
}

# use_disks DISK...: a new volume of them
use_disks() {
    rm -rf /mnt/disk/d?/.fallsfs /mnt/disk/local/.fallsfs
    disks=("$@")
    "$fallsctl" format "$@" >"$work/out" 2>&1 || die "format $*: $(cat "$work/out")"
}

# Nothing may be left of what was removed; what the NFS client keeps for an open file goes with the daemon.
leftovers() {
    find /mnt/disk/d?/.fallsfs/{tmp,todo,ns} -mindepth 1 2>/dev/null
    find /mnt/disk/d?/.fallsfs/obj -type f
}

# What NFS itself cannot do: exchange names, keep the size while it allocates, ACLs, attributes but those of users; it
# does not note that an empty file was read, nor forget a handle at once.
beyond_nfs='rename_exchange fallocate_keeps_and_extends capability_goes_on_write attributes_of_strangers acl_grants_and_denies
    default_acl_is_handed_down acl_is_the_owners acl_by_a_stranger_to_the_group_clears_setgid
    reading_moves_atime reading_what_is_cached_moves_atime file_handles'

check_posix() {
    local missed
    step "$1: what programs expect"
    start -o 'layout=stripe(4K)'
    missed=$("$checks" "$mnt" </dev/null 2>&1 | grep -vE "^(${beyond_nfs//+([[:space:]])/|}):|checks missed something")
    same "$1: what programs expect" "$missed" ''
    ok "$1: what is left can be removed" find "$mnt" -mindepth 1 -delete
    stop
}

# bytes_and_kills WHAT: files are as they were written, whatever is killed
bytes_and_kills() {
    start -o 'layout=stripe(4K)'
    step "$1: a shared file, and a tree"
    rm -rf "$plain"
    mkdir -m 755 "$plain"
    ok "$1: a shared file" "$ops_equal" share "$mnt" "$plain" 3
    ok "$1: a tree" cp -a "$tree/fs" "$tree/test" "$mnt"
    cp -a "$mnt"/* "$plain"
    stop
    start
    ok "$1: the same after a remount" diff -r --no-dereference "$mnt" "$plain"
    ok "$1: all can be removed" find "$mnt" -mindepth 1 -delete
    stop
    same "$1: leftovers" "$(leftovers | head)" ''
    step "$1: kill"
    ok "$1: kill -9" env FALLSFS_CASES=20 "$kill_daemon" "$fallsfs" "$mnt" "${disks[@]}"
    start
    ok "$1: all can be removed again" find "$mnt" -mindepth 1 -delete
    stop
    same "$1: leftovers of killed daemons" "$(leftovers | grep -v '\.m\(\.new\)\?$' | head)" ''
}

# at_once WHAT: many do everything to the same names, and the client of NFS never keeps one of the tree
at_once() {
    local pid
    start -o 'layout=stripe(4K)'
    step "$1: everything at once"
    while sleep 0.1; do
        find /mnt/disk/{d?,local}/.fallsfs/ns -name '.nfs*' 2>/dev/null
    done >"$work/seen" &
    pid=$!
    ok "$1: everything at once" timeout 60 "$race" "$mnt" 8 8
    kill "$pid"
    wait "$pid" 2>/dev/null
    same "$1: names that the client kept" "$(sort -u "$work/seen" | head)" ''
    ok "$1: what came of it can be removed" find "$mnt" -mindepth 1 -delete
    stop
    same "$1: leftovers of everything" "$(leftovers | head)" ''
}

make_some='umask 022
echo x >"$1/all/f"
mkdir "$1/all/d" "$1/group/d"
echo x >"$1/group/f"
ln -s x "$1/group/l"
mkfifo "$1/group/p"'

# What NFS does in its own way
by_name() {
    local i
    start
    step "$1: names"
    touch "$mnt/empty"
    same "$1: links of a new file" "$(stat -c %h "$mnt/empty")" 1
    echo text >"$mnt/text"
    same "$1: links of one with bytes" "$(stat -c %h "$mnt/text")" 1
    ln "$mnt/text" "$mnt/other"
    same "$1: links of a linked one" "$(stat -c %h "$mnt/text" "$mnt/other" | xargs)" '2 2'
    rm "$mnt/other"
    same "$1: and of one unlinked" "$(stat -c %h "$mnt/text")" 1
    mkdir "$mnt/dir"
    for i in 1 2 3; do
        touch "$mnt/dir/empty$i"
        ln -s x "$mnt/dir/link$i"
        echo "$i" >"$mnt/dir/text$i"
    done
    ls -la "$mnt/dir" >/dev/null
    exec 7<"$mnt/dir/empty1" 8<"$mnt/dir/text2"
    ok "$1: rm" rm "$mnt"/dir/{empty,link,text}[123]
    same "$1: what was removed is not seen, nor .nfs names" "$(ls -A "$mnt/dir")" ''
    same "$1: an open file that was removed" "$(cat <&8)" 2
    ok "$1: its directory can be removed" rmdir "$mnt/dir"
    exec 7<&- 8<&-
    mkfifo "$mnt/pipe"
    exec 7<>"$mnt/pipe"
    rm "$mnt/pipe"
    same "$1: a pipe that was removed" "$(stat -Lc '%F %h' /proc/self/fd/7)" 'fifo 0'
    exec 7<&-
    echo one >"$mnt/one"
    ln "$mnt/one" "$mnt/two"
    exec 7>>"$mnt/two"
    rm "$mnt/two"
    ok "$1: links of an open file that lost one" test "$(stat -Lc %h /proc/self/fd/7)" = 1
    echo two >&7
    exec 7>&-
    same "$1: a file that lost a name while it was written" "$(xargs <"$mnt/one")" 'one two'
    rm "$mnt/one"
    touch "$mnt/a" "$mnt/b"
    stat "$mnt/a" "$mnt/b" >/dev/null
    ok "$1: rename over" mv "$mnt/a" "$mnt/b"
    same "$1: names" "$(ls -Am "$mnt")" 'b, empty, text'

    step "$1: owners"
    mkdir -m 1777 "$mnt/all"
    mkdir "$mnt/group"
    chown 1:2000 "$mnt/group"
    chmod 2777 "$mnt/group"
    ok "$1: another user makes" as 1000 sh -c "$make_some" sh "$mnt"
    same "$1: whose it is" "$(stat -c '%n %U:%G %a' "$mnt"/all/? "$mnt"/group/? | sed "s,$mnt/,," | tr '\n' ';')" \
        "$(as_it_is_elsewhere)"
    not "$1: others do not remove what is not theirs" as 1001 rm -f "$mnt/all/f"

    step "$1: layouts"
    mkdir "$mnt/laid"
    ok "$1: a directory takes a layout" setfattr -n user.falls.layout -v 'stripe(4K,2)' "$mnt/laid"
    : >"$mnt/laid/f"
    same "$1: files there have it" "$(getfattr --only-values -n user.falls.layout "$mnt/laid/f" 2>/dev/null | cut -c 1-12)" 'stripe(4K,2)'
    ok "$1: an empty file takes another" setfattr -n user.falls.layout -v 'one on d1' "$mnt/laid/f"
    ok "$1: and what it means" setfattr -n user.falls.array -v 'shape=3' "$mnt/laid/f"
    echo bytes >"$mnt/laid/f"
    not "$1: not with bytes" setfattr -n user.falls.layout -v one "$mnt/laid/f"
    same "$1: they are where it says" "$(cat "$(getfattr --only-values -n user.falls.map "$mnt/laid/f" 2>/dev/null | sed 's/.*object=//')")" bytes

    step "$1: appending"
    for i in 1 2 3; do
        (for ((j = 0; j < 100; j++)); do echo "line $i $j" >>"$mnt/appended"; done) &
        pids[i]=$!
    done
    wait "${pids[@]}"
    same "$1: appended lines" "$(grep -c '^line [123] [0-9]*$' "$mnt/appended")" 300
    rm -rf "${mnt:?}"/*
    stop
    same "$1: leftovers of names" "$(leftovers | head)" ''
}

as_it_is_elsewhere() {
    local dir=$plain
    rm -rf "$dir"
    mkdir "$dir"
    mkdir -m 1777 "$dir/all"
    mkdir "$dir/group"
    chown 1:2000 "$dir/group"
    chmod 2777 "$dir/group"
    as 1000 sh -c "$make_some" sh "$dir"
    stat -c '%n %U:%G %a' "$dir"/all/? "$dir"/group/? | sed "s,$dir/,," | tr '\n' ';'
}

# refused WHAT PATTERN: the disks do not mount, and it is said why
refused() {
    if try_start; then
        fail "$1: mounted"
        stop
    else
        ok "$1: says why" grep -qiE "$2" "$log"
    fi
}

# One daemon by NFS, another on the server's own directories, whoever comes first
two_daemons() {
    local first second mnt2=$work/mnt2 pid
    step 'two daemons'
    mkdir -p "$mnt2"
    use_disks /mnt/nfs0 /mnt/nfs1
    for first in nfs disk/d; do
        second=$([ "$first" = nfs ] && echo disk/d || echo nfs)
        disks=("/mnt/${first}0" "/mnt/${first}1")
        if ! try_start; then
            fail "the other side cannot be mounted after this one: $(cat "$log")"
            continue
        fi
        step "by $first"
        "$fallsfs" -f "/mnt/${second}0" "/mnt/${second}1" "$mnt2" >"$work/second" 2>&1 &
        pid=$!
        for ((i = 0; i < 100; i++)); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
        not "a second daemon serves, by $second" is_mounted "$mnt2"
        umount "$mnt2" 2>/dev/null
        kill -9 "$pid" 2>/dev/null && fail "the second daemon, by $second, waits for the first"
        wait "$pid"
        ok "it says why: $(head -3 "$work/second")" grep -qi 'in use' "$work/second"
        step "it said: $(head -3 "$work/second")"
        echo x >"$mnt/x"
        stop
    done
}

versions() {
    local version
    step 'versions'
    use_disks /mnt/disk/local
    rm -rf /mnt/disk/d?/.fallsfs
    mkdir -p /mnt/old
    for version in 4.1 3; do
        if [ "$version" = 3 ]; then
            nfs mount.nfs 127.0.0.1:/mnt/disk/d2 /mnt/old -o vers=3,nolock,mountport=20048,mountproto=tcp
        else
            nfs mount.nfs 127.0.0.1:/d2 /mnt/old -o "vers=$version"
        fi || {
            fail "cannot mount NFS $version"
            continue
        }
        not "NFS $version as home disk" "$fallsctl" format /mnt/old /mnt/nfs1
        cp "$work/out" "$work/why"
        ok 'and it is said why' grep -q 'NFS 4.2' "$work/why"
        same 'nothing is left by it' "$(find /mnt/disk/d1 /mnt/disk/d2 -mindepth 1)" ''
        umount /mnt/old
    done
}

# has_answer_within SECONDS NAME COMMAND...: it fails, in time
has_answer_within() {
    local begin=$SECONDS
    not "$2" timeout 30 "${@:3}"
    ok "$2, in time" test $((SECONDS - begin)) -le "$1"
}

# server_away WHAT: the server goes away, and comes back
server_away() {
    local begin before i
    step "$1: the server goes away"
    start -o 'timeout=5,layout=stripe(4K)'
    for ((i = 0; i < 8; i++)); do
        head -c 100000 /dev/urandom >"$mnt/f$i"
    done
    sync
    before=$(cd "$mnt" && md5sum f*)
    stop
    echo 3 >/proc/sys/vm/drop_caches
    start -o 'timeout=5,layout=stripe(4K)'
    nfs rpc.nfsd 0
    has_answer_within 8 "$1: reading fails" cat "$mnt/f0"
    if [ "${disks[0]}" = /mnt/disk/local ]; then
        ok "$1: names are there" timeout 5 ls -l "$mnt"
        ok "$1: and made" timeout 5 mkdir "$mnt/new"
    else
        has_answer_within 8 "$1: no names are made" mkdir "$mnt/new"
    fi
    serve
    begin=$SECONDS
    until md5sum "$mnt/f0" >/dev/null 2>&1; do
        [ $((SECONDS - begin)) -lt 40 ] || break
        sleep 0.5
    done
    step "back after $((SECONDS - begin)) s"
    same "$1: then all is as it was" "$(cd "$mnt" && md5sum f*)" "$before"
    ok "$1: and can be written" sh -c 'echo x >"$1/x" && sync -f "$1/x"' sh "$mnt"
    ok "$1: all can be removed" find "$mnt" -mindepth 1 -delete
    stop
}

mount_bad() {
    mount -o loop,errors=remount-ro /mnt/work/bad /mnt/disk/bad &&
        nfs exportfs -i -o rw,no_root_squash,insecure,no_subtree_check,fsid=1 127.0.0.1:/mnt/disk/bad &&
        nfs mount.nfs4 127.0.0.1:/bad /mnt/bad -o vers=4.2
}

unmount_bad() {
    local i
    umount /mnt/bad && nfs exportfs -u 127.0.0.1:/mnt/disk/bad || return
    for ((i = 0; i < 100; i++)); do # the server lets go of files in its own time
        nfs exportfs -f
        umount /mnt/disk/bad 2>"$work/out" && return
        sleep 0.2
    done
    cat "$work/out"
    return 1
}

write_one='for i in 0 1 2 3 4 5 6 7 8 9; do
    (echo x >"$1/small$i" && sync "$1/small$i") 2>/dev/null && exit
done
exit 1'

# A data disk finds an error in itself and becomes read-only while it is in use, as ext4 does.
disk_fails() {
    local before device i
    step 'a disk becomes read-only'
    truncate -s 64M /mnt/work/bad
    mkfs.ext4 -q /mnt/work/bad
    mkdir -p /mnt/disk/bad /mnt/bad
    mount_bad || die 'cannot mount another disk'
    rm -rf /mnt/disk/bad/lost+found
    use_disks /mnt/disk/local /mnt/bad /mnt/nfs1
    start -o 'timeout=5,layout=stripe(4K)'
    for ((i = 0; i < 8; i++)); do
        head -c 100000 /dev/urandom >"$mnt/f$i"
    done
    sync
    before=$(cd "$mnt" && md5sum f*)
    stop
    start -o 'timeout=5,layout=stripe(4K)'
    same 'all is there' "$(cd "$mnt" && md5sum f*)" "$before"
    echo old >>"$mnt/f0"
    device=$(findmnt -no SOURCE /mnt/disk/bad)
    echo 1 >"/sys/fs/ext4/${device##*/}/trigger_fs_error"
    not 'writing fails' timeout 30 dd if=/dev/zero "of=$mnt/f1" bs=64K count=1 conv=notrunc,fsync
    ok 'a new file goes to other disks' timeout 30 dd if=/dev/zero "of=$mnt/new" bs=64K count=1 conv=fsync
    ok 'names are made' mkdir "$mnt/dir"
    ok 'and small files that begin on other disks' sh -c "$write_one" sh "$mnt"
    same 'the others can be read' "$(cd "$mnt" && md5sum f[2-7])" "$(tail -n 6 <<<"$before")"
    umount "$mnt" || fail 'cannot unmount'
    reap "$daemon"
    daemon=
    unmount_bad || die 'cannot unmount the disk'
    e2fsck -fy /mnt/work/bad >"$work/out" 2>&1 # what was open and unlinked when it stopped is more than -p mends
    [ $? -le 1 ] || fail "e2fsck: $(cat "$work/out")"
    mount_bad || die 'cannot mount the disk again'
    start -o 'layout=stripe(4K)'
    same 'repaired, all is there' "$(cd "$mnt" && md5sum f[2-7])" "$(tail -n 6 <<<"$before")"
    ok 'and is written' dd if=/dev/zero "of=$mnt/f1" bs=64K count=1 conv=notrunc,fsync
    ok 'and removed' find "$mnt" -mindepth 1 -delete
    stop
    same 'leftovers of a read-only disk' "$(find /mnt/disk/bad/.fallsfs/obj -type f | head)" ''
}

step 'a server'
start_server || die 'no NFS'
mkdir /mnt/disk/local
versions
two_daemons
use_disks /mnt/nfs0 /mnt/nfs1
by_name 'home disk on NFS'
at_once 'home disk on NFS'
check_posix 'home disk on NFS'
bytes_and_kills 'home disk on NFS'
server_away 'home disk on NFS'
use_disks /mnt/disk/local /mnt/nfs1 /mnt/nfs2
by_name 'home disk local'
bytes_and_kills 'home disk local'
server_away 'home disk local'
disk_fails
step 'the end'
ok 'nothing holds on to a disk' stop_server
finish
