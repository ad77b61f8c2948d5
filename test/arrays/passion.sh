#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# PASSION's calls on files of any file system, if possible one in memory: passion.sh PASSION GROUPS CHECKS
set -euo pipefail

[ -z "${FALLSFS_FULL:-}" ] || export FALLSFS_CASES=200000
work=$(mktemp -d /dev/shm/fallsfs.XXXXXX 2>/dev/null || mktemp -d "${TMPDIR:-/var/tmp}/fallsfs.XXXXXX")
trap 'rm -rf "$work"' EXIT
"$1" "$work"
[ -z "${FALLSFS_FULL:-}" ] || export FALLSFS_CASES=10000 # of several processes each
"$2" "$work"
mkdir "$work/checks"
chmod 755 "$work"
"$3" "$work/checks"
