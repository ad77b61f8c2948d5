#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kill -9 of the daemon while groups write, many times: killed.sh FALLSFS FALLSCTL CLIENT
# shellcheck disable=SC2317  # functions are called by ok and not
# shellcheck source-path=SCRIPTDIR source=../mount/common.sh
source "$(dirname "$0")/../mount/common.sh"
# shellcheck source=../mount/crash.sh
source "$(dirname "$0")/../mount/crash.sh"

cycles=$(cycles 400 20000)
make_volume 3
crash_often "kill -9 $cycles times" "$cycles" "$3" "${disks[@]}"
finish
