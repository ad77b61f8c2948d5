# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced behind common.sh by scripts whose disks are file systems of their own, which can be lost, stopped or full.
# shellcheck disable=SC2154  # variables are common.sh's

# make_disks TYPE...: file systems $work/d0 .., formatted for fallsfs; $arguments for clients; ext4 has $ext4_size
make_disks() {
    local i=0 type device
    disks=()
    arguments=()
    types=()
    for type in "$@"; do
        truncate -s "$([ "$type" = xfs ] && echo 300M || echo "${ext4_size:-64M}")" "$work/image$i"
        ok "mkfs.$type" "mkfs.$type" -q "$work/image$i" || die 'no file system, no test'
        device=$(losetup -f --show "$work/image$i") || die 'losetup'
        loops+=("$device")
        mkdir -p "$work/d$i"
        ok "mount $type" mount -t "$type" "$device" "$work/d$i" || die 'no disk, no test'
        rm -rf "$work/d$i/lost+found"
        disks+=("$work/d$i")
        types[i]=$type
        arguments+=("$device:$type:$work/d$i")
        i=$((i + 1))
    done
    "$fallsctl" format "${disks[@]}" >"$work/out" 2>&1 || die "format: $(cat "$work/out")"
}

remove_disks() {
    local i
    for i in "${!types[@]}"; do
        umount "$work/d$i" || fail "d$i is busy"
        rm -f "$work/image$i"
    done
    for i in "${loops[@]}"; do
        losetup -d "$i"
    done
    loops=()
}

# disks_but NUMBER...: all disks are to be mounted but these
disks_but() {
    local i
    disks=()
    for i in "${!types[@]}"; do
        [[ " $* " == *" $i "* ]] || disks+=("$work/d$i")
    done
}

# lose_disk NUMBER: its directory is empty from now on, and it is no disk to be mounted
lose_disk() {
    ok "d$1 is lost" await 10 umount "$work/d$1" || die 'a disk stays'
    disks_but "$1"
}

# bring_back NUMBER: as it was
bring_back() {
    ok "d$1 is back" mount -t "${types[$1]}" "${loops[$1]}" "$work/d$1" || die 'a disk stays away'
    disks_but
}

# shut_down NUMBER: all that its file system is asked for fails from now on
shut_down() {
    ok "d$1 fails" python3 -c 'import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587D, struct.pack("I", 1)) # FS_IOC_SHUTDOWN, its log is flushed' \
        "$work/d$1" || die 'a disk works on'
}
