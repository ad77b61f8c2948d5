#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fallsctl layout set, get, unset, create, find, where, explain, on a mount: layout_verbs.sh FALLSFS FALLSCTL
# shellcheck disable=SC2317  # functions are called by ok and not
source "$(dirname "$0")/common.sh"

fallsctl=$(realpath "$fallsctl")
fallsfs=$(realpath "$fallsfs")

# expect STATUS STDOUT-GLOB STDERR-GLOB WORD...
expect() {
    local status=$1 out=$2 err=$3 got_out got_err got_status
    shift 3
    n_checks=$((n_checks + 1))
    got_out=$("$fallsctl" "$@" 2>"$work/err" </dev/null)
    got_status=$?
    got_err=$(cat "$work/err")
    # shellcheck disable=SC2053  # globs are meant
    if [ "$got_status" != "$status" ] || [[ $got_out != $out ]] || [[ $got_err != $err ]]; then
        fail "fallsctl $*"
        printf '    status %s, expected %s\n    stdout %s\n    expected %s\n    stderr %s\n    expected %s\n' "$got_status" \
            "$status" "$got_out" "$out" "$got_err" "$err"
    fi
}

# json FILTER EXPECTED WORD...: valid JSON of which jq shows that
json() {
    local filter=$1 want=$2
    shift 2
    same "fallsctl $* --json: $filter" "$("$fallsctl" "$@" --json 2>/dev/null | jq -c "$filter" 2>&1)" "$want"
}

layout_of() {
    getfattr --absolute-names --only-values -n user.falls.layout "$1" 2>/dev/null
}

for verb in 'layout set' 'layout get' 'layout unset' 'array set' 'array get' 'array unset' create find where explain; do
    # shellcheck disable=SC2086  # two words
    expect 0 "*usage: fallsctl $verb*examples:*fallsctl $verb*fallsctl $verb*fallsctl $verb*" '' $verb --help
    # shellcheck disable=SC2086
    expect 2 '' "*see 'fallsctl $verb --help'*" $verb --nonsense
    # shellcheck disable=SC2086
    expect 2 '' "*which*" $verb
done

make_volume 4
start
cd "$mnt" || exit 1

# -- set, get, unset --
mkdir -p runs/7 other
expect 0 '' '' layout set -S 4M .
expect 0 '.  stripe(4M)' '' layout get .
expect 0 'runs  stripe(4M)  (from the directory /)' '' layout get runs
expect 0 '' '' layout set --array 8x8:u1:block,block:2x2 runs/7
expect 0 'runs/7  array(shape=8x8, elem=1, dist=(block,block), grid=2x2)' '' layout get runs/7
same 'it says what the bytes mean, too' "$(getfattr --only-values -n user.falls.array runs/7)" \
    'shape=8x8 elem=1 type=u1 order=row header=0'
expect 0 '.  stripe(4M)
./runs/7  array(shape=8x8, elem=1, dist=(block,block), grid=2x2)' '' layout get -r -d .
json '[.files[].layout | .from, .layout]' \
    '["directory","array(shape=8x8, elem=1, dist=(block,block), grid=2x2)","ancestor","stripe(4M)"]' layout get runs/7 other
expect 0 'would set other: stripe(64K)' '' layout set -n -S 64K other
same 'a dry run sets nothing' "$(layout_of other)" ''
expect 0 '' '' layout set --like runs/7 other
same 'like another' "$(layout_of other)" 'array(shape=8x8, elem=1, dist=(block,block), grid=2x2)'
expect 0 'would unset other: what is above says' '' layout unset -n other
same 'a dry run unsets nothing' "$(layout_of other)" 'array(shape=8x8, elem=1, dist=(block,block), grid=2x2)'
json '[.files[] | .done]' '[true]' layout unset other
same 'it is unset' "$(layout_of other)" ''
expect 1 '' 'other: has no layout of its own' layout unset other
expect 3 '' 'nowhere: No such file or directory' layout set -S 1M other nowhere
expect 1 '' '/: is no file or directory in a mounted fallsfs; *' layout set -S 1M /
expect 1 '' '/: is no file *' layout get /
not 'nothing is left on other file systems' getfattr -n user.falls.layout /
expect 1 '' 'other: column 8: the stripe unit must be at least 1' layout set -L 'stripe(0)' other
expect 1 '' 'other: column 5: the volume has no such disks: it has d0 to d3' layout set -L 'one on d9' other
expect 1 '' 'other: the volume has d0 to d3' layout set -S 1M -i d4 other
expect 2 '' '*with -L, with --like or with the other options*' layout set -L one -S 4M other
expect 2 '' '*which layout?*' layout set other
expect 1 '' 'other: --array 8x8 is not *8192x8192:f8*' layout set --array 8x8 other
expect 1 '' "other: --array 8x:f8:block:1: in 'shape=8x *column 10: *" layout set --array 8x:f8:block:1 other

# -- create --
# needs: set, get, unset
expect 0 '' '' create -S 64K -c 2 -i d3 a
same 'from a disk on, and round' "$(layout_of a)" 'stripe(64K,2) on d3,d0'
expect 0 '' '' create -i d1 b
same 'over all' "$(layout_of b)" 'stripe(1M) on d1-d3,d0'
expect 1 '' 'a: File exists' create -S 64K a
expect 1 '' 'a: File exists' create -n -S 64K a
expect 1 '' 'bad: column 5: *no such disks*' create -L 'one on d7' bad
not 'what failed is not there' test -e bad
expect 0 'would create c: array(shape=100x100, elem=8, dist=(\*,cyclic(4)), grid=1x2) disp 512' '' \
    create -n --array '100x100:f8:*,cyclic(4):1x2' --disp 512 c
not 'nor what would be made' test -e c
expect 1 '' '/nowhere/a: No such file or directory' create -S 1M /nowhere/a
expect 1 '' '*is no file or directory in a mounted fallsfs*' create -S 1M "$work/a"
not 'nor anything elsewhere' test -e "$work/a"
expect 0 '' '' create --array 8x8:u1:block,block:2x2 -i d0 matrix
expect 0 'matrix  array(shape=8x8, elem=1, dist=(block,block), grid=2x2) on d0-d3
  0 0 0 0 1 1 1 1
  0 0 0 0 1 1 1 1   (4 such rows)
  2 2 2 2 3 3 3 3
  2 2 2 2 3 3 3 3   (4 such rows)
  each digit is a disk?s number' '' layout get --draw matrix
json '.files[0].drawing.rows[3:5]' '["00001111","22223333"]' layout get --draw matrix
expect 0 'matrix  {(0,3,8,4;4,2);(32,35,8,4;4,2)} on d0-d3' '' layout get --raw matrix
expect 0 '*' '' layout get --svg "$work/m.svg" matrix
ok 'a picture' grep -q '<svg' "$work/m.svg"
# an array over stripes, and one of which only the beginning can be told
expect 0 '' '' create -S 16 -c 4 -i d0 striped
setfattr -n user.falls.array -v 'shape=4x8 elem=2 order=col' striped
expect 0 'striped  stripe(16,4) on d0-d3
  0 0 1 1 2 2 3 3
  0 0 1 1 2 2 3 3   (4 such rows)
*' '' layout get --draw striped
expect 0 '' '' create --array 100x100x100:f4:block,cyclic,*:2x2x1 --disp 512 cube
expect 0 '*the first 32 x 64 elements; the first plane of the last two dimensions' '' layout get --draw cube

# -- copies --
# needs: create
expect 0 '' 'twice: d0 and d1 lie on one device: *' create -L 'stripe(64K) copies 2' twice
same 'copies stand behind the disks' "$(layout_of twice)" 'stripe(64K) on d0-d3 copies 2'
json '.files[0].layout | .layout, .canonical, .copies, (.devices | length)' \
    '"stripe(64K) on d0-d3 copies 2"
"{(0,65535,65536,1;65536,4)} on d0-d3 copies 2"
2
4' layout get twice
json '.files[0].layout | .copies, .devices' '1
null' layout get b
expect 0 'twice  {(0,65535,65536,1;65536,4)} on d0-d3 copies 2' '' layout get --raw twice
expect 0 '' 'likewise: d0 and d1 lie on one device: *' create --like twice likewise
same 'like another, with its copies' "$(layout_of likewise)" 'stripe(64K) on d0-d3 copies 2'
json '.files[0] | .layout, .done, (.warning | .[0:27])' '"one on d3,d1 copies 2"
true
"d1 and d3 lie on one device"' layout set -L 'one on d3,d1 copies 2' other
json '.files[0] | .warning' null layout set -L 'one on d3,d1' other
expect 0 '' 'other: d0 and d1 lie on one device: *' layout set -L 'stripe(1M) copies 2' other
expect 0 'other  stripe(1M) copies 2' '' layout get other
: >other/made
same 'a file made there' "$(layout_of other/made)" 'stripe(1M) on d0-d3 copies 2'
expect 0 './other/made' '' find --layout 'stripe(1M) copies 2' .
expect 0 './other/made' '' find --layout 'stripe(1M) on d0,d1,d2,d3 copies 2' .
expect 1 '' 'other: column 21: copies 2 puts each byte on two disks*' layout set -L 'one on d3,d3 copies 2' other
expect 1 '' 'other: column 33: copies 2 wants a list of disks*' layout set -L '{d0:(0,3,4,1);(4,7,4,1)} copies 2' other
expect 1 '' 'other: column 19: copies is 1 or 2*' layout set -L 'stripe(1M) copies 3' other
expect 0 '' '' layout unset other
dd if=/dev/zero bs=64K count=16 status=none >twice
json '.files[0].best.layout | endswith(" copies 2")' true explain --range 0:64K twice
json '.files[0] | .moves | map(add)' '[524288,524288,524288,524288]' migrate -n -L 'one on d0,d1 copies 2' twice
rm -r other/made twice likewise

# -- where --
# needs: create
head -c 64 /dev/urandom >matrix
while read -r place off element sub disk object; do
    same "$place is where it says" "$(tail -c "+$((sub + 1))" "$object" | head -c 1 | od -An -tx1)" "$(tail -c "+$((off + 1))" matrix | head -c 1 | od -An -tx1)"
    same "$place is on $disk" "$object" "$work/$disk/${object#"$work"/d?/}"
    same "$place: elements go by disks" "d$element" "$disk"
done < <("$fallsctl" where matrix 0 63 0,5 5,0 7,7)
json '.places[] | [.offset, .element, .suboffset, .disk]' '[36,3,0,"d3"]' where matrix 4,4
expect 3 '0  0  0  0  d0  *' 'matrix: 8,0: index 8 lies outside dimension 0, which has 0 to 7
matrix: 1,2,3: the array has 2 dimensions: *' where matrix 0 8,0 1,2,3
expect 1 '' 'a: 1,1: nobody has said what array this is*user.falls.array*' where a 1,1
expect 1 '' 'a: x: not an offset' where a x

# -- what a file holds, by its header --
# needs: create
headers=$(dirname "$(realpath "$0")")/../fuzz/corpus/header
cp "$headers/rows.npy" "$headers/classic.nc" .
expect 1 '' 'rows.npy: nobody has said what it holds: *array set*' array get rows.npy
expect 0 'would set rows.npy: shape=3x4 elem=8 type=<f8 order=row header=128' '' array set -n rows.npy
not 'a dry run sets nothing' getfattr -n user.falls.array rows.npy
expect 0 'rows.npy  shape=3x4 elem=8 type=<f8 order=row header=128' '' array set rows.npy
expect 0 'rows.npy  shape=3x4 elem=8 type=<f8 order=row header=128' '' array get rows.npy
expect 0 'classic.nc  shape=3x5 elem=8 type=>f8 order=row header=472' '' array set classic.nc:field
json '.files[] | [.file, .array]' '["classic.nc","shape=3x5 elem=8 type=>f8 order=row header=472"]' array get classic.nc
expect 0 '2,3  216  *' '' where rows.npy 2,3
expect 0 'would unset classic.nc: *' '' array unset -n classic.nc
json '.files[] | [.file, .done]' '["classic.nc",true]' array unset classic.nc
expect 1 '' 'classic.nc: nothing was said of it itself' array unset classic.nc
expect 1 '' '*classic.nc:field: is no file or directory in a mounted fallsfs*' array set "$headers/classic.nc:field"
expect 3 'rows.npy  *' 'matrix: has no header that is known: *' array set rows.npy matrix
# a layout that knows the header
expect 0 '*' '' migrate --wait --array block,block:2x2 rows.npy
same 'the layout of what it holds' "$(layout_of rows.npy)" \
    'array(shape=3x4, elem=8, dist=(block,block), grid=2x2) disp 128 on d0-d3'
ok 'it is the same file' cmp rows.npy "$headers/rows.npy"
expect 1 '' 'classic.nc: --array block:2: nobody has said *' migrate --array block:2 classic.nc
rm rows.npy classic.nc

# -- find --
# needs: where
head -c 1M /dev/urandom >b
expect 0 './a
./striped' '' find --layout stripe --match '>=1' --for 'stripe(64K,2)' ./a ./striped
same 'of a kind' "$("$fallsctl" find --layout array . | sort | tr '\n' ' ')" './cube ./matrix '
same 'just so' "$("$fallsctl" find --layout 'stripe(65536,2) on d3, d0' .)" ./a
same 'but on its disks' "$("$fallsctl" find --layout 'stripe(64K,2) on d0,d3' .)" ''
same 'with bytes on a disk' "$("$fallsctl" find --disk d1 -0 . | sort -z | tr '\0' ' ')" './b ./matrix '
same 'that fits badly' "$("$fallsctl" find --match '>5' --for 'array(shape=8x8, dist=(*,cyclic), grid=1x8)' matrix)" matrix
same 'and well' "$("$fallsctl" find --match '<=1' --for 'array(shape=8x8, dist=(block,block), grid=2x2)' matrix)" matrix
json '[.files[] | .file, .match]' '["matrix",8]' find --match '>1' --for 'array(shape=8x8, dist=(*,cyclic), grid=1x8)' matrix
same 'as new ones would be' "$("$fallsctl" find --match '<=1' cube | wc -l) $("$fallsctl" layout set --like cube . && "$fallsctl" find --match '<=1' cube)" '0 cube'
expect 2 '' '*comparison*' find --match 2 .
expect 2 '' '*as d2*' find --disk 2 .
expect 2 '' '*takes a kind, or a layout*' find --layout stripes .
"$fallsctl" create -L 'stripe(1,4096) on d0,d2' "$work/mnt/fine"
printf 'many subfiles' >fine
same 'of more subfiles than are listed' "$("$fallsctl" find --disk d2 fine; "$fallsctl" find --disk d1 fine)" fine
same 'nor by one attribute' "$(getfattr -n user.falls.map fine 2>&1)" 'fine: user.falls.map: Argument list too long'
same 'from one of them on' "$(getfattr --only-values -n user.falls.map.4095 fine | cut -d' ' -f1,2)" 'element=4095 length=0'
same 'behind the last' "$(getfattr --only-values -n user.falls.map.4096 fine)" ''
same 'all, for who may not look at the disks' \
    "$(as 1000 "$fallsctl" map --json "$work/mnt/fine" | jq -c '.files[0].subfiles | [length, ([.[].element] | unique | length)]')" \
    '[4096,4096]'
rm fine
expect 3 '*' './nowhere: No such file or directory' find . ./nowhere

# -- explain --
# needs: find
expect 0 'matrix  array(*
  wanted  8 B of 64 B
  now     2 disks, 8 runs of 1 B on average; sieved: 2 requests, 26 B read, 31% useful, *
  best    array(shape=8x8, elem=1, dist=(\*,cyclic), grid=1x8)
          1 disk, 1 run of 8 B; sieved: 1 request, 8 B read, 100% useful, *
  cost    move 48 B of 64 B, 16 B stay on their disks
  to do   fallsctl migrate -L *' '' explain --section 0:7:1,0:0:1 matrix
json '.files[0] | [.now.bytes_wanted, .now.bytes_read, .now.runs, .best.runs, .is_best, .bytes_to_move]' '[8,26,8,1,false,48]' \
    explain --section 0:7,0:0 matrix
json '.files[0] | [.now.disks, .now.requests, .is_best]' '[1,1,true]' explain --range 0:4 matrix
json '.files[0].now | [.bytes_wanted, .disks]' '[16,2]' explain --view 'array(shape=8x8, dist=(block,*), grid=4x1)' --element 2 matrix
expect 1 '' 'matrix: --section 0:8,0:0 reaches outside the array: *' explain --section 0:8,0:0 matrix
expect 1 '' 'matrix: --section 0:7: the array has 2*' explain --section 0:7 matrix
expect 1 '' 'matrix: --section 0:7,x is not L:U:S *' explain --section 0:7,x matrix
setfattr -x user.falls.array .
expect 1 '' 'a: nobody has said what array this is: *' explain --section 0:1 a
expect 1 '' 'matrix: --view: the file has no view of that name, and as a layout column 1: *' explain --view nonsense matrix
expect 1 '' 'matrix: --view: column 21: no such element: there are 4, *' explain --view 'stripe(1,4)' --element 4 matrix
expect 1 '' 'matrix: --view: column 21: no such element: there are 4, *' explain --view 'stripe(1,4) element 4' matrix
expect 1 '' 'matrix: --view: column 1: expected one, *' explain --view 'stripes(1,4)' matrix
setfattr -n user.falls.view.right -v 'array(shape=8x8, dist=(*,block), grid=1x2) element 1' matrix
json '.files[0].now | [.bytes_wanted, .runs, .disks]' '[32,2,2]' explain --view right matrix
json '.files[0].now | [.bytes_wanted, .runs, .disks]' '[32,2,2]' explain --view 'array(shape=8x8, dist=(*,block), grid=1x2) element 0' matrix
json '.files[0].best.layout' '"array(shape=8x8, dist=(*,block), grid=1x2)"' explain --view right matrix
setfattr -x user.falls.view.right matrix
expect 1 '' 'runs: is a directory: name files' explain runs
expect 2 '' '*one of*' explain --range 0:1 --section 0:1 matrix
truncate -s 64M b
json '.files[0].now | [.bytes_wanted, .estimated]' '[33554432,true]' explain --view 'stripe(1,2)' --element 0 b

# -- an ordinary user needs no disks for this --
# needs: explain
install -m 755 "$fallsctl" "$work/fallsctl"
chmod 755 .
chmod 644 matrix
same 'a user looks at layouts' "$(as 1000 "$work/fallsctl" layout get --raw matrix)" 'matrix  {(0,3,8,4;4,2);(32,35,8,4;4,2)} on d0-d3'
same 'and at where bytes are' "$(as 1000 "$work/fallsctl" where matrix 63)" "$("$fallsctl" where matrix 63)"
same 'and maps' "$(as 1000 "$work/fallsctl" map --json matrix | jq -c '[.files[0].subfiles[] | .element, .disk, .length, .state, .object]')" \
    "$("$fallsctl" map --json matrix | jq -c '[.files[0].subfiles[] | .element, .disk, .length, .state, .object]')"
same 'but sets none' "$(as 1000 "$work/fallsctl" layout set -S 1M . 2>&1)" '.: Permission denied'
chmod 600 matrix
same 'and sees nothing of what is private' "$(as 1000 "$work/fallsctl" layout get matrix 2>&1)" 'matrix: Permission denied'

cd /
finish
