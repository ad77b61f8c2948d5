#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The page of fallsctl profile in a real browser, in --full alone: all pictures are there and can be seen, the console is
# silent, and nothing is loaded from elsewhere: browser.sh CACHE-DIR FALLSCTL PROFILED
#
# Packages, Debian's chromium and what it needs that is not there, come from apt's mirror into CACHE-DIR and are not
# installed. With FALLSFS_KEEP the pages and screenshots stay there.
set -uo pipefail

[ -n "${FALLSFS_FULL:-}" ] || {
    echo 'the browser is asked in --full alone'
    exit 77
}
mkdir -p "$1"
cache=$(cd "$1" && pwd) fallsctl=$(realpath "$2") profiled=$(realpath "$3")
root=$cache/root
corpus=$(realpath "$(dirname "$0")/../fuzz/corpus/trace")
failed=0

complain() {
    printf '%s\n' "$1"
    failed=1
}

needed() {
    apt-get -qq -s install --no-install-recommends chromium 2>/dev/null | awk '$1 == "Inst" { print $2 }'
}

# All in one go, so that one that was interrupted is not taken for one that is done.
fetch() {
    local new=$cache/new.$$ deb
    local -a packages
    mapfile -t packages < <(needed)
    [ "${#packages[@]}" -gt 0 ] || { apt-get -qq update && mapfile -t packages < <(needed); }
    rm -rf "$new"
    mkdir -p "$new/debs"
    (cd "$new/debs" && { apt-get -qq download "${packages[@]}" || { apt-get -qq update && apt-get -qq download "${packages[@]}"; }; }) >"$new/log" 2>&1 || {
        cat "$new/log"
        return 1
    }
    for deb in "$new"/debs/*.deb; do
        dpkg -x "$deb" "$new/root" || return 1
    done
    rm -rf "$root"
    mv "$new/root" "$root" && rm -rf "$new"
}

# browse WORDS: without a profile of before, and without a network, for which it has uses of its own
browse() {
    local libraries=$root/usr/lib/x86_64-linux-gnu
    rm -rf "${work:?}/home"
    mkdir "$work/home"
    HOME=$work/home LD_LIBRARY_PATH=$libraries:$libraries/pulseaudio timeout 120 "$root/usr/lib/chromium/chromium" --headless \
        --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update --disable-sync \
        --user-data-dir="$work/home/data" --host-resolver-rules='MAP * ~NOTFOUND' --hide-scrollbars --enable-logging=stderr "$@" 2>"$work/said"
}

# A script behind the page looks at what the browser has made of it.
measure() {
    sed 's|</body>|<script>addEventListener("load", function () {\
        var found = { resources: performance.getEntriesByType("resource").map(function (one) { return one.name; }),\
            wide: document.documentElement.scrollWidth > innerWidth, pictures: [] };\
        document.querySelectorAll("svg").forEach(function (svg) {\
            var box = svg.getBoundingClientRect(), cells = 0, outside = 0;\
            svg.querySelectorAll("rect, text").forEach(function (one) {\
                var at = one.getBoundingClientRect();\
                cells += one.tagName == "rect" \&\& at.width > 0 \&\& at.height > 0;\
                outside += at.left \&lt; box.left - 1 \|\| at.right > box.right + 1 \|\| at.top \&lt; box.top - 1 \|\| at.bottom > box.bottom + 1;\
            });\
            found.pictures.push({ width: box.width, height: box.height, cells: cells, outside: outside });\
        });\
        document.body.setAttribute("data-found", JSON.stringify(found));\
    });</script></body>|; s|&lt;|<|g' "$1"
}

# found NAME: what is found on that page
found() {
    measure "$work/$1.html" >"$work/$1.measured.html"
    browse --window-size=1000,2600 --dump-dom "file://$work/$1.measured.html" >"$work/dom" || tail -n 3 "$work/said" >&2
    python3 -c 'import html, re, sys
print(html.unescape(re.search(r"data-found=\"([^\"]*)\"", sys.stdin.read())[1]))' <"$work/dom"
}

# page NAME PICTURES WORD...: of that profile there are so many pictures
page() {
    local name=$1 pictures=$2 found
    shift 2
    "$fallsctl" profile --html "$work/$name.html" "$@" >/dev/null || complain "no page of $name"
    browse --window-size=1000,2600 --screenshot="$work/$name.png" "file://$work/$name.html" || complain "$name: no screenshot: $(tail -n 3 "$work/said")"
    [ "$(head -c 8 "$work/$name.png" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || complain "$name: the screenshot is no picture"
    ! grep ':CONSOLE' "$work/said" || complain "$name: the console says something"
    found=$(found "$name")
    printf '%s: %s\n' "$name" "$found"
    [ "$(jq -c '[(.pictures | length), (.resources | length), .wide]' <<<"$found")" = "[$pictures,0,false]" ] ||
        complain "$name: there are to be $pictures pictures, nothing that is loaded, and nothing too wide"
    [ "$(jq '[.pictures[] | select(.width < 500 or .height < 40 or .cells == 0 or .outside > 0)] | length' <<<"$found")" = 0 ] ||
        complain "$name: a picture cannot be seen whole"
}

[ -x "$root/usr/lib/chromium/chromium" ] || fetch || exit 1
work=$(mktemp -d "$cache/work.XXXXXX") || exit 1
trap '[ -n "${FALLSFS_KEEP:-}" ] || rm -rf "$work"' EXIT
cd "$work" || exit 1

calls=$("$fallsctl" profile --help | sed -n "s/.* -e '\(trace=[^']*\)'.*/\1/p")
strace -f -ttt -yy -s 0 -o run.txt -e "$calls" "$profiled" matrix 256 4 1.5 || complain 'nothing was watched'
page matrix 6 --array 'shape=256x256 elem=8' --layout 'stripe(16K,4)' run.txt matrix
page small 5 --array 'shape=8x8 elem=8' --layout 'stripe(48,3)' "$corpus/blocks"
page bare 3 "$corpus/columns"

# A page that is as it should not be is seen to be so.
sed 's|<h1>|<script>nobodyKnowsThis();</script><img alt="" src="http://elsewhere.invalid/a.png"/><h1 style="width:2000px">|; s|<rect [^>]*>|<rect>|' small.html >wrong.html
[ "$(found wrong | jq -c '[.resources, .wide, .pictures[0].cells]')" = '[["http://elsewhere.invalid/a.png"],true,0]' ] ||
    complain 'a page that loads something, is too wide, and has no cells, is not told from others'
grep -q ':CONSOLE' said || complain 'what the console says is not heard'
exit "$failed"
