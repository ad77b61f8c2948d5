#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fallsctl format, status, df, map and extract as a user meets them: test_volume_verbs.sh FALLSCTL FALLSFS
# shellcheck disable=SC2015,SC2317  # complain never fails; clean_up is called by the trap
# Without the right to mount, only what needs no mount is tested.
set -uo pipefail

fallsctl=$1 fallsfs=$2
work=$(mktemp -d)
failed=0

clean_up() {
    cd / || exit 1
    umount "$work/m" 2>/dev/null || fusermount3 -u "$work/m" 2>/dev/null
    rm -rf "$work"
}
trap clean_up EXIT
cd "$work" || exit 1

complain() {
    printf '%s\n' "$1"
    failed=1
}

# expect STATUS STDOUT-PATTERN STDERR-PATTERN WORD...: both as globs
expect() {
    local status=$1 out=$2 err=$3 got_out got_err got_status
    shift 3
    got_out=$("$fallsctl" "$@" 2>"$work/err" </dev/null)
    got_status=$?
    got_err=$(cat "$work/err")
    # shellcheck disable=SC2053  # globs are meant
    if [ "$got_status" != "$status" ] || [[ $got_out != $out ]] || [[ $got_err != $err ]]; then
        complain "fallsctl $*
  status $got_status, expected $status
  stdout $got_out
  expected $out
  stderr $got_err
  expected $err"
    fi
}

# json FILTER EXPECTED WORD...: valid JSON of which jq shows that
json() {
    local filter=$1 want=$2 got
    shift 2
    got=$("$fallsctl" "$@" --json 2>/dev/null | jq -c "$filter" 2>&1)
    [ "$got" = "$want" ] || complain "fallsctl $* --json: $filter is $got, expected $want"
}

# Everything there is below the disks, as one sum.
sum() {
    find d0 d1 d2 -printf '%p %y %s %m %T@ %C@\n' | sort | sha256sum
}

# Each verb explains itself, with three examples.
for verb in format status df map extract groups replica; do
    expect 0 "*usage: fallsctl $verb*examples:*fallsctl $verb*fallsctl $verb*fallsctl $verb*" '' "$verb" --help
    expect 2 '' "*see 'fallsctl $verb --help'*" "$verb" --nonsense
done
expect 0 '*format*status*df*map*extract*layout*' '' --help
expect 2 '' "fallsctl: unknown verb 'x'*" x

# format
mkdir d0 d1 d2 m
expect 2 '' '*which directories?*' format
expect 2 '' '*count from 0*' format --home 3 d0 d1 d2
expect 1 '' '*nowhere*' format d0 nowhere
expect 2 '' '*has letters, digits*: a b*' format --pool 'a b' d0
json '.volume | length' 32 format --pool hdd d0 d1 d2
mkdir p0 p1 p2
expect 0 '*home disk d1*' '' format p0 --pool slow --home 1 p1 --pool fast p2
json '[.volumes[0].disks[].pool] | join(" ")' '" slow fast"' status p0 p1 p2
expect 1 '' '*already has a .fallsfs*' format d0
json '.error.why | length > 20' true format d0

# disks that nobody named are looked for where they were last
mkdir e0 e1
"$fallsctl" format "$PWD/e0" "$PWD/e1" >/dev/null
expect 0 'volume * not mounted  2 of 2 disks*d0 *online*d1 *online*one new file can take *' '' status e0
expect 0 'volume * not mounted  2 of 2 disks*d0 *online*d1 *online*one new file can take *' '' status e1
mv e1 away
expect 3 '*d1 *missing*action: disk d1 is missing: mount it at *' '' status e0
expect 0 'volume * not mounted  2 of 2 disks*d1 */away *online*' '' status away e0
rm -r e0 away

# looking at it unmounted
expect 0 'volume * not mounted  3 of 3 disks*d0 *online*hdd *home*one new file can take *' '' status d0 d1 d2
expect 3 '*d1 *missing*action: disk d1 is missing: mount it at *' '' status d0 d2
expect 3 '*action: the home disk d0 is missing*fsck.fallsfs --home-lost*' '' status d1 d2
expect 3 '*action: */m is no disk of a volume now*' '' status d0 d1 m
expect 1 'action: */m is no disk of a volume: *fallsctl format*' '' status m
json '.output_version, (.volumes[0] | .mountpoint, .clean, (.disks | length), .disks[0].home, .actions)' \
    $'1\nnull\ntrue\n3\ntrue\n[]' status d0 d1 d2
json '.volumes[0].disks[1] | .disk, .state, .fs' $'"d1"\n"missing"\nnull' status d0 d2
# others use the file system, too, so it is not quite the same from one moment to the next
json '.volumes[0] | (.one_file - .free | fabs) < .free / 100' true df -b d0 d1 d2
expect 1 '' "layout 'stripe(x)', column *" df --layout 'stripe(x)' d0 d1 d2
expect 1 '' "layout 'one on d7', column *" df -L 'one on d7' d0 d1 d2
expect 0 'DISK  PATH *all *one new file can take *[(]one on d1, limited by d1)' '' df -L 'one on d1' d0 d1 d2

# columns that are asked for, with nothing around them
expect 0 "$work/d0  d0"$'\n'"$work/d1  d1"$'\n'"$work/d2  d2"$'\n*  all' '' df -o path,disk --noheadings d0 d1 d2
expect 0 $'d0 hdd home\nd1 hdd -\nd2 hdd -' '' status --raw --noheadings -o DISK,POOL,HOME d0 d1 d2
expect 0 $'DISK HOME\nd0 home\nd1 -\nd2 -' '' status --raw -o DISK,HOME d0 d1 d2
expect 0 'volume *DISK  PATH *POOL  HOME *USED*one new file *' '' status -o +USED d0 d1 d2
expect 3 $'d0 online\nd1 missing\nd2 online' 'disk d1 is missing: *' status --raw --noheadings -o DISK,STATE d0 d2
expect 2 '' 'fallsctl df: -o takes a list of columns, which are *,FREE,*: DISK,SICE (*' df -o DISK,SICE d0
mkdir 日本 'a b' $'w\033[31m'
"$fallsctl" format 日本 'a b' $'w\033[31m' >/dev/null
expect 0 $'d0 */\\\\xe6\\\\x97\\\\xa5\\\\xe6\\\\x9c\\\\xac\nd1 */a\\\\x20b\nd2 */w[?][[]31m' '' \
    status --raw --noheadings -o DISK,PATH 日本 'a b' $'w\033[31m'
expect 0 "*PATH *"$'\n'"d0    $work/日本    *"$'\n'"d1    $work/a b     *"$'\n'"d2    $work/w[?][[]31m  *" '' \
    status 日本 'a b' $'w\033[31m'
rm -r 日本 'a b' $'w\033[31m'

"$fallsfs" -f d0 d1 d2 m 2>/dev/null &
pid=$!
while ! mountpoint -q m && kill -0 "$pid" 2>/dev/null; do
    sleep 0.05
done
if ! mountpoint -q m; then
    printf 'cannot mount here: the rest is skipped\n'
    exit "$failed"
fi
head -c 5000000 /dev/urandom >x
cp x m/a.dat
mkdir -p m/dir/sub
printf 'hello\n' >m/dir/sub/b
chmod 640 m/dir/sub/b
touch -d '2001-02-03 04:05:06.789' m/dir/sub/b m/dir/sub
ln -s sub/b m/dir/link
mkfifo m/dir/pipe
truncate -s 1G m/sparse

# in use
expect 0 "volume *mounted at $work/m  3 of 3*" '' status m
[[ $("$fallsctl" status) == *"mounted at $work/m "* ]] || complain 'status does not list the mount' # among others
expect 0 "*mounted at $work/m *" '' status d0 d1 d2
(cd m/dir && expect 0 "*mounted at $work/m *" '' status ..)
json ".volumes[] | select(.mountpoint == \"$work/m\") | .clean" false status
expect 0 "*all *$work/m*" '' df m
expect 0 $'m/a.dat\nstripe(1M) on d0-d2\ngeneration 0  rotate *size 4.8M\n*present*present*present*/.fallsfs/obj/*' '' \
    map m/a.dat
expect 0 '*size 5000000*' '' map -b m/a.dat
expect 1 '' 'm/dir: is a directory*' map m/dir
expect 1 '' 'm/dir/pipe: is no regular file*' map m/dir/pipe
expect 1 '' 'x: lies in no mounted fallsfs*' map x
expect 1 '' 'm/none: *No such file*' map m/none
expect 3 $'m/a.dat\n*' 'm/none:*' map m/none m/a.dat
expect 2 '' '*which files?*' map
json '.files[0] | .size, ([.subfiles[].length] | add), .subfiles[0].element' $'5000000\n5000000\n0' map m/a.dat
json '.files[0].subfiles | map(.state) | unique' '["hole"]' map m/sparse
json '.files[0].error | length > 10' true map m/none
json '[.files[0].subfiles[].object] | all(startswith("/"))' true map m/a.dat
json '.files[0].file' '"m/dir/link"' map m/dir/link
"$fallsctl" map --json m/a.dat | jq -r '.files[0].subfiles[].object' | while read -r object; do
    [ -f "$object" ] || complain "map names $object, which is not there"
done

# who may not look at the disks is told what the mount tells, if this is root's volume
if [ "$(id -u)" = 0 ]; then
    chmod 755 .
    cp "$fallsctl" fallsctl
    [[ $(setpriv --reuid=65534 --regid=65534 --clear-groups ./fallsctl status m) == \
        'mounted at '*'/d0  in '*'one new file can take '* ]] ||
        complain 'status as somebody else'
fi

# a daemon that is gone
sync m/a.dat
kill -9 "$pid"
wait "$pid" 2>/dev/null
expect 3 "*mounted at $work/m*action: the daemon that served $work/m is gone: umount*" '' status m
umount m 2>/dev/null || fusermount3 -u m
"$fallsfs" d0 d1 d2 m || complain 'mount once more'
json '[.mountpoint, .disks_are_free]' "[\"$work/m\",true]" umount m
json '.error.why | .[:31]' '"m: no fallsfs is mounted there;"' umount m
"$fallsfs" -f d0 d1 d2 m 2>/dev/null &
pid=$!
while ! mountpoint -q m && kill -0 "$pid" 2>/dev/null; do
    sleep 0.05
done
kill -9 "$pid"
wait "$pid" 2>/dev/null
umount m 2>/dev/null || fusermount3 -u m
expect 0 '*not mounted, did not end well last time*' '' status d0 d1 d2

# extract, of a volume that did not end well
before=$(sum)
"$fallsctl" extract d0 d1 d2 a.dat | cmp - x || complain 'extract to standard output'
"$fallsctl" extract d2 d1 d0 /a.dat -o y && cmp x y || complain 'extract -o'
expect 1 '' '*cannot make the file to copy it to: File exists*' extract d0 d1 d2 a.dat -o y
expect 1 '' 'none: No such file*' extract d0 d1 d2 none
expect 1 '' 'dir is no file: *' extract d0 d1 d2 dir
expect 1 '' '../x: *' extract d0 d1 d2 ../x
expect 1 '' 'dir/link is no file: *' extract d0 d1 d2 dir/link
expect 1 '' '*home disk d0*is missing*' extract d1 d2 a.dat
expect 2 '' 'fallsctl replica: add, list or drop? *' replica
expect 2 '' 'fallsctl replica: add, list or drop?: remove *' replica remove x
for verb in add list drop; do
    expect 0 "usage: fallsctl replica $verb*examples:*fallsctl replica $verb*" '' replica "$verb" --help
done
expect 2 '' 'fallsctl replica add: which layout? *' replica add x
expect 2 '' 'fallsctl replica add: which files? *' replica add -S 1M
expect 2 '' 'fallsctl replica add: not OFFSET:LENGTH, as 1G:64M is: 5 *' replica add -S 1M --only 5 x
expect 2 '' 'fallsctl replica add: not OFFSET:LENGTH, as 1G:64M is: 5:0 *' replica add -S 1M --only 5:0 x
expect 2 '' 'fallsctl replica add: --on-write is drop or update, not: both *' replica add -S 1M --on-write both x
expect 2 '' 'fallsctl replica drop: not the number of a replica, as 1 is: x *' replica drop x y
expect 2 '' 'fallsctl replica drop: which replica, or --all, and of which files? *' replica drop 1
expect 2 '' 'fallsctl replica list: which files? *' replica list
expect 1 '' 'x: is no file or directory in a mounted fallsfs; *' replica list x
expect 1 '' 'x: is no file or directory in a mounted fallsfs; *' replica add -S 1M x
json '[.files[] | has("error")]' '[true]' replica drop --all x
expect 2 '' "fallsctl migrate: not a rate in bytes a second, as 100M is: 5X (*" migrate --limit 5X -L one x
expect 1 '' 'cannot open the disk nowhere: *' extract nowhere a.dat
expect 2 '' '*-r and --json need -o*' extract -r d0 d1 d2 dir
expect 2 '' '*which disks*' extract a.dat
expect 3 '' 'dir/pipe: is left out*' extract -r -o tree d0 d1 d2 dir/
[ "$(cat tree/sub/b)" = hello ] && [ "$(readlink tree/link)" = sub/b ] || complain 'extract -r: content'
[ "$(stat -c '%a %.Y' tree/sub/b tree/sub)" = $'640 981173106.789000000\n755 981173106.789000000' ] ||
    [ "$(stat -c '%a %y' tree/sub/b)" = "640 $(date -d '2001-02-03 04:05:06.789' '+%F %T.%N %z')" ] ||
    complain 'extract -r: mode and time'
json '.files, .failed, (.errors | length)' $'3\n1\n1' extract -r -o all d0 d1 d2 /
cmp x all/a.dat || complain 'extract -r: a.dat'
[ "$(stat -c %s all/sparse)" = 1073741824 ] && [ "$(stat -c %b all/sparse)" -lt 100 ] || complain 'extract -r: sparse'

# extract with a disk missing
lost='a.dat: bytes * to * are lost*'
expect 1 '' "$lost--partial*" extract -o z d0 d2 a.dat
[ ! -e z ] || complain 'extract leaves half a file behind'
expect 3 '' "$lost" extract --partial -o z d0 d2 a.dat
[ "$(stat -c %s z)" = 5000000 ] || complain 'extract --partial: size'
for number in 0 1 2 3 4; do
    unit() { dd if="$1" bs=1M skip=$number count=1 status=none; }
    cmp -s <(unit x) <(unit z) || cmp -s -n "$(unit x | wc -c)" <(unit z) /dev/zero ||
        complain "extract --partial: unit $number is neither what it was nor zero"
done
[ "$(sum)" = "$before" ] || complain 'extract changed something on the disks'

exit "$failed"
