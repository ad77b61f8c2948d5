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
# The .pc file names the prefix that was configured; here it is another one.
flags=$(pkg-config --define-variable=libdir="$PKG_CONFIG_PATH/.." --define-variable=includedir="$work/usr/include/fallsfs" \
    --cflags --libs fallsfs-layout)
# shellcheck disable=SC2086  # flags are words
gcc -std=c17 -D_GNU_SOURCE -Wall -Werror "$work/where.c" $flags -o "$work/where"
[ "$("$work/where")" = '1 1' ]
[ "$("$work/usr/bin/fallsctl" layout map 'stripe(64K,4)' 65537)" = '65537 1 1' ]
[ "$("$work/usr/bin/fallsctl" --version)" = "fallsctl $(pkg-config --modversion fallsfs-layout)" ]
man=$work/usr/share/man
[ -e "$man/man1/fallsctl.1" ] && [ -e "$man/man7/fallsfs-layout.7" ]
find "$man" -type f | while read -r page; do
    complaints=$(groff -man -Tutf8 -ww -z "$page" 2>&1)
    [ -z "$complaints" ] || { printf '%s: %s\n' "$page" "$complaints"; exit 1; }
done
