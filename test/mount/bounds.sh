#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What an ordinary user may have of the daemon, at most, while others work: bounds.sh FALLSFS FALLSCTL BOUNDS
# shellcheck disable=SC2317  # functions are called by ok and not
# fs/BOUNDS.md has all objects, and says which of them is driven to its bound here.
source "$(dirname "$0")/common.sh"
bounds=$3

rss() {
    awk '/^RssAnon/ { print int($2 / 1024) }' "/proc/$daemon/status"
}

fds() {
    find "/proc/$daemon/fd" -mindepth 1 | wc -l
}

# until_at_most WHAT MAX: what goes when its users have gone goes soon.
until_at_most() {
    local now
    is_at_most() {
        now=$($1)
        [ "$now" -le "$2" ]
    }
    await 3 is_at_most "$@" || fail "$1 of the daemon: $now, and not $2 or less"
}

# has_at_most NAME WHAT MAX: now.
has_at_most() {
    local now
    now=$($2)
    n_checks=$((n_checks + 1))
    [ "$now" -le "$3" ] || fail "$1: $2 of the daemon: $now, and not $3 or less"
}

# Takes OBJECT as a user until it is refused, and keeps what it got: $got. release lets all go.
take() {
    coproc GREEDY { cd "$mnt/greedy" && exec setpriv --reuid 1000 --regid 1000 --clear-groups "$bounds" "$@" 2>&1; }
    greedy=$GREEDY_PID
    exec {greedy_in}>&"${GREEDY[1]}" {greedy_out}<&"${GREEDY[0]}"
    eval "exec ${GREEDY[1]}>&- ${GREEDY[0]}<&-"
    IFS= read -r -t 60 got <&"$greedy_out" || fail "$*: nothing for a minute"
}

release() {
    exec {greedy_in}>&- {greedy_out}<&-
    n_checks=$((n_checks + 1))
    wait "$greedy" || fail "the greedy one ended with $?: $got"
}

# An object's check: bound NAME WANTED OBJECT [N]. Meanwhile the daemon has $more_rss MiB more than before at most, and
# $max_fds descriptors, and afterwards hardly more than before. Lists take most: 16 MiB of the configuration's.
more_rss=24 max_fds=300 left_fds=6
bound() {
    local name=$1 wanted=$2 rss_before fds_before
    shift 2
    rss_before=$(rss) fds_before=$(fds)
    take "$@"
    same "$name" "$got" "$wanted"
    has_at_most "$name" rss $((rss_before + more_rss))
    has_at_most "$name" fds "$max_fds"
    release
    until_at_most rss $((rss_before + 6))
    until_at_most fds $((fds_before + left_fds))
}

# The daemon has 1,024 descriptors and, where a control group can be made, 256 MiB of memory.
group=
make_group() {
    local own
    own=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
    if [ -n "$own" ] && [ -w "/sys/fs/cgroup/memory$own" ]; then
        group=/sys/fs/cgroup/memory$own/fallsfs.$$
    elif grep -qw memory /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
        group=/sys/fs/cgroup/fallsfs.$$
    fi
    if [ -z "$group" ] || ! mkdir "$group" 2>/dev/null; then
        group=
        return
    fi
    echo $((256 << 20)) 2>/dev/null >"$group/memory.limit_in_bytes" || echo $((256 << 20)) >"$group/memory.max"
}
# However it ends, the group goes when nobody is in it any more.
leave() {
    local status=$? pid
    for pid in $(jobs -p); do
        kill -9 "$pid" 2>/dev/null
    done
    wait 2>/dev/null
    [ -z "$group" ] || rmdir "$group" 2>/dev/null
    (exit "$status")
    clean_up
}
trap leave EXIT
make_group
[ -n "$group" ] || printf 'without a control group: that memory stays within bounds is looked at, not enforced\n'
fallsfs_there=$fallsfs
fallsfs=$work/small
cat >"$fallsfs" <<END
#!/bin/sh
ulimit -n 1024
[ -z "$group" ] || echo \$\$ >"$group/cgroup.procs"
exec setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource "$fallsfs_there" "\$@"
END
chmod +x "$fallsfs"

make_volume 2
printf 'layout = { default = "stripe(4K)"; }; limits = { view_memory = "200M"; groups = 64; jobs = 100; description_memory = "16M"; };' >"$work/conf"
start -c "$work/conf"
same 'descriptors' "$(awk '/^Max open files/ { print $4 }' "/proc/$daemon/limits")" 1024
mkdir -m 777 "$mnt/greedy" "$mnt/work"

# The one who works all the time.
mkfifo "$work/go"
# shellcheck disable=SC2094  # opened to be held, not to be read
(cd "$mnt/work" && exec setpriv --reuid 1001 --regid 1001 --clear-groups "$bounds" work 2000 <"$work/go" >"$work/worker" 2>&1) &
worker=$!
exec {go}>"$work/go"

# -- views --
# needs: the one who works
bound 'views of one text' '4096 EUSERS' same_views
same 'why' "$(as 1000 getfattr --absolute-names --only-values -n user.falls.lasterror "$mnt/greedy/file")" \
    '4096 descriptors with views, as many as this user may have: close some, or ask for more, limits.views in fallsfs.conf'
bound 'tickets' '4096 EUSERS' tickets
take views
same 'views of many texts' "${got#* } $((${got% *} > 2500))" 'EUSERS 1'
same 'they are within their memory' "$(($(rss) < 240))" 1
as 1000 getfattr --absolute-names --only-values -n user.falls.lasterror "$mnt/greedy/file" >"$work/why"
ok 'why' grep -q '^the views that this user has take 200 MiB' "$work/why"
release
until_at_most rss 32
bound 'views of files that are removed' '3000 -' removed 3000
bound 'named views of files that are removed' '500 -' removed_names 500

# -- what is open --
# needs: views
# What names lead to, the daemon may keep open as long as there is room.
max_fds=800 left_fds=200
bound 'files' '42 ENFILE' files
same 'the last one was not made' "$(find "$mnt/greedy" -name 'open*' | wc -l)" 42
take files
refused 'one that is there' 'Too many open files in system' as 1000 sh -c "cat '$mnt/greedy/file'"
same 'why' "$(as 1000 getfattr --absolute-names --only-values -n user.falls.lasterror "$mnt/greedy/file" | cut -d: -f1)" \
    'what this user has open may take 128 descriptors of the daemon, a file one and one for each subfile, or for each 2 KiB of memory that its layout takes'
release
bound 'files with large layouts' '3 ENFILE' large_files
ok 'why' as 1000 sh -c "getfattr --absolute-names --only-values -n user.falls.lasterror '$mnt/greedy/large3' | grep -q '2 KiB of memory'"
bound 'files without names' '42 ENFILE' removed_files
bound 'directories' '128 ENFILE' directories

# -- files on their way to other layouts --
# needs: what is open
lasterror() {
    as 1000 getfattr --absolute-names --only-values -n user.falls.lasterror "$1"
}
# are N STATE: so many jobs are in that state, within a while.
are() {
    are_so_many() {
        [ "$("$fallsctl" jobs --json "$mnt" | jq "[.jobs[] | select(.state == \"$2\")] | length")" = "$1" ]
    }
    n_checks=$((n_checks + 1))
    await 60 are_so_many "$@" || fail "not $1 jobs are $2: $("$fallsctl" jobs "$mnt")"
}
# jobs_go: with their files.
jobs_go() {
    find "$mnt/greedy" -name 'job*' -delete
    are 0 running
    are 0 waiting
}
rss_before=$(rss)
take jobs
same 'jobs' "$got" '100 EUSERS'
same 'why' "$(lasterror "$mnt/greedy/job100" | cut -d: -f1)" \
    '100 files of this user are on their way to other layouts, as many as may be'
are 8 running
has_at_most 'jobs' rss $((rss_before + 16))
has_at_most 'jobs' fds $max_fds
as 1001 sh -c "head -c 100000 /dev/zero >'$mnt/work/moves'"
ok 'another user moves a file meanwhile' as 1001 "$fallsctl" migrate --wait --limit 100M -L 'stripe(1K)' "$mnt/work/moves"
rm "$mnt/work/moves"
release
jobs_go
until_at_most rss $((rss_before + 6))
take too_wide_jobs
same 'one that takes more descriptors than all may have' "$got" '0 EUSERS'
same 'why' "$(lasterror "$mnt/greedy/job0" | cut -d: -f1)" \
    'to give the file this layout takes more descriptors of the daemon than all such changes may have together, a quarter of its own'
release
take wide_jobs 10
same 'jobs with many descriptors' "$got" '10 -'
are 8 running
has_at_most 'jobs with many descriptors' fds $max_fds
release
jobs_go

# -- layouts --
# needs: what is open
before=$(rss)
take layouts 300
same 'layouts of directories' "$got" '300 -'
until_at_most rss $((before + 36))
release
same 'a file in one that is long forgotten' "$(getfattr --absolute-names --only-values -n user.falls.layout "$mnt/greedy/dir7/file")" \
    'stripe(4103,4096) on d0-d1'
ok 'they are removed' as 1000 sh -c "rm -r '$mnt'/greedy/dir*"
until_at_most rss $((before + 8))

# -- groups --
# needs: layouts
bound 'groups' '64 EUSERS' groups
bound 'lists' '15 EUSERS' lists
bound 'requests that are not fetched' '8192 EUSERS' requests
bound 'refusals' '3000 -' reasons 3000

# -- memory of programs --
# needs: the one who works
# What it fills stays the daemon's, as long as its owner likes.
bound 'holes' '8 EFAULT' holes 100
bound 'no hole any more' '0 EFAULT' holes 100
bound 'memory that is there' '100 -' memory 100
take huge_memory
same 'more memory than there is' "${got#* } $((${got% *} <= $(awk '/^MemTotal/ { print int($2 / 1048576) }' /proc/meminfo)))" \
    'EUSERS 1'
release

# -- the one who works --
exec {go}>&-
n_checks=$((n_checks + 1))
wait "$worker" || fail "the one who works: $(cat "$work/worker")"

# -- jobs that a crash has left --
# All of them are taken up, though they are more than a user may have now.
take jobs 90
release
sed -i 's/jobs = 100/jobs = 20/' "$work/conf"
crash
umount -l "$mnt"
start -c "$work/conf"
same 'none is lost' "$("$fallsctl" jobs --json "$mnt" | jq '.jobs | length')" 90
are 8 running
has_at_most 'jobs that are taken up' fds $max_fds
refused 'no more is begun' 'Too many users' as 1000 setfattr -n user.falls.migrate -v one "$mnt/greedy/file"
jobs_go
ok 'and then again' as 1000 setfattr -n user.falls.migrate -v one "$mnt/greedy/file"
finish
