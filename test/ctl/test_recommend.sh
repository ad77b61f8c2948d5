#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What fallsctl recommend says of runs that nobody has traced, of sections, and of several files:
# test_recommend.sh FALLSCTL PROFILED
set -uo pipefail

fallsctl=$(realpath "$1") profiled=$(realpath "$2")
work=$(mktemp -d)
failed=0
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

complain() {
    printf '%s\n' "$1"
    failed=1
}

# refused STATUS GLOB WORD...: why not, or, with 0, what it says beside its answer
refused() {
    local want=$1 why=$2 got status
    shift 2
    got=$("$fallsctl" recommend "$@" 2>&1 >/dev/null)
    status=$?
    # shellcheck disable=SC2053  # a glob is meant
    [[ $status:$got == "$want:"$why ]] || complain "fallsctl recommend $*: it says '$got' ($status), and should '$why'"
}

# recommends FILTER EXPECTED WORD...: valid JSON of which jq shows that
recommends() {
    local filter=$1 want=$2 got
    shift 2
    got=$("$fallsctl" recommend --json "$@" | jq -c "$filter")
    [ "$got" = "$want" ] || complain "fallsctl recommend $*: $filter is $got, and should $want"
}

# alike 'WORD... ' 'WORD...': both recommend the same layouts, and say the same of each
alike() {
    local a b
    eval "a=\$(\"\$fallsctl\" recommend --json $1 | jq -c .candidates)"
    eval "b=\$(\"\$fallsctl\" recommend --json $2 | jq -c .candidates)"
    [[ -n $a && $a == "$b" ]] || complain "fallsctl recommend $1 is not what was traced: $2"
}

calls=$("$fallsctl" profile --help | sed -n "s/.* -e '\(trace=[^']*\)'.*/\1/p")
watch() {
    local trace=$1
    shift
    ASAN_OPTIONS=detect_leaks=0 strace -f -ttt -yy -s 0 -o "$trace" -e "$calls" "$@" || complain "strace $* failed: $?"
}

# -- what was not traced --
# One process writes a matrix, others read its columns: 2, 4 and 8 of them, and 4 of a larger one.
for readers in 2 4 8; do
    watch "$readers.txt" "$profiled" matrix 64 "$readers" 1.5
done
watch large.txt "$profiled" matrix 128 4 1.5
columns='shape=64x64 elem=8'
alike "--disks 4 --procs 9 --also 2.txt 4.txt matrix" "--disks 4 8.txt matrix"
alike "--disks 4 --procs 3 --also 8.txt --trace 4.txt matrix" "--disks 4 2.txt matrix"
alike "--disks 4 --procs 9 --array '$columns' 4.txt matrix" "--disks 4 --array '$columns' 8.txt matrix"
alike "--disks 4 --procs 9 --growth lengths 4.txt matrix" "--disks 4 8.txt matrix"
alike "--disks 4 --size 128x128 --array '$columns' 4.txt matrix" "--disks 4 --array 'shape=128x128 elem=8' large.txt matrix"
recommends '[.processes, .size, .predicted, .rounded, .by_bytes]' '[9,32768,true,false,false]' --procs 9 --array "$columns" 4.txt matrix
recommends '[.processes, .predicted, .rounded]' '[8,true,true]' --procs 8 --array "$columns" 4.txt matrix
recommends '[.processes, .predicted, .by_bytes]' '[9,true,true]' --procs 9 --also 2.txt 4.txt matrix
recommends '[.processes, .predicted]' '[5,false]' 4.txt matrix
got=$("$fallsctl" recommend --disks 4 --procs 9 --also 2.txt 4.txt matrix)
[[ $got == *'not traced: as follows for 9 processes and 32K'*'divided to the byte'* ]] || complain "what is thought is not told: $got"
refused 1 '*more than one answer: 584 accesses of * B on average, or 328 of * B: --also TRACE*' --procs 9 4.txt matrix
refused 1 '*more than one answer*' --size 64K --array "$columns" 4.txt matrix
refused 1 '*no rule of what was traced comes to that*' --procs 1 --array "$columns" 4.txt matrix
sed 's/, [0-9]*) = \([0-9]*\)$/, 77777) = \1/' 2.txt >odd.txt
refused 1 '*no rule that foretells what is in odd.txt*' --procs 9 --also odd.txt 4.txt matrix
refused 1 '*--size 128x128 is a shape: say with --array*' --size 128x128 4.txt matrix
refused 1 '*--size 128x is no shape of 2 dimensions*' --size 128x --array "$columns" 4.txt matrix
refused 1 '*--size much is no number of bytes*' --size much 4.txt matrix
refused 2 '*say --procs or --size, too*' --also 2.txt 4.txt matrix
refused 2 '*--procs takes a number of processes, from 1 to 4096: 0 *' --procs 0 4.txt matrix
refused 2 '*--growth takes lengths or numbers: fast *' --growth fast --procs 9 4.txt matrix
refused 2 '*--for takes read, write or both: reads *' --for reads 4.txt matrix
refused 2 '*--disks takes a number of disks, from 1 to 256: 257 *' --disks 257 4.txt matrix
refused 2 '*--seek takes milliseconds, from 0 to 10000, as 8 or 0.1: 8ms *' --seek 8ms 4.txt matrix
refused 2 '*--rate takes bytes a second, 1K at least, as 100M: 1 *' --rate 1 4.txt matrix

# -- what is not there --
# Nobody writes to it: there is nothing to go by.
grep -v write 2.txt >reads.txt
refused 1 '*/matrix: nobody writes to it in what was traced, so --for write has nothing to go by: *' --for write reads.txt matrix
recommends '.error.why | endswith("or trace a program that does")' true --for write reads.txt matrix
recommends '.candidates | length > 1' true --for read reads.txt matrix
awk 'BEGIN { for (i = 0; i < 8; i++) for (f = 0; f < 2; f++)
    printf "%d 9.%06d p%s64(3</w/f%d>, \"\"..., 1000, %d) = 1000\n", 10 + f, 2 * i + f, f ? "write" : "read", f, i * 1000 }' >one_each.txt
refused 1 '*/w/f1: nobody reads from it*' --for read one_each.txt f1
refused 0 '/w/f1: nobody reads from it in what was traced: for that all layouts are alike' --for read --disks 4 --trace one_each.txt
sed 's/pwrite64/pread64/' one_each.txt >files_read.txt
refused 1 '/w/f0, and all other files: nobody writes to it*' --for write --trace files_read.txt
# An array that is longer than the file.
refused 0 '*/matrix: the array of --array ends at 128K, the file at 32K: *--size*' --array 'shape=128x128 elem=8' 4.txt matrix
refused 0 '' --array "$columns" 4.txt matrix
refused 0 '' --array "$columns" --size 128x128 4.txt matrix

# -- what is not regular --
awk 'BEGIN { for (i = 0; i < 60; i++) printf "%d 9.%03d pread64(3</w/f>, \"\"..., %d, %d) = %d\n",
    10 + i % 2, i, 1 + i * i % 37, i * i * 131 % 8191, 1 + i * i % 37 }' >any.txt
refused 1 '*f: nothing can be said of other runs: rank 0*' --procs 4 any.txt

# Records here and there: who asks for others next time gains nothing from a layout that follows these.
awk 'BEGIN { x = 1; for (i = 0; i < 200; i++) { x = x * 16807 % 2147483647; printf "%d 9.%06d pread64(3</w/f>, \"\"..., 100, %d) = 100\n",
    10 + i % 2, i, x % 640000 * 100 } }' >records.txt
recommends '[.by_chance, ([.candidates[].layout | select(test("^[{]"))] | length)]' '[true,0]' --disks 4 records.txt
"$fallsctl" recommend --disks 4 records.txt | grep -q '^note: what is read lies here and there' || complain 'that it is by chance is not told'
recommends '[.by_chance, ([.candidates[].layout | select(test("^[{]"))] | length > 0)]' '[false,true]' --disks 4 4.txt matrix

awk '/matrix>/ && ++n > 10 { exit } { print }' 2.txt >few.txt # what a sanitizer's library does comes before
refused 1 '*no two do alike, or there are several kinds*' --procs 4 few.txt matrix

# -- sections --
set --
for i in $(seq 0 3); do
    set -- "$@" --section "0:63,$((16 * i)):$((16 * i + 15))"
done
recommends '[.processes, .n_disks, .candidates[0].layout, .candidates[0].degree]' \
    '[4,4,"array(shape=64x64, elem=8, dist=(*,block), grid=1x4)",1]' "$@" --array "$columns"
# Whoever asks three times takes as much as three, and one after the other: a wide row and three times a narrow one.
recommends '[.candidates[] | select(.layout == "one") | .requests]' '[4]' --disks 2 --array 'shape=8x8' --section '0:0,0:7*3' --section 1:1,0:7
recommends '[.candidates[] | select(.layout == "stripe(4K,2)") | .requests]' '[3]' --disks 2 --array 'shape=1024x8192' --for write --section '0:0,0:4095*3'
recommends '[.predicted, .processes]' '[true,8]' --disks 4 --array "$columns" --procs 8 "$@"
refused 1 '*--section is of an array*' --section 0:7
refused 1 '*behind \* stands how often*' --array shape=8x8 --section '0:7,0:7*0'
refused 1 '*reaches outside the array*' --array shape=8x8 --section 0:8,0:7
refused 2 '*one of --section and --trace*' --trace 4.txt --section 0:7

# -- files together --
# Four files, each read by one process, all at a time. Where seeks cost most each is best on a disk that it has for itself.
awk 'BEGIN { for (i = 0; i < 32; i++) for (f = 0; f < 4; f++)
    printf "%d 9.%06d pread64(3</w/f%d>, \"\"..., 1000, %d) = 1000\n", 10 + f, 4 * i + f, f, i * 1000 }' >files.txt
recommends '[.n_disks, .gain, (.files | length), ([.files[].chosen.first_disk] | sort)]' '[4,true,4,[0,1,2,3]]' \
    --disks 4 --seek 1000 --trace files.txt
recommends '[.files[].path]' '["/w/f1","/w/f3"]' --disks 4 --trace files.txt f1 f3
recommends '[.files[].path]' '["/w/f1","/w/f3"]' --disks 4 files.txt f1 f3
recommends '[.busy == .busy_now, .gain, (.files[].chosen | .changes, .layout)]' \
    '[true,false,false,"one on d0",false,"one on d1"]' --seek 1000 --layout 'one on d0-d3' --trace files.txt f0 f1
recommends '.path' '"/w/f2"' --disks 4 --trace files.txt f2
# A file with two copies of its bytes keeps them, whatever is recommended.
recommends '[.files[].chosen.layout]' '["one on d0,d1 copies 2","one on d1,d2 copies 2"]' --seek 1000 --layout 'one on d0-d3 copies 2' \
    --trace files.txt f0 f1
recommends '[.candidates[].layout | endswith(" copies 2")] | all and length > 5' true --layout 'stripe(4K) on d0-d3 copies 2' \
    --trace files.txt f0
got=$("$fallsctl" recommend --layout 'stripe(100,4) on d4-d7' --trace files.txt f0 f1)
[[ $got == '2 files together; disks: 8'*"to do: fallsctl migrate -L '"*" on d"[4-7]*"' f0"* ]] ||
    complain "what is to be done with files is not told: $got"
refused 1 '*--size is of one file*' --size 1M --trace files.txt
refused 1 '*has no access to f9*' --trace files.txt f9
refused 1 '*--apply wants FILE behind it*' --apply --trace files.txt

# -- replicas --
# Four processes read rows of a matrix, here and there, and four read columns: whatever the file is, it lies both ways.
set --
for i in 0 1 2 3; do
    set -- "$@" --section "$((512 * i + 3)):$((512 * i + 3)),0:2047*100" --section "0:2047,$((512 * i)):$((512 * i))*20"
done
matrix=(--array 'shape=2048x2048 elem=8' --disks 4 --seek 1)
rows='array(shape=2048x2048, elem=8, dist=(block,*), grid=4x1)'
columns='array(shape=2048x2048, elem=8, dist=(*,block), grid=1x4)'
for now in "$columns" "$rows" 'stripe(64K,4)'; do
    recommends '[(.replicas | length), .gain, .began, (.best != .replicas[0].layout)]' '[1,true,null,true]' --layout "$now" "${matrix[@]}" "$@"
    recommends '.replicas[] | [.class, .on_write, .reads >= 80, 1.1 * .elapsed <= .elapsed_without, .has_room, .room <= 33554432]' \
        '["read by many, never written","drop",true,true,true,true]' --layout "$now" "${matrix[@]}" "$@"
done
got=$("$fallsctl" recommend --layout "$columns" "${matrix[@]}" "$@")
want=$(sed -n "s/^replica: \(.*\) of bytes \([0-9:]*\), for [0-9]* reads; writes drop it; .* more room: .* s, not .* s$/to do: fallsctl replica add -L '\1' --only \2 FILE/p" <<<"$got")
[[ -n $want && $got == *"best: "*", and beside it"*"$want"* ]] || complain "a replica is not told of: $got"
# Who has a part for himself needs none, nor do those who read alike.
recommends '.replicas' '[]' --layout "$columns" "${matrix[@]}" --section '3:3,0:2047*100' --section '8:2047,0:0*20'
recommends '.replicas' '[]' --layout "$columns" "${matrix[@]}" --section '3:3,0:2047*100' --section '3:3,0:2047*100'
# Reads that are no sections.
awk 'BEGIN { for (i = 0; i < 8; i++) for (p = 0; p < 4; p++)
    printf "%d 9.%03d pread64(3</w/f>, \"\"..., 100, %d) = 100\n", 10 + p, 4 * i + p, i * 100 }' >all.txt
recommends '[.replicas, .replicas_need_sections]' '[[],true]' --disks 4 all.txt
"$fallsctl" recommend --disks 4 all.txt | grep -q '^no replicas: .* by sections or views' || complain 'that plain reads get the file is not told'
recommends '[.replicas, .replicas_need_sections]' '[[],false]' --disks 4 files.txt f0

exit "$failed"
