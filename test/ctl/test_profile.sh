#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What fallsctl profile says of a program that strace has watched, and of a trace of fallsfs:
# test_profile.sh FALLSCTL PROFILED FORKS
set -uo pipefail

fallsctl=$(realpath "$1") profiled=$(realpath "$2") forks=$(realpath "$3")
corpus=$(realpath "$(dirname "$0")/../fuzz/corpus/trace")
work=$(mktemp -d)
failed=0
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

complain() {
    printf '%s\n' "$1"
    failed=1
}

# json FILTER EXPECTED WORD...: valid JSON of which jq shows that
json() {
    local filter=$1 want=$2 got
    shift 2
    got=$("$fallsctl" profile --json "$@" | jq -c "$filter")
    [ "$got" = "$want" ] || complain "fallsctl profile $*: $filter is $got, and should $want"
}

# refused STATUS GLOB WORD...: why not
refused() {
    local want=$1 why=$2 got status
    shift 2
    got=$("$fallsctl" profile "$@" 2>&1 >/dev/null)
    status=$?
    # shellcheck disable=SC2053  # a glob is meant
    [[ $status:$got == "$want:"$why ]] || complain "fallsctl profile $*: it says '$got' ($status), and should '$why'"
}

# watch TRACE WORD...: runs a program as the help says it is to be traced; no leaks can be looked for meanwhile
calls=$("$fallsctl" profile --help | sed -n "s/.* -e '\(trace=[^']*\)'.*/\1/p")
watch() {
    local trace=$1
    shift
    ASAN_OPTIONS=detect_leaks=0 strace -f -ttt -yy -s 0 -o "$trace" -e "$calls" "$@" || complain "strace $* failed: $?"
}

# 64 x 64 numbers, 4 processes: each row is written once; each process reads 64 pieces of 128 bytes, and all row 0
watch one.txt "$profiled" matrix 64 4 1.5
json '[.trace.imported, .trace.dropped, .trace.open_already]' '[true,0,0]' one.txt matrix
json '.profile | [.accesses, .bytes_written, .bytes_read, .processes]' \
    "[$((64 + 4 * 65)),$((64 * 512)),$((4 * 64 * 128 + 4 * 512)),5]" one.txt matrix
json '[.profile.classes[] | [.bytes, .chunks]]' "[[0,0],[0,0],[$((64 * 512)),$((1 + 63 * 4))],[0,0]]" one.txt matrix
json '[.profile.writes[] | [.first_rank, .processes, .pieces, .piece_bytes]]' '[[0,1,1,32768]]' one.txt matrix
json '[.profile.ranks[] | [.rank, .program, .kernel]]' \
    '[[0,"profiled",false],[1,"profiled",false],[2,"profiled",false],[3,"profiled",false],[4,"profiled",false]]' one.txt matrix
# Who wrote row by row finds its rows in one run; whoever reads a block of columns finds each piece alone.
json '.profile.now | [.layout, .degree_of_writes, .balance]' '["one",1,1]' --layout one one.txt matrix
columns='array(shape=64x64, elem=8, dist=(*,block), grid=1x4)'
json '.profile.now | [.degree_of_writes, .moved]' '[256,[16896,16896,16896,16896]]' --layout "$columns" one.txt matrix
json '[.profile.partitions[].misplaced]' '[0,0]' one.txt matrix

# Other values are the same profile, and so is the same file in another place.
mkdir elsewhere
watch two.txt "$profiled" elsewhere/matrix 64 4 -7
for trace in one two; do
    "$fallsctl" profile --json "$trace.txt" matrix |
        jq '.profile | del(.path, .ranks[].pid, .ranks[].first_at)' >"$trace.json"
done
diff one.json two.json || complain 'other values make another profile'

# Who has forked whom, where several do so at the same moment: children read where those stand that have made them.
: >forked
watch forks.txt "$forks" forked 4 60 >forks.done
json '[.profile.processes, .profile.bytes_read]' '[244,2880]' forks.txt forked
"$fallsctl" profile --json forks.txt forked | jq -r '.profile.ranks[] | "\(.pid) \(.first_offset)"' | sort >forks.told
awk '!seen[$1]++ { print $1, $2 }' forks.done | sort | diff - forks.told || complain 'a child is another one'"'"'s'

# A shape that is told makes sections of patterns.
json '.profile.reads[0].section' '[[0,0,1],[0,63,1]]' --array 'shape=64x64 elem=8' "$corpus/rows"
json '.profile.reads[] | [.kind, .processes, .pieces, .piece_bytes, .apart, .shift, .section]' \
    '["blocks of columns",4,8,16,64,16,[[0,7,1],[0,1,1]]]' --array 'shape=8x8 elem=8' "$corpus/blocks"

# A trace of fallsfs: two processes, a pattern, a view; its own layout.
json '.profile | [.path, .accesses, .unplaced, .processes, .now.layout]' '["runs/a",16,0,3,"stripe(64K,2)"]' "$corpus/fallsfs"
json '[.profile.ranks[] | [.kernel, .uid, .program]]' \
    '[[false,1000,"solver"],[true,null,null],[false,1000,"solver"]]' "$corpus/fallsfs"
json '[.profile.ranks[] | .first_offset]' '[0,16,32,48]' "$corpus/blocks"
json '.trace.cut' true "$corpus/cut"
json '[.files[].path]' '["runs/a"]' "$corpus/fallsfs" /fast/runs/a

"$fallsctl" profile "$corpus/blocks" | grep -q '4 readers: blocks of columns, 8 pieces of 16 B, 64 B apart, each rank 16 B behind' ||
    complain 'blocks of columns are not told as such'

# The page is well-formed, needs nothing from elsewhere, and has a picture for each of: when, who, the array, disks by three
# layouts. What the file is called stays text.
sed 's|/d/m|/d/\\74script\\76\&m|' "$corpus/blocks" >named.txt
"$fallsctl" profile --html page.html --array 'shape=8x8 elem=8' --layout 'stripe(48,3)' named.txt >/dev/null ||
    complain 'no page was written'
python3 - page.html <<'EOF' || complain 'the page is not what it should be'
import sys, xml.dom.minidom

text = open(sys.argv[1], encoding="utf-8").read()
page = xml.dom.minidom.parseString(text)
assert "http" not in text and "src=" not in text and "url(" not in text
assert [h.firstChild.data for h in page.getElementsByTagName("h1")] == ["/d/<script>&m"]
maps = page.getElementsByTagName("svg")
assert len(maps) == 5, len(maps) # one partition: both readings are alike
titles = [title.firstChild.data for title in maps[1].getElementsByTagName("title")]
assert sum(int(title.split(": ")[1].split()[0]) for title in titles) == 512, titles
EOF
refused 1 '*page.html: *' --html nowhere/page.html one.txt matrix

# 4 readers of columns, each 8 pieces of 16 bytes: whoever has them on a disk of its own seeks once. Of a row of 64 bytes
# that lies on one disk a quarter stays there.
recommends() {
    local filter=$1 want=$2 got
    shift 2
    got=$("$fallsctl" recommend --json "$@" | jq -c "$filter")
    [ "$got" = "$want" ] || complain "fallsctl recommend $*: $filter is $got, and should $want"
}
# The same blocks of an array of elements that are 8192 times as large: no two share a page.
awk '{ n = split($0, word, /, |\) = /)
       if (n < 4) print
       else printf "%s, %s, %d, %d) = %d\n", word[1], word[2], word[3] * 8192, word[4] * 8192, word[5] * 8192 }' \
    "$corpus/blocks" >big.txt
recommends '[.n_disks, .gain, .processes]' '[4,true,4]' --layout 'stripe(512K,4)' big.txt
recommends '.candidates[0] | [.elapsed, .busy, .requests, .seeks, .degree, .bytes_to_move]' '[0.01928576,0.01928576,32,4,1,3145728]' \
    --rate 100000000 --layout 'stripe(512K,4)' big.txt
recommends '[.candidates[] | select(.is_now) | .layout, .seeks, .degree, .bytes_to_move, .elapsed > 2 * .busy]' \
    '["stripe(512K,4)",32,8,0,true]' --layout 'stripe(512K,4)' big.txt
recommends '.candidates[0].layout' '"array(shape=8x8, elem=65536, dist=(*,block), grid=1x4)"' \
    --array 'shape=8x8 elem=65536' --disks 4 big.txt
recommends '[.gain, (.candidates[0].elapsed >= 0.001)]' '[false,true]' --seek 0 --layout 'stripe(128K,4)' big.txt
recommends '.candidates | length > 10 and .[0].elapsed <= (map(.elapsed) | min) * 1.02 and .[-1].elapsed * 1.02 >= (map(.elapsed) | max)' \
    true --disks 4 one.txt matrix
recommends '[.candidates[] | .layout | select(startswith("twod"))] | length > 0' true --disks 4 one.txt matrix
"$fallsctl" recommend --seek 0 --layout 'stripe(128K,4)' big.txt | grep -q '^no gain' || complain 'no gain is not told as such'
"$fallsctl" recommend --layout 'stripe(512K,4)' big.txt | grep -q '^to do: fallsctl migrate -L .* /d/m$' ||
    complain 'what is to be done is not told'
got=$("$fallsctl" recommend --for nothing one.txt 2>&1)
[[ $? -eq 2 && $got == *--for* ]] || complain "recommend --for nothing: $got"

refused 2 '*which trace?*'
refused 2 '*--disks wants a number of disks: 0*' --disks 0 one.txt
refused 1 '*nothing: No such file or directory' nothing
refused 1 '*matrix is no trace*' matrix
refused 1 '*one.txt has no access to nothing*' one.txt nothing
refused 1 '*the layout stripe(: column 8:*' --layout 'stripe(' one.txt matrix
refused 1 '*--array shape=: column*' --array 'shape=' one.txt matrix

exit "$failed"
