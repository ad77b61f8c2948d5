#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What fallsfs says to a wrong command line or configuration, and the status it ends with. Mounts nothing.
# test_options.sh FALLSFS FALLSCTL
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/common.sh"

# refuses LINE WHY-GLOB TEXT: a configuration with this text
refuses() {
    printf '%s' "$3" >"$conf"
    says 1 "fallsfs: $conf:$1: $2" -c "$conf" "$mnt"
}

# takes TEXT: a configuration with this text is well-formed; what is wrong then is the mount point, which is not there
takes() {
    printf '%s' "$1" >"$conf"
    says 1 "fallsfs: cannot mount at $work/nowhere: No such file or directory; make it first, with mkdir" -c "$conf" \
        "$work/d0" "$work/nowhere"
}

make_volume 2
d0=$work/d0 d1=$work/d1
words=("$d0" "$d1" "$mnt")

# -- usage: status 2 --

says 0 'usage: fallsfs *examples:*' --help
says 0 'usage: fallsfs *' -h
says 0 "fallsfs $("$fallsctl" --version | cut -d' ' -f2)" --version
says 0 'fallsfs *' -V
says 0 'usage: *' -c /nowhere -h
says 2 'fallsfs: where to mount, and what? usage: fallsfs DISK... MOUNTPOINT; see fallsfs --help'
says 2 'fallsfs: no disks are named; usage: *' "$mnt"
says 2 'fallsfs: unknown option -x; see fallsfs --help' -x "${words[@]}"
says 2 'fallsfs: unknown option -sx; *' -sx "${words[@]}"
says 2 'fallsfs: unknown option --config=x; *' --config=x "${words[@]}"
says 2 'fallsfs: -o needs a value; *' "${words[@]}" -o
says 2 'fallsfs: -c needs a value; *' "${words[@]}" -fc
says 2 'fallsfs: -o wait_disks=x: not a number from 0 to 86400' -o wait_disks=x "${words[@]}"
for number in -1 86401 99999999999999999999 '' 1x ' 1' 0x10; do
    says 2 "fallsfs: -o timeout=$number: not a number from 0 to 86400" -o "timeout=$number" "${words[@]}"
done
says 2 'fallsfs: -o threads=1025: not a number from 0 to 1024' -o threads=1025 "${words[@]}"
says 2 'fallsfs: -o max_read=4G: not a number from 0 to 2147483647' -o max_read=4G "${words[@]}"
for size in 2G -1 '' 4MB 99999999999999999999 x; do
    says 2 "fallsfs: -o read_ahead=$size: not a size from 0 to 1024M, as in 512K or 4M" -o "read_ahead=$size" "${words[@]}"
done
for size in 0 63K 4097K; do
    says 2 "fallsfs: -o window=$size: not a size from 64K to 4M, as in 512K or 4M" -o "window=$size" "${words[@]}"
done
says 2 'fallsfs: -o missing=maybe: it is refuse or readonly' -o missing=maybe "${words[@]}"
says 2 "fallsfs: -o layout=strip(1M): column 1: expected one, stripe, *" -o 'layout=strip(1M)' "${words[@]}"
says 2 "fallsfs: -o layout=array(shape=8x8, dist=(block,block)): column 23: a divided dimension needs grid=*" \
    -o 'ro,layout=array(shape=8x8, dist=(block,block)),noatime' "${words[@]}"
says 2 'fallsfs: -o layout=stripe(1M,ro: *' -o 'layout=stripe(1M,ro' "${words[@]}"
says 2 "fallsfs: -o layout_rule=x: it is PATTERN:LAYOUT, *" -o layout_rule=x "${words[@]}"
says 2 "fallsfs: -o layout_rule=a/b:one: 'a/b' is no pattern for names*" -o layout_rule=a/b:one "${words[@]}"
says 2 "fallsfs: -o layout_rule=*:strip: column 1: expected one, *" -o 'layout_rule=*:strip' "${words[@]}"
says 2 "fallsfs: -o layout_allow=all: it is owner, gid or admin" -o layout_allow=all "${words[@]}"
says 2 "fallsfs: -o reserve=5%: it is usual or a size, as in 100G; 0: no disk is left out" -o reserve=5% "${words[@]}"
says 2 "fallsfs: -o metrics=/run/: not the path of a file, as in /run/fallsfs.prom" -o metrics=/run/ "${words[@]}"
says 2 "fallsfs: -o layout_gid=-1: not a number from 0 to 4294967294" -o layout_gid=-1 "${words[@]}"
says 2 "fallsfs: layout_allow=gid: which group? add layout_gid=N" -o layout_allow=gid "${words[@]}"
says 2 'fallsfs: degraded is for reading: add ro, as in -o ro,degraded' -o degraded "${words[@]}"
says 2 'fallsfs: -o remount: *umount, then mount' -o remount,ro "${words[@]}"
says 2 'fallsfs: -o subtype=x: the type is always fuse.fallsfs*' -o subtype=x "${words[@]}"

for word in xyzzy xyzzy=3 wait_disk=3 degraded=1; do
    says 2 "fuse: unknown option(s): \`-o $word'*fallsfs: an option is wrong, *--help*" -o "$word,ro,degraded" "${words[@]}"
done

# -- errors: status 1 --

says 1 "fallsfs: cannot mount at $work/nowhere: No such file or directory; make it first, with mkdir" "$d0" "$d1" "$work/nowhere"
touch "$work/file"
says 1 "fallsfs: cannot mount at $work/file: Not a directory" "$d0" "$d1" "$work/file"
says 1 "fallsfs: $d1 is a disk: mount elsewhere, the last word is the mount point" "$d0" "$d1"
says 1 "fallsfs: cannot open the disk $work/nowhere: No such file or directory" "$d0" "$work/nowhere" "$mnt"
says 1 "fallsfs: $work is not a disk of a fallsfs volume: *fallsctl format*" "$d0" "$work" "$mnt"
says 1 'fallsfs: disk d1 of the volume is missing; *-o ro,degraded' "$d0" "$mnt"
says 1 "fallsfs: the disk $d0 is named twice" "$d0" "$d0/../d0" "$mnt"

# -- configurations that are refused --

says 1 "fallsfs: cannot open the configuration /nowhere: No such file or directory" -c /nowhere "$mnt"
says 1 "fallsfs: $work: cannot be the configuration: it is not a file" -c "$work" "$mnt"
mkfifo "$work/fifo"
says 1 "fallsfs: $work/fifo: cannot be the configuration: it is not a file" -c "$work/fifo" "$mnt"
truncate -s 1048577 "$work/large"
says 1 "fallsfs: $work/large: cannot be the configuration: it is larger than 1 MiB" -c "$work/large" "$mnt"
: >"$conf"
says 2 "fallsfs: where to mount? $conf has no 'mount', so say it: fallsfs -c $conf MOUNTPOINT" -c "$conf"
says 2 "fallsfs: no disks are named: $conf has no 'disks', and the command line has none" -c "$conf" "$mnt"
if [ "$(id -u)" = 0 ]; then
    chmod 664 "$conf"
    says 1 "fallsfs: $conf: cannot be the configuration: others may write it, *chmod go-w*" -c "$conf" "$mnt"
    chmod 602 "$conf"
    says 1 "fallsfs: $conf: cannot be the configuration: others may write it, *" -c "$conf" "$mnt"
    chmod 644 "$conf"
    chown 1 "$conf"
    says 1 "fallsfs: $conf: cannot be the configuration: it belongs to another user, *chown root*" -c "$conf" "$mnt"
    rm "$conf"
fi

refuses 1 'syntax error; see fallsfs.conf(5)' 'mount mount'
refuses 2 'syntax error; *' $'# a comment\nwait_disks = ;'
refuses 3 "unknown key 'wait_disk'; here are known: options, mount, disks, wait_disks, missing, read_only, layout, io, limits, metrics, trace" \
    $'mount = "/x";\n\nwait_disk = 3;'
refuses 2 "unknown key 'thread'; here are known: direct, threads, timeout, read_ahead, window" $'io = {\nthread = 3; };'
refuses 1 "unknown key 'rule'; here are known: default, allow, gid, rules, reserve" 'layout = { rule = "x"; };'
refuses 1 "unknown key 'id'; here are known: path" 'disks = ( { path = "/x"; id = "d0"; } );'
refuses 2 'duplicate setting name; *' $'wait_disks = 3;\nwait_disks = 4;'
refuses 1 'duplicate setting name; *' 'io = { threads = 3; threads = 3; };'

refuses 1 'wait_disks: expected a number, as in 30' 'wait_disks = "30";'
refuses 1 'wait_disks: expected a number, as in 30' 'wait_disks = 30L;'
refuses 1 'wait_disks: expected a number, as in 30' 'wait_disks = 1.5;'
refuses 1 'wait_disks: expected a number, as in 30' 'wait_disks = true;'
refuses 1 'wait_disks = -1: not a number from 0 to 86400' 'wait_disks = -1;'
refuses 1 'wait_disks = 86401: not a number from 0 to 86400' 'wait_disks = 86401;'
refuses 2 '99999999999999999999 is too large a number; sizes are text, as in "4M"' $'\nwait_disks = 99999999999999999999;'
refuses 1 '-99999999999999999999 is too large a number; *' 'wait_disks = -99999999999999999999;'
refuses 1 '4294967296 is too large a number; *' 'wait_disks = 4294967296;'
refuses 1 '8589934592 is too large a number; *' 'wait_disks = 8589934592;'
refuses 1 '8589934592 is too large a number; *' 'wait_disks = 8589934592L;'
refuses 1 '0x100000001 is too large a number; *' 'wait_disks = 0x100000001;'
refuses 1 '2147483648 is too large a number; *' 'io = { threads = 2147483648; };'
refuses 1 'threads = 2147483647: not a number from 0 to 1024' 'io = { threads = 2147483647; };'
refuses 1 'timeout = 86401: not a number from 0 to 86400' 'io = { timeout = 86401; };'
refuses 1 'read_ahead: expected text in quotes' 'io = { read_ahead = 4096; };'
refuses 1 'read_ahead = 4MB: not a size from 0 to 1024M, *' 'io = { read_ahead = "4MB"; };'
refuses 1 'read_ahead = 2G: not a size from 0 to 1024M, *' 'io = { read_ahead = "2G"; };'
refuses 1 'direct: expected true or false' 'io = { direct = 1; };'
refuses 1 'direct: expected true or false' 'io = { direct = "auto"; };'
refuses 1 'views = 1048577: not a number from 0 to 1048576' 'limits = { views = 1048577; };'
refuses 1 'view_memory = 2G: not a size from 0 to 1024M, *' 'limits = { view_memory = "2G"; };'
refuses 1 'hole_memory: expected text in quotes' 'limits = { hole_memory = 64; };'
refuses 1 'ring = 1K: not a size from 64K to 1024M, *' 'trace = { ring = "1K"; };'
refuses 1 "unknown key 'view'; here are known: descriptors, views, view_memory, hole_memory, groups, jobs, description_memory" 'limits = { view = 3; };'
refuses 1 'syntax error; *' 'read_only = yes;'
refuses 1 'io: expected a group, as in { ... }' 'io = 3;'
refuses 1 'layout: expected a group, as in { ... }' 'layout = "stripe(1M)";'
refuses 2 "default = strip(1M): column 1: expected one, stripe, *" $'layout = {\n  default = "strip(1M)"; };'
refuses 1 'default = {(0,3,4,1);(2,5,4,1)}: column 12: FALLS 1 overlaps FALLS 0 at byte 2' 'layout = { default = "{(0,3,4,1);(2,5,4,1)}"; };'
refuses 1 'allow = all: it is owner, gid or admin' 'layout = { allow = "all"; };'
refuses 1 'rules: expected a list, as in ( ... )' 'layout = { rules = "x"; };'
refuses 2 'rules: expected groups { match = *' $'layout = { rules = (\n"x" ); };'
refuses 1 'rules: this one has no layout' 'layout = { rules = ( { match = "*"; } ); };'
refuses 1 'rules: this one has no match' 'layout = { rules = ( { layout = "one"; } ); };'
refuses 2 'rules: \*.npy: column 1: expected one, *' $'layout = { rules = (\n{ match = "*.npy"; layout = "x"; } ); };'
refuses 1 "unknown key 'name'; here are known: match, layout" 'layout = { rules = ( { name = "x"; } ); };'
refuses 1 'missing = maybe: it is refuse or readonly' 'missing = "maybe";'
refuses 1 "mount: 'fast' is not an absolute path, *" 'mount = "fast";'
refuses 1 "mount: '' is not an absolute path, *" 'mount = "";'
refuses 1 'mount: expected text in quotes' 'mount = 3;'
refuses 1 'disks: expected a list, as in ( ... )' 'disks = "/d0:/d1";'
refuses 1 'disks: names none; *' 'disks = ();'
refuses 3 "disks: 'd1' is not an absolute path, *" $'disks = (\n"/d0",\n"d1" );'
refuses 1 'disks: expected paths in quotes, or groups *' 'disks = ( 3 );'
refuses 1 'disks: expected paths in quotes, or groups *' 'disks = ( ( "/d0" ) );'
refuses 1 'disks: this one has no path' 'disks = ( { } );'
refuses 1 'path: expected text in quotes' 'disks = ( { path = 3; } );'
refuses 1 'options: -o timeout=x: not a number from 0 to 86400' 'options = "noatime,timeout=x";'
refuses 1 'options: a configuration cannot name another one' 'options = "config=/etc/passwd";'

refuses 2 '@include is not supported: *' $'mount = "/x";\n@include "/etc/hostname"\n'
refuses 1 '@include is not supported: *' $'  \t@include "/etc/hostname"\n'
refuses 1 '@include is not supported: *' 'mount = "/x"; @include "x"'
refuses 3 '@include is not supported: *' $'/* a "\n*/ # "\n@include "/etc/hostname"\n'
refuses 2 'this string is never closed' $'wait_disks = 3;\nmount = "/x;\n\n'
refuses 2 'this comment is never closed' $'wait_disks = 3;\n/* mount = "/x";\n'
refuses 1 'this comment is never closed' '/*/ wait_disks = 3;'
refuses 1 '?x00 ends a string: leave it out' 'mount = "/x\x00y";'
refuses 1 'nested too deeply' "disks = $(printf '(%.0s' {1..9000})"
printf 'mount = "/x";\n\0 wait_disks = 3;' >"$conf"
says 1 "fallsfs: $conf:2: a zero byte: this is no text" -c "$conf" "$mnt"

# -- configurations that are fine --

takes ''
takes '# nothing'
takes $'/* "@include" # */ options = "noatime";\r\n// @include "x"\n# "\n'
takes 'mount = "/@include"; disks = [ "/d0" ]'
takes $'options = "noatime,"\n          "max_read=131072";'
takes 'wait_disks = 00030; missing = "readonly"; read_only = true;'
refuses 1 'reserve = few: it is usual or a size, *' 'layout = { reserve = "few"; };'
takes 'layout = { reserve = "100G"; };'
takes 'layout = { reserve = "usual"; };'
takes 'wait_disks: 0x1e, io: { threads = +1024 timeout = 0 read_ahead = "0" direct = FALSE }; layout = {};'
takes 'disks = ( "/a\\b", "/a\"b", "/a\nb", "/a\x62", { path = "/c"; } );'
# What only the volume can tell to be wrong.
on_d9="'one on d9', column 5: the volume has no such disks: it has d0 to d1"
volume="disks = ( \"$d0\", \"$d1\" );"
refuses 3 "default layout $on_d9" "$volume"$'\nlayout = {\n  default = "one on d9"; };'
refuses 4 "layout of a rule $on_d9" "$volume"$'\nlayout = { rules = (\n{ match = "*";\n layout = "one on d9"; } ); };'
says 1 "fallsfs: default layout ${on_d9}" -c "$conf" -o 'layout=one on d9' "$mnt"

takes 'layout = { allow = "gid"; gid = 1000; rules = ( { match = "*.npy"; layout = "stripe(4M) disp 128"; } ); };'
refuses 1 'sample = 0: not a number from 1, *' 'trace = { sample = 0; };'
takes 'trace = { start = true; sample = 100; ring = "64K"; };'
takes 'limits = { views = 1; view_memory = "1M"; hole_memory = "0"; groups = 1; jobs = 1; description_memory = "1M"; };'
takes 'layout = { rules = (); };'
takes 'metrics = "/run/fallsfs-test.prom";'
takes 'layout = { default = "array(shape=8x8, dist=(block,*), grid=4x1) # rows"; };'
install -m 644 "$etc/fallsfs.conf" "$work/example.conf"
says 1 "fallsfs: cannot mount at $work/nowhere: *" -c "$work/example.conf" "$work/nowhere"
# every key is in the example and in the manual
for key in options mount disks wait_disks missing read_only metrics default allow gid rules reserve direct threads timeout read_ahead descriptors views view_memory hole_memory groups jobs description_memory start sample ring; do
    ok "$key is in the example" grep -qE "^ *$key = " "$etc/fallsfs.conf"
    ok "$key is in the manual" grep -qE "^\\.(BR?|BI) ([a-z]+\\.)?$key=" "$etc/man/fallsfs.conf.5"
done

# -- who wins --

printf 'disks = ( "%s" );' "$work/elsewhere" >"$conf"
says 1 "fallsfs: cannot open the disk $work/elsewhere: *" -c "$conf" "$d0:$d1" "$mnt"
says 2 "fallsfs: $conf names the disks already: *" -c "$conf" "$d0" "$d1" "$mnt"
printf 'mount = "%s"; disks = ( "%s", "%s" );' "$work/nowhere" "$d0" "$d1" >"$conf"
says 1 "fallsfs: cannot mount at $work/nowhere: *" -c "$conf"
says 1 "fallsfs: cannot mount at $work/elsewhere: *" -c "$conf" "$work/elsewhere"
says 1 "fallsfs: cannot mount at $work/nowhere: *" "-fc$conf"
says 1 "fallsfs: cannot mount at $work/nowhere: *" -o "config=$conf"
cp "$conf" "$work/a,b.conf"
says 1 "fallsfs: cannot mount at $work/nowhere: *" -o "ro,config=$work/a\\,b.conf"

finish
