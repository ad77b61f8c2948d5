#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs a command as root of another kernel, one with an NFS server and client, FUSE, ext4 and loop devices, whatever the
# kernel of this machine has: uml.sh CACHE-DIR XSTATE COMMAND [ARGUMENT...]; XSTATE is xstate.c as a shared library
#
#     this machine ──> user-mode-linux, a program ──> the command      with this machine's / as its own
#
# What is written to /run, /mnt, /tmp, /etc or /var/lib the command sees alone; anything else is written here. It finds the
# programs and libraries of NFS below $NFS_ROOT. Packages come from apt's mirror into CACHE-DIR and are not installed.
# The status is the command's, or 125 when the kernel does not come up.
set -uo pipefail

[ $# -ge 3 ] || exit 125
mkdir -p "$1"
cache=$(cd "$1" && pwd) || exit 125
preload=$2
shift 2
packages=(user-mode-linux rpcbind nfs-kernel-server nfs-common kmod libkmod2 libnfsidmap1 libwrap0 libtirpc3 libevent-core-2.1-7
    libkeyutils1 libgssapi-krb5-2 libkrb5-3 libk5crypto3 libkrb5support0 libcom-err2)
root=$cache/root

# All in one go, so that one that was interrupted is not taken for one that is done.
fetch() {
    local new=$cache/new.$$ deb
    rm -rf "$new"
    mkdir -p "$new/debs"
    (cd "$new/debs" && { apt-get -qq download "${packages[@]}" || { apt-get -qq update && apt-get -qq download "${packages[@]}"; }; }) >"$new/log" 2>&1 || {
        cat "$new/log"
        return 1
    }
    for deb in "$new"/debs/*.deb; do
        dpkg -x "$deb" "$new/root" || return 1
    done
    mkdir -p "$new/root/lib"
    ln -sfn ../usr/lib/uml/modules "$new/root/lib/modules"
    ln -sfn ../bin/kmod "$new/root/sbin/modprobe" # it names an absolute path
    rm -rf "$root"
    mv "$new/root" "$root" && rm -rf "$new"
}

[ -x "$root/usr/bin/linux.uml" ] || fetch || exit 125

run=$(mktemp -d "$cache/run.XXXXXX")
tail_pid=
uml_pid=
# shellcheck disable=SC2317  # it is called by the trap
clean_up() {
    [ -z "$uml_pid" ] || kill -9 "$uml_pid" 2>/dev/null
    [ -z "$tail_pid" ] || kill "$tail_pid" 2>/dev/null
    rm -rf "$run"
}
trap clean_up EXIT
trap 'exit 125' INT TERM HUP

# The kernel keeps its memory in a file that must be executable.
memory=$run
if findmnt -no OPTIONS /dev/shm | grep -qv noexec && [ "$(df --output=avail /dev/shm | tail -1)" -gt 2000000 ]; then
    memory=/dev/shm
fi

printf '%q ' "$@" >"$run/command"
printf '%s\n' "cd $(printf %q "$PWD")" >"$run/environment"
export -p | grep ' FALLSFS_' >>"$run/environment"
head -c 64 /dev/urandom >"$run/random"
cat >"$run/init" <<INIT
#!/bin/bash
exec >"$run/boot" 2>&1
export NFS_ROOT=$(printf %q "$root") HOME=/root LC_ALL=C.UTF-8
export PATH=\$NFS_ROOT/sbin:\$NFS_ROOT/usr/sbin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts
ln -sfn /proc/self/fd /dev/fd
ip link set lo up
LD_LIBRARY_PATH=\$NFS_ROOT/usr/lib/x86_64-linux-gnu:\$NFS_ROOT/lib/x86_64-linux-gnu \\
    modprobe -d \$NFS_ROOT -a fuse loop ext4 overlay nfsd nfsv3 nfsv4
mkdir -p /dev/shm/said
mount --bind "$run" /dev/shm/said # this may lie below /tmp, and is written to for all to see
for dir in /run /mnt /tmp /etc /var/lib; do
    mkdir -p /dev/shm/over\$dir/{new,work}
    mount -t overlay overlay -o lowerdir=\$dir,upperdir=/dev/shm/over\$dir/new,workdir=/dev/shm/over\$dir/work \$dir
done
mount --bind /dev/shm/said "$run"
# A kernel without devices takes a minute to find something random; it may have some of ours.
perl -e 'open R, "<", "$run/random"; read R, \$r, 64; open D, ">", "/dev/random"; ioctl D, 0x40085203, pack("iia*", 512, 64, \$r)'
source "$run/environment"
eval "\$(cat "$run/command")" >"$run/out" 2>&1 </dev/null
echo \$? >"$run/status.new"
mv "$run/status.new" "$run/status"
sync
echo o >/proc/sysrq-trigger
sleep 60
INIT
chmod +x "$run/init"

: >"$run/out"
tail -n +1 -f "$run/out" &
tail_pid=$!
LD_PRELOAD=$preload TMPDIR=$memory "$root/usr/bin/linux.uml" mem=1G root=/dev/root rootfstype=hostfs rootflags=/ rw init="$run/init" \
    con=null ssl=null quiet </dev/null >"$run/kernel" 2>&1 &
uml_pid=$!
wait "$uml_pid"
uml_pid=
sleep 0.2
if [ ! -s "$run/status" ]; then
    echo 'user-mode-linux did not run the command; its last words:'
    tail -n 30 "$run/kernel" "$run/boot"
    exit 125
fi
exit "$(cat "$run/status")"
