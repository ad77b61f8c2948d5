#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What every file of the tree keeps to: licence line, layers, format, no warning of the linters. test_tree.sh BUILD-DIR
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 1
build=$1
failed=0

complain() {
    printf '%s\n' "$1"
    failed=1
}

folders=()
for folder in fs ioctl layout; do
    [ ! -d "$folder" ] || folders+=("$folder")
done
mapfile -t sources < <(find "${folders[@]}" test -name '*.[ch]')
mapfile -t scripts < <(find scripts .ci test -type f \( -name '*.sh' -o -path 'scripts/*' -o -path '.ci/*' \))

for file in "${sources[@]}" "${scripts[@]}" $(find . -name CMakeLists.txt -not -path './build*'); do
    head -n 2 "$file" | grep -q 'SPDX-License-Identifier: MIT' || complain "$file: no SPDX line"
done

# Includes point one way, fs -> ioctl -> layout, and layout knows libc alone.
grep -nE '#include "' layout/*.[ch] | grep -vE '#include "layout/' && complain 'layout includes from outside itself'
grep -nE '#include <(sys/|linux/|pthread|fuse|libconfig|unistd|fcntl)' layout/*.[ch] && complain 'layout reaches for the system'
[ ! -d ioctl ] || ! grep -rnE '#include "fs/' ioctl || complain 'ioctl includes from fs'

# Whoever links the library gets its names too: each starts with its module's.
nm -g --defined-only "$build/layout/libfallsfs-layout.a" | awk 'NF == 3 { print $3 }' |
    grep -vE '^(copy|cover|dist|draft|falls|layout|match|nest|overlap|parts|pattern|runs|scan|section)_' &&
    complain 'libfallsfs-layout.a exports a name that could be anybody'"'"'s'

clang-format --dry-run --Werror "${sources[@]}" || complain 'clang-format would change something: run it with -i'
shellcheck -x -P SCRIPTDIR "${scripts[@]}" || complain 'shellcheck has something to say'
mapfile -t compiled < <(find "${folders[@]}" -name '*.c')
# With all paths through every function it takes four times as long.
fewer=()
[ -n "${FALLSFS_FULL:-}" ] || fewer=(--extra-arg={-Xclang,-analyzer-config,-Xclang,max-nodes=15000})
printf '%s\n' "${compiled[@]}" | xargs -P 2 -n 4 clang-tidy -p "$build" --quiet "${fewer[@]}" 2>/dev/null ||
    complain 'clang-tidy has something to say'
exit "$failed"
