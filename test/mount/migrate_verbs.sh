#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fallsctl migrate and jobs, on a mount: migrate_verbs.sh FALLSFS FALLSCTL
# shellcheck disable=SC2317  # functions are called by ok and not
source "$(dirname "$0")/common.sh"

fallsctl=$(realpath "$fallsctl")
fallsfs=$(realpath "$fallsfs")

# state FILE: of its last job
state() {
    getfattr -n user.falls.migrate --only-values "$1" 2>/dev/null | sed -n 's/.* state=\([a-z]*\) .*/\1/p'
}

layout_of() {
    getfattr -n user.falls.layout --only-values "$1" 2>/dev/null
}

# reaches FILE STATE
reaches() {
    has_reached() {
        [ "$(state "$1")" = "$2" ]
    }
    await 10 has_reached "$@" && return
    getfattr -n user.falls.migrate --only-values "$1"
    return 1
}

make_volume 4
rm -rf "$work"/d[0-9]*
mkdir "${disks[@]}"
"$fallsctl" format --pool slow "$work/d0" "$work/d1" --pool fast "$work/d2" "$work/d3" >"$work/out" 2>&1 || die "format: $(cat "$work/out")"
start
cd "$mnt" || exit 1
head -c 3000000 /dev/urandom >"$work/random"

# -- a file with several names is one file --
mkdir tree
cp "$work/random" tree/a
ln tree/a tree/b
ln tree/a c
cp "$work/random" tree/single
ok 'a tree with links' "$fallsctl" migrate --wait -L 'stripe(64K)' tree c
same 'is silent' "$(cat "$work/out")" ''
same 'in which a file is counted once' "$("$fallsctl" migrate -n --json -L one tree c | jq -c '[(.files | length), (.files | map(.bytes) | add)]')" '[2,6000000]'
ok 'its bytes' cmp "$work/random" c

# -- names from find --
# needs: a file with several
ok 'names from find' sh -c "'$fallsctl' find --layout 'stripe(64K)' -0 tree | '$fallsctl' migrate --wait -L one -0"
same 'they were migrated' "$(layout_of tree/a) $(layout_of tree/single)" 'one on d0-d3 one on d0-d3'
ok 'beside others' sh -c "printf 'tree/a\\0tree/b\\0' | '$fallsctl' migrate --wait -L 'stripe(4K)' -0 tree/single"
same 'all of them' "$(layout_of tree/a) $(layout_of tree/single)" 'stripe(4K) on d0-d3 stripe(4K) on d0-d3'
refused 'what is not there' 'nowhere: No such file' sh -c "printf 'nowhere' | '$fallsctl' migrate -L one -0"
ok 'nothing' "$fallsctl" migrate -L one -0

# -- what became of it --
# needs: names from find
same 'waited for' "$("$fallsctl" migrate --wait --json -L 'stripe(8K)' tree | jq -c '[.files[] | .state] | unique')" '["done"]'
same 'had it' "$("$fallsctl" migrate --wait --json -L 'stripe(8K)' tree | jq -c '[.files[] | .state] | unique')" '["done"]'
ok 'slowly' "$fallsctl" migrate --limit 100K -L one tree/a
same 'not waited for' "$("$fallsctl" migrate --json --limit 100K -L one tree/a | jq -c '[.files[] | .state]')" '["running"]'
same 'the same again is the same job' "$("$fallsctl" jobs --json "$mnt" | jq -c '[.jobs[] | select(.state == "running" or .state == "waiting")] | length')" 1
refused 'but nothing else' 'on its way to another layout' "$fallsctl" migrate -L 'stripe(8K,2)' tree/a
number=$("$fallsctl" jobs --json "$mnt" | jq '.jobs[-1].job')
ok 'pause' "$fallsctl" jobs pause "$number" "$mnt"
ok 'it pauses' reaches tree/a paused
same 'nobody waits for what is paused' "$("$fallsctl" migrate --wait --json --limit 100K -L one tree/a | jq -c '[.files[] | .state]')" '["paused"]'
ok 'resume' "$fallsctl" jobs resume "$number" "$mnt"
ok 'it goes on' reaches tree/a running
ok 'said again without a limit it has none' timeout 20 "$fallsctl" migrate --wait -L one tree/a
same 'so it is done soon' "$(layout_of tree/a)" 'one on d0-d3'
ok 'its bytes are the same' cmp "$work/random" tree/a
setfattr -n user.falls.migrate -v one tree/a
same 'what is nothing to do does not hide what was done' "$(state tree/a)" 'done'
ok 'cancelled' "$fallsctl" migrate --limit 100K -L 'stripe(8K,2)' tree/a
ok 'cancel' "$fallsctl" jobs cancel "$("$fallsctl" jobs --json "$mnt" | jq '.jobs[-1].job')" "$mnt"
ok 'it ends' reaches tree/a cancelled
not 'what is over takes no orders' "$fallsctl" jobs resume "$number" "$mnt"
refused 'nor what never was' 'there is no job 999999' "$fallsctl" jobs pause 999999 "$mnt"
same 'what is no mount, as json' "$("$fallsctl" jobs --json "$work" "$mnt" 2>/dev/null | jq -c '[.errors[] | .name, .why]')" \
    "[\"$work\",\"is no directory of a mounted fallsfs; 'fallsctl status' lists those\"]"
"$fallsctl" jobs --json "$work" "$mnt" >/dev/null 2>&1
same 'some of it failed' $? 3
same 'nor can it be waited for' "$("$fallsctl" jobs wait --json "$work" 2>/dev/null | jq -r .error.why)" \
    "$work: is no directory of a mounted fallsfs; 'fallsctl status' lists those"
ok 'nothing to wait for' timeout 20 "$fallsctl" jobs wait "$mnt"

# -- what would move --
# moves JQ-FILTER OPTION...: of a dry run
moves() {
    local filter=$1
    shift
    "$fallsctl" migrate -n --json "$@" | jq -c ".files[0] | $filter"
}
"$fallsctl" create -L '{d0:(0,4095,8192,1);d1:(4096,8191,8192,1)}' pair
head -c 1000000 "$work/random" >pair
same 'what is right stays' "$(moves '[.bytes, .bytes_that_stay, .moves[1][3], .moves[0][0]]' -L '{d0:(0,4095,8192,1);d3:(4096,8191,8192,1)}' pair)" \
    '[499712,500288,499712,0]'
same 'what would not change' "$(moves '[.bytes, .bytes_that_stay]' --restripe pair)" '[0,1000000]'
same 'on the same disk, but not in the same places' "$(moves '[.bytes, .bytes_that_stay, .moves[0][0]]' -L 'stripe(8K,2) on d0,d1' pair)" '[1000000,0,250432]'
same 'pools' "$(moves '.moves | [(.[0] | .[2:] | add), (.[1] | .[2:] | add), (map(.[:2] | add) | add)]' -p fast -S 64K pair)" '[500288,499712,0]'
refused 'no such pool' "in a pool 'none'" "$fallsctl" migrate -n -p none -S 64K pair
"$fallsctl" create -L one sparse
printf data >sparse
truncate -s 1T sparse
printf more | dd of=sparse bs=1 seek=$((1 << 38)) conv=notrunc status=none
same 'holes do not move' "$(moves '.bytes < 100000 and .bytes >= 8' -L 'stripe(64K)' sparse)" 'true'
ok 'in words' "$fallsctl" migrate -n -L 'stripe(8K,2) on d0,d1' pair
case $(cat "$work/out") in
*'977K in all, 0 stay where they are; 1s at 200M/s') ;;
*) fail "in words: $(cat "$work/out")" ;;
esac

# -- many, more than are remembered --
mkdir many
for i in $(seq 150); do
    head -c 20000 "$work/random" >"many/$i"
done
same 'all are done' "$("$fallsctl" migrate --wait --json -L 'stripe(4K,2)' many | jq -c '[(.files | length), ([.files[].state] | unique)]')" '[150,["done"]]'

# -- directories, by attribute --
mkdir -p by/attribute/deep by/theirs
for i in $(seq 60); do
    echo "$i" >"by/attribute/$i"
done
cp "$work/random" by/attribute/deep/large
chown -R 1000 by/theirs
cp "$work/random" by/theirs/file
chown 1000 by/theirs
migrate_all() {
    setfattr -n user.falls.migrate -v "$1" "$2"
}
same 'nothing was begun' "$(state by)" ''
ok 'a directory' migrate_all 'stripe(16K)' by
ok 'all in it is done' reaches by 'done'
same 'and counted' "$(getfattr --only-values -n user.falls.migrate by | sed 's/.* files/files/')" 'files=62 failed=0'
ln by/attribute/7 by/attribute/seven
ok 'again, with a file of two names' migrate_all 'stripe(16K)' by
ok 'that is done' reaches by 'done'
same 'it is one file' "$(getfattr --only-values -n user.falls.migrate by | sed 's/.* files/files/')" 'files=62 failed=0'
rm by/attribute/seven
same 'also far below' "$(layout_of by/attribute/deep/large) $(layout_of by/attribute/7) $(layout_of by/theirs/file)" \
    'stripe(16K) on d0-d3 stripe(16K) on d0-d3 stripe(16K) on d0-d3'
ok 'the bytes are the same' cmp "$work/random" by/attribute/deep/large
refused 'what is no layout' 'Invalid argument' migrate_all 'stripe(' by
same 'in words' "$(getfattr --only-values -n user.falls.lasterror by)" 'column 8: expected a number, found the end'
ok 'slowly' migrate_all 'limit=10K one' by/attribute
refused 'twice' 'Device or resource busy' migrate_all restripe by/attribute
ok 'it rests' migrate_all pause by/attribute
same 'as it says' "$(state by/attribute)" paused
ok 'and ends' migrate_all cancel by/attribute
ok 'as wanted' reaches by/attribute cancelled
refused 'nothing goes on' 'Invalid argument' migrate_all resume by/attribute
ok 'the owner of a directory' as 1000 setfattr -n user.falls.migrate -v one by/theirs
ok 'is refused what others own' reaches by/theirs failed
same 'that stays' "$(layout_of by/theirs/file)" 'stripe(16K) on d0-d3'

# -- directories, by fallsctl: an order to the mount --
# needs: directories, by attribute
orders() {
    getfattr --only-values --absolute-names -n user.falls.jobs.json "$mnt" 2>/dev/null
}
# order_is JQ-FILTER: of the newest order, within a while
order_is() {
    local i
    for ((i = 0; i < 1500; i++)); do
        orders | jq -e ".orders[0] | $1" >/dev/null && return 0
        sleep 0.02
    done
    orders
    return 1
}
same 'a directory is one order' "$("$fallsctl" migrate --json --limit 10K -L 'stripe(7)' by/attribute | jq -c '[.files[] | [.file, .layout, .state]]')" \
    '[["by/attribute","stripe(7)","running"]]'
n=$(orders | jq '.orders[0].number')
ok 'the same again' "$fallsctl" migrate --limit 10K -L 'stripe(7)' by/attribute
same 'is the same order' "$(orders | jq '.orders[0].number')" "$n"
refused 'another one' 'files are being moved already (the files below a directory, for user 0)' "$fallsctl" migrate --restripe by/theirs
ok 'paused' migrate_all pause by/attribute
same 'nobody waits for it' "$(timeout 20 "$fallsctl" migrate --wait --json --limit 10K -L 'stripe(7)' by/attribute | jq -c '[.files[].state]')" '["paused"]'
ok 'cancelled' migrate_all cancel by/attribute
ok 'it ends' reaches by/attribute cancelled
for i in $(seq 10); do
    migrate_all 'limit=10K one' by/attribute
    migrate_all cancel by/attribute
    reaches by/attribute cancelled || break
    migrate_all "stripe(1$i)" by/attribute
    reaches by/attribute 'done' || break
done
same 'files are free when an order is cancelled' "$i $(layout_of by/attribute/deep/large)" '10 stripe(110) on d0-d3'
ok 'an order that nobody waits for' "$fallsctl" migrate --limit 1M -L 'stripe(9)' by/attribute
ok 'can be waited for' timeout 60 "$fallsctl" jobs wait "$mnt"
same 'until it is over' "$(state by/attribute)" 'done'
ok 'two directories, one after the other' "$fallsctl" migrate -L 'stripe(32K)' by/attribute by/theirs
ok 'both are done' reaches by/theirs 'done'
same 'with what was said' "$(layout_of by/attribute/deep/large) $(layout_of by/theirs/file)" 'stripe(32K) on d0-d3 stripe(32K) on d0-d3'
mkdir -p by/mixed/deep
for i in 1 2 3; do
    cp "$work/random" "by/mixed/$i"
    cp "$work/random" "by/mixed/deep/$i"
done
chown 1000 by/mixed by/mixed/1 by/mixed/2 by/mixed/deep/3
same 'what others own is named' "$(as 1000 "$fallsctl" migrate --wait --json -L 'stripe(8K)' by/mixed 2>/dev/null | jq -c '[.files[] | select(has("error")) | .file] | sort')" \
    '["by/mixed/3","by/mixed/deep/1","by/mixed/deep/2"]'
same 'as a look says' "$(as 1000 "$fallsctl" migrate -n --json -L 'stripe(8K)' by/mixed 2>/dev/null | jq -c '[.files[] | select(has("error")) | .file] | sort')" \
    '["by/mixed/3","by/mixed/deep/1","by/mixed/deep/2"]'
as 1000 "$fallsctl" migrate --wait -L 'stripe(4K)' by/mixed >"$work/said" 2>&1
same 'in part' $? 3
same 'with words' "$(sort "$work/said" | head -1)" 'by/mixed/3: only the owner, user 0, and root may set this: ask them'
same 'the others are done' "$(layout_of by/mixed/1) $(layout_of by/mixed/deep/3) $(layout_of by/mixed/3)" \
    'stripe(4K) on d0-d3 stripe(4K) on d0-d3 stripe(1M) on d0-d3'
chown 0 by/mixed
as 1000 "$fallsctl" migrate --wait -L 'stripe(2K)' by/mixed >"$work/said" 2>&1
same 'of a directory that is not theirs, too' "$? $(layout_of by/mixed/1) $(layout_of by/mixed/deep/3)" '3 stripe(2K) on d0-d3 stripe(2K) on d0-d3'

# -- the tool is killed in the midst of an order --
# needs: directories, by fallsctl
mkdir killed
for i in $(seq 40); do
    head -c 200000 "$work/random" >"killed/$i"
done
last=$(orders | jq '.orders[0].number')
"$fallsctl" migrate --wait --limit 200K -L one killed >"$work/said" 2>&1 &
tool=$!
ok 'some are on their way' order_is ".number > $last and .moved > 0"
kill -9 "$tool"
wait "$tool" 2>"$work/out"
same 'the order goes on' "$(orders | jq -c '.orders[0] | [.state, .files < 40]')" '["running",true]'
ok 'until all is done' order_is '.state == "done" and .files == 40 and .moved == 40 and .failed == 0'
same 'with one layout' "$(for i in killed/*; do layout_of "$i"; echo; done | sort -u)" 'one on d0-d3'
same 'and the same bytes' "$(for i in killed/*; do head -c 200000 "$work/random" | cmp - "$i"; done)" ''
last=$(orders | jq '.orders[0].number')
"$fallsctl" migrate --wait --limit 400K -L 'stripe(8K)' killed >"$work/said" 2>&1 &
tool=$!
ok 'once more' order_is ".number > $last and .state == \"running\" and .moved > 0"
kill -9 "$tool"
wait "$tool" 2>"$work/out"
ok 'the same command shows on' "$fallsctl" migrate --wait --json --limit 400K -L 'stripe(8K)' killed
same 'with all there is to tell' "$(jq -c '[(.files | length), ([.files[].state] | unique)]' "$work/out")" '[40,["done"]]'
ok 'the end of the mount' migrate_all 'limit=10K stripe(7)' by
cd /
stop

finish
