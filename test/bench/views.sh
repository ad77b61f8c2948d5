#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A matrix through views of its rows, stored in three ways on four directories, beside a plain directory:
# views.sh BUILD [--quick] [--json FILE] [--dir DIR]
source "$(dirname "$0")/../../scripts/common.sh"

usage='usage: scripts/bench views [--quick] [--json FILE] [--dir DIR]'
source test/bench/mounting.sh
option() { return 1; }
read_words views "$@"

begin
mkdir -p "$base/plain"
volume falls 'stripe(1M)' '' "$base"/disk{0,1,2,3}
"$bench" run "$size" "$samples" "$base/falls" "$base/plain" "${pid_of[falls]}" ||
    die "it did not come to its end; $log has the daemon's words"
report
