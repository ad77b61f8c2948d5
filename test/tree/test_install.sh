#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs into a prefix of its own and uses what is there as a stranger would: pkg-config, header, library, manual.
# test_install.sh BUILD-DIR
set -euo pipefail

build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Newer compilers warn of more: that is no error for who only builds it.
cmake -S "$(dirname "$0")/../.." -B "$work/strangers" >/dev/null
grep -q -- -Wextra "$work/strangers/compile_commands.json"
if grep -q -- -Werror "$work/strangers/compile_commands.json"; then
    echo 'a build with no options takes warnings for errors'
    exit 1
fi

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

# Each header by itself, in any C there is and in C++, from which what it declares can be called, too.
cd "$work/usr/include/fallsfs"
for header in *.h layout/*.h; do
    printf '#include <%s>\n#include <%s>\n' "$header" "$header" >"$work/header.c"
    for compiler in 'gcc -std=c99' 'gcc -std=c11' 'clang -std=c99' 'g++ -x c++ -std=c++11' 'clang++ -x c++ -std=c++11' \
        'clang++ -x c++ -std=c++17'; do
        $compiler -Wall -Wextra -pedantic -Werror -I. -fsyntax-only "$work/header.c" ||
            { printf '%s: %s\n' "$header" "$compiler"; exit 1; }
    done
done
cd - >/dev/null
# shellcheck disable=SC2086
g++ -x c++ -std=c++11 -Wall -Werror "$work/where.c" -x none $flags -o "$work/where"
[ "$("$work/where")" = '1 1' ]

# calls_of LIBRARY HEADER...: what the library has of what the headers declare, as the elements of a table in C++
calls_of() {
    local library=$1 call
    shift
    cat "$@" | tr -d '\n' >"$work/declared"
    for call in $(nm -g --defined-only "$library" | awk '$2 == "T" { sub("@.*", "", $3); print $3 }' | sort -u); do
        ! grep -qE "\\b$call\\(" "$work/declared" || printf '    reinterpret_cast<call>(&%s),\n' "$call"
    done
}

# In C++ all of them link, and some are called.
lib=$PKG_CONFIG_PATH/..
{
    (cd "$work/usr/include/fallsfs" && printf '#include <%s>\n' ./*.h layout/*.h)
    printf 'typedef void (*call)();\nstatic const call calls[] = {\n'
    calls_of "$lib/libfallsfs.so" "$work"/usr/include/fallsfs/*.h
    calls_of "$lib/libfallsfs-layout.a" "$work"/usr/include/fallsfs/layout/*.h
    cat <<'EOT'
};

int main()
{
    fallsfs_array matrix = { 2, FALLSFS_COLUMN_MAJOR, sizeof(double), 0, { 8, 8 } };
    const fallsfs_range rows[] = { { 1, 2, 1 }, { 0, 7, 1 } };
    char type[FALLSFS_TYPE_SIZE] = "";
    struct nest *nest = nullptr;
    struct layout_error error;
    void *memory = fallsfs_alloc(4096);
    uint8_t token[16] = { 0 };

    for (call each : calls)
        if (each == nullptr)
            return 1;
    if (memory == nullptr || fallsfs_token(token) != 0 || fallsfs_section_bytes(&matrix, rows) != 128)
        return 1;
    fallsfs_free(memory);
    if (fallsfs_array_of(-1, &matrix, type) != -EBADF || fallsfs_strerror_last()[0] == 0)
        return 1;
    if (nest_parse("{(0,3,8,2)}", 11, &nest, &error) < 0)
        return 1;
    nest_free(nest);
    return 0;
}
EOT
} >"$work/all.cc"
grep -q '&fallsfs_read_all)' "$work/all.cc" && grep -q '&layout_parse)' "$work/all.cc"
for compiler in g++ clang++; do
    # shellcheck disable=SC2046
    $compiler -std=c++11 -Wall -Wextra -pedantic -Werror "$work/all.cc" \
        $(pkg-config --cflags --libs fallsfs fallsfs-layout) -o "$work/all"
    LD_LIBRARY_PATH=$lib "$work/all"
done

# The library, by its example.
flags=$(pkg-config --cflags --libs fallsfs)
# shellcheck disable=SC2086
gcc -std=c17 -D_GNU_SOURCE -Wall -Werror "$(dirname "$0")/../../ioctl/client/example.c" $flags -o "$work/example"
LD_LIBRARY_PATH=$PKG_CONFIG_PATH/.. ldd "$work/example" >"$work/needs" # a pipe that grep -q closes early would fail ldd
grep -q 'libfallsfs.so.0 => /' "$work/needs"

# So are whole programs, as their page says: each main file with what it shares with others.
cd "$work/usr/share/doc/fallsfs/examples"
for program in gaxpy laplace; do
    # shellcheck disable=SC2086
    gcc -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror "$program.c" matrix.c team.c $flags -o "$work/$program"
done
# shellcheck disable=SC2086
gcc -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror checkpoint.c team.c $flags -o "$work/checkpoint"
# shellcheck disable=SC2086
gcc -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror sort.c $flags -o "$work/sort"
cd - >/dev/null

# What README shows of it is a function; what the page of the arithmetic shows is what is in one.
awk '/^```c$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$(dirname "$0")/../../README.md" >"$work/readme.c"
grep -q fallsfs_read_all "$work/readme.c"
# shellcheck disable=SC2086
gcc -std=c17 -Wall -Wextra -Werror -c "$work/readme.c" $flags -o "$work/readme.o"
page=$work/usr/share/man/man3/libfallsfs-layout.3
cat >"$work/page.c" <<EOT
#include <layout/layout.h>
#include <layout/map.h>
#include <string.h>
#include <unistd.h>

void read_runs(const char *text, uint64_t file_off, uint64_t len, const int disk[], char *buf)
{
$(sed -n '/^\.EX/,/^\.EE/{ /^\.E/d; s/\\-/-/g; p }' "$page")
}
EOT
grep -q runs_next "$work/page.c"
gcc -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -c "$work/page.c" -I "$work/usr/include/fallsfs" -o "$work/page.o"

# Every call has its page, and nothing else can be called.
calls=$(nm -D --defined-only "$PKG_CONFIG_PATH/../libfallsfs.so" | awk '$2 == "T" { sub("@.*", "", $3); print $3 }')
[ -n "$calls" ]
for call in $calls; do
    grep -q "$call(" "$work"/usr/include/fallsfs/*.h
    [ -e "$work/usr/share/man/man3/$call.3" ] || { printf 'no page for %s\n' "$call"; exit 1; }
done
man=$work/usr/share/man
[ -e "$man/man1/fallsctl.1" ] && [ -e "$man/man7/fallsfs-layout.7" ]
find "$man" -type f | while read -r page; do
    complaints=$(cd "$man" && groff -man -Tutf8 -ww -z "$page" 2>&1) # a page may be another's name: .so man3/...
    [ -z "$complaints" ] || { printf '%s: %s\n' "$page" "$complaints"; exit 1; }
done
