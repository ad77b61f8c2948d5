#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Layouts by extended attribute: layouts.sh FALLSFS FALLSCTL
# shellcheck disable=SC2015,SC2317  # fail never fails; functions are called by ok and not
# shellcheck disable=SC2034  # read by common.sh
users_mount=1
source "$(dirname "$0")/common.sh"

# value NAME PATH: of user.falls.NAME
value() {
    getfattr --absolute-names --only-values -n "user.falls.$1" "$2" 2>/dev/null
}

set_layout() {
    setfattr -n user.falls.layout -v "$1" "$2"
}

make_volume 4
start -o 'layout=stripe(64K) disp 100'

# -- what can be read of a file --
head -c 300000 /dev/urandom >"$mnt/a"
same 'layout of a file' "$(value layout "$mnt/a")" 'stripe(64K) disp 100 on d0-d3'
same 'it is JSON' "$(value layout.json "$mnt/a" | jq -r '[.layout, .disp, .period, .elements, (.disks | length), .header_disk, .size] | @csv')" \
    '"stripe(64K) disp 100 on d0-d3",100,262144,4,4,"d0",300000'
same 'a line for each subfile' "$(value map "$mnt/a" | wc -l)" 5
value map "$mnt/a" >"$work/map"
while read -r line; do
    object=${line#*object=}
    length=${line#*length=}
    same "a subfile as $line says" "$(stat -c %s "$object")" "${length%% *}"
done <"$work/map"
for off in 0 99 100 65636 299999; do
    at=$(value "at.$off" "$mnt/a")
    sub=${at#*suboffset=}
    same "byte $off lies at $at" "$(tail -c "+$((${sub%% *} + 1))" "${at#*object=}" | head -c 1 | od -An -tx1)" \
        "$(tail -c "+$((off + 1))" "$mnt/a" | head -c 1 | od -An -tx1)"
done
same 'offsets are sizes' "$(value at.64K "$mnt/a")" "$(value at.65536 "$mnt/a")"
for name in at. at.x at.-1 at.99999999999999999999 nonsense layout.nonsense map.x lasterror; do
    refused "no attribute $name" 'No such attribute' getfattr -n "user.falls.$name" "$mnt/a"
done
same 'none of them is listed' "$(getfattr --absolute-names -d -m - "$mnt/a")" ''

# -- what cannot be done, and why --
# needs: what can be read
refused 'map is read' 'Operation not permitted' setfattr -n user.falls.map -v x "$mnt/a"
same 'lasterror says so' "$(value lasterror "$mnt/a")" 'user.falls.map can only be read'
refused 'where a byte is, too' 'Operation not permitted' setfattr -n user.falls.at.5 -v x "$mnt/a"
same 'lasterror names it' "$(value lasterror "$mnt/a")" 'user.falls.at.5 can only be read'
refused 'an unknown name' 'No such attribute' setfattr -n user.falls.nonsense -v x "$mnt/a"
same 'lasterror has the newest' "$(value lasterror "$mnt/a")" 'user.falls.nonsense: there is no such attribute here'
refused 'lasterror is about one file' 'No such attribute' getfattr -n user.falls.lasterror "$mnt"

# -- files --
# needs: what can be read
restart -o 'layout=stripe(64K)'
: >"$mnt/empty"
ok 'an empty file takes a layout' set_layout 'stripe(4K,2) disp 512 on d1,d3' "$mnt/empty"
same 'which is there at once' "$(value layout "$mnt/empty")" 'stripe(4K,2) disp 512 on d1,d3'
head -c 100000 /dev/urandom >"$work/bytes"
ok 'and holds bytes' cp "$work/bytes" "$mnt/empty"
ok 'the same' cmp "$work/bytes" "$mnt/empty"
same 'where it says' "$(value map "$mnt/empty" | grep -o 'disk=d[0-9]' | tr '\n' ' ')" 'disk=d1 disk=d3 disk=d0 '
ok 'its own layout is no change' set_layout "$(value layout "$mnt/empty")" "$mnt/empty"
ok 'nor is it in other words' set_layout 'stripe(4096,2) disp 512 on d1, d3 # so' "$mnt/empty"
refused 'another' 'Directory not empty' set_layout 'stripe(8K)' "$mnt/empty"
case $(value lasterror "$mnt/empty") in
*'has 100000 bytes'*'fallsctl migrate'*) ;;
*) fail "lasterror does not name migrate: $(value lasterror "$mnt/empty")" ;;
esac
ok 'it has its bytes still' cmp "$work/bytes" "$mnt/empty"
: >"$mnt/empty"
ok 'emptied, it takes any' set_layout 'stripe(8K)' "$mnt/empty"
ok 'again' cp "$work/bytes" "$mnt/empty"
ok 'the same again' cmp "$work/bytes" "$mnt/empty"
refused 'a file has a layout for good' 'Operation not permitted' setfattr -x user.falls.layout "$mnt/empty"

# a file that is open, and has room without bytes
open_file() (
    set -e
    exec 3<>"$mnt/open"
    fallocate -n -l 1M "$mnt/open"
    set_layout 'one on d2' "$mnt/open"
    cat "$work/bytes" >&3
    exec 3>&-
    cmp "$work/bytes" "$mnt/open"
)
ok 'a file that is open' open_file
same 'all of it is there' "$(value map "$mnt/open" | grep -o 'disk=d[0-9]')" disk=d2
same 'and nowhere else' "$(find "$work"/d? -path '*/obj/*' -name "$(value map "$mnt/open" | grep -oE '[0-9a-f]{32}').[0-9]*" | wc -l)" 1

# more disks than elements: files start on each in turn
mkdir "$mnt/spread"
for i in $(seq 40); do
    : >"$mnt/spread/$i"
    set_layout 'one on d1,d3' "$mnt/spread/$i"
    value map "$mnt/spread/$i"
done | grep -o 'disk=d[0-9]' | sort | uniq -c >"$work/spread"
same 'on both disks, and no other' "$(awk '$1 >= 5 { print $2 }' "$work/spread" | tr '\n' ' ')" 'disk=d1 disk=d3 '

# -- what is refused, and why --
# needs: files --
: >"$mnt/bad"
bad() {
    refused "$1" "$2" set_layout "$1" "$mnt/bad"
    same "why '$1'" "$(value lasterror "$mnt/bad")" "$3"
    refused "$1 of a directory" "$2" set_layout "$1" "$mnt"
    same "why '$1' of a directory" "$(value lasterror "$mnt")" "$3"
}
bad 'stripes' 'Invalid argument' 'column 1: expected one, stripe, var, twod, array or {, found '"'stripes'"
bad '{(0,3,4,1);(2,5,4,1)}' 'Invalid argument' 'column 12: FALLS 1 overlaps FALLS 0 at byte 2'
bad 'stripe(1M,9999)' 'Argument list too long' 'column 11: more than 4096 elements'
bad 'one on d4' 'No such device' 'column 5: the volume has no such disks: it has d0 to d3'
bad 'one on pool:fast' 'No such device' 'column 5: no disk of the volume is in a pool '"'fast': they are put into one when a volume is formatted"
bad 'stripe(64K) copies 3' 'Invalid argument' 'column 20: copies is 1 or 2: on so many disks each byte lies. Write '"'copies 2', or nothing"
same 'the layout is what it was' "$(value layout "$mnt/bad")" 'stripe(64K) on d0-d3'
ok 'until one is right' set_layout one "$mnt/bad"
refused 'then there is no error' 'No such attribute' getfattr -n user.falls.lasterror "$mnt/bad"

refused 'more than the home disk keeps of a directory' 'Argument list too long' set_layout "one # $(head -c 60000 /dev/zero | tr '\0' x)" "$mnt"
case $(value lasterror "$mnt") in
'the home disk has no room for 60006 bytes of attributes: '*) ;;
*) fail "a long layout of a directory: $(value lasterror "$mnt")" ;;
esac

# -- a disk that has gone meanwhile --
# needs: what is refused
mv "$work/d3/.fallsfs/layout" "$work/layout"
refused 'a layout for no disk' 'No such device or address' set_layout 'stripe(12345)' "$mnt/bad"
same 'why' "$(value lasterror "$mnt/bad")" \
    "a disk does not take the text of the layout (No such file or directory): see 'fallsctl status'"
refused 'nor of a directory' 'No such device or address' set_layout 'stripe(12345)' "$mnt"
mv "$work/layout" "$work/d3/.fallsfs/layout"
ok 'when it is back' set_layout 'stripe(12345)' "$mnt/bad"

# -- directories --
# needs: files --
mkdir -p "$mnt/dir/sub/deep"
refused 'a directory has none of its own' 'No such attribute' getfattr -n user.falls.layout "$mnt/dir"
same 'it has the mount'"'"'s' "$(value layout.json "$mnt/dir" | jq -r '.layout + " " + .from')" 'stripe(64K) on d0-d3 mount'
ok 'a directory takes a layout' set_layout 'stripe(4K,2)' "$mnt/dir"
same 'as it was typed' "$(value layout "$mnt/dir")" 'stripe(4K,2)'
refused 'what is below inherits' 'No such attribute' getfattr -n user.falls.layout "$mnt/dir/sub"
same 'and says from where' "$(value layout.json "$mnt/dir/sub/deep" | jq -r '.layout + " " + .from + " " + .directory')" 'stripe(4K,2) ancestor dir'
layout_of_new() {
    rm -f "$1"
    : >"$1"
    value layout "$1"
}
same 'a file there' "$(layout_of_new "$mnt/dir/f")" 'stripe(4K,2) on d0-d3'
same 'one deep below' "$(layout_of_new "$mnt/dir/sub/deep/f")" 'stripe(4K,2) on d0-d3'
same 'one beside' "$(layout_of_new "$mnt/f")" 'stripe(64K) on d0-d3'
ok 'the nearest counts' set_layout 'stripe(8K)' "$mnt/dir/sub"
same 'in it' "$(layout_of_new "$mnt/dir/sub/deep/f")" 'stripe(8K) on d0-d3'
mkdir "$mnt/dir/sub/new"
same 'in a new directory' "$(layout_of_new "$mnt/dir/sub/new/f")" 'stripe(8K) on d0-d3'
mv "$mnt/dir/sub" "$mnt/moved"
same 'a moved directory has it still' "$(layout_of_new "$mnt/moved/deep/f")" 'stripe(8K) on d0-d3'
mkdir "$mnt/plain"
mv "$mnt/plain" "$mnt/dir/plain"
same 'one that is moved there inherits' "$(layout_of_new "$mnt/dir/plain/f")" 'stripe(4K,2) on d0-d3'
mv "$mnt/dir/plain" "$mnt/plain"
same 'and no more when it is moved away' "$(layout_of_new "$mnt/plain/f")" 'stripe(64K) on d0-d3'
mkfifo "$mnt/dir/pipe"
refused 'only files and directories' 'Operation not permitted' set_layout one "$mnt/dir/pipe"
python3 - "$mnt/dir" <<'PYTHON' || fail 'files made otherwise'
import os, sys
d = sys.argv[1]
def layout(path): return os.getxattr(path, "user.falls.layout")
os.mknod(d + "/made", 0o644)
assert layout(d + "/made") == b"stripe(4K,2) on d0-d3", layout(d + "/made")
os.rename(d + "/made", d + "/../renamed")
assert layout(d + "/../renamed") == b"stripe(4K,2) on d0-d3"
try:
    fd = os.open(d, os.O_TMPFILE | os.O_RDWR)
except OSError:
    sys.exit(0)    # not before Linux 6.1
os.write(fd, b"x")
os.link("/proc/self/fd/%d" % fd, d + "/linked", follow_symlinks=True)
assert layout(d + "/linked") == b"stripe(4K,2) on d0-d3", layout(d + "/linked")
PYTHON
restart -o 'layout=stripe(64K)'
same 'it is kept' "$(layout_of_new "$mnt/dir/f")" 'stripe(4K,2) on d0-d3'
same 'only directories with one of their own list it' "$(getfattr --absolute-names -R -d -m - "$mnt" 2>/dev/null | grep -c '^user.falls')" 2
ok 'it can be removed' setfattr -x user.falls.layout "$mnt/dir"
same 'and counts no more' "$(layout_of_new "$mnt/dir/f")" 'stripe(64K) on d0-d3'
refused 'twice' 'No such attribute' setfattr -x user.falls.layout "$mnt/dir"
crash
umount -l "$mnt"
start -o 'layout=one'
same 'after a crash' "$(layout_of_new "$mnt/moved/f")" 'stripe(8K) on d0-d3'
same 'and not' "$(layout_of_new "$mnt/dir/f")" 'one on d0-d3'

# -- what the bytes mean --
# needs: directories --
set_array() {
    setfattr -n user.falls.array -v "$1" "$2"
}
cp "$work/bytes" "$mnt/moved/bytes"
value map "$mnt/moved/bytes" >"$work/map.before"
refused 'bytes mean nothing' 'No such attribute' getfattr -n user.falls.array "$mnt/moved/bytes"
ok 'bytes mean something' set_array 'shape=100x125 elem=8 type=f8 order=row header=0' "$mnt/moved/bytes"
same 'it is as typed' "$(value array "$mnt/moved/bytes")" 'shape=100x125 elem=8 type=f8 order=row header=0'
same 'and moves nothing' "$(value map "$mnt/moved/bytes")" "$(cat "$work/map.before")"
ok 'the bytes are the same' cmp "$work/bytes" "$mnt/moved/bytes"
refused 'it is checked' 'Invalid argument' set_array 'shape=100x type=f8' "$mnt/moved/bytes"
same 'and why not' "$(value lasterror "$mnt/moved/bytes")" "column 12: expected a number, found 'type'"
refused 'types are numpy'"'"'s' 'Invalid argument' set_array 'shape=4 type=zz' "$mnt/moved/bytes"
same 'and why it is none' "$(value lasterror "$mnt/moved/bytes" | cut -d , -f 1)" 'column 14: zz is no type that numpy has'
same 'what was is still there' "$(value array "$mnt/moved/bytes" | cut -c 1-13)" 'shape=100x125'
ok 'so it is with directories' set_array 'shape=8x8' "$mnt/moved"
same 'for what is below' "$(value array "$mnt/moved/deep/f")" 'shape=8x8'
same 'if that has none' "$(value array "$mnt/moved/bytes" | cut -c 1-13)" 'shape=100x125'
refused 'directories tell only their own' 'No such attribute' getfattr -n user.falls.array "$mnt/moved/deep"
ok 'it can be removed' setfattr -x user.falls.array "$mnt/moved/bytes"
same 'then the directory has the word' "$(value array "$mnt/moved/bytes")" 'shape=8x8'
ok 'from there, too' setfattr -x user.falls.array "$mnt/moved"
refused 'until nobody has' 'No such attribute' getfattr -n user.falls.array "$mnt/moved/bytes"

# -- any value at all: it is taken and told as it is, or refused in words, soon, and nobody else waits --
cat >"$work/values.py" <<'PYTHON'
"""Texts made of pieces of others, and some that are meant to take long. FALLSFS_SEED replays one."""
import errno, os, random, sys, time
os.chdir(sys.argv[1])
pieces = ["one", "stripe(", "1M", "64K,4", ")", "var(1,2,3)", "twod(4,2,2)", "{", "}", "(0,3,8,2)", "(4,7,8,2)", ";", ",", "{(0,0,2,2)}",
          "(0,0,4,1;1,4)", "array(shape=8x8", "elem=8", "dist=(block,*)", "dist=(cyclic(3),block)", "grid=2x2", "grid=4x1", " disp 5",
          " on d0-d3", " on d7", " on pool:x", " on all", "d1:", "()", "#", "\n", "\xff", "4611686018427387904", "99999999999999999999",
          "-1", "0", "9" * 400, "(" * 300, "shape=3x4 type=f8", "order=col", " "]
hard = ["stripe(1,4096) disp 1T", "array(shape=1000003x1000003x7,elem=8,dist=(cyclic(3),block,cyclic),grid=13x11x7)", "x" * 65000,
        "{" + "(" * 60000, "{" + ",".join("(%d,%d,%d,1000000)" % (i, i, 1000003 + 2 * i) for i in range(0, 200, 2)) + "}",
        "{(0,0,2,4000000000000000000);(1,1,2,4000000000000000000)}", "var(" + ",".join(str(i) for i in range(1, 4096)) + ")",
        "{(0,0,999983,1000003);(1,999982,999983,1000003)}", "stripe(4611686018427387904,2)", "one" + "#" * 60000]
wrong = {errno.EINVAL, errno.E2BIG, errno.ENODEV}
seeds = [int(os.environ["FALLSFS_SEED"])] if "FALLSFS_SEED" in os.environ else range(int(os.environ.get("FALLSFS_CASES", "1500")))
slowest = 0
for seed in seeds:
    rng = random.Random(seed)
    text = rng.choice(hard) if rng.random() < 0.02 else "".join(rng.choice(pieces) for _ in range(rng.randrange(1, 8)))
    name = "user.falls." + rng.choice(["layout", "layout", "layout", "array"])
    path = rng.choice(["f", "d"])
    value = text.encode("latin-1")
    begin = time.monotonic()
    try:
        os.setxattr(path, name, value)
        taken = True
    except OSError as e:
        taken = False
        assert e.errno in wrong, (seed, text[:200], e)
        why = os.getxattr(path, "user.falls.lasterror")
        assert b"column " in why or e.errno == errno.E2BIG, (seed, why)
    slowest = max(slowest, time.monotonic() - begin)
    if taken:
        told = os.getxattr(path, name)
        assert told.startswith(value.split(b" on ")[0].rstrip().split(b"#")[0].rstrip()) if path == "f" else told == value, (seed, value, told)
        os.setxattr(path, name, told) # what is read can be written back
        assert os.getxattr(path, name) == told, seed
    os.stat(".")
assert slowest < float(sys.argv[2]), slowest
PYTHON
mkdir "$mnt/values" "$mnt/values/d"
: >"$mnt/values/f"
ok 'any value' python3 "$work/values.py" "$mnt/values" 3
set_layout one "$mnt/values/d" || fail 'a directory takes a layout after all that'
same 'and files are made in it' "$(layout_of_new "$mnt/values/d/f")" 'one on d0-d3'

# -- who may --
chmod 1777 "$mnt"
as 1000 mkdir "$mnt/ann" "$mnt/ann/shared"
as 1000 touch "$mnt/ann/f" "$mnt/ann/shared/f"
chmod 777 "$mnt/ann/shared"
chmod 666 "$mnt/ann/shared/f"
ok 'owners may' as 1000 setfattr -n user.falls.layout -v 'stripe(4K)' "$mnt/ann/f"
ok 'of directories, too' as 1000 setfattr -n user.falls.layout -v 'stripe(16K)' "$mnt/ann"
ok 'and root may' set_layout 'stripe(8K)' "$mnt/ann/f"
refused 'not who may write it only' 'Operation not permitted' as 2000 setfattr -n user.falls.layout -v one "$mnt/ann/shared/f"
same 'and reads why' "$(as 2000 getfattr --absolute-names --only-values -n user.falls.lasterror "$mnt/ann/shared/f")" \
    'only the owner, user 1000, and root may set this: ask them'
refused 'others read nothing' 'No such attribute' as 3000 getfattr -n user.falls.lasterror "$mnt/ann/shared/f"
refused 'nor of the directory' 'Operation not permitted' as 2000 setfattr -n user.falls.layout -v one "$mnt/ann/shared"
refused 'nor what it means' 'Operation not permitted' as 2000 setfattr -n user.falls.array -v shape=1 "$mnt/ann/shared/f"
refused 'nor remove it' 'Operation not permitted' as 2000 setfattr -x user.falls.layout "$mnt/ann/shared"
refused 'without the right to write not at all' 'Permission denied' as 2000 setfattr -n user.falls.layout -v one "$mnt/ann"
same 'others read it' "$(as 2000 getfattr --absolute-names --only-values -n user.falls.layout "$mnt/ann")" 'stripe(16K)'
same 'what others make there inherits' "$(as 2000 touch "$mnt/ann/shared/g" && value layout "$mnt/ann/shared/g")" 'stripe(16K) on d0-d3'
restart -o 'layout_allow=gid,layout_gid=4000'
refused 'owners who are not in the group' 'Operation not permitted' as 1000 setfattr -n user.falls.layout -v one "$mnt/ann/f"
same 'and why' "$(value lasterror "$mnt/ann/f")" ''
same 'and why, for who asked' "$(as 1000 getfattr --absolute-names --only-values -n user.falls.lasterror "$mnt/ann/f")" \
    'you are not in the group that may give layouts here: layout.gid of the configuration names it'
ok 'in the group they may' setpriv --reuid 1000 --regid 1000 --groups 3000,4000 setfattr -n user.falls.layout -v one "$mnt/ann/f"
ok 'what bytes mean is theirs' as 1000 setfattr -n user.falls.array -v shape=9 "$mnt/ann/f"
restart -o layout_allow=admin
refused 'owners' 'Operation not permitted' as 1000 setfattr -n user.falls.layout -v one "$mnt/ann/f"
ok 'root' set_layout 'stripe(8K)' "$mnt/ann/f"
stop

# -- rules, pools --
# needs: files --
# needs: who may
rm -rf "$work"/d[0-9]*
mkdir "$work"/d{0,1,2,3}
disks=("$work"/d{0,1,2,3})
"$fallsctl" format --pool slow "$work/d0" "$work/d1" --pool fast "$work/d2" "$work/d3" >"$work/out" 2>&1 || die "format: $(cat "$work/out")"
printf 'layout = { default = "stripe(64K)"; rules = (\n{ match = "*.npy"; layout = "stripe(4K) disp 128 on pool:fast"; },\n{ match = "[a-c]*"; layout = "one"; } ); };\n' >"$work/rules.conf"
start -c "$work/rules.conf" -o 'layout_rule=*.log:one on d1' -o 'layout_rule=*.safe:one on pool:slow copies 2'
same 'a rule' "$(layout_of_new "$mnt/x.npy")" 'stripe(4K) disp 128 on d2-d3'
same 'the first that fits' "$(layout_of_new "$mnt/a.npy")" 'stripe(4K) disp 128 on d2-d3'
same 'another' "$(layout_of_new "$mnt/b")" 'one on d0-d3'
same 'one of the command line' "$(layout_of_new "$mnt/a.log")" 'one on d1'
same 'one with copies' "$(layout_of_new "$mnt/x.safe")" 'one on d0-d1 copies 2'
same 'none' "$(layout_of_new "$mnt/d")" 'stripe(64K) on d0-d3'
mkdir "$mnt/dir"
ok 'a directory knows better' set_layout 'stripe(1K) on pool:slow' "$mnt/dir"
same 'than rules' "$(layout_of_new "$mnt/dir/x.npy")" 'stripe(1K) on d0-d1'
cp "$work/bytes" "$mnt/dir/bytes"
cp "$work/bytes" "$mnt/bytes.npy"
sync -f "$mnt"
same 'bytes are in the slow pool' "$(value map "$mnt/dir/bytes" | grep -o 'disk=d[0-9]' | sort | tr '\n' ' ')" 'disk=d0 disk=d1 '
same 'or in the fast one' "$(value map "$mnt/bytes.npy" | grep -o 'disk=d[0-9]' | sort | tr '\n' ' ')" 'disk=d0 disk=d2 disk=d3 '
: >"$mnt/two"
ok 'an element has its disk' set_layout '{d3:(0,3,8,1);d1:(4,7,8,1)}' "$mnt/two"
cp "$work/bytes" "$mnt/two"
same 'by its number' "$(value map "$mnt/two" | sed -n 's/element=\([0-9]\) .*disk=d\([0-9]\) .*/\1:\2/p' | tr '\n' ' ')" '0:3 1:1 '
while read -r line; do
    ok "the bytes of $line are there" test -s "${line#*object=}"
done < <(value map "$mnt/two"; value map "$mnt/bytes.npy"; value map "$mnt/dir/bytes")
stop

# -- everyday programs take directories' layouts along, and never fail for files' --
# needs: rules, pools
# what NAME is of all directories below $1, and of files
layouts_below() (
    cd "$1" && find . -type d | sort | while read -r path; do
        printf '%s %s %s\n' "$path" "$(value layout "$path")" "$(value array "$path")"
    done
)
make_tree() {
    mkdir -p "$1/one/two" "$1/three/four"
    set_layout 'stripe(4K,2) # a comment' "$1/one" &&
        set_layout 'array(shape=8x8, dist=(block,*), grid=4x1)' "$1/one/two" &&
        set_layout 'stripe(1M)
            disp 128' "$1/three/four" && set_array 'shape=5 type=f8' "$1/three" || fail "setting layouts in $1"
    for dir in one one/two three three/four .; do
        head -c 20000 /dev/urandom >"$1/$dir/bytes"
        : >"$1/$dir/nothing"
    done
    set_layout one "$1/nothing"
    set_array 'shape=20000 type=u1' "$1/bytes"
}
# tools USER-COMMAND... DIR: copies of a tree in DIR, made by that user
copy_with_tools() {
    local dir=$1 before
    shift
    ok "a tree for $*" "$@" bash -c "$(declare -f make_tree set_layout set_array fail); n_failed=0; make_tree '$dir/tree'"
    before=$(layouts_below "$dir/tree")
    ok "cp -a $*" "$@" cp -a "$dir/tree" "$dir/cp"
    same "it says nothing" "$(cat "$work/out")" ''
    same "cp -a keeps layouts of directories $*" "$(layouts_below "$dir/cp")" "$before"
    ok "cp -a onto it $*" "$@" cp -aT "$dir/tree" "$dir/cp"
    ok "rsync -aX $*" "$@" rsync -aX "$dir/tree/" "$dir/rsync/"
    same "it says nothing" "$(cat "$work/out")" ''
    same "rsync keeps layouts of directories $*" "$(layouts_below "$dir/rsync")" "$before"
    same "and has nothing left to do $*" "$("$@" rsync -aXi "$dir/tree/" "$dir/rsync/" 2>&1)" ''
    ok "tar --xattrs $*" "$@" tar --xattrs -C "$dir" -cf "$dir/tar" tree
    ok "untar $*" "$@" sh -c "mkdir '$dir/untar' && tar --xattrs -C '$dir/untar' -xf '$dir/tar'"
    same "it says nothing" "$(cat "$work/out")" ''
    same "tar keeps layouts of directories $*" "$(layouts_below "$dir/untar/tree")" "$before"
    for copy in cp rsync untar/tree; do
        ok "the bytes of $copy" diff -r "$dir/tree" "$dir/$copy"
        same "what they mean in $copy" "$(value array "$dir/$copy/bytes")" 'shape=20000 type=u1'
    done
    if [ "$#" = 0 ]; then
        ok 'cp -a out of it' cp -a "$dir/tree" "$work/outside"
        ok 'and in again' cp -a "$work/outside" "$dir/inside"
        same 'and the layouts were in the copy' "$(layouts_below "$dir/inside")" "$before"
    fi
    ok "rm -r $*" "$@" rm -r "$dir/tree" "$dir/cp"
}
start
mkdir "$mnt/root" "$mnt/ann"
chown 1000:1000 "$mnt/ann"
copy_with_tools "$mnt/root"
copy_with_tools "$mnt/ann" as 1000
stop

# -- the mount of an ordinary user --
home=$work/home
mkdir -m 700 "$home"
chown 1000:1000 "$home"
as 1000 mkdir "$home/mnt" "$home/d0" "$home/d1"
ok 'a user formats' as 1000 "$fallsctl" format "$home/d0" "$home/d1"
as 1000 "$fallsfs" -f -o layout_allow=admin "$home/d0" "$home/d1" "$home/mnt" >"$log" 2>&1 &
user_daemon=$!
is_served_to() {
    [ "$(as "$1" stat -f -c %t "$2" 2>/dev/null)" = 65735546 ]
}
await 10 is_served_to 1000 "$home/mnt"
use_as_user() {
    cd "$1" || exit 1
    n_failed=0
    set -e
    make_tree tree
    [ "$n_failed" = 0 ]
    layouts_below tree >before
    rsync -aX tree/ rsync/
    tar --xattrs -cf tar tree
    chmod 555 tree/one/two # rsync -X and tar --xattrs do not make copies of such, anywhere
    cp -a tree cp
    mkdir untar
    tar --xattrs -C untar -xf tar
    for copy in cp rsync untar/tree; do
        layouts_below "$copy" | cmp - before
        diff -r tree "$copy"
    done
    setfattr -n user.falls.layout -v 'stripe(0)' tree && exit 1
    [ "$(value lasterror tree)" = 'column 8: the stripe unit must be at least 1' ]
    setfattr -x user.falls.layout tree/one
    cp tree/bytes tree/one/again
    [ "$(value layout tree/one/again)" = 'stripe(1M) on d0-d1' ]
    setfattr -n user.falls.layout -v 'one on d1' .
    for mode in 000 200 400 444 600; do
        python3 - "$mode" <<'PYTHON'
import os, sys
name = "f" + sys.argv[1]
fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, int(sys.argv[1], 8))
os.setxattr(fd, "user.falls.layout", b"stripe(3)") if int(sys.argv[1], 8) & 0o200 else None
os.write(fd, b"some bytes")
assert os.pread(fd, 99, 0) == b"some bytes"
PYTHON
    done
    [ "$(value layout f400)" = 'one on d1' ]
    [ "$(value layout f600)" = 'stripe(3) on d0-d1' ]
}
ok 'all of it' as 1000 bash -c "$(declare -f fail value set_layout set_array layouts_below make_tree use_as_user); use_as_user '$home/mnt'"
# Other users' mounts are left out of what is listed, and named; asked for by name they are refused.
for verb in status jobs groups; do
    as 1001 "$fallsctl" "$verb" >"$work/list" 2>"$work/why"
    same "$verb of all mounts, with one that may not be asked" "$?" 0
    ok "$verb says what it leaves out" grep "left out: .*$home/mnt" "$work/why"
    not "$verb does not list it" grep "$home/mnt" "$work/list"
    same "$verb says no more" "$(wc -l <"$work/why")" 1
    not "$verb of that mount" as 1001 "$fallsctl" "$verb" "$home/mnt"
done
ok 'the user unmounts' as 1000 fusermount3 -u "$home/mnt"
reap "$user_daemon"
same 'the daemon ends well' $? 0
check_log

finish
