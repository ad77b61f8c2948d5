#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What 'cmake --install' leaves a machine with: mount(8), fstab and systemd know fallsfs, with nothing done by hand.
# test_installed.sh FALLSFS FALLSCTL BUILD-DIR. It installs into a /usr and an /etc that nobody else sees.
# shellcheck source-path=SCRIPTDIR
if [ "$(id -u)" != 0 ] || [ ! -e /dev/fuse ]; then
    echo 'needs root and /dev/fuse'
    exit 77
fi
if [ -z "${FALLSFS_OWN_USR:-}" ]; then
    # shellcheck disable=SC2016
    FALLSFS_OWN_USR=1 exec unshare --mount --propagation private bash -c '
        mount -t tmpfs tmpfs /mnt || exit
        for dir in usr etc; do
            mkdir -p "/mnt/$dir/new" "/mnt/$dir/work"
            mount -t overlay overlay -o "lowerdir=/$dir,upperdir=/mnt/$dir/new,workdir=/mnt/$dir/work" "/$dir" ||
                { echo "needs overlayfs" && exit 77; }
        done
        exec bash "$@"' "$0" "$0" "$@"
fi
source "$(dirname "$0")/common.sh"
build=$3

rm -rf /usr/local/*bin/*fallsfs* /usr/local/bin/fallsctl /sbin/mount.fallsfs
ok 'install' cmake --install "$build" --prefix "$work/elsewhere"
not 'what is installed elsewhere changes nothing here' test -e /sbin/mount.fallsfs
ok 'install' cmake --install "$build" --prefix /usr/local
ok 'install again' cmake --install "$build" --prefix /usr/local

make_volume 3
source=$work/d0:$work/d1:$work/d2
for type in fallsfs fuse.fallsfs; do
    ok "mount -t $type" mount -t "$type" "$source" "$mnt" -o noatime
    has "mount -t $type" "fuse.fallsfs $source .*default_permissions,allow_other"
    echo "$type" >"$mnt/file"
    unmount
    echo "$source $mnt $type nofail,wait_disks=30,x-systemd.requires-mounts-for=$work/d0 0 0" >/etc/fstab
    ok "fstab, $type" mount -a
    same "fstab, $type" "$(cat "$mnt/file")" "$type"
    ok "fstab again, $type" mount -a
    same "mounted once, $type" "$(grep -c " $mnt " /proc/self/mountinfo)" 1
    unmount
    ok "mount by its place, $type" mount "$mnt"
    same "mount by its place, $type" "$(cat "$mnt/file")" "$type"
    unmount
done

mkdir -p /etc/fallsfs
cat >/etc/fallsfs/fast.conf <<EOT
mount = "$mnt";
disks = ( "$work/d0", "$work/d1", "$work/d2" );
EOT
ok 'fallsfs -c' fallsfs -c /etc/fallsfs/fast.conf
ok 'fallsfs -c: serves' is_served "$mnt"
unmount
if [ -x "$(command -v systemd-analyze)" ]; then
    ok 'systemd takes the unit' systemd-analyze verify fallsfs@fast.service
    same 'without a word' "$(cat "$work/out")" ''
fi
ok 'fsck' fsck.fallsfs -n "$work/d0" "$work/d1" "$work/d2"
finish
