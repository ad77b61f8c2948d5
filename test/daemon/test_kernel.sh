#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What is agreed with the kernel when it first asks, with each libfuse, and who is told when something could not be.
# test_kernel.sh FALLSFS FALLSCTL NO-CUSTOM-IO
# shellcheck source-path=SCRIPTDIR disable=SC2034 # common.sh uses it
users_mount=1
source "$(dirname "$0")/common.sh"
no_custom_io=$3

if [ "$(id -u)" != 0 ] || [ ! -e /dev/fuse ]; then
    echo 'needs root and /dev/fuse'
    exit 77
fi

# is_at_least VERSION: this kernel
is_at_least() {
    [ "$(printf '%s\n' "$1" "$(uname -r)" | sort -V | head -n 1)" = "$1" ]
}

# read_ahead MOUNTPOINT: in K, without asking the mount, which may be another user's
read_ahead() {
    cat "/sys/class/bdi/$(awk -v path="$1" '$5 == path { print $3 }' /proc/self/mountinfo)/read_ahead_kb"
}

# A hundred small writes, and how often the kernel asked for the file's capabilities.
looks() {
    python3 -c 'import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
for i in range(100):
    os.write(fd, b"x")' "$mnt/small"
    grep -c 'opcode: GETXATTR' "$log"
}

make_volume 2
start -d
same 'reads ahead 4M as soon as it serves' "$(read_ahead "$mnt")" 4096
if is_at_least 5.11; then
    ok 'the kernel does not look before each write' test "$(looks)" -le 2
fi
if is_at_least 6.6; then
    same 'all is agreed' "$(cat "$mnt/.falls/kernel")" ''
    same 'says status' "$("$fallsctl" status --json "$mnt" | jq -c '.volumes[0].notes') $("$fallsctl" status "$mnt" | grep -c note:)" '[] 0'
    same 'so nothing is said' "$(grep '^fallsfs: ' "$log")" ''
fi
restart -o direct_io,read_ahead=64K
same 'reads ahead 64K' "$(read_ahead "$mnt")" 64
if is_at_least 6.6; then
    ok 'a shared mapping beside direct I/O' python3 -c 'import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.write(fd, b"as it was written")
with mmap.mmap(fd, 17) as m:
    assert m[:] == b"as it was written"
    m[:2] = b"AS"
    m.flush()
assert os.pread(fd, 5, 0) == b"AS it"' "$mnt/mapped"
fi
stop

# -- a libfuse that has neither words nor custom I/O for it: one before 3.17, built like later ones --

if nm -D "$fallsfs" | grep -q fuse_session_custom_io; then
    export LD_PRELOAD=$no_custom_io
    start -d
    unset LD_PRELOAD
    same 'the read-ahead is set all the same' "$(read_ahead "$mnt")" 4096
    same 'what is missed' "$(grep -c 'libfuse refuses custom I/O' "$mnt/.falls/kernel") $(wc -l <"$mnt/.falls/kernel")" '2 2'
    same 'is said once' "$(grep -c '^fallsfs: .* libfuse refuses custom I/O' "$log")" 2
    "$fallsctl" status "$mnt" >"$work/status"
    same 'status tells it; there is nothing to act upon' "$? $(grep '^note: ' "$work/status")" "0 $(sed 's/^/note: /' "$mnt/.falls/kernel")"
    ok 'it is true' test "$(looks)" -ge 100
    stop
fi

# -- an ordinary user, who may not set the read-ahead --

home=$work/home
mkdir -m 700 "$home"
chown 1000:1000 "$home"
as 1000 mkdir "$home/d0" "$home/mnt"
ok 'format' as 1000 "$fallsctl" format "$home/d0"
as 1000 "$fallsfs" -f "$home/d0" "$home/mnt" >"$log" 2>&1 &
user_daemon=$!
# shellcheck disable=SC2317 # called by name
serves_user() {
    [ "$(as 1000 stat -f -c %t "$home/mnt")" = 65735546 ]
}
eventually 'serves' serves_user
usual=$(read_ahead "$home/mnt")
same 'is told so' "$(as 1000 cat "$home/mnt/.falls/kernel" | grep -c "reads ${usual}K ahead and not 4096K: only root may set that")" 1
same 'once' "$(grep -c '^fallsfs: .* only root may set that' "$log")" 1
same 'by status, too' "$(as 1000 "$fallsctl" status --json "$home/mnt" | jq '[.volumes[0].notes[] | select(contains("only root may set"))] | length')" 1
ok 'the user unmounts' as 1000 fusermount3 -u "$home/mnt"
reap "$user_daemon"
same 'the daemon ends well' $? 0
finish
