# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by the scripts beside it, with the paths of fallsfs and fallsctl in $1 and $2. Makes volumes in a directory of
# its own and mounts them; whatever happens, nothing stays mounted.
#
#     source "$(dirname "$0")/common.sh"
#     make_volume 3            # $work/d0 .. d2, formatted
#     start -o 'layout=one'    # at $mnt, with the daemon's words in $log
#     ok 'two and two' test $((2 + 2)) = 4
#     stop
#     finish
#
# Where users_mount=1 was said before, ordinary users can mount: they need /dev/fuse as udev makes it, and fusermount3
# wants a name for who calls it. In bare containers, where one of them is not, the script has its own.
#
# ../support/only.sh has how one part of a script is run.
#
# A test fails when a check fails, when a daemon dies unasked or ends badly, or when its log has a sanitizer's report.
set -uo pipefail

if [ -n "${users_mount:-}" ] && { [ "$(stat -c %a /dev/fuse)" != 666 ] || ! getent passwd 1000 >/dev/null; }; then
    # The copies of mounts that other tests have now would keep their daemons and devices in use.
    # shellcheck disable=SC2016  # the other shell expands it
    exec unshare --mount --propagation private bash -c \
        'mount -t tmpfs tmpfs /mnt && mknod -m 666 /mnt/fuse c 10 229 && mount --bind /mnt/fuse /dev/fuse || exit 1
        getent passwd 1000 >/dev/null || { cp /etc/passwd /mnt/passwd &&
            echo ann:x:1000:1000::/:/bin/sh >>/mnt/passwd && mount --bind /mnt/passwd /etc/passwd; } || exit 1
        while read -r path; do umount -l "$path"; done < <(awk "\$5 ~ /\/fallsfs\.[^/]*\// { print \$5 }" /proc/self/mountinfo)
        exec bash "$@"' \
        "$0" "$0" "$@"
fi

# shellcheck source=../support/only.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/only.sh"
fallsfs=$1
fallsctl=$2
work=$(mktemp -d "${TMPDIR:-/var/tmp}/fallsfs.XXXXXX")
chmod 755 "$work"
mnt=$work/mnt
log=$work/log
disks=()
daemon=
inner=
n_failed=0
n_checks=0
loops=()
mkdir "$mnt"
: >"$log"

# Stops what holds on to the mount, and the mount.
clean_up() {
    local status=$? pid
    cd / || exit 1
    [ -z "$inner" ] || kill -CONT "$inner" 2>/dev/null
    for pid in $(jobs -p); do
        kill -9 "$pid" 2>/dev/null
    done
    wait 2>/dev/null
    for ((i = 0; i < 100; i++)); do
        unmount_one || break
    done
    for loop in "${loops[@]}"; do
        losetup -d "$loop" 2>/dev/null
    done
    if [ "$status" != 0 ] && [ -n "${FALLSFS_KEEP:-}" ]; then
        printf 'kept: %s\n' "$work"
    else
        rm -rf --one-file-system "$work"
    fi
    exit "$status"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# Detaches the last thing mounted below $work; fails when there is none.
unmount_one() {
    local path
    path=$(awk -v work="$work/" 'index($5, work) == 1 { path = $5 } END { print path }' /proc/self/mountinfo)
    [ -n "$path" ] && umount -l "$path" 2>/dev/null
}

fail() {
    printf 'FAILED: %s\n' "$1"
    n_failed=$((n_failed + 1))
}

# Cannot go on.
die() {
    fail "$1"
    finish
}

# ok NAME COMMAND...: it must succeed. What it says is shown when it does not.
ok() {
    local name=$1 status
    shift
    n_checks=$((n_checks + 1))
    "$@" >"$work/out" 2>&1 </dev/null
    status=$?
    [ "$status" = 0 ] && return 0
    fail "$name (status $status)"
    tail -c 12000 "$work/out" | sed 's/^/    /'
    return 1
}

# not NAME COMMAND...: it must fail, of its own accord.
not() {
    local name=$1 status
    shift
    n_checks=$((n_checks + 1))
    "$@" >"$work/out" 2>&1 </dev/null
    status=$?
    [ "$status" != 0 ] && [ "$status" -lt 124 ] && return 0
    fail "$name: it should not work (status $status)"
    tail -c 12000 "$work/out" | sed 's/^/    /'
    return 1
}

# refused WHAT ERROR COMMAND...: it must fail with this error, as the C locale words it.
refused() {
    local name=$1 error=$2
    shift 2
    n_checks=$((n_checks + 1))
    if LC_ALL=C "$@" >"$work/out" 2>&1; then
        fail "$name: it should not work"
    elif ! grep -qF "$error" "$work/out"; then
        fail "$name: not '$error' but $(cat "$work/out")"
    fi
}

# same NAME GOT WANTED
same() {
    n_checks=$((n_checks + 1))
    [ "$2" = "$3" ] && return 0
    fail "$1"
    printf '    got      %s\n    expected %s\n' "$2" "$3" | head -c 4000
    return 1
}

# await SECONDS COMMAND...: again and again, until it succeeds; it fails when it never did in about so many seconds. On a busy
# machine these are longer: what counts is how often it was tried.
await() {
    local n_tries=$(($1 * 50))
    shift
    while ! "$@"; do
        [ $((n_tries--)) -gt 0 ] || return 1
        sleep 0.02
    done
}

# log_says PATTERN: the daemon does, and soon.
log_says() {
    await 5 grep -qE "$1" "$log" || {
        cat "$log"
        return 1
    }
}

# make_volume N [format options]: disks $work/d0.., formatted; those of before go.
make_volume() {
    local n=$1 i
    shift
    rm -rf "$work"/d[0-9]*
    disks=()
    for ((i = 0; i < n; i++)); do
        disks+=("$work/d$i")
        mkdir "$work/d$i"
    done
    "$fallsctl" format "$@" "${disks[@]}" >"$work/out" 2>&1 || die "format: $(cat "$work/out")"
}

# make_volume_with_inner: three disks, the last of which is in another fallsfs, whose daemon, $inner, can be stopped
make_volume_with_inner() {
    mkdir "$work/inner" "$work/inner/d" "$work/inner/mnt"
    "$fallsctl" format "$work/inner/d" >/dev/null || die 'format of the inner volume'
    "$fallsfs" -f -o direct_io "$work/inner/d" "$work/inner/mnt" >"$work/inner/log" 2>&1 &
    inner=$!
    await 10 is_served "$work/inner/mnt" || die "the inner mount: $(cat "$work/inner/log")"
    rm -rf "$work"/d[0-9]*
    mkdir "$work/d0" "$work/d1" "$work/inner/mnt/disk"
    disks=("$work/d0" "$work/d1" "$work/inner/mnt/disk")
    "$fallsctl" format "${disks[@]}" >/dev/null || die 'format'
}

is_mounted() {
    awk -v path="$1" '$5 == path && / - fuse.fallsfs / { found = 1 } END { exit !found }' /proc/self/mountinfo
}

# Not the dead mount of a killed daemon, nor the directory below while that one is taken away.
is_served() {
    [ "$(stat -f -c %t "$1" 2>/dev/null)" = 65735546 ]
}

# try_start [options]: 0 when $disks are mounted at $mnt, else what the daemon ended with; what it said is in $log.
try_start() {
    local i
    : >"$log"
    "$fallsfs" -f "$@" "${disks[@]}" "$mnt" 2>>"$log" >>"$log" &
    daemon=$!
    for ((i = 0; i < 1500; i++)); do
        if is_served "$mnt"; then
            return 0
        elif ! kill -0 "$daemon" 2>/dev/null; then
            local status
            wait "$daemon"
            status=$?
            daemon=
            check_log
            return "$status"
        fi
        sleep 0.02
    done
    kill -9 "$daemon"
    daemon=
    fail 'the daemon neither mounts nor ends'
    return 1
}

start() {
    try_start "$@" || die "mount $*: $(cat "$log")"
}

check_log() {
    if grep -qE 'Sanitizer|runtime error|AddressSan' "$log"; then
        fail 'the daemon has a bug:'
        sed 's/^/    /' "$log" | head -60
    fi
}

# reap PID: waits for it to end, not for ever; its status.
reap() {
    local i
    for ((i = 0; i < 6000; i++)); do
        kill -0 "$1" 2>/dev/null || break
        sleep 0.02
    done
    if kill -9 "$1" 2>/dev/null; then
        fail 'a daemon does not end'
    fi
    wait "$1" 2>/dev/null
}

# Unmounts; the daemon must end well.
stop() {
    local status i
    if ! kill -0 "$daemon" 2>/dev/null; then
        wait "$daemon"
        fail "the daemon died with status $?"
        umount -l "$mnt"
    else
        for ((i = 0; i < 250; i++)); do
            umount "$mnt" 2>"$work/out" && break
            sleep 0.02
        done
        if is_mounted "$mnt"; then
            fail "cannot unmount: $(cat "$work/out")"
            fuser -vm "$mnt" 2>/dev/null | head -20
            umount -l "$mnt"
        fi
        reap "$daemon"
        status=$?
        [ "$status" = 0 ] || fail "the daemon ended with status $status: $(cat "$log")"
    fi
    daemon=
    check_log
}

# Kills the daemon as a crash would; the mount stays behind, dead, as it would.
crash() {
    kill -9 "$daemon"
    wait "$daemon" 2>/dev/null
    daemon=
    check_log
}

restart() {
    stop
    start "$@"
}

# left_soon: what leftovers, a function of the script, still prints a second later. A moment after a program has ended,
# the kernel has closed and forgotten its files.
left_soon() {
    local i
    for ((i = 0; i < 50; i++)); do
        [ -z "$(leftovers)" ] && return
        sleep 0.02
    done
    leftovers | head
}

# Orders about disks of the mount, by the tool and by the attribute.
disk() {
    "$fallsctl" disk "$@"
}

disk_order() {
    setfattr -n user.falls.disks -v "$1" "$mnt" && return
    getfattr --only-values -n user.falls.lasterror "$mnt"
    return 1
}

# As an ordinary user: as UID COMMAND...
as() {
    local uid=$1
    shift
    setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}

finish() {
    [ -z "$daemon" ] || stop
    if [ "$n_failed" != 0 ]; then
        printf '%d of %d checks failed\n' "$n_failed" "$n_checks"
        exit 1
    fi
    printf '%d checks\n' "$n_checks"
    exit 0
}
