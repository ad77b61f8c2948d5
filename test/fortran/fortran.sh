#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Fortran programs, built with what is installed as a stranger would: fortran.sh FALLSFS FALLSCTL BUILD-DIR COMPILER
# shellcheck disable=SC2317  # functions are called by ok and not
# shellcheck source-path=SCRIPTDIR source=../mount/common.sh
source "$(dirname "$0")/../mount/common.sh"
build=$3
compiler=$4
here=$(realpath "$(dirname "$0")")
cd "$work" || exit 1

cmake --install "$build" --prefix "$work/usr" >/dev/null || die 'it cannot be installed'
lib=$(dirname "$(find "$work/usr" -name libfallsfs-fortran.a)")
export PKG_CONFIG_PATH=$lib/pkgconfig LD_LIBRARY_PATH=$lib
read -ra flags < <(pkg-config --cflags --libs fallsfs-fortran)

compile() {
    local source=$1 program=$2
    shift 2
    "$compiler" -Wall -Wextra -Wno-compare-reals -Wno-maybe-uninitialized -Wno-uninitialized -Werror -g -fcheck=all,no-array-temps "$source" "$@" "${flags[@]}" -o "$program"
}
ok 'the example' compile "$work"/usr/share/doc/fallsfs/example.f90 example
ok 'the other example' compile "$work"/usr/share/doc/fallsfs/plate.f90 plate
ok 'what that has to make' compile "$here/plate.f90" heat
mkdir other
sources=$work/usr/include/fallsfs/fortran
for program in checks slabs passion together; do
    ok "$program" compile "$here/expecting.f90" "$program" "$here/$program.f90"
    ok "$program, with the modules by their sources, for another compiler" compile "$sources/fallsfs_words.f90" \
        "other/$program" -J other "$sources"/{fallsfs_arrays,fallsfs,fallsfs_slabs,passion}.f90 "$here"/{expecting,"$program"}.f90
done

make_volume 3
start -o 'layout=stripe(4K)'
for program in {.,other}/{checks,slabs,passion}; do
    mkdir -p "$mnt/$program.d"
    ok "$program" timeout 100 "$program" "$mnt/$program.d"
done
mkdir plain
ok 'slabs on no mount' timeout 100 ./slabs plain
ok 'PASSION on no mount' timeout 100 ./passion plain

# ranks N COMMAND...: so many processes of it, each of which is told its rank
ranks() {
    local n=$1 rank failed=0 pids=() pid
    export FALLSFS_SIZE=$1 FALLSFS_TOKEN
    FALLSFS_TOKEN=$(od -A n -t x1 -N 16 /dev/urandom | tr -d ' \n')
    shift
    for ((rank = 0; rank < n; rank++)); do
        FALLSFS_RANK=$rank timeout 100 "$@" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || failed=1
    done
    return "$failed"
}
in_phases() {
    local program=$1 directory=$2 where=$3 phase
    mkdir "$directory"
    for phase in 1:make 3:walk 3:gather 3:scatter 1:check; do
        ok "$program $phase $where" ranks "${phase%:*}" "$program" "$directory" "${phase#*:}" "$where"
    done
}
for program in {.,other}/together; do
    in_phases "$program" "$mnt/${program%/*}.together" mounted
done
in_phases ./together plain/together plain
ok 'the example runs' timeout 100 ./example "$mnt/matrix" 4
same 'what it says' "$(sort "$work/out")" 'rank 0: columns 1 to 256 are right
rank 1: columns 257 to 512 are right
rank 2: columns 513 to 768 are right
rank 3: columns 769 to 1024 are right'
same 'and what the file has' "$(od -A n -t f8 -j $((8 * (1024 * 2 + 4))) -N 8 "$mnt/matrix" | tr -d ' ')" 5123
# rows, columns, steps, processes; the last plate does not fit into their memory
for words in '40 30 3 1' '40 30 4 3' '7 3 2 5' '5000 5000 1 2'; do
    read -r rows columns steps ranks <<<"$words"
    case $((steps % 2)) in 0) suffix= ;; *) suffix=.next ;; esac
    for directory in "$mnt" plain; do
        ok "a plate $words" timeout 100 ./plate "$directory/plate" "$rows" "$columns" "$steps" "$ranks"
        same 'where it is' "$(cat "$work/out")" "$steps steps by $ranks processes: it is in $directory/plate$suffix"
        ok 'and what' ./heat "$directory/plate$suffix" "$rows" "$columns" "$steps"
        rm "$directory"/plate*
    done
done
refused 'no plate' 'usage: plate' ./plate "$mnt/plate" 2 2 1 1
not 'without ierr a program ends' timeout 100 ./example "$work/nowhere/matrix" 1
same 'and says why' "$(head -n 1 "$work/out")" "fallsfs: $work/nowhere/matrix: No such file or directory"
stop
finish
