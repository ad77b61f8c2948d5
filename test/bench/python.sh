#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Sections from Python, beside the C calls, on a volume of four directories: python.sh BUILD [--quick]
source "$(dirname "$0")/../../scripts/common.sh"

usage='usage: scripts/bench python [--quick] [--dir DIR]'
source test/bench/mounting.sh
option() { return 1; }
read_words python "$@"
begin
volume falls 'stripe(1M)' '' "$base"/disk{0,1,2,3}
rounds=60
[ "$size" = full ] || rounds=12
status=0
PYTHONPATH=$PWD/ioctl/client/python FALLSFS_LIBRARY=$build/ioctl/client/libfallsfs.so.0 PYTHONDONTWRITEBYTECODE=1 \
    /usr/bin/python3 test/bench/python.py "$bench" "$base/falls/matrix" "$rounds" || status=$?
printf '\n%s\n' "$(remark "$size")"
exit "$status"
