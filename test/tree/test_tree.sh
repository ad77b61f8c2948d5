#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What every file of the tree keeps to: licence line, layers, format, no warning of the linters. test_tree.sh BUILD-DIR
set -uo pipefail

build=$(realpath "$1")
cd "$(dirname "$0")/../.." || exit 1
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

# What a page says lies somewhere lies there.
mapfile -t pages < <(find . -name '*.md' -not -path './build*')
# shellcheck disable=SC2016  # the quotes of pages
while IFS=: read -r page path; do
    compgen -G "$path" >/dev/null || complain "$page: there is no $path"
done < <(grep -oE '`(fs|ioctl|layout|test|scripts|etc|\.github)/[^` ]+`' "${pages[@]}" | tr -d '`')

# What a part of a script needs is a part of it.
while IFS=: read -r script word; do
    grep -qF -- "$word" <(grep -E '^# -- .* --$' "$script") || complain "$script: no heading has '$word'"
done < <(grep -H '^# needs: ' "${scripts[@]}" | sed 's/:# needs: /:/')

# Includes and calls point one way, and layout knows libc alone.
python3 test/tree/order.py "$build" || complain 'a room uses what it must not: fs/README.md has the order'
grep -nE '#include <(sys/|linux/|pthread|fuse|libconfig|unistd|fcntl)' layout/*.[ch] && complain 'layout reaches for the system'

# What is said of names that anybody may have chosen goes through utf8_complain. job.c draws a bar.
grep -nE 'fprintf\(stderr' -r fs/ctl fs/fsck --include='*.c' | grep -vE '/job\.c:' && complain 'a tool writes to standard error by itself'

# Every field of JSON has its place in the page about them.
page=$(sed 's/[\]-/-/g' etc/man/fallsctl-json.5)
for field in $(grep -rhE '\bjson_[a-z0-9]+\(' fs --include='*.c' | grep -oE '"[a-z][a-z_]+"' | tr -d '"' | sort -u); do
    grep -qw -- "$field" <<<"$page" || complain "fallsctl-json.5 does not tell of \"$field\""
done

# So has every attribute, and every kind of finding.
page=$(sed 's/\\-/-/g' etc/man/fallsfs-attributes.7)
while read -r name; do
    grep -qF -- "user.falls.$name" <<<"$page" || complain "fallsfs-attributes.7 does not tell of user.falls.$name"
done < <(sed -n '/virtual_attr table/,/^};/s/^    { "\([a-z.]*\)".*/\1/p' fs/daemon/attr/virtual.c)
page=$(cat etc/man/fsck.fallsfs.8)
for kind in $(grep -rhoE '\b(checking_tell_(fix|left|note|aside)|tell_lost)\([^"]*"[a-z]+"' fs/fsck | grep -oE '"[a-z]+"$' | tr -d '"' |
    sort -u); do
    grep -qE "^\.BR? (.*\" )?$kind\b" <<<"$page" || complain "fsck.fallsfs.8 does not tell of the kind $kind"
done

# Whoever links the library gets its names too: each starts with its module's.
nm -g --defined-only "$build/layout/libfallsfs-layout.a" | awk 'NF == 3 { print $3 }' |
    grep -vE '^(copy|cover|dist|draft|falls|layout|match|nest|overlap|parts|pattern|runs|scan|section)_' &&
    complain 'libfallsfs-layout.a exports a name that could be anybody'"'"'s'

shellcheck -x -P SCRIPTDIR "${scripts[@]}" || complain 'shellcheck has something to say'

# is_asked TOOL: it is of the version whose opinion the tree follows
is_asked() {
    "$1" --version 2>/dev/null | grep -q 'version 14\.' && return 0
    printf '%s of version 14 is not here: what it would say is not known\n' "$1"
    return 1
}
# passes [-D FAULT]: clang lets locks be used like that
passes() {
    clang -std=c17 -D_GNU_SOURCE -I. -Wthread-safety -Werror -fsyntax-only "$@" test/tree/unlocked.c 2>/dev/null
}
if is_asked clang; then
    passes || complain 'clang refuses locks that are used as they should be'
    for fault in NO_LOCK NO_UNLOCK LOCKS_TWICE UNLOCKS_TWICE; do
        ! passes -D "$fault" || complain "clang does not see $fault in test/tree/unlocked.c"
    done
fi
! is_asked clang-format || clang-format --dry-run --Werror "${sources[@]}" ||
    complain 'clang-format would change something: run it with -i'
# clang-format leaves comments as they are, for the sake of the pictures in them. Texts for users have lines of their own.
python3 - "${sources[@]}" <<'EOF' || complain 'lines have at most 120 columns, but for texts'
import sys

failed = 0
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if len(line) > 121 and '"' not in line:
                print(f"{path}:{number}: {len(line) - 1} columns")
                failed = 1
sys.exit(failed)
EOF
is_asked clang-tidy || exit "$failed"
mapfile -t compiled < <(find "${folders[@]}" -name '*.c')
# With all paths through every function it takes four times as long.
fewer=()
[ -n "${FALLSFS_FULL:-}" ] || fewer=(--extra-arg={-Xclang,-analyzer-config,-Xclang,max-nodes=15000})
printf '%s\n' "${compiled[@]}" | xargs -P 2 -n 4 clang-tidy -p "$build" --quiet "${fewer[@]}" 2>/dev/null ||
    complain 'clang-tidy has something to say'
exit "$failed"
