#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fallsctl bench on the mount: what it measures, what it says, what it leaves behind. bench.sh FALLSFS FALLSCTL
# shellcheck disable=SC2317  # functions are called by ok and not
source "$(dirname "$0")/common.sh"

bench() {
    "$fallsctl" bench sections -n 4 --rounds 3 "$@"
}

# says TEXT COMMAND...: fails, and says so on standard error.
says() {
    local text=$1
    shift
    not "$*" "$@"
    grep -qF -- "$text" "$work/out" || fail "it should say '$text', not '$(cat "$work/out")'"
}

# As JSON: each method of each case was timed, with sense.
sensible() {
    bench --json "$@" >"$work/json" && python3 - "$work/json" <<'END'
import json, sys
answer = json.load(open(sys.argv[1]))
assert answer["processes"] == 4 and answer["cases"], answer
for case in answer["cases"]:
    assert [m["method"] for m in case["methods"]] == ["direct", "independent", "static", "dynamic"], case
    for method in case["methods"]:
        assert 1 <= method["samples"] <= 3, method
        assert 0 < method["lower_quartile"] <= method["median"] <= method["upper_quartile"] < 60, method
        assert abs(method["speed_up"] * method["median"] / case["methods"][0]["median"] - 1) < 0.01, method
END
}

# What is asked for in all: pieces, bytes.
amount() {
    bench --json "$@" | python3 -c 'import json, sys; c = json.load(sys.stdin)["cases"][0]; print(c["pieces"], c["bytes"])'
}

make_volume 3
start -o 'layout=stripe(64K)'
cd "$mnt" || die "cannot go to $mnt"

ok 'cases of the paper, read and written' sensible new 1/I 4/I 5/II
ok 'a section of three dimensions, written' sensible --size 40,30,20 --elem 3 --order row --write new '(1+10p:10+10p:2,1:30:3,p+1:20:P)'
same 'pieces of it' "$(amount --size 40,30,20 --elem 3 --order row new '(1+10p:10+10p:2,1:30:3,p+1:20:P)')" '1000 3000'
same 'a whole column is one piece' "$(amount --size 100,8 --elem 8 new '(1:100,p+1:p+1)')" '4 3200'
ok 'a table for people' bench new 1/I
same 'with a row' "$(grep -cE '^1/I +read +400 +156K +[0-9.]+ ms +[0-9.]+ ms +x[0-9.]+ ' "$work/out")" 1
same 'nothing is left' "$(ls "$mnt")" ''

says 'exists' bench "$work/d0" 1/I
: >"$mnt/mine"
says 'exists' bench mine 1/I
ok 'the file of somebody else stays' test -e mine
rm mine
says 'lies in no mounted fallsfs' bench "$work/outside" 1/I
ok 'nothing stays outside' test ! -e "$work/outside"
says 'there is no such table or case: 9' bench new 9
says 'needs --size' bench new '(1:2)'
says 'column 5' bench --size 10,10 new '(1:2;1:2)'
says 'not as many numbers' bench --size 10 new '(1:2,1:2)'
says 'no size of an array' bench --size 4294967296,4294967296 new '(1:2,1:2)'
says '1 to 256 processes' bench -n 257 new 1/I
same 'and makes nothing' "$(ls "$mnt")" ''

"$fallsctl" bench sections new 6/I >"$work/out" 2>&1 &
pid=$!
await 10 test -s new
ok 'it is at work' test -s new
kill -INT "$pid"
wait "$pid"
same 'an interrupt ends it' $? 130
same 'and the file goes' "$(ls "$mnt")" ''
cd /
finish
