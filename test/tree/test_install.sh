#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs into a prefix of its own and uses what is there as a stranger would: pkg-config, header, library, manual.
# test_install.sh BUILD-DIR
set -euo pipefail

build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/usr" >/dev/null
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$work/usr" -name fallsfs-layout.pc)")

cat >"$work/where.c" <<'EOT'
#include <layout/layout.h>
#include <layout/map.h>

int main(void)
{
    struct layout *layout = NULL;
    struct layout_error error;
    struct place place;

    if (layout_parse("stripe(64K,4)", 13, 0, &layout, &error) < 0 || pattern_map(layout->pattern, 65537, &place) < 0)
        return 1;
    printf("%u %llu\n", place.element, (unsigned long long) place.sub_off);
    layout_free(layout);
    return 0;
}
EOT
# The prefix is another one than was configured.
flags=$(pkg-config --cflags --libs fallsfs-layout)
# shellcheck disable=SC2086  # flags are words
gcc -std=c17 -D_GNU_SOURCE -Wall -Werror "$work/where.c" $flags -o "$work/where"
[ "$("$work/where")" = '1 1' ]
[ "$("$work/usr/bin/fallsctl" layout map 'stripe(64K,4)' 65537)" = '65537 1 1' ]
[ "$("$work/usr/bin/fallsctl" --version)" = "fallsctl $(pkg-config --modversion fallsfs-layout)" ]

# The library, by its example.
flags=$(pkg-config --cflags --libs fallsfs)
# shellcheck disable=SC2086
gcc -std=c17 -D_GNU_SOURCE -Wall -Werror "$(dirname "$0")/../../ioctl/client/example.c" $flags -o "$work/example"
LD_LIBRARY_PATH=$PKG_CONFIG_PATH/.. ldd "$work/example" | grep -q 'libfallsfs.so.0 => /'

# What README shows of both: the first piece is a function, the second one what is in one.
readme_c() {
    awk -v which="$1" '/^```c$/ { n++; inside = n == which; next } /^```/ { inside = 0 } inside' "$(dirname "$0")/../../README.md"
}
readme_c 1 >"$work/readme.c"
grep -q fallsfs_read_all "$work/readme.c"
# shellcheck disable=SC2086
gcc -std=c17 -Wall -Wextra -Werror -c "$work/readme.c" $flags -o "$work/readme.o"
cat >"$work/readme.c" <<EOT
#include <layout/layout.h>
#include <layout/map.h>
#include <string.h>
#include <unistd.h>

void read_runs(const char *text, uint64_t file_off, uint64_t len, const int disk[], char *buf)
{
$(readme_c 2)
}
EOT
grep -q runs_next "$work/readme.c"
gcc -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -c "$work/readme.c" -I "$work/usr/include/fallsfs" -o "$work/readme.o"

# Every call has its page, and nothing else can be called.
calls=$(nm -D --defined-only "$PKG_CONFIG_PATH/../libfallsfs.so" | awk '$2 == "T" { sub("@.*", "", $3); print $3 }')
[ -n "$calls" ]
for call in $calls; do
    grep -q "$call(" "$work/usr/include/fallsfs/fallsfs.h"
    [ -e "$work/usr/share/man/man3/$call.3" ] || { printf 'no page for %s\n' "$call"; exit 1; }
done
man=$work/usr/share/man
[ -e "$man/man1/fallsctl.1" ] && [ -e "$man/man7/fallsfs-layout.7" ]
find "$man" -type f | while read -r page; do
    complaints=$(cd "$man" && groff -man -Tutf8 -ww -z "$page" 2>&1) # a page may be another's name: .so man3/...
    [ -z "$complaints" ] || { printf '%s: %s\n' "$page" "$complaints"; exit 1; }
done
