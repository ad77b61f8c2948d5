#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fallsctl layout as a user meets it: test_layout.sh PATH-TO-FALLSCTL
set -uo pipefail

fallsctl=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# expect STATUS STDOUT STDERR-PATTERN WORD...: stdout exactly, stderr as a glob
expect() {
    local status=$1 out=$2 err=$3 got_out got_err got_status
    shift 3
    got_out=$("$fallsctl" "$@" 2>"$work/err" </dev/null)
    got_status=$?
    got_err=$(cat "$work/err")
    # shellcheck disable=SC2053  # a glob is meant
    if [ "$got_status" != "$status" ] || [ "$got_out" != "$out" ] || [[ $got_err != $err ]]; then
        printf 'fallsctl %s\n  status %s, expected %s\n  stdout %s\n  expected %s\n  stderr %s\n  expected %s\n' "$*" \
            "$got_status" "$status" "$got_out" "$out" "$got_err" "$err"
        failed=1
    fi
}

# json FILTER EXPECTED WORD...: valid JSON of which jq shows that
json() {
    local filter=$1 want=$2 got
    shift 2
    got=$("$fallsctl" "$@" --json 2>/dev/null | jq -c "$filter")
    if [ "$got" != "$want" ]; then
        printf 'fallsctl %s --json: %s is %s, expected %s\n' "$*" "$filter" "$got" "$want"
        failed=1
    fi
}

figure3='{(0,1,6,1);(2,3,6,1);(4,5,6,1)} disp 2'
rows='array(shape=8x8, dist=(block,*), grid=4x1)'
columns='array(shape=8x8, dist=(*,block), grid=1x4)'

# check
alone='# one copy: the loss of any disk that has bytes of a file loses these'
twice='# copies 2: the loss of any one disk loses none of its bytes'
expect 0 '{(0,1048575,1048576,1;1048576,4)}'$'\n'"$alone" '' layout check 'stripe(1M,4)'
expect 0 '{(0,1,2,1;2,3)} disp 2'$'\n'"$alone" '' layout check "$figure3"
expect 0 'stripe(1M)'$'\n'"$alone" '' layout check 'stripe(1M)'
expect 0 '{(0,1048575,1048576,1;1048576,3)}'$'\n'"$alone" '' layout check --disks 3 'stripe(1M)'
expect 0 '{(0,1048575,1048576,1;1048576,4)} copies 2'$'\n'"$twice" '' layout check 'stripe(1M,4) copies 2'
expect 0 '{(0,65535,65536,1;65536,3)} on d0-d2 copies 2'$'\n'"$twice" '' layout check "$("$fallsctl" layout check 'stripe(64K) on d0,d1,d2 copies 2')"
expect 1 '' 'column 21: copies is 1 or 2*' layout check 'stripe(1M,4) copies 3'
expect 1 '' 'column 18: copies 2 puts each byte on two disks, and the list names only d3*' layout check 'one on d3 copies 2'
expect 1 '' 'column 33: copies 2 wants a list of disks*' layout check '{d0:(0,3,4,1);(4,7,4,1)} copies 2'
expect 1 '' 'column 12: FALLS 1 overlaps FALLS 0 at byte 2' layout check '{(0,3,4,1);(2,5,4,1)}'
expect 1 '' 'line 2, column 6: *' layout check $'stripe(1,2)\ndisp x'
json '.output_version, .canonical, .disp, .period, .elements' $'1\n"{(0,1,2,1;2,3)} disp 2"\n2\n6\n3' layout check "$figure3"
json '.error.column, .error.why' $'12\n"FALLS 1 overlaps FALLS 0 at byte 2"' layout check '{(0,3,4,1);(2,5,4,1)}'
json '.error.layout' '"a\"b\\\u0001"' layout check $'a"b\\\x01'
json '.canonical, .copies, .may_lose' $'"stripe(1M) copies 2"\n2\n1' layout check 'stripe(1M) copies 2'
json '.copies, .may_lose' $'1\n0' layout check 'stripe(1M)'

# map, unmap
expect 0 $'10 1 2\n0 h 0\n5 1 1' '' layout map "$figure3" 10 0 5
expect 0 $'0 0 0\n65536 1 0\n1048576 0 262144' '' layout map 'stripe(64K,4)' 0 64K 1M
expect 1 '' 'this layout has as many elements as the volume has disks*' layout map 'stripe(1M)' 0
expect 0 '1048576 1 0' '' layout map 'stripe(1M)' --disks 2 1M
expect 0 '5 1 1' '' layout map 'stripe(4) on d0-d2' 5
expect 3 '4 1 0' 'offset 9223372036854775807 lies past 2^62*' layout map 'stripe(4,2)' 4 9223372036854775807
expect 1 '' 'offset 4194305T lies past 2^62*' layout map 'stripe(4,2)' 4194305T
expect 1 '' 'offset 99999999999999999999 lies past 2^62*' layout map 'stripe(4,2)' 99999999999999999999
expect 2 '' '*not an offset: x*' layout map 'stripe(4,2)' 0 x
expect 2 '' '*unknown option*-1*' layout map 'stripe(4,2)' -1
expect 2 '' '*not an offset: -1*' layout map -- 'stripe(4,2)' -1
expect 2 '' '*too few words*' layout map 'stripe(4,2)'
expect 0 $'1 2 10\n1 0 4' '' layout unmap "$figure3" 1 2 0
expect 0 'h 1 1' '' layout unmap "$figure3" h 1
expect 1 '' 'element h has no byte 2*' layout unmap "$figure3" h 2
expect 1 '' 'there is no element 3: this layout has elements 0 to 2*' layout unmap "$figure3" 3 0
expect 3 '0 0 2' '*past file byte 2^62*' layout unmap "$figure3" 0 0 4194304T
expect 2 '' '*not an element*' layout unmap "$figure3" x 0
json '.map[1]' '{"offset":0,"element":"h","suboffset":0}' layout map "$figure3" 10 0
json '.unmap[0]' '{"element":1,"suboffset":2,"offset":10}' layout unmap "$figure3" 1 2

# runs
expect 0 $'0 0 0 4\n4 1 0 4\n8 0 4 2' '' layout runs 'stripe(4,2)' 0 10
expect 0 $'0 h 0 2\n2 0 0 2\n4 1 0 1' '' layout runs "$figure3" 0 5
expect 0 '7 0 7 4294967296' '' layout runs one 7 4G
expect 0 '' '' layout runs one 7 0
expect 0 $'2 1 0 4\n6 0 2 4' '' layout runs '{(0,1,8,1),(6,7,8,1);(2,5,8,1)}' 2 8
expect 0 '4611686018427387904 0 4611686018427387904 1' '' layout runs one 4194304T 1
expect 1 '' 'the range reaches past 2^62*' layout runs one 4194304T 2
json '.error.why' '"the range reaches past 2^62, the last byte a layout can reach"' layout runs one 4194304T 2
json '.map, .errors' $'[]\n["offset 4194305T lies past 2^62, the last byte a layout can reach"]' layout map one 4194305T
expect 2 '' '*too few words*' layout runs one 0
json '.runs[1]' '{"offset":4,"element":1,"suboffset":0,"length":4}' layout runs 'stripe(4,2)' 0 10

expect 0 $'0 0 0 4\n4 1 0 4\n8 0 4 2' '' layout runs 'stripe(4,2) copies 2' 0 10
expect 0 '5 1 1' '' layout map 'stripe(4) on d0-d2 copies 2' 5

# intersect
expect 0 $'common {(0,3,4,1),(16,17,2,1)} disp 0 period 24 size 6\non-a {(0,3,4,1),(8,9,2,1)} period 12\non-b {(0,3,4,1),(10,11,2,1)} period 12' '' \
    layout intersect 'stripe(4,2)' 0 'stripe(6,2)' 0
expect 0 $'common {} disp 2 period 6 size 0\non-a {} period 2\non-b {} period 2' '' layout intersect "$figure3" 0 "$figure3" 1
expect 1 '' 'A has no element 3: it has elements 0 to 2, and h, the header' layout intersect "$figure3" 3 "$figure3" 1
expect 1 '' 'the common period*reaches past 2^62*' layout intersect 'stripe(2147483647,2)' 0 'stripe(2147483629,2)' 0
expect 2 '' '*too many words*' layout intersect one 0 one 0 one
expect 1 '' "B: column 1: expected one, stripe, var, twod, array or {, found 'strip'" layout intersect one 0 'strip(1)' 0
json '.error.why' '"B has no element 7: it has elements 0 to 0, and h, the header"' layout intersect one 0 one 7
json '.common, .on_a, .on_b, .runs' $'"{(0,0,16,2)}"\n"{(0,0,4,2)}"\n"{(0,0,4,2)}"\n2' layout intersect \
    '{(0,7,16,2,{(0,1,4,2)});(2,7,16,2,{(0,1,4,2)});(8,15,16,2)}' 0 \
    '{(0,3,8,4,{(0,0,2,2)});(0,3,8,4,{(1,1,2,2)});(4,7,8,4)}' 0

# match
expect 0 'degree 1.00: 4 runs in a common period of 64 bytes, 4 at best' '' layout match "$rows" "$rows"
expect 0 $'degree 1.00: 4 runs in a common period of 64 bytes, 4 at best\nA has 2 copies, B 1: the degree is that of the partitions' '' \
    layout match "$rows copies 2" "$rows"
expect 0 'degree 1.00: 4 runs in a common period of 64 bytes, 4 at best' '' layout match "$rows copies 2" "$rows copies 2"
json '.degree, .copies_a, .copies_b' $'1\n1\n2' layout match "$rows" "$rows copies 2"
json '.degree, .runs, .least, .elements[3].touched' $'8\n32\n4\n4' layout match "$columns" "$rows"

# show
expect 0 "$(cat <<'EOT'
array(shape=8x8, dist=(block,block), grid=2x2) disp 3

h  header: the first 3 bytes
period 64 bytes, 4 elements; one letter is 1 x 1 elements of 1 byte

             3  A A A A B B B B
            11  A A A A B B B B
            19  A A A A B B B B
            27  A A A A B B B B
            35  C C C C D D D D
            43  C C C C D D D D
            51  C C C C D D D D
            59  C C C C D D D D

A  element 0: 16 of 64 bytes
   └─ (0,3,8,4)   4 bytes from 0, 4 times, every 8
B  element 1: 16 of 64 bytes
   └─ (4,7,8,4)   4 bytes from 4, 4 times, every 8
C  element 2: 16 of 64 bytes
   └─ (32,35,8,4)   4 bytes from 32, 4 times, every 8
D  element 3: 16 of 64 bytes
   └─ (36,39,8,4)   4 bytes from 36, 4 times, every 8
EOT
)" '' layout show 'array(shape=8x8, dist=(block,block), grid=2x2) disp 3'
json '.rows[4].owners, .elements[3].falls' $'[2,2,2,2,3,3,3,3]\n"{(36,39,8,4)}"' layout show 'array(shape=8x8, dist=(block,block), grid=2x2)'
json '.layout, .copies' $'"stripe(1M,2) copies 2"\n2' layout show 'stripe(1M,2) copies 2'
"$fallsctl" layout show 'stripe(1M,2) copies 2' | grep -q '^2 copies: each byte lies on two disks' || failed=1
for layout in one 'stripe(64K,4)' 'stripe(1,100)' 'stripe(1,4096)' 'stripe(1T,3)' 'var(1,1000000)' "$figure3" \
    'array(shape=3x5x7x11, elem=3, order=col, dist=(block,cyclic(2),*,cyclic), grid=2x2x1x2)' \
    'array(shape=1000003x1000003, dist=(cyclic,block), grid=3x5)' '{(0,0,2,562949953421312);(1,1,2,562949953421312)}' \
    $'stripe(1,2) # <&>"\n'; do
    "$fallsctl" layout show "$layout" --svg "$work/picture.svg" >"$work/picture.txt" || failed=1
    [ "$(wc -l <"$work/picture.txt")" -lt 300 ] || { echo "the picture of $layout is too long to look at"; failed=1; }
    rsvg-convert "$work/picture.svg" -o "$work/picture.png" || { echo "the SVG of $layout is not valid"; failed=1; }
    json '.output_version' 1 layout show "$layout"
done
# README's picture is what the command beside it makes
"$fallsctl" layout show 'array(shape=8x8, dist=(block,block), grid=2x2)' --svg "$work/picture.svg" >/dev/null
cmp "$work/picture.svg" "$(dirname "$0")/../../etc/layout.svg" || failed=1
# what a user typed is shown as text, whatever bytes it has
json '.layout' '"one # � �� x"' layout show $'one # \xff \xe2\x82 x'
"$fallsctl" layout show $'one # \033[31m\xff' --svg "$work/picture.svg" >"$work/picture.txt"
if grep -q $'\033' "$work/picture.txt" || ! rsvg-convert "$work/picture.svg" -o "$work/picture.png"; then
    echo 'bytes that are no text are shown as they are'
    failed=1
fi
expect 1 "$("$fallsctl" layout show one)" 'cannot write the picture to /nowhere/picture.svg: No such file*' \
    layout show one --svg /nowhere/picture.svg

# help, usage, output that cannot be written
expect 2 '' 'fallsctl: looks at*'
expect 2 '' "fallsctl: unknown verb 'lay'*" lay
expect 2 '' "fallsctl layout: unknown verb 'chek'*" layout chek
expect 2 '' '*unknown option*--jsn*' layout check --jsn one
expect 2 '' '*not a number of disks from 1 to 4096: 0*' layout check --disks 0 one
for verb in check map unmap runs intersect match show; do
    [ "$("$fallsctl" layout "$verb" --help | grep -c '^  fallsctl layout')" -ge 3 ] || { echo "$verb --help lacks examples"; failed=1; }
    # every example must work
    while read -r example; do
        (cd "$work" && eval "${example/#fallsctl/\"$fallsctl\"}") >/dev/null || { echo "example fails: $example"; failed=1; }
    done < <("$fallsctl" layout "$verb" --help | sed -n 's/^  \(fallsctl layout\)/\1/p')
done
if "$fallsctl" layout check one 2>"$work/err" >/dev/full; then
    echo "a full output goes unnoticed"
    failed=1
fi
exit "$failed"
