#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Something happens to a rank, thousands of times, and nothing of that stays behind: failures.sh FALLSFS FALLSCTL CLIENT
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
# shellcheck source-path=SCRIPTDIR source=../mount/common.sh
source "$(dirname "$0")/../mount/common.sh"
client=$3

# FALLSFS_CASES counts cases that cost microseconds.
runs=2000
teams=40
if grep -q __asan_init "$fallsfs"; then
    runs=400
    teams=20
fi
[ -z "${FALLSFS_FULL:-}" ] || runs=$((runs * 250))
runs=${FALLSFS_MOUNT_CASES:-$runs}

run() {
    FALLSFS_FIRST=$1 FALLSFS_CASES=$2 timeout $((120 + $2 / 10)) "$client" "$mnt" "$teams"
}

# What the daemon holds: descriptors, mappings of programs' memory. Pipes come with its threads.
holds() {
    find "/proc/$daemon/fd" -mindepth 1 ! -lname 'pipe:*' 2>/dev/null | wc -l
    grep -c memfd: "/proc/$daemon/maps"
}

resident() {
    awk '/^RssAnon/ { print $2 }' "/proc/$daemon/status" # KiB
}

is_free() {
    truncate -s 0 "$1" && echo x >"$1" && cat "$1"
}

make_volume 3
start -o 'layout=stripe(4K)'
touch "$mnt/file" && rm "$mnt/file"
held=$(holds)
ok 'before it counts' run 1000000 $((runs < 400 ? runs : 400))
before=$(resident)
ok "$runs times" run 1 "$runs"
grown=$(($(resident) - before))
same 'no group is left' "$("$fallsctl" groups --json "$mnt" | jq -c .groups)" '[]'
for file in "$mnt"/*; do
    ok "nobody has $file locked" timeout 5 bash -c "$(declare -f is_free); is_free $file"
done
rm "$mnt"/*
holds_as_before() {
    [ "$(holds)" = "$held" ]
}
await 5 holds_as_before
same 'descriptors and mappings are as they were' "$(holds)" "$held"
pipes=$(find "/proc/$daemon/fd" -lname 'pipe:*' | wc -l)
threads=$(find "/proc/$daemon/task" -mindepth 1 -maxdepth 1 | wc -l)
ok "each thread has two pipes at most, not $pipes by $threads" test "$pipes" -le $((4 * threads))
# Who frees under a sanitizer keeps it for a while, to see who uses it.
grep -q __asan_init "$fallsfs" || ok "so is memory, but for $grown KiB" test "$grown" -le 32768
stop
finish
