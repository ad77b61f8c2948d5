#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A matrix through views of its rows, stored in three ways on four directories, beside a plain directory:
# views.sh BUILD [--quick] [--json FILE] [--dir DIR]
source "$(dirname "$0")/../../scripts/common.sh"

usage='usage: scripts/bench views [--quick] [--json FILE] [--dir DIR]'
build=$PWD/$1
shift
size=full
json=
base=$build/views.d
# shellcheck disable=SC2034  # for mounting.sh
keep=
while [ $# -gt 0 ]; do
    case $1 in
    --quick) size=quick ;;
    --json) json=${2:?$usage} && shift ;;
    --dir) base=$(realpath -m "${2:?$usage}")/fallsfs-bench && shift ;;
    *) die "unknown option $1; $usage" ;;
    esac
    shift
done
[ "$(id -u)" -eq 0 ] || die "it mounts: run it as root"

bench=$build/test/bench/bench_views
# shellcheck disable=SC2034  # for mounting.sh
fallsfs=$build/fs/daemon/fallsfs fallsctl=$build/fs/ctl/fallsctl
samples=$build/views.samples
log=$build/views.log
source test/bench/mounting.sh

rm -f "$samples"
begin
mkdir -p "$base/plain"
volume falls 'stripe(1M)' '' "$base"/disk{0,1,2,3}
"$bench" run "$size" "$samples" "$base/falls" "$base/plain" "${pid_of[falls]}" ||
    die "it did not come to its end; $log has the daemon's words"
status=0
"$bench" report "$samples" "$(remark "$size")" ${json:+"$json"} >"$build/views.md" || status=$?
cat "$build/views.md"
exit "$status"
