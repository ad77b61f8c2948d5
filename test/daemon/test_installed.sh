#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What 'cmake --install' leaves a machine with: mount(8), fstab and systemd know fallsfs, with nothing done by hand.
# test_installed.sh FALLSFS FALLSCTL BUILD-DIR. It installs into a /usr and an /etc that nobody else sees.
# shellcheck source-path=SCRIPTDIR disable=SC2317  # functions are called by others
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
        # The copies of mounts that other tests have now would keep their daemons and devices in use.
        while read -r path; do umount -l "$path"; done < <(awk "\$5 ~ /\/fallsfs\.[^/]*\// { print \$5 }" /proc/self/mountinfo)
        exec bash "$@"' "$0" "$0" "$@"
fi
source "$(dirname "$0")/common.sh"
build=$3

rm -rf /usr/local/*bin/*fallsfs* /usr/local/bin/fallsctl /sbin/mount.fallsfs /sbin/umount.fuse.fallsfs
ok 'install' cmake --install "$build" --prefix "$work/elsewhere"
not 'what is installed elsewhere changes nothing here' test -e /sbin/mount.fallsfs -o -e /sbin/umount.fuse.fallsfs
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

# umount(8) waits until all is written: then the disks can be unmounted, too. One with a name, one without.
loop_disks() {
    disks=()
    for i in 0 1 2; do
        truncate -s 400M "$work/image$i"
        mkfs.ext4 -q -F "$work/image$i"
        mkdir "$work/e$i"
        mount -o loop "$work/image$i" "$work/e$i" || exit 1
        disks+=("$work/e$i/disk")
        mkdir "$work/e$i/disk"
    done
    fallsctl format "${disks[@]}" >/dev/null
}
loop_disks
for options in noatime fsname=fast; do
    for round in 1 2 3; do
        ok "$options: mount" fallsfs -o "$options" "${disks[@]}" "$mnt"
        dd if=/dev/zero of="$mnt/large$round" bs=1M count=200 status=none
        ok "$options: umount waits" umount "$mnt"
        for disk in e0 e1 e2; do
            ok "$options, $round: and $disk" umount "$work/$disk"
            mount -o loop "$work/image${disk#e}" "$work/$disk"
        done
        same "$options, $round: all is well" "$(fallsctl status "${disks[@]}" | grep -c 'did not end well')" 0
    done
done
ok 'fallsctl umount: mount' fallsfs "${disks[@]}" "$mnt"
mkdir "$work/also"
mount --bind "$mnt" "$work/also"
timeout 60 umount "$mnt" 2>"$work/said"
same 'mounted at two places: it does not wait for ever' $? 0
ok 'and says why' grep -q 'but also mounted elsewhere' "$work/said"
exec 7>"$work/also/open"
not 'in use' umount "$work/also"
ok 'in use, lazily' umount -l "$work/also"
exec 7>&-
eventually_free() {
    for ((i = 0; i < 500; i++)); do
        umount "$work/e0" 2>/dev/null && mount -o loop "$work/image0" "$work/e0" && return
        sleep 0.02
    done
    return 1
}
ok 'lazily, in the end' eventually_free
ok 'fallsctl umount: mount again' fallsfs "${disks[@]}" "$mnt"
same 'fallsctl umount' "$(fallsctl umount --json "$mnt" | jq -c '[.mountpoint, .disks_are_free]')" "[\"$mnt\",true]"
refused 'nothing is there' 'no fallsfs is mounted there' fallsctl umount "$mnt"
for disk in e0 e1 e2; do
    ok "and $disk" umount "$work/$disk"
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
