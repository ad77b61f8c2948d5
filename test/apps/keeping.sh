#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checkpoints that other processes go on with, and a sort that needs little memory:
# keeping.sh FALLSFS FALLSCTL CHECKPOINT SORT
# shellcheck disable=SC2317  # functions are called by ok
# shellcheck source-path=SCRIPTDIR source=../mount/common.sh
source "$(dirname "$0")/../mount/common.sh"
checkpoint=$3
sort=$4
records=$(dirname "$0")/records.py

# -- checkpoint --
make_volume 4
start -o 'layout=stripe(4K)'
state=$mnt/state
ok 'six processes begin' "$checkpoint" -k 5 start "$state" 12x10x7 '(block,cyclic(3),*)' 3x2x1
same 'what they say' "$(cat "$work/out")" "5 steps by 6 processes: $state has had 5"
ok 'what is in the file' python3 "$records" checkpoint "$state" 840 5
ok 'four others go on' "$checkpoint" -c -k 4 continue "$state" '(*,cyclic,block)' 1x2x2
ok 'what is in the file then' python3 "$records" checkpoint "$state" 840 9
ok 'one alone' "$checkpoint" -c -k 0 continue "$state" '(*,*,*)' 1x1x1
ok 'some that have nothing' "$checkpoint" -c -k 3 continue "$state" '(block,*,cyclic(2))' 5x1x5
ok 'what is in the file then, too' python3 "$records" checkpoint "$state" 840 12
ok 'each for itself' "$checkpoint" -cd -k 2 continue "$state" '(cyclic(2),block,cyclic)' 2x3x2
ok 'what is in the file at last' python3 "$records" checkpoint "$state" 840 14
same 'nothing else is left' "$(ls "$mnt")" state
ok 'it is said what it holds' test "$("$fallsctl" array get "$state")" = \
    "$state  shape=12x10x7 elem=8 type=u8 order=row header=4096"
# What was there stays when the next one cannot be written.
cp -a "$state" "$work/before"
not 'a limit on files' bash -c 'ulimit -f 4; exec "$@"' sh "$checkpoint" continue "$state" '(block,*,*)' 2x1x1
ok 'the one before is there' cmp "$state" "$work/before"
ok 'and they go on with it' "$checkpoint" -c continue "$state" '(block,*,*)' 2x1x1
printf x | dd of="$state" bs=1 seek=5000 conv=notrunc 2>/dev/null
refused 'a byte that was changed is found' 'is not what' "$checkpoint" -c continue "$state" '(block,*,*)' 2x1x1
printf x | dd of="$state" bs=1 conv=notrunc 2>/dev/null
refused 'what is no checkpoint' 'is no checkpoint' "$checkpoint" continue "$state" '(block,*,*)' 2x1x1
for words in "start $state" "start $state 3x3 (block) 2" "start $state 3x3 (*,block) 2x2" "continue $mnt/state2 (block)" \
    "start $state 3x (block) 2" "start $state 3 (blocks) 2" "start $state 9999 (block) 9999"; do
    # shellcheck disable=SC2086  # words
    refused "checkpoint $words" usage: "$checkpoint" $words
done
stop

# -- sort --
make_volume 3
start -o 'layout=stripe(64K)'
# sorts RECORD KEY RECORDS MEMORY: so many random ones, whose keys repeat
sorts() {
    head -c $((2 * $1 * $3 + 1000)) /dev/urandom | LC_ALL=C tr -dc '\0-\7a-z' | head -c $(($1 * $3 / 8 + $1)) >"$mnt/some"
    cat "$mnt/some" "$mnt/some" "$mnt/some" | head -c $(($1 * $3)) >"$mnt/from"
    truncate -s $(($(stat -c %s "$mnt/from") / $1 * $1)) "$mnt/from"
    for way in '' -d; do
        # shellcheck disable=SC2086  # none, or an option
        ok "$3 records of $1 bytes by $2 in $4 $way" "$sort" $way -r "$1" -k "$2" -m "$4" "$mnt/from" "$mnt/to" || return
        cp "$work/out" "$work/said$way"
        ok 'they are in order' python3 "$records" sort "$mnt/from" "$mnt/to" "$1" "$2"
        rm "$mnt/to"
    done
    same 'nothing else is left' "$(ls "$mnt")" $'from\nsome'
}
sorts 24 4 200000 256K
ok 'that took several passes' grep -qE 'merged in [2-9] passes' "$work/said"
sorts 24 4 200000 1M
sorts 100 1 5000 64M
ok 'that took none' grep -q ' 1 runs, merged in 0 passes' "$work/said"
sorts 1 1 100000 256K
sorts 4099 10 500 256K
sorts 8 3 1 64M
: >"$mnt/from"
ok 'no records' "$sort" -r 8 "$mnt/from" "$mnt/to"
ok 'are none' test ! -s "$mnt/to"
head -c 9 /dev/zero >"$mnt/from"
refused 'a record that is cut off' 'cut off' "$sort" -r 8 "$mnt/from" "$mnt/to"
for words in 'from to' '-r 8 from' '-r 8 -k 9 from to' '-r 8 -m 4 from to' '-r x from to'; do
    # shellcheck disable=SC2086  # words
    refused "sort $words" usage: "$sort" $words
done
stop
finish
