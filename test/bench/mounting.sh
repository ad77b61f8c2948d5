# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by the scripts beside it, which scripts/bench calls: what they are told, their mounts and disks, all of which are
# undone at the end, however it comes, and their report.
#
#     usage='usage: scripts/bench names [--quick] [--json FILE] [--dir DIR] [--deep] [NAME...]'
#     option() { ... }                             # for read_words: what is ours of them
#     read_words names "$@"
#     begin                                        # nobody else measures; what a killed run has left goes
#     volume falls 'stripe(1M)' '' "$d"/falls{0,1}     # at $base/falls, served by ${pid_of[falls]}
#     later rm -f "$d/file"                        # at the end, or
#     undo_to 0                                    # now
#     "$bench" run "$size" "$samples" || failed="$failed run"
#     report                                       # and ends
# shellcheck disable=SC2317,SC2154,SC2034  # functions are called by later and its undoing; variables are the caller's, or for him
images=/dev/shm/fallsfs-bench
blkio=/sys/fs/cgroup/blkio

# -- what is asked for --

# read_words NAME BUILD WORD...: sets what all scripts know, as bench_NAME and NAME.md of this build. What not all scripts are
# told goes to the caller's option WORD [NEXT]: it puts names into $words, sets n_taken=2 if it took the next one, too, and
# fails when it knows no such word.
read_words() {
    subject=$1
    build=$PWD/$2
    shift 2
    bench=$build/test/bench/bench_$subject
    fallsfs=$build/fs/daemon/fallsfs
    fallsctl=$build/fs/ctl/fallsctl
    samples=$build/$subject.samples
    log=$build/$subject.log
    size=full
    json=
    base=$build/$subject.d # a directory of our own
    keep=               # not empty: what is in it stays
    words=()
    before= # another build, which is measured beside this one
    failed= # what did not come to its end
    while [ $# -gt 0 ]; do
        n_taken=1
        case $1 in
        --quick) size=quick ;;
        --json) json=${2:?$usage} n_taken=2 ;;
        --before)
            : "${2:?$usage}" # in $() it would end that alone
            before=$(realpath "$2") n_taken=2
            ;;
        --dir)
            : "${2:?$usage}"
            base=$(realpath -m "$2")/fallsfs-bench n_taken=2
            ;;
        *) option "$@" || die "unknown option $1; $usage" ;;
        esac
        shift "$n_taken"
    done
    [ -z "$before" ] || [ -x "$before/fs/daemon/fallsfs" ] || die "$before is no build: there is no fs/daemon/fallsfs"
    [ "$(id -u)" -eq 0 ] || die "it mounts, drops caches and limits disks: run it as root"
}

# -- undoing --

undo=()
later() {
    undo+=("$(printf '%q ' "$@")")
}

undo_all() {
    local status=$?
    trap '' INT TERM HUP
    set +e
    [ "$status" -le 1 ] || tail -n 5 "$log" >&2
    undo_to 0
    [ -n "$keep" ] || rm -rf --one-file-system "$base"
    rm -rf "$images"
    exit "$status"
}

# undo_to N: all but the first N of what is to be undone, last first.
undo_to() {
    local i
    for ((i = ${#undo[@]} - 1; i >= $1; i--)); do
        eval "${undo[i]}" >>"$log" 2>&1 || printf 'could not: %s\n' "${undo[i]}" >>"$log"
        unset "undo[i]"
    done
}

# Ours to end, whoever the others are.
end_mount() {
    local mnt=$1 pid=${2-} i
    for ((i = 0; i < 50; i++)); do
        mountpoint -q "$mnt" || grep -qF " $mnt " /proc/self/mountinfo || break
        umount "$mnt" 2>/dev/null || sleep 0.1
    done
    ! grep -qF " $mnt " /proc/self/mountinfo || umount -l "$mnt"
    [ -n "$pid" ] || return 0
    for ((i = 0; i < 100; i++)); do
        kill -0 "$pid" 2>/dev/null || return 0
        sleep 0.1
    done
    kill -9 "$pid"
}

# What a run that was killed has left: mounts, last first, loop devices and their limits.
end_leftovers() {
    local mnt source number
    while read -r mnt source number; do
        umount "$mnt" 2>>"$log" || umount -l "$mnt"
        case $source in
        /dev/loop*)
            [ ! -w "$blkio/blkio.throttle.read_bps_device" ] || throttle "$number" 0
            losetup -d "$source" || true
            ;;
        esac
    done < <(findmnt -r -n -o TARGET,SOURCE,MAJ:MIN | awk -v base="$base/" 'index($1, base) == 1' | tac)
    if [ -e "$base" ] || [ -e "$images" ]; then
        rm -rf --one-file-system "$base" "$images"
    fi
}

# -- mounting --

declare -A pid_of
# serve NAME MOUNTPOINT COMMAND...: runs it in the background until the end, once it has mounted.
serve() {
    local name=$1 mnt=$2 pid i
    shift 2
    mkdir -p "$mnt"
    # Not in our process group: an interrupt is for us, who then unmount.
    setsid "$@" >>"$log" 2>&1 9>&- &
    pid=$!
    pid_of[$name]=$pid
    later end_mount "$mnt" "$pid"
    for ((i = 0; i < 600; i++)); do
        ! mountpoint -q "$mnt" || return 0
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.05
    done
    die "$name does not mount; see $log"
}

# by_before COMMAND...: with the daemon and the tool of the build before.
by_before() {
    local fallsfs=$before/fs/daemon/fallsfs fallsctl=$before/fs/ctl/fallsctl
    "$@"
}

# volume NAME LAYOUT MORE-OPTIONS DISK...: formats and mounts at $base/NAME.
volume() {
    local name=$1 layout=$2 more=$3
    shift 3
    mkdir -p "$@"
    "$fallsctl" format "$@" >>"$log"
    serve "$name" "$base/$name" "$fallsfs" -f -o "layout=${layout//,/\\,}$more" "$@" "$base/$name"
}

# -- disks of our own --

# disk IMAGE-OR-FILE DIR [losetup options]: ext4 on a loop device; its name is left in $loop.
disk() {
    local file=$1 dir=$2 i
    shift 2
    loop=
    for ((i = 0; i < 10; i++)); do
        loop=$(losetup -f --show "$@" "$file" 2>>"$log") && break # somebody else may be quicker
    done
    [ -n "$loop" ] || die "no loop device for $file; see $log"
    later losetup -d "$loop"
    mkfs.ext4 -q -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$loop" >>"$log" 2>&1
    mkdir -p "$dir"
    mount "$loop" "$dir"
    later end_mount "$dir"
}

image() {
    mkdir -p "$images"
    truncate -s "$2" "$images/$1"
    printf '%s' "$images/$1"
}

throttle() {
    local key
    for key in read write; do
        echo "$1 $2" >"$blkio/blkio.throttle.${key}_bps_device"
    done
}

# can_throttle GROUP: false, and says so, when the machine cannot.
can_throttle() {
    [ ! -w "$blkio/blkio.throttle.read_bps_device" ] || return 0
    printf '%s: left out, disks are limited through the blkio controller of cgroup v1, which is not here\n' "$1" >&2
    return 1
}

# throttled NAME SIZE DIR BYTES: a disk that gives and takes so many bytes a second.
throttled() {
    local number
    disk "$(image "$1" "$2")" "$3"
    number=$(lsblk -d -n -o MAJ:MIN "$loop" | tr -d ' ')
    throttle "$number" "$4"
    later throttle "$number" 0
}

# seeking NAME SIZE DIR: a disk that is as quick as memory until slow_down, and again after quicken.
seeking() {
    serve "$1" "$base/slowdisk/$1" "$build/test/bench/slowdisk" "$(image "$1" "$2")" "$base/slowdisk/$1"
    disk "$base/slowdisk/$1/disk" "$3" --direct-io=on
}

# All of those give that many MB/s from now on, and need that many microseconds to get anywhere.
slow_down() {
    local model
    for model in "$base"/slowdisk/*/model; do
        echo "$1 $2" >"$model"
    done
}

quicken() {
    slow_down 0 0
}

# What a table is of: remark SIZE.
remark() {
    printf '%s' "$(date -u +%F), $1, $(nproc) cores ($(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)), \
kernel $(uname -r), libfuse $(pkg-config --modversion fuse3), load $load_before before and \
$(cut -d' ' -f1 /proc/loadavg) after, commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
}

begin() {
    exec 9>/run/lock/fallsfs-bench.lock
    flock -n 9 || die "another one is measuring on this machine"
    load_before=$(cut -d' ' -f1 /proc/loadavg)
    : >"$log"
    : >"$samples"
    end_leftovers
    trap undo_all EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    mkdir -p "$base"
}

# Prints the table that bench_NAME makes of all samples, and ends: with 1 when a bar is missed or something failed.
report() {
    local status=0
    "$bench" report "$samples" "$(remark "$size")${failed:+, failed:$failed}" ${json:+"$json"} >"$build/$subject.md" ||
        status=$?
    cat "$build/$subject.md"
    [ -z "$failed" ] || die "these did not come to their end:$failed"
    exit "$status"
}
