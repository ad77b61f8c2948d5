#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Figures of a mount agree with what was done: metrics.sh FALLSFS FALLSCTL EXAMPLE
# shellcheck disable=SC2317,SC2154,SC2016  # functions are called by ok and not; what common.sh sets; words for other shells
source "$(dirname "$0")/common.sh"
example=$3
checker=$(dirname "$(realpath "$0")")/exposition.py

# Each sample of now on a line of $work/NAME: take NAME
take() {
    cat "$mnt/.falls/metrics" >"$work/$1.prom"
    python3 "$checker" "$work/$1.prom" >"$work/$1" || fail "metrics, $1"
}

# value NAME SAMPLE: "absent" when there is none
value() {
    awk -v sample="$2" '{ at = $0; sub(/ [^ ]*$/, "", at) } at == sample { print $NF; found = 1 } END { if (!found) print "absent" }' \
        "$work/$1"
}

# How much a counter has grown from one take to another; one that was not there before was 0: grown BEFORE AFTER SAMPLE
grown() {
    local before
    before=$(value "$1" "$3")
    echo $(($(value "$2" "$3") - ${before/absent/0}))
}

# of_disks BEFORE AFTER NAME KIND: how much it has grown on each of the three disks
of_disks() {
    local i
    for i in 0 1 2; do
        printf '%s ' "$(grown "$1" "$2" "fallsfs_$3{disk=\"d$i\",kind=\"$4\"}")"
    done
}

# stat_of FILTER: of stats.json
stat_of() {
    jq -r "$1" "$mnt/.falls/stats.json"
}

# -- what was done --

make_volume 3
start -o 'layout=stripe(64K) on d0-d2,direct_io,noatime' -o "metrics=$work/figures.prom"
written_first=$(stat -c %i "$work/figures.prom")
head -c 1572864 /dev/urandom >"$work/src"
dd if="$work/src" of="$mnt/secret-name" bs=192K conv=fsync status=none

take before
dd if="$mnt/secret-name" of="$work/copy" bs=192K count=8 status=none
take after
ok 'what was read is right' cmp "$work/src" "$work/copy"
same 'bytes that clients read' "$(grown before after 'fallsfs_request_bytes_total{operation="read"}')" 1572864
same 'each disk was read 8 times' "$(of_disks before after disk_call_seconds_count read)" '8 8 8 '
same 'a third of the bytes each' "$(of_disks before after disk_bytes_total read)" '524288 524288 524288 '
same 'nothing was written' "$(of_disks before after disk_bytes_total write)" '0 0 0 '
take again
readings=$(grown after again 'fallsfs_request_seconds_count{operation="read"}') # that a take needs itself
same 'reads that the kernel asked for' \
    "$(($(grown before after 'fallsfs_request_seconds_count{operation="read"}') - readings))" 8
same 'they took some time' "$(awk -v a="$(value after 'fallsfs_request_seconds_sum{operation="read"}')" \
    -v b="$(value again 'fallsfs_request_seconds_sum{operation="read"}')" 'BEGIN { print (b > a) }')" 1

take before
dd if="$work/src" of="$mnt/secret-name" bs=192K conv=notrunc status=none
take after
same 'bytes that clients wrote' "$(grown before after 'fallsfs_request_bytes_total{operation="write"}')" 1572864
same 'writes that the kernel asked for' "$(grown before after 'fallsfs_request_seconds_count{operation="write"}')" 8
# A copy of the file's record is some 300 bytes more, on one of the disks.
for calls in $(of_disks before after disk_call_seconds_count write); do
    ok 'each disk was written 8 times' test "$calls" -ge 8 -a "$calls" -le 10
done
for bytes in $(of_disks before after disk_bytes_total write); do
    ok 'with a third of the bytes each' test "$bytes" -ge 524288 -a "$bytes" -lt 528384
done

take before
refused 'a name that is not there' 'No such file' setfattr -x user.nothing "$mnt/none"
refused 'an attribute that is not there' 'No such attribute' setfattr -x user.nothing "$mnt/secret-name"
mkdir "$mnt/dir" && rmdir "$mnt/dir"
take after
same 'one mkdir' "$(grown before after 'fallsfs_request_seconds_count{operation="mkdir"}')" 1
same 'one rmdir' "$(grown before after 'fallsfs_request_seconds_count{operation="rmdir"}')" 1
same 'one removexattr' "$(grown before after 'fallsfs_request_seconds_count{operation="removexattr"}')" 1
same 'which failed' "$(grown before after 'fallsfs_request_errors_total{operation="removexattr"}')" 1
same 'and by no disk' "$(grown before after fallsfs_requests_failed_total)" 0
take before
sync "$mnt/secret-name"
take after
same 'one fsync' "$(grown before after 'fallsfs_request_seconds_count{operation="fsync"}')" 1
dd if=/dev/zero of="$mnt/secret-name" bs=192K count=1 conv=notrunc,fsync status=none
take again
for syncs in $(of_disks after again disk_call_seconds_count sync); do
    ok 'an fsync of what was written syncs each disk' test "$syncs" -gt 0
done
same 'disks have had no errors' "$(grep -c '^fallsfs_disk_call_errors_total.* 0$' "$work/again")" 12
seconds_of() {
    value "$1" "fallsfs_disk_busy_seconds_total{disk=\"$2\"}"
}
for disk in d0 d1 d2; do
    ok 'a disk is busy while it is asked' awk -v a="$(seconds_of before $disk)" -v b="$(seconds_of again $disk)" \
        -v from="$(value again fallsfs_start_time_seconds)" -v now="$(date +%s)" 'BEGIN { exit !(b > a && b < now + 1 - from) }'
done
same 'all are up' "$(grep -c '^fallsfs_disk_up.* 1$' "$work/again")" 3
same 'their size is that of their file system' "$(value again 'fallsfs_disk_size_bytes{disk="d1"}')" \
    "$(($(stat -f -c '%b * %S' "$work/d1")))"
exec 3<"$mnt/secret-name" 4<"$mnt"
take open
same 'open files' "$(grown again open fallsfs_open_files)" 1
same 'open directories' "$(grown again open fallsfs_open_directories)" 1
same 'they are charged' "$(grown again open fallsfs_users_descriptors)" 5
exec 3<&- 4<&-

# -- both forms, for everybody --
# needs: what was done

same 'the version' "$(grep -c '^fallsfs_info{version="[^"]*",volume="[0-9a-f]*"} 1$' "$work/open")" 1
for name in metrics stats.json; do
    ok "anybody may read $name" as 1000 cat "$mnt/.falls/$name"
    refused "nobody may write $name" 'Permission denied' sh -c 'echo >"$1"' - "$mnt/.falls/$name"
    same "$name can be looked at" "$(stat -c '%A %F' "$mnt/.falls/$name")" '-r--r--r-- regular empty file'
    same "$name has no name of a file" "$(grep -c -e secret -e "$work" "$mnt/.falls/$name")" 0
    ok "$name says something" grep -q . "$mnt/.falls/$name"
done
same 'nor any user' "$(grep -ciE 'uid|user="' "$mnt/.falls/metrics")" 0
take now
same 'bytes written, as JSON' "$(stat_of '.operations[] | select(.operation == "write") | .bytes')" \
    "$(value now 'fallsfs_request_bytes_total{operation="write"}')"
same 'reads of a disk, as JSON' "$(stat_of '.disks[2].calls[] | select(.kind == "read") | .count')" \
    "$(value now 'fallsfs_disk_call_seconds_count{disk="d2",kind="read"}')"
same 'a count is the sum of its buckets' "$(stat_of '[.. | objects | select(.buckets) | .count - (.buckets | add // 0)] | unique | .[]')" 0
same 'how long a disk was busy, as JSON' "$(stat_of '.disks | map(.busy_ns > 0) | all')" true
same 'nobody has waited for anybody' "$(value now fallsfs_range_wait_seconds_count) $(stat_of .range_waits.count)" '0 0'
same 'nor in a file' "$(getfattr --absolute-names --only-values -n user.falls.stats "$mnt/secret-name")" \
    'range_waits=0 range_wait_ns=0 reread=0'
same 'output_version' "$(stat_of .output_version)" 1

# Pages and rules speak of what there is.
etc=$(realpath "$(dirname "$0")/../../etc")
names_in() {
    grep -ohE 'fallsfs_[a-z_]+' "$@" | sed 's/_\(bucket\|sum\|count\)$//' | sort -u
}
same 'all names are in the manual, and no others' "$(names_in "$etc/man/fallsfs-metrics.5")" \
    "$(sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' "$mnt/.falls/metrics" | sort -u)"
same 'rules for alerts name no others' "$(comm -23 <(names_in "$etc/fallsfs-alerts.yml") <(names_in "$etc/man/fallsfs-metrics.5"))" ''

# A text that is read in pieces is the one that was opened, whatever happens meanwhile.
python3 - "$mnt/.falls/metrics" "$work/pieces" <<'EOT'
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
pieces = []
while True:
    piece = os.read(fd, 1000)
    os.stat(os.path.dirname(sys.argv[1]) + "/../secret-name")
    for _ in range(20):
        os.close(os.open(sys.argv[1], os.O_RDONLY))
    if not piece:
        break
    pieces.append(piece)
open(sys.argv[2], "wb").write(b"".join(pieces))
EOT
ok 'a text that is read in pieces is whole' python3 "$checker" "$work/pieces"
cat >"$work/hoard.py" <<'EOT'
import os, sys
held = []
try:
    while len(held) < 4000:
        held.append(os.open(sys.argv[1], os.O_RDONLY))
except OSError as error:
    print(error.strerror)
EOT
ok 'a user who opens many' as 1000 sh -c 'ulimit -n 8192; python3 "$@"' - "$work/hoard.py" "$mnt/.falls/metrics"
same 'is told when there are too many' "$(cat "$work/out")" 'Too many users'
take now
same 'when they are closed nothing is left of them' "$(value now fallsfs_users_text_bytes)" 0

# -- many at once --
# needs: what was done

write_many() {
    local i pids=()
    for i in 1 2 3 4 5 6 7 8; do
        dd if=/dev/zero of="$mnt/many$i" bs=192K count=50 status=none &
        pids+=($!)
    done
    for i in "${pids[@]}"; do
        wait "$i" || return 1
    done
}
read_many() {
    local i pids=()
    for i in 1 2 3 4 5 6 7 8; do
        dd if="$mnt/many$i" of=/dev/null bs=192K count=50 status=none &
        pids+=($!)
    done
    while kill -0 "${pids[@]}" 2>/dev/null; do
        python3 "$checker" <(cat "$mnt/.falls/metrics") >/dev/null || return 1
    done
    for i in "${pids[@]}"; do
        wait "$i" || return 1
    done
}
take before
ok 'eight write at once' write_many
take after
same 'all writes are counted' "$(grown before after 'fallsfs_request_seconds_count{operation="write"}')" 400
same 'and all bytes' "$(grown before after 'fallsfs_request_bytes_total{operation="write"}')" $((400 * 196608))
take before
ok 'eight read at once, and the metrics are in order meanwhile' read_many
take after
same 'all bytes that were read' "$(grown before after 'fallsfs_request_bytes_total{operation="read"}')" $((400 * 196608))
same 'on each disk' "$(of_disks before after disk_bytes_total read)" "$(printf '%s ' $((400 * 65536)){,,})"
# What is in the page cache in part takes another call.
for calls in $(of_disks before after disk_call_seconds_count read); do
    ok 'by as many calls' test "$calls" -ge 400 -a "$calls" -lt 440
done
same 'nothing waits any more' "$(value after 'fallsfs_disk_queue{disk="d0"}') $(value after fallsfs_requests_parked)" '0 0'

# -- groups --
# needs: what was done

take before
ok 'four processes write and read a matrix' "$example" "$mnt/matrix" 4
take after
for direction in write read; do
    labels="{by=\"group\",direction=\"$direction\"}"
    same "one round, $direction" "$(grown before after "fallsfs_collective_seconds_count$labels")" 1
    same "all its bytes, $direction" "$(grown before after "fallsfs_collective_bytes_total$labels")" 8388608
done
same 'no single process has asked' "$(grown before after 'fallsfs_collective_bytes_total{by="process",direction="read"}')" 0
same 'they came from disks, or were mapped' "$((\
    $(grown before after fallsfs_collective_disk_read_bytes_total) + \
    $(grown before after fallsfs_collective_disk_written_bytes_total) + \
    $(grown before after fallsfs_collective_mapped_bytes_total)))" 16777216
no_groups() {
    take now
    [ "$(value now fallsfs_groups) $(value now fallsfs_group_ranks) $(value now fallsfs_group_waiters)" = '0 0 0' ]
}
ok 'the group has gone' await 5 no_groups

# -- jobs --
# needs: what was done

take before
ok 'a file gets another layout' "$fallsctl" migrate --wait -L 'stripe(1M) on d0-d1' "$mnt/secret-name"
take after
same 'one job is done' "$(grown before after 'fallsfs_jobs_ended_total{state="done"}')" 1
same 'none failed' "$(grown before after 'fallsfs_jobs_ended_total{state="failed"}')" 0
same 'none goes on' "$(awk '/^fallsfs_jobs\{/ { n += $NF } END { print n }' "$work/after")" 0

# -- iostat --
# needs: what was done

# total REPORT DISK KIND: bytes that the disk has moved in it, to the nearest
total() {
    jq ".seconds as \$s | .disks[] | select(.disk == \"$2\") | .$3.bytes_per_second * \$s | (. + 50) / 100 | floor" "$1"
}

"$fallsctl" iostat --json "$mnt" >"$work/since_mount"
take now
same 'since the mount: bytes read' "$(total "$work/since_mount" d1 reads)" \
    "$((($(value now 'fallsfs_disk_bytes_total{disk="d1",kind="read"}') + 50) / 100))"
is_reported() {
    [ "$(wc -l <"$work/intervals")" -ge "$1" ]
}
"$fallsctl" iostat --json 0.5 "$mnt" >"$work/intervals" &
reporter=$!
ok 'a first report' await 10 is_reported 1
dd if="$mnt/many1" of=/dev/null bs=192K count=50 status=none
n=$(wc -l <"$work/intervals")
ok 'and others' await 20 is_reported $((n + 2))
kill "$reporter"
wait "$reporter"
sed 1d "$work/intervals" >"$work/later"
same 'what was read is in the intervals, once' \
    "$(jq -s '[.[] | .seconds as $s | .disks[0].reads.bytes_per_second * $s] | add | (. + 500) / 1000 | floor' "$work/later")" \
    $(((50 * 65536 + 500) / 1000))
same 'each has a line of its own' "$(jq -s 'map(.output_version) | unique | .[]' "$work/intervals")" 1
same 'as long as asked for' "$(jq -s 'map(.seconds | . > 0.3 and . < 5) | all' "$work/later")" true
ok 'for people, so many times' "$fallsctl" iostat -n 2 -b 0.1 "$mnt"
same 'a line for each disk, in each report' "$(grep -c '^d[012]  *up ' "$work/out")" 6
same 'two headings' "$(grep -c '^DISK ' "$work/out")" 2
ok 'columns, for scripts' "$fallsctl" iostat --noheadings --raw -o DISK,ERRORS "$mnt"
same 'are those that were asked for' "$(cat "$work/out")" $'d0 0\nd1 0\nd2 0'
ok 'by a file in it, as an ordinary user' as 1000 "$fallsctl" iostat "$mnt/many1"
same 'times: half of the calls took no longer than 99 of 100' \
    "$(jq '.disks | map(.reads | .p50 > 0 and .p50 <= .p99) | all' "$work/since_mount")" true
not 'no mount' "$fallsctl" iostat "$work"
not 'what is no count' "$fallsctl" iostat -n 0 "$mnt"
not 'what is no time' "$fallsctl" iostat 0 "$mnt"
not 'two mounts' "$fallsctl" iostat 1 "$mnt" "$mnt"

# -- top --
# needs: what was done

ok 'without a terminal, so many reports' "$fallsctl" top -n 2 0.1 "$mnt"
same 'each says what it is about' "$(grep -c "^$mnt  mounted " "$work/out")" 2
same 'nothing in it acts on a terminal' "$(tr -d '\n[:print:]' <"$work/out" | wc -c)" 0
mkdir -m 777 "$mnt/open"
exec 3<"$mnt/many1" 4<"$mnt/many2"
dd bs=64K count=1 <&3 of=/dev/null status=none
mkfifo "$work/hold"
as 1000 sh -c 'exec 3<>"$1" && dd if=/dev/zero bs=2500 count=2 status=none >&3 && echo "held $$" && read -r _' - "$mnt/open/of-1000" <"$work/hold" >"$work/holds" &
holder=$!
exec 5>"$work/hold"
ok 'an ordinary user has a file open' await 10 grep -q held "$work/holds"
holding=$(sed 's/held //' "$work/holds")
told() {
    jq -c "[.open[] | select(.file == \"$1\") | [.uid, .reads, .read, .writes, .written]]" "$work/open.json"
}
cat "$mnt/.falls/open.json" >"$work/open.json"
same 'root is told of all that is open' "$(told many1) $(told many2)" '[[0,1,65536,0,0]] [[0,0,0,0,0]]'
same 'also of others' "$(told open/of-1000)" '[[1000,0,0,2,5000]]'
same 'and by which process' "$(jq '.open[] | select(.uid == 1000) | .pid' "$work/open.json")" "$holding"
same 'what most was moved by comes first' "$(jq -r '.open[0].file' "$work/open.json")" many1
as 1000 cat "$mnt/.falls/open.json" >"$work/open.json"
same 'others are told of their own' "$(told open/of-1000) $(jq '.open | length' "$work/open.json")" '[[1000,0,0,2,5000]] 1'
as 1001 cat "$mnt/.falls/open.json" >"$work/open.json"
same 'who has opened nothing is told of nothing' "$(jq -c .open "$work/open.json")" '[]'
ok 'top shows them' "$fallsctl" top -b -n 1 "$mnt"
same 'with their processes' "$(grep -cE "^ *$holding .* sh .* open/of-1000$" "$work/out")" 1
ok 'sorted and looked for' "$fallsctl" top -b -n 1 --sort name --filter 'MANY' "$mnt"
same 'in order' "$(awk '/^ *PID/ { on = 1; next } on && NF { print $NF }' "$work/out" | tr '\n' ' ')" 'many1 many2 '
not 'by what nobody sorts by' "$fallsctl" top -b -n 1 --sort size "$mnt"
ok 'as an ordinary user, too' as 1000 "$fallsctl" top -b -n 1 "$mnt"
same 'without the files of others' "$(grep -c many "$work/out")" 0
exec 5>&-
wait "$holder"

ok 'on a terminal, by keys' python3 "$(dirname "$0")/top.py" "$fallsctl" "$mnt"
exec 3<&- 4<&-

# -- a file of metrics --
# needs: what was done

is_replaced() {
    [ "$(stat -c %i "$work/figures.prom")" != "$written_first" ]
}
exec 3<"$work/figures.prom"
ok 'the file is replaced after a while' await 40 is_replaced
ok 'who has the old one open reads a whole text' python3 "$checker" /dev/fd/3
exec 3<&-
python3 "$checker" "$work/figures.prom" >"$work/from_file"
ok 'the new one is whole, too' test -s "$work/from_file"
same 'anybody may read it' "$(stat -c %A "$work/figures.prom")" '-rw-r--r--'
same 'the configuration tells where it is' "$(grep -c "^metrics = \"$work/figures.prom\";" "$mnt/.falls/config")" 1
head -c 12345 /dev/zero >"$mnt/last"
stop
python3 "$checker" "$work/figures.prom" >"$work/last"
ok 'at the end it is written once more' test "$(grown from_file last 'fallsfs_request_bytes_total{operation="write"}')" -ge 12345
same 'nothing else is left' "$(echo "$work"/figures*)" "$work/figures.prom"
start -o "metrics=$work/none/figures.prom"
ok 'a file that cannot be written is told of, once' log_says "cannot write the metrics to $work/none/figures.prom: No such file or directory"
mkdir "$work/none"
stop
same 'until it can be' "$(grep -c 'metrics' "$log") $(ls "$work/none")" '2 figures.prom'
not 'a file in the mount itself' try_start -o "metrics=$mnt/figures"
ok 'is refused with a reason' log_says 'this lies in the mount itself'
(cd "$work" && "$fallsfs" -o metrics=by-name.prom "${disks[@]}" "$mnt") || fail 'a daemon in the background'
ok 'a path from where it was started' await 10 test -s "$work/by-name.prom"
umount "$mnt"

# -- through the page cache --
# needs: what was done

start
take before
cat "$mnt/matrix" >"$work/copy"
take after
same 'the kernel reads each byte once' "$(grown before after 'fallsfs_request_bytes_total{operation="read"}')" 8388608
read_by_disks=$(of_disks before after disk_bytes_total read | tr ' ' '\n' | awk '{ n += $1 } END { print n }')
ok 'so do the disks, also into pipes, and the text of a layout' test "$read_by_disks" -ge 8388608 -a "$read_by_disks" -lt 8392704
cat "$mnt/matrix" >"$work/copy"
take again
same 'what the kernel has nobody is asked for' "$(grown after again 'fallsfs_request_bytes_total{operation="read"}')" 0
stop

# -- disks in trouble --

make_volume_with_inner
start -o 'layout=stripe(64K) on d0-d2,direct_io,timeout=5'
head -c 196608 /dev/urandom >"$mnt/file"
take before
same 'all answer' "$(value before 'fallsfs_disk_up{disk="d2"}') $(value before 'fallsfs_disk_queue{disk="d2"}')" '1 0'
kill -STOP "$inner"
dd if="$mnt/file" of=/dev/null bs=192K status=none 2>/dev/null &
reader=$!
does_not_answer() {
    take now
    [ "$(value now 'fallsfs_disk_up{disk="d2"}')" = 0 ] && [ "$(value now 'fallsfs_disk_queue{disk="d2"}')" -gt 0 ]
}
ok 'a disk that does not answer' await 20 does_not_answer
ok 'top says so' "$fallsctl" top -b -n 1 "$mnt"
same 'in words' "$(grep -c '^d2 does not answer$' "$work/out")" 1
same 'iostat, too' "$("$fallsctl" iostat --noheadings -o DISK,STATE "$mnt" | tr -s ' \n' ' ')" 'd0 up d1 up d2 silent '
ok 'how long, is told' grep -qE '^fallsfs_disk_oldest_call_seconds\{disk="d2"\} [1-9]' "$work/now"
same 'others do' "$(value now 'fallsfs_disk_up{disk="d0"}')" 1
wait "$reader"
take now
ok 'a request was late' test "$(value now fallsfs_requests_late_total)" -gt 0
kill -9 "$inner"
wait "$inner" 2>/dev/null
inner=
fails() {
    ! dd if="$mnt/file" of=/dev/null bs=192K status=none 2>/dev/null
    take now
    [ "$(awk '/^fallsfs_disk_call_errors_total\{disk="d2"/ { n += $NF } END { print n }' "$work/now")" -gt 0 ]
}
ok 'a disk that fails is seen to' await 20 fails
ok 'requests failed for it' test "$(value now fallsfs_requests_failed_total)" -gt 0
same 'no other disk has errors' "$(grep -E '^fallsfs_disk_call_errors_total\{disk="d[01]"' "$work/now" | grep -vc ' 0$')" 0
ok 'the disk has had troubles' test "$(value now 'fallsfs_disk_troubles_total{disk="d2"}')" -gt 0

# -- the daemon has gone --
# needs: disks in trouble
crash
for verb in jobs 'jobs wait' 'jobs cancel 1' 'trace status' 'trace stop' iostat groups 'disk balance'; do
    # shellcheck disable=SC2086  # some are several words
    refused "$verb" ': unmount it and mount it again' "$fallsctl" $verb "$mnt"
done
same 'as json' "$("$fallsctl" jobs --json "$mnt" 2>/dev/null | jq -c '[.jobs, .orders, (.errors[] | .why)]')" \
    '[[],[],"its daemon is gone: unmount it and mount it again"]'
umount -l "$mnt"
finish
