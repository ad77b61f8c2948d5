#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Arrays that are larger than memory, slab by slab, on four directories beside dd, and on four throttled disks:
# slabs.sh BUILD [--quick] [--dir DIR]
source "$(dirname "$0")/../../scripts/common.sh"

usage='usage: scripts/bench slabs [--quick] [--dir DIR]'
source test/bench/mounting.sh
option() { return 1; }
read_words slabs "$@"

begin
rounds=5 mib=4096
[ "$size" = full ] || rounds=3 mib=1024
volume falls 'stripe(1M)' '' "$base"/disk{0,1,2,3}
head -c "${mib}M" /dev/urandom >"$base/falls/array"
slow=- slow_mib=160
if can_throttle 'throttled disks'; then
    for i in {0..3}; do
        throttled "slab$i" 300M "$base/throttled/$i" 20000000
    done
    volume slow 'stripe(1M)' '' "$base"/throttled/{0,1,2,3}/v
    slow=$base/slow/array
    head -c "${slow_mib}M" /dev/urandom >"$slow"
fi
sync
status=0
python3 test/bench/slabs.py "$bench" "$base/falls/array" "$mib" "$slow" "$slow_mib" "$rounds" || status=$?
printf '\n%s\n' "$(remark "$size")"
exit "$status"
