#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Traces: what a program does with a file is in them, or counted as dropped. trace.sh FALLSFS FALLSCTL TRACE_CLIENT
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; other shells expand
source "$(dirname "$0")/common.sh"

client=$3
here=$(cd "$(dirname "$0")" && pwd)

trace() {
    "$fallsctl" trace "$@"
}

read_trace() {
    python3 "$here/trace.py" "$@" 2>"$work/wrong" || cat "$work/wrong" >&2
}

attr() {
    getfattr --absolute-names -n user.falls.trace --only-values "$1"
}

give() {
    setfattr -n user.falls.trace -v "$1" "$2"
}

# field NAME PATH: of the attribute
field() {
    attr "$2" | tr ' ' '\n' | sed -n "s/^$1=//p"
}

# same_accesses NAME TRACE LOG: what is in the trace is what the program says it has done
same_accesses() {
    read_trace accesses "$2" >"$work/told" || fail "$1: the trace cannot be read"
    same "$1: dropped" "$(read_trace dropped "$2")" 0
    [ -s "$3" ] || fail "$1: the program has done nothing"
    same "$1" "$(sort "$work/told" | md5sum; diff <(sort "$work/told") <(sort "$3") | head -10)" "$(sort "$3" | md5sum)"
}

make_file() {
    head -c "$2" /dev/urandom >"$mnt/$1"
}

make_volume 3
start

# -- every access --
make_file a 400000
same 'nothing is traced' "$(attr "$mnt/a")" 'state=off how=cache open=0 records=0 dropped=0 sample=1'
ok 'start' trace start --every "$mnt/a"
ok 'reads and writes' sh -c "'$client' plain '$mnt/a' 1 2000 >'$work/done'"
ok 'export' trace export -o "$work/trace" "$mnt/a"
same_accesses 'reads and writes by threads' "$work/trace" "$work/done"
same 'it says how many' "$(field records "$mnt/a")" 2000
ok 'and of what' grep -q '; of all that is traced in this mount, 2000 accesses kept, 0 dropped$' <(trace status "$mnt")
ok 'sections' sh -c "'$client' sections '$mnt/a' >>'$work/done'"
ok 'tickets' sh -c "'$client' tickets '$mnt/a' >>'$work/done'"
ok 'a group' sh -c "'$client' group '$mnt/a' 4 >>'$work/done'"
ok 'the first thread has gone' sh -c "'$client' exit '$mnt/a' >>'$work/done'"
ok 'a copy' sh -c "'$client' copy '$mnt/a' >>'$work/done'"
ok 'export' trace export -o "$work/trace" "$mnt/a"
same_accesses 'in all ways' "$work/trace" "$work/done"
ok 'it says that it is every access' grep -q 'head flags=1' <(read_trace items "$work/trace")
ok 'stop' trace stop "$mnt/a"
"$client" plain "$mnt/a" 2 100 >/dev/null
ok 'export' trace export -o "$work/trace" "$mnt/a"
same_accesses 'nothing after the end' "$work/trace" "$work/done"
refused 'to stop it again' 'you have begun no trace here' trace stop "$mnt/a"

# -- of a path --
# needs: every access
mkdir -p "$mnt/below/q" "$mnt/belowq"
for name in below/a below/q/b belowq/c below.x; do
    make_file "$name" 100000
done
ok 'start' trace start --every "$mnt"
for name in below/a below/q/b belowq/c below.x; do
    ok 'it is accessed' sh -c "'$client' sections '$mnt/$name' >'$work/done.${name##*/}'"
done
refused 'it is ended where it began' 'it is traced with all of the mount: stop that, by the mount point' trace stop "$mnt/below/a"
ok 'record' trace record -o "$work/recorded" "$mnt/below/q" -- sh -c "'$client' plain '$mnt/below/q/b' 1 100 >>'$work/done.b'; '$client' plain '$mnt/below.x' 1 100 >>'$work/done.below.x'"
# has NAME PATH FILES: of a trace of that path, nothing but these
has() {
    ok "export of $1" trace export -o "$work/trace" "$2"
    same "has its files: $1" "$(read_trace items "$work/trace" | grep '^file' | grep -o 'path=[^ ]*' | sort | tr '\n' ' ')" "$3"
}
has 'a file' "$mnt/below/a" 'path=below/a '
same_accesses 'of a file' "$work/trace" "$work/done.a"
same 'its patterns alone' "$(read_trace items "$work/trace" | grep -c '^pattern')" "$(cut -d' ' -f6- "$work/done.a" | grep -v '^-$' | sort -u | wc -l)"
same 'its process alone' "$(read_trace items "$work/trace" | grep -c '^process')" 1
has 'a directory' "$mnt/below" 'path=below/a path=below/q/b '
cat "$work/done.a" "$work/done.b" >"$work/done"
same_accesses 'of a directory' "$work/trace" "$work/done"
has 'the mount' "$mnt" 'path=below.x path=below/a path=below/q/b path=belowq/c '
same_accesses 'what was recorded' "$work/recorded" "$work/done.b"
has 'what was not accessed' "$mnt/a" ''
ok 'stop' trace stop "$mnt"

# -- views --
make_file v 100000
ok 'a view' setfattr -n user.falls.view.odd -v 'stripe(1K, 2) element 1' "$mnt/v"
ok 'start' trace start "$mnt/v"
ok 'reading it' dd if="$mnt/.falls/views/v/odd" of=/dev/null bs=10000 count=2 skip=1
ok 'export' trace export -o "$work/trace" "$mnt"
ok 'the view is told' grep -q ' view r 10000 10000 - stripe(1K, 2) element 1' <(read_trace accesses "$work/trace")
ok 'stop' trace stop "$mnt/v"

# -- record --
make_file r 400000
ok 'record' trace record --every -o "$work/trace" "$mnt/r" -- sh -c "'$client' plain '$mnt/r' 3 3000 >'$work/done'"
same_accesses 'record' "$work/trace" "$work/done"
same 'it is over' "$(field state "$mnt/r")" off
# ends_with STATUS NAME COMMAND...: what fallsctl trace record ends with
ends_with() {
    local status=$1 name=$2
    shift 2
    trace record -o "$work/trace" "$@" >"$work/said" 2>&1
    same "$name" "$?" "$status"
}
ends_with 3 'a command that fails' "$mnt/r" -- sh -c 'exit 3'
ok 'it says so' grep -qx 'sh: ended with status 3; what it did is in the trace' "$work/said"
ends_with 137 'a command that is killed' "$mnt/r" -- sh -c 'kill -KILL $$'
ok 'it says so' grep -qx 'sh: killed by signal 9; what it did is in the trace' "$work/said"
ends_with 127 'no such command' "$mnt/r" -- /no/such/command
ends_with 126 'no program' "$mnt/r" -- "$mnt/r"
ends_with 1 'no trace' "$work/no such file" -- true
rm -f "$work/trace"
ends_with 2 'no command' "$mnt/r" --
ok 'it says so' grep -qF "which command is to run? None stands behind '--'" "$work/said"
not 'and writes nothing' test -e "$work/trace"
ends_with 1 'a path behind it' -- "$work/no such file"
same 'it is over' "$(field state "$mnt/r")" off
"$fallsctl" trace record -o "$work/trace" "$mnt/r" &
recorder=$!
await 10 sh -c "getfattr -n user.falls.trace --only-values '$mnt/r' | grep -q state=on" || fail 'record begins a trace'
kill -TERM "$recorder"
ok 'record ends when it is interrupted' wait "$recorder"
same 'and its trace' "$(field state "$mnt/r")" off

# -- through the cache --
make_file c 400000
exec 7<"$mnt/c"
cat "$mnt/c" >/dev/null
ok 'start' trace start "$mnt/c"
cat "$mnt/c" >/dev/null
same 'what is cached is not seen' "$(field records "$mnt/c")" 0
ok 'it says so' grep -q 'through the cache' <(trace status "$mnt/c")
ok 'start --every' trace start --every "$mnt/c"
same 'a handle was open' "$(field open "$mnt/c")" 1
ok 'it says so' grep -q '1 handles were open already' <(trace status "$mnt/c")
cat "$mnt/c" >/dev/null
ok 'reads are seen now' test "$(field records "$mnt/c")" -gt 0
ok 'mappings work' "$client" mapped "$mnt/c"
ok 'export' trace export -o "$work/trace" "$mnt"
ok 'open handles are in the trace' grep -q '^open file=[0-9]* n=1' <(read_trace items "$work/trace")
ok 'it was not every access' grep -q 'head flags=0' <(read_trace items "$work/trace")
exec 7<&-
ok 'stop' trace stop "$mnt/c"
ok 'json' sh -c "'$fallsctl' trace status --json '$mnt/c' | python3 -c 'import json, sys; assert not json.load(sys.stdin)[\"files\"][0][\"traced\"]'"

# -- a sample --
make_file s 400000
refused 'no sample' 'sample wants a number from 1 to 65535' trace start --sample 0 "$mnt/s"
refused 'too few' 'sample wants a number from 1 to 65535' trace start --sample 65536 "$mnt/s"
not 'nor by the attribute' give 'start sample=0' "$mnt/s"
ok 'start' trace start --every --sample 10 "$mnt/s"
same 'it knows' "$(field sample "$mnt/s")" 10
ok 'it says so' grep -q 'one access of 10 is recorded' <(trace status "$mnt/s")
ok 'reads and writes' sh -c "'$client' plain '$mnt/s' 5 2000 >'$work/done'"
n=$(field records "$mnt/s")
ok "of 2000 it has $n" test "$n" -ge 198 -a "$n" -le 202
ok 'export' trace export -o "$work/trace" "$mnt/s"
same 'each stands for 10' "$(read_trace items "$work/trace" | grep '^access' | grep -c ' sampled=10$')" "$n"
same 'all of it was done' "$(read_trace accesses "$work/trace" | sort | comm -23 - <(sort "$work/done") | wc -l)" 0
ok 'the profile says so' grep -q "^  sampled    1 of 10 accesses: there were about ${n}0," <("$fallsctl" profile "$work/trace" s)
same 'as json' "$("$fallsctl" profile --json "$work/trace" s | jq .profile.sample)" 10
ok 'who records all gets all' trace record -o "$work/trace" "$mnt/s" -- "$client" plain "$mnt/s" 7 100
same 'though a sample was there' "$(read_trace items "$work/trace" | grep '^access' | grep -c ' sampled=0$')" 100
ok 'start' trace start --every --sample 10 "$mnt/s"
n=$(field records "$mnt/s")
ok 'who asks for all gets all' trace start --every "$mnt"
ok 'reads and writes' sh -c "'$client' plain '$mnt/s' 6 200 >'$work/done'"
same 'of the same file' "$(field records "$mnt/s")" $((n + 200))
ok 'stop' trace stop "$mnt"

# -- a directory --
mkdir -p "$mnt/d/e"
make_file d/e/x 100000
make_file y 100000
ok 'start' trace start --every "$mnt/d"
refused 'it is ended where it began' 'it is traced with all that is in d of this mount: stop that' trace stop "$mnt/d/e/x"
ok 'below it' sh -c "'$client' plain '$mnt/d/e/x' 1 50 >'$work/done'"
ok 'elsewhere' sh -c "'$client' plain '$mnt/y' 1 50 >/dev/null"
ok 'made in it' sh -c "dd if=/dev/zero of='$mnt/d/new' bs=1000 count=3 2>/dev/null"
ok 'export' trace export -o "$work/trace" "$mnt"
same 'what is below it' "$(read_trace items "$work/trace" | grep -c '^access')" 53
same 'by its name' "$(read_trace items "$work/trace" | grep '^file' | grep -o 'path=[^ ]*' | sort | tr '\n' ' ')" \
    'path=d/e/x path=d/new '
ok 'stop' trace stop "$mnt/d"
make_file z 1000
exec 7<>"$mnt/z"
ok 'start' trace start --every "$mnt/d"
echo elsewhere >&7
mv "$mnt/z" "$mnt/d/z"
echo there >&7
exec 7>&-
ok 'a file that is removed' sh -c "'$client' unlinked '$mnt/d/z' >'$work/done'"
make_file u 1000
"$client" unlinked "$mnt/u" >/dev/null
ok 'export' trace export -o "$work/trace" "$mnt"
same 'a file that came, and what is open without a name' "$(read_trace accesses "$work/trace" | cut -d' ' -f2- | sort | md5sum)" \
    "$({ cut -d' ' -f2- "$work/done"; echo plain w 10 6 - -; } | sort | md5sum)"
ok 'stop' trace stop "$mnt/d"
ok 'a file' trace start "$mnt/y"
rm "$mnt/y"
same 'it ends with the last name' "$(field state "$mnt")" off

# -- rights --
chmod 1777 "$mnt"
as 1000 sh -c "head -c 100000 /dev/urandom >'$mnt/his' && mkdir '$mnt/hisdir' && cp '$mnt/his' '$mnt/hisdir/f'"
chmod 666 "$mnt/his"
make_file mine 100000
chmod 666 "$mnt/mine"
refused 'a file of others' 'only the owner' as 1000 "$fallsctl" trace start "$mnt/mine"
mkdir -m 755 "$mnt/minedir"
make_file minefile 1000
refused 'that he may not write to' 'only its owner and root begin and end traces of it: ask them' \
    as 1000 "$fallsctl" trace start "$mnt/minefile"
for order in start stop 'record -o /dev/null'; do
    for path in "$mnt/minedir" "$mnt"; do # the latter is sticky
        # shellcheck disable=SC2086  # one is several words
        refused "a directory of others, $order" 'only who may write to a directory, as its owner, and root begin and end' \
            as 1000 "$fallsctl" trace $order "$path"
    done
done
chmod 444 "$mnt/hisdir/f"
refused 'his own that he may not write to' "it is yours, but its mode does not let you write to it: 'chmod u+w' does" \
    as 1000 "$fallsctl" trace start "$mnt/hisdir/f"
chmod 644 "$mnt/hisdir/f"
rm -r "$mnt/minedir" "$mnt/minefile"
ok 'his own' as 1000 "$fallsctl" trace start --every "$mnt/his"
"$client" plain "$mnt/his" 1 10 >"$work/done.root" # by others: through the cache
as 1000 "$client" plain "$mnt/his" 2 20 >"$work/done"
ok 'he reads it' as 1000 "$fallsctl" trace export -o - "$mnt/his"
as 1000 "$fallsctl" trace export -o - "$mnt/his" >"$work/trace"
ok 'others are numbers' grep -q 'process number=[0-9]* uid=0 tgid=0 start=0 name= ranked=0$' <(read_trace items "$work/trace")
ok 'his own are not' grep -q 'process number=[0-9]* uid=1000 tgid=[1-9][0-9]* start=[1-9][0-9]* name=trace_client' \
    <(read_trace items "$work/trace")
same 'his own accesses, every one' "$(read_trace accesses "$work/trace" | grep -v '^0 ' | sort | md5sum)" \
    "$(sort "$work/done" | md5sum)"
ok 'handles of others are counted' grep -q '^open' <(read_trace items "$work/trace")
ok 'root knows them' sh -c "'$fallsctl' trace export -o '$work/trace.root' '$mnt'"
not 'nobody is without a name' grep -q 'tgid=0' <(read_trace items "$work/trace.root")
ok 'another user' sh -c "setpriv --reuid 1001 --regid 1001 --clear-groups '$fallsctl' trace export -o - '$mnt' >'$work/trace.other'"
same 'sees nothing' "$(read_trace items "$work/trace.other" | grep -vc '^head')" 0
ok 'and no count' grep -q 'records=0 dropped=0' <(as 1001 getfattr -n user.falls.trace --only-values "$mnt/mine")
ok 'nor that it goes on' grep -q 'state=off' <(as 1001 getfattr -n user.falls.trace --only-values "$mnt/his")
ok 'who it is for knows' grep -q 'state=on' <(as 1000 getfattr -n user.falls.trace --only-values "$mnt/his")
refused 'to record it' 'only the owner' as 1001 "$fallsctl" trace record -o "$work/others" "$mnt/his" -- true
ok 'his directory' as 1000 "$fallsctl" trace start "$mnt/hisdir"
chown 1001 "$mnt/hisdir/f"
cat "$mnt/hisdir/f" >/dev/null
dd if=/dev/zero of="$mnt/hisdir/f" bs=1000 count=1 conv=notrunc 2>/dev/null
as 1000 "$fallsctl" trace export -o - "$mnt" >"$work/trace"
not 'what is no longer his is not seen' grep -q 'path=hisdir/f' <(read_trace items "$work/trace")
refused 'to stop what others began' 'only the owner' as 1001 "$fallsctl" trace stop "$mnt/his"
chown 1001 "$mnt/his"
"$client" plain "$mnt/his" 1 10 >/dev/null
as 1000 "$fallsctl" trace export -o - "$mnt" >"$work/trace.later"
same 'nor what was given away' "$(read_trace accesses "$work/trace.later" | wc -l)" "$(read_trace accesses "$work/trace" | wc -l)"
ok 'root ends all' trace stop "$mnt"
make_file between 1000
ok 'a trace of somebody else' trace start "$mnt/between"
cat "$mnt/between" >/dev/null
as 1000 "$fallsctl" trace export -o - "$mnt" >"$work/trace.later"
same 'takes nothing away' "$(read_trace accesses "$work/trace.later" | md5sum)" "$(read_trace accesses "$work/trace" | md5sum)"
ok 'root ends it' trace stop "$mnt"
same 'nothing is traced' "$(field state "$mnt/hisdir")" off
refused 'to write a trace' 'Permission denied' sh -c "echo x >'$mnt/.falls/trace'"
chmod 755 "$mnt"

# -- readers are bounded --
same 'so many of one user' 8 "$(as 1000 bash -c \
    'n=0; while [ "$n" -lt 100 ] && exec {fd}<"$1"; do n=$((n + 1)); done 2>/dev/null; echo "$n"' - "$mnt/.falls/trace")"
ok 'they are given back' as 1000 cat "$mnt/.falls/trace"

# -- scopes are bounded --
mkdir "$mnt/many"
chown 1000 "$mnt/many"
as 1000 sh -c "for i in \$(seq 17); do : >'$mnt/many/'\$i; done; for i in \$(seq 16); do
    setfattr -n user.falls.trace -v start '$mnt/many/'\$i || exit 1; done" || fail 'sixteen traces'
refused 'one more' 'as many files and directories as he may' as 1000 "$fallsctl" trace start "$mnt/many/17"
rm -r "$mnt/many"
same 'they end with the files' "$(field state "$mnt")" off

# -- on and off under load --
make_file t 400000
sh -c 'while [ ! -e "$3" ]; do "$1" plain "$2" 5 20000 >/dev/null || exit 1; done' - "$client" "$mnt/t" "$work/enough" &
load=$!
"$client" group "$mnt/t" 4 >/dev/null &
n_toggles=0
while kill -0 "$load" 2>/dev/null; do
    give 'start every' "$mnt/t" && give start "$mnt" && cat "$mnt/.falls/trace" >/dev/null && give stop "$mnt/t"
    give stop "$mnt" 2>/dev/null
    n_toggles=$((n_toggles + 1))
    [ "$n_toggles" -le 3 ] || : >"$work/enough"
done
ok 'the program ends well' wait "$load"
ok 'a trace begins' trace start --every "$mnt/t"
ok 'and has everything' sh -c "'$client' plain '$mnt/t' 6 500 >'$work/done'"
ok 'export' trace export -o "$work/trace" "$mnt"
same_accesses 'after that' "$work/trace" "$work/done"
ok 'stop' trace stop "$mnt"

# -- the ring is full --
restart -o trace,trace_ring=64K
same 'on from the start' "$(field state "$mnt")" on
make_file o 400000
ok 'what is known so far' sh -c "cat '$mnt/.falls/trace' >'$work/before'"
exec 8<"$mnt/.falls/trace"
ok 'every access' trace start --every "$mnt/o"
ok 'more than fits' sh -c "'$client' plain '$mnt/o' 8 5000 >'$work/done'"
ok 'export' trace export -o "$work/trace" "$mnt"
same 'what is not there is counted' \
    $(($(read_trace accesses "$work/trace" | grep -cF "$(head -1 "$work/done" | cut -d' ' -f1) ") + $(read_trace dropped "$work/trace"))) \
    $((5000 + $(read_trace accesses "$work/before" | wc -l)))
same 'a record is 64 bytes' "$(read_trace accesses "$work/trace" | wc -l)" 1024
cat <&8 >"$work/trace.slow"
exec 8<&-
same 'a slow reader knows what it has missed' \
    $(($(read_trace accesses "$work/trace.slow" | wc -l) + $(read_trace dropped "$work/trace.slow"))) \
    $((5000 + $(read_trace accesses "$work/before" | wc -l)))
ok 'record loses nothing' trace record --every -o "$work/trace" "$mnt/o" -- \
    sh -c "for i in 1 2 3 4 5 6; do '$client' plain '$mnt/o' \$i 500; sleep 0.2; done >'$work/done'"
same 'of what the ring can take' "$(read_trace accesses "$work/trace" | tail -3000 | sort | md5sum)" "$(sort "$work/done" | md5sum)"

# -- a number of a process comes again --
restart
make_file n 100000
ok 'start' trace start --every "$mnt/n"
# twice: two programs with the same number, one after the other; 1, where the system gives other numbers
twice() {
    local i first second
    "$client" plain "$mnt/n" 1 10 >"$work/done"
    first=$(head -1 "$work/done" | cut -d' ' -f1)
    sleep 1.1 # who is asked again only after a second, in which no number comes around by itself
    for ((i = 0; i < 50; i++)); do
        echo $((first - 1)) >/proc/sys/kernel/ns_last_pid || return
        "$client" plain "$mnt/n" 2 10 >"$work/more"
        second=$(head -1 "$work/more" | cut -d' ' -f1)
        [ "$first" != "$second" ] || return 0
    done
    return 1
}
if twice 2>/dev/null; then
    ok 'export' trace export -o "$work/trace" "$mnt/n"
    number=$(head -1 "$work/done" | cut -d' ' -f1)
    same 'they are two processes' \
        "$(read_trace items "$work/trace" | grep "^process.* tgid=$number " | grep -o 'start=[0-9]*' | sort -u | wc -l)" 2
else
    echo 'the system gives no number twice: how that is told apart was not looked at'
fi

# -- another mount --
restart
same 'nothing is traced' "$(attr "$mnt")" 'state=off how=cache open=0 records=0 dropped=0 sample=1'
ok 'and nothing kept' trace export -o "$work/trace" "$mnt"
same 'but its head' "$(read_trace items "$work/trace")" 'head flags=0'

restart -o direct_io
make_file p 100000
ok 'start, where nothing is cached' trace start "$mnt/p"
same 'is every access' "$(field how "$mnt/p")" every
ok 'all of them' sh -c "'$client' plain '$mnt/p' 1 100 >'$work/done'"
ok 'export' trace export -o "$work/trace" "$mnt"
same_accesses 'past the cache' "$work/trace" "$work/done"
ok 'it says so' grep -q 'head flags=1' <(read_trace items "$work/trace")

restart -o ro,trace
cat "$mnt/p" >/dev/null
ok 'what is only read is traced from the start' trace export -o "$work/trace" "$mnt"
same 'all of it' "$(read_trace accesses "$work/trace" | awk '$3 == "r" { n += $5 } END { print n }')" 100000
refused 'later it cannot be' 'the mount is read-only, so that no trace can begin: mounted with -o ro,trace' trace start "$mnt/p"
refused 'nor end' 'the mount is read-only: unmount it and mount it again without -o ro' trace stop "$mnt/p"
for order in --restripe '-L one'; do
    for path in "$mnt/p" "$mnt"; do
        # shellcheck disable=SC2086  # two words
        refused "no migration, $order of $path" 'the mount is read-only: unmount it' "$fallsctl" migrate $order "$path"
    done
done

# -- a disk hangs --
[ -z "$daemon" ] || stop
make_volume_with_inner
start -o timeout=3
ok 'a file on it' "$fallsctl" create -L 'one on d2' "$mnt/h"
ok 'with bytes' dd if=/dev/zero of="$mnt/h" bs=4096 count=8 conv=notrunc,fsync
ok 'start' trace start --every "$mnt/h"
kill -STOP "$inner"
has_stopped() {
    ! grep -qs '^State:[[:space:]]*[^T[:space:]]' "/proc/$inner"/task/*/status
}
await 10 has_stopped || die 'the inner daemon does not stop'
readers=()
for ((i = 0; i < 4; i++)); do # the first one meets the disk, others may find that it is stalled, and are parked
    dd if="$mnt/h" of=/dev/null bs=4096 count=1 skip="$i" 2>/dev/null &
    readers+=("$!")
    sleep 0.3
done
for pid in "${readers[@]}"; do
    not 'it cannot be read' wait "$pid"
done
kill -CONT "$inner"
# Who was given up with goes on first; until one of them is back, the disk is taken for dead, and reads fail.
reads_fail=4
while ! dd if="$mnt/h" of=/dev/null bs=4096 count=1 skip=4 2>"$work/wrong"; do
    reads_fail=$((reads_fail + 1))
    [ "$reads_fail" -lt 300 ] || die "it cannot be read again: $(cat "$work/wrong")"
    sleep 0.1
done
# Whose answer was given in place of a thread that met the disk may have closed the file before that thread is back.
has_all() {
    [ $(($(field records "$mnt/h") + $(field dropped "$mnt/h"))) = $((reads_fail + 1)) ]
}
await 20 has_all || fail "all are in the trace, or counted: $(attr "$mnt/h")"
ok 'export' trace export -o "$work/trace" "$mnt"
same 'those that failed' \
    "$(($(read_trace items "$work/trace" | grep '^access' | grep -c 'flags=2') + $(read_trace dropped "$work/trace")))" "$reads_fail"
same 'the one that did not' "$(read_trace items "$work/trace" | grep '^access' | grep 'flags=0' | grep -o 'offset=[0-9]*')" offset=16384
finish
