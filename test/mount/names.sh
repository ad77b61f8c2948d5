#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Names of files may hold anything but a slash: what the tools and the mount show of them does nothing to a terminal,
# and what programs ask for has every byte. And directories may be deeper than any path can say. names.sh FALLSFS FALLSCTL FSCK.FALLSFS
# shellcheck disable=SC2317  # functions are called by others
source "$(dirname "$0")/common.sh"
fsck=$3

# What acts: escape sequences as terminals have them in one byte and in two, a bell, a line feed; and no character at all.
name=$'a\033[31mb\a\nc\xc2\x9b31md\x9be\xff'
shown='a?[31mb??c??31md?e?'

# tame STATUS NAME COMMAND...: neither output has anything that acts; together they have the name as it is shown.
tame() {
    local want=$1 what=$2 status
    shift 2
    n_checks=$((n_checks + 1))
    "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    [ "$status" = "$want" ] || fail "$what: status $status, not $want: $(cat "$work/err")"
    cat "$work/out" "$work/err" >"$work/both"
    if LC_ALL=C grep -qP '[^\x20-\x7e\n]' "$work/both"; then
        fail "$what: $(cat -v "$work/both")"
    elif ! grep -qF "$shown" "$work/both"; then
        fail "$what does not show the name: $(cat "$work/both")"
    fi
}

# On a terminal, which gets both outputs: where lines end, it is told to go to their beginnings.
on_terminal() {
    TERM=dumb script -qec "$(printf '%q ' "$@")" /dev/null | tr -d '\r'
}

make_volume 3
start -o 'layout=stripe(4K)'
head -c 100000 /dev/urandom >"$mnt/$name"
head -c 100000 /dev/urandom >"$mnt/plain"
mkdir "$mnt/$name.d"

tame 0 find on_terminal "$fallsctl" find "$mnt"
tame 0 map "$fallsctl" map "$mnt/$name"
tame 0 "map, as others see it" as 65534 "$fallsctl" map "$mnt/$name"
tame 0 'layout get' "$fallsctl" layout get "$mnt/$name"
tame 0 'layout set -n' "$fallsctl" layout set -n -S 4M "$mnt/$name.d"
tame 1 'layout set' "$fallsctl" layout set -S 4M "$mnt/$name"
tame 0 'migrate -n' "$fallsctl" migrate -n -L one "$mnt/$name"
tame 0 explain "$fallsctl" explain "$mnt/$name"
tame 1 where "$fallsctl" where "$mnt/$name" x
tame 2 'a verb' "$fallsctl" "$name"
tame 1 'a place that is none' "$fallsctl" status "$mnt/$name/x"
setfattr -n user.falls.migrate -v 'limit=1 stripe(8K)' "$mnt/$name"
tame 0 jobs "$fallsctl" jobs "$mnt"
# as_wide COLUMNS COMMAND...: on a terminal of so many columns
as_wide() {
    # shellcheck disable=SC2016  # $0 and $@ are those of the shell inside
    on_terminal sh -c 'stty cols "$0"; exec "$@"' "$@"
}
tame 0 'jobs on a terminal' as_wide 300 "$fallsctl" jobs "$mnt"
tame 0 'jobs for a script' "$fallsctl" jobs --raw -o FILE,STATE "$mnt"
tame 0 'map for a script' "$fallsctl" map --raw -o +FILE "$mnt/$name"
ok 'a terminal that is too narrow cuts names' test "$(as_wide 70 "$fallsctl" jobs "$mnt" | wc -L)" -le 70
ok 'nothing else does' test "$("$fallsctl" jobs "$mnt" | wc -L)" -gt 70
same 'places of subfiles are whole everywhere' "$(as_wide 70 "$fallsctl" map --noheadings -o OBJECT "$mnt/plain")" \
    "$("$fallsctl" map --noheadings -o OBJECT "$mnt/plain")"
tame 0 .falls/jobs cat "$mnt/.falls/jobs"

"$fallsctl" find -0 "$mnt" | sort -z >"$work/found"
printf '%s\0' "$mnt/$name" "$mnt/plain" | sort -z >"$work/want"
ok 'a program is given the name itself' cmp "$work/found" "$work/want"
"$fallsctl" find "$mnt/$name" >"$work/found"
ok 'also where lines end at line feeds' cmp "$work/found" <(printf '%s\n' "$mnt/$name")
not 'JSON acts on no terminal' sh -c "'$fallsctl' map --json '$mnt'/a* | LC_ALL=C grep -P '[\\x00-\\x08\\x0b-\\x1f\\x7f]|\\xc2[\\x80-\\x9f]'"
same 'JSON has the name' "$("$fallsctl" map --json "$mnt/plain" "$mnt/$name" | jq '.files | length')" 2
setfattr -n user.falls.migrate -v cancel "$mnt/$name"
stop

tame 1 extract "$fallsctl" extract -o "$work/nowhere/x" "${disks[@]}" "$name"
find "$work/d1/.fallsfs/obj" -type f ! -name '*.m' -delete
tame 1 'extract of what is lost' "$fallsctl" extract -o "$work/x" "${disks[@]}" "$name"
tame 4 fsck "$fsck" -n "${disks[@]}"

# -- deeper than paths go --

make_volume 3
start -o 'layout=stripe(4K)'
long=$(printf 'x%.0s' {1..200})
(
    cd "$mnt" || exit 1
    for ((i = 0; i < 40; i++)); do
        mkdir "$long" && cd "$long" || exit 1
    done
    seq 20000 >bottom
)
ok 'what no path leads to leaves a disk, too' "$fallsctl" disk drain "$mnt" d2
stop
disks=("$work/d0" "$work/d1")
ok 'fsck looks at it' "$fsck" -n "${disks[@]}"
same 'as at all others' "$("$fsck" -n "${disks[@]}")" '1 files, 4 objects: nothing is wrong'
ok 'it can be taken out' "$fallsctl" extract -r -o "$work/copy" "${disks[@]}" /
same 'as it was' "$(find "$work/copy" -name bottom -execdir sha256sum {} + | cut -c1-64)" "$(seq 20000 | sha256sum | cut -c1-64)"
finish
