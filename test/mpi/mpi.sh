#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs of an MPI on the mount, with the library preloaded:
# mpi.sh FALLSFS FALLSCTL MPI MPIRUN LIBRARIES ANY CALLS COUNTER [YIELD]
# MPIRUN is fallsfs-mpirun, LIBRARIES where it has libraries from, COUNTER another library that is preloaded, and YIELD one
# that has MPICH's ranks sleep while they wait.
# shellcheck disable=SC2317  # functions are called by ok and not
# shellcheck source-path=SCRIPTDIR source=../mount/common.sh
source "$(dirname "$0")/../mount/common.sh"
mpi=$3
mpirun=$4
export FALLSFS_LIBRARIES=$5
any=$6
calls=$7
counter=$8
yield=${9-}
library=$FALLSFS_LIBRARIES/libfallsfs-$mpi.so
sanitized=
! grep -q __asan_init "$library" || sanitized=1
stacks=$(dirname "$0")/stacks
cases=${FALLSFS_MOUNT_CASES:-4}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_rmaps_base_oversubscribe=1 FALLSFS_MPI=info

# plainly N WORDS: without the library
plainly() {
    local n=$1
    shift
    if [ "$mpi" = mpich ]; then
        timeout 120 mpirun.mpich -genv LD_PRELOAD "$yield" -n "$n" "$@"
    else
        timeout 120 mpirun.openmpi -n "$n" "$@"
    fi
}

# ours N WORDS: with it
ours() {
    local n=$1
    shift
    if [ "$mpi" = mpich ]; then
        LD_PRELOAD=$yield timeout 120 "$mpirun" --mpi=mpich -n "$n" "$@"
    else
        timeout 120 "$mpirun" --mpi=openmpi -x FALLSFS_MPI -n "$n" "$@"
    fi
}

# preloaded N LIBRARIES WORDS: with these, and not by fallsfs-mpirun
preloaded() {
    local n=$1 libraries=$2
    shift 2
    if [ "$mpi" = mpich ]; then
        timeout 120 mpirun.mpich -genv LD_PRELOAD "$libraries${yield:+:$yield}" -n "$n" "$@"
    else
        timeout 120 mpirun.openmpi -x FALLSFS_MPI -x LD_PRELOAD="$libraries" -n "$n" "$@"
    fi
}

# served FILE: of the calls that a library says it has seen, groups served some
served() {
    grep -qE 'ours \(ranks ask as a group\); calls of rank 0: [1-9]' "$1"
}

# by_groups N WORDS: goes well, and groups served it
by_groups() {
    ours "$@" >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
    served "$work/said" || { cat "$work/said"; return 1; }
}

no_groups() {
    for ((i = 0; i < 100; i++)); do
        [ "$("$fallsctl" groups --raw "$mnt" | wc -l)" -le 1 ] && return 0
        sleep 0.1
    done
    "$fallsctl" groups "$mnt"
    return 1
}

# alike SEED RANKS STEPS A B: a random program is the same as A without the library and as B with it, on the mount
alike() {
    local here=$work/plain there=$mnt/any.$1.$5
    rm -rf "$here" && mkdir "$here" "$there"
    FALLSFS_SEED=$1 plainly "$2" "$any" "$3" "$here" "$work/plain.seen" "$4" >"$work/said" 2>&1 ||
        { cat "$work/said"; return 1; }
    FALLSFS_SEED=$1 ours "$2" "$any" "$3" "$there" "$work/ours.seen" "$5" >"$work/said" 2>&1 ||
        { cat "$work/said"; return 1; }
    served "$work/said" || { cat "$work/said"; return 1; }
    for ((rank = 0; rank < $2; rank++)); do
        diff "$work/plain.seen.$rank" "$work/ours.seen.$rank" || return 1
    done
    for file in whole half0 half1; do
        cmp "$here/$file" "$there/$file" || return 1
    done
}

# beside SEED: what the MPI's own files make of the tame program that alike has run last. Where they do not do as the
# standard has it, the library did better: ROMIO 4.0.2 goes on from wrong places behind some strided accesses.
beside() {
    rm -rf "$work/plain" && mkdir "$work/plain"
    FALLSFS_SEED=$1 plainly 3 "$any" 60 "$work/plain" "$work/mpi.seen" tame >"$work/said" 2>&1 ||
        { cat "$work/said"; return 1; }
    for ((rank = 0; rank < 3; rank++)); do
        diff -q "$work/mpi.seen.$rank" "$work/ours.seen.$rank" >/dev/null || {
            printf 'FALLSFS_SEED=%s: the files of %s itself differ from the standard\n' "$1" "$mpi" >&3
            return 0
        }
    done
    n_beside=$((n_beside + 1))
}

# -- random programs --
exec 3>&1
n_beside=0
make_volume 3
start -o 'layout=stripe(4K)'
first=${FALLSFS_SEED:-1}
for ((seed = first; seed < first + cases; seed++)); do
    ok "any program as the standard has it, FALLSFS_SEED=$seed" alike "$seed" $((3 + seed % 2)) 100 model wild
    ok "a tame one, FALLSFS_SEED=$seed" alike "$seed" 3 60 tame-model tame
    ok "which runs without the library, FALLSFS_SEED=$seed" beside "$seed"
done
ok "$n_beside of $cases are the same without it" test $((2 * n_beside)) -ge "$cases"
stop

# -- single things --
make_volume 3
start
n=4
if [ -n "$sanitized" ]; then # a symbolizer would be preloaded with the library; leaks are looked at below
    n=2 # who wait do not sleep
    export ASAN_OPTIONS=symbolize=0:log_path=$work/report
    LSAN_OPTIONS=suppressions=$(dirname "$0")/leaks.txt:print_suppressions=0:exitcode=0
    export LSAN_OPTIONS
else
    for what in no_memory updates; do
        ok "$what" by_groups "$n" "$calls" "$what" "$mnt/$what"
    done
fi
forms=
[ "$mpi" = openmpi ] || forms=large # Open MPI has no functions with large counts
for what in rounds irregular uneven threads opens refused_one refused_views split handlers overlaps $forms; do
    ok "$what" by_groups "$n" "$calls" "$what" "$mnt/$what"
done
if [ "$mpi" = mpich ]; then # with Open MPI's own files the ranks wait for each other for ever
    ok 'refused_open' by_groups "$n" "$calls" refused_open "$mnt/refused_open"
fi
for what in shared atomic info refused refused_mode disabled no_layout; do
    ok "$what" ours "$n" "$calls" "$what" "$mnt/$what"
done
if [ -z "$sanitized" ]; then
    export OMPI_MCA_fcoll=vulcan # which sieves
    ours 4 "$calls" sieving "$mnt/sieving" >"$work/said" 2>&1
    same 'sieving' "$?" 0
    unset OMPI_MCA_fcoll
    ok 'what the MPI moves is counted' grep -q '31 by the MPI, 557056 bytes (31 as the file is' "$work/said"
    ok 'hints that come later do not have it sieve' ours 4 "$calls" hints_later "$mnt/hints_later"
fi
ours 2 "$calls" shared "$mnt/shared" >"$work/said" 2>&1
ok 'so is what it moves at the shared pointer' grep -q ' 1 by the MPI, 1 bytes (1 at the shared pointer)' "$work/said"
same 'the layout that a hint has' "$("$fallsctl" layout get "$mnt/info" | grep -o 'stripe([^)]*)')" 'stripe(12K,2)'
ok 'one rank' ours 1 "$calls" rounds "$mnt/alone"
ok 'one rank, views that overlap' ours 1 "$calls" overlaps "$mnt/alone.again"

# hinted HINTS WORDS: strided accesses with these hints
hinted() {
    local hints=$1
    shift
    case $mpi in
    mpich) FALLSFS_TEST_HINTS=$hints ours "$n" "$@" ;;
    *) FALLSFS_TEST_HINTS=$hints ours "$n" -x FALLSFS_TEST_HINTS ${FALLSFS_TEST_ALONE:+-x FALLSFS_TEST_ALONE} "$@" ;;
    esac >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
}
ok 'hints of a layout' hinted striping_factor=2,striping_unit=8192 "$calls" hinted "$mnt/striped"
same 'are kept' "$("$fallsctl" layout get "$mnt/striped" | grep -o 'stripe([^)]*)')" 'stripe(8192,2)'
ok 'collective calls that are not to be' hinted romio_cb_read=disable,romio_cb_write=disable "$calls" hinted "$mnt/alone.by.hint"
ok 'are made alone' grep -q ' 0 by group, 0 bytes; 3 alone, .* 2 by hint' "$work/said"
ok 'of writes alone' hinted romio_cb_write=disable "$calls" hinted "$mnt/alone.by.hint"
ok 'so' grep -q ' 1 by group, 8192 bytes; 2 alone, .* 1 by hint' "$work/said"

# work_of KEY: what rounds, and what is asked for alone, have done so far
work_of() {
    jq ".collective_work.$1" "$mnt/.falls/stats.json"
}
# sieved READS WRITES: which of these the daemon sieves, with hints for each. What is in no whole page of a subfile is
# not moved in memory.
sieved() {
    local read=$1 write=$2 reread disk asked=$((8192 * n))
    reread=$(work_of reread) disk=$(work_of disk_read)
    hinted "fallsfs_layout=stripe(1000),romio_ds_read=$read,romio_ds_write=$write" "$calls" hinted "$mnt/sieved.$1.$2.${FALLSFS_TEST_ALONE-}" ||
        return 1
    reread=$(($(work_of reread) - reread)) disk=$(($(work_of disk_read) - disk - reread))
    printf '%s %s%s: %s bytes asked for, %s read, %s read to be written again\n' "$@" "${FALLSFS_TEST_ALONE:+ alone}" "$asked" "$disk" "$reread"
    case $write in enable) [ "$reread" -gt 0 ] ;; *) [ "$reread" = 0 ] ;; esac &&
        case $read in enable) [ "$disk" -gt $((2 * asked)) ] ;; *) [ "$disk" = "$asked" ] ;; esac
}
for what in 'enable disable' 'disable enable' 'enable enable' 'disable disable'; do
    # shellcheck disable=SC2086  # two words
    ok "the daemon sieves reads and writes: $what" sieved $what
    export FALLSFS_TEST_ALONE=1
    # shellcheck disable=SC2086
    ok "alone: $what" sieved $what
    unset FALLSFS_TEST_ALONE
done
# counted WORDS LIBRARIES FILE: what a counter among the libraries says of a program, for both ranks
counted() {
    preloaded 2 "$2" "$calls" rounds "$3" >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
    [ "$(grep -c "counter: $1\$" "$work/said")" = 2 ] || { cat "$work/said"; return 1; }
}
ok 'a tool before the library sees the calls' \
    counted '1 opens, 1 writes, 1 reads, 1 closes' "$counter:$library" "$mnt/stacked"
ok 'which groups serve all the same' served "$work/said"
ok 'one behind it sees those of the file' \
    counted '1 opens, 0 writes, 0 reads, 1 closes' "$library:$counter" "$mnt/stacked"
ok 'which groups serve' served "$work/said"
ok 'and all of a file elsewhere' \
    counted '1 opens, 1 writes, 1 reads, 1 closes' "$library:$counter" "$work/stacked"

# silent N WORDS: goes well, and the library says N lines
silent() {
    "${@:2}" >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
    [ "$(grep -c '^fallsfs' "$work/said")" = "$1" ] || { cat "$work/said"; return 1; }
}
ok 'not when it is switched off' silent 0 env FALLSFS_MPI=off timeout 120 "$mpirun" --mpi="$mpi" -n 2 "$calls" rounds "$mnt/off"
other=$FALLSFS_LIBRARIES/libfallsfs-mpich.so
[ "$mpi" = openmpi ] || other=$FALLSFS_LIBRARIES/libfallsfs-openmpi.so
[ -n "$sanitized" ] || [ ! -e "$other" ] || ok 'the library of the other MPI' silent 0 env LD_PRELOAD="$other" "$calls" rounds "$mnt/other"
if [ -z "$sanitized" ]; then
    ok 'a shell with the library' silent 0 env LD_PRELOAD="$library" sh -c true
fi
ours 3 "$calls" rounds "$work/elsewhere" >"$work/said" 2>&1
same 'files elsewhere' "$?" 0
ok 'are none of ours' grep -q "the MPI's (it is not a regular file on a fallsfs mount" "$work/said"
ok 'and opened as the program says' ours 2 "$calls" elsewhere "$work/elsewhere"
ok 'no group stays' no_groups
[ -z "$sanitized" ] || not 'no leak is of the library' grep -h "libfallsfs-$mpi.so" "$work"/report.*
stop

# -- traces, a single one of all ranks --
make_volume 3
start -o 'layout=stripe(4K)'
# traced DIR WORDS: with 4 ranks
traced() {
    if [ "$mpi" = mpich ]; then
        LD_PRELOAD=$yield timeout 120 "$mpirun" --mpi=mpich --trace="$1" -n 4 "${@:2}"
    else
        timeout 120 "$mpirun" --trace="$1" --mpi=openmpi -x FALLSFS_MPI -n 4 "${@:2}"
    fi >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
}
# seen FILTER TRACE: by profile
seen() {
    "$fallsctl" profile --json --disks 3 "$2" | jq -c "$1"
}
blocks='[["blocks of columns",0,4,64,32,128,32]]'
shape='[.profile.reads, .profile.writes | [.[] | [.kind, .first_rank, .processes, .pieces, .piece_bytes, .apart, .shift]]]'
for where in "$mnt" "$work"; do
    ok "a program is traced, $where" traced "$work/traced" "$calls" columns "$where/columns"
    [ "$where" = "$work" ] || ok 'and served' served "$work/said"
    same 'it is one trace of MPI' "$(seen '[.trace.mpi, .trace.mpi_ranks, .trace.dropped, .trace.cut, (.files | length)]' "$work/traced")" \
        '[true,4,0,false,1]'
    same 'all is in it' "$(seen '[.profile.bytes_read, .profile.bytes_written, .profile.accesses]' "$work/traced")" '[8192,8192,16]'
    same 'in blocks of columns' "$(seen "$shape" "$work/traced")" "[$blocks,$blocks]"
    same "of MPI's ranks" "$(seen '[.profile.ranks[].mpi_rank]' "$work/traced")" '[0,1,2,3]'
    ok 'told in words' grep -q 'rank 3   rank 3 of MPI, process [0-9]* mpi_calls' <("$fallsctl" profile --disks 3 "$work/traced")
    ok 'and advised' "$fallsctl" recommend --disks 3 "$work/traced"
    not 'a trace is not written over' traced "$work/traced" "$calls" columns "$where/columns"
    rm "$work/traced/rank.1"
    ok 'what is missing is said' grep -q 'missing    1 of 4 ranks have no part' <("$fallsctl" profile --disks 3 "$work/traced")
    same 'and the others are there' "$(seen '[.profile.ranks[].mpi_rank]' "$work/traced")" '[0,2,3]'
    rm -r "$work/traced"
done
ok 'the shared pointer' traced "$work/traced" "$calls" shared "$mnt/shared"
ok 'has no place that is known' test "$("$fallsctl" profile --json --disks 3 "$work/traced" | jq .trace.dropped)" -gt 0
mkdir "$work/again" && : >"$work/again/rank.2"
FALLSFS_MPI_TRACE=$work/again ours 4 "$calls" columns "$mnt/columns" >"$work/said" 2>&1
ok 'fallsfs-mpirun sees it' grep -q "has another run's trace" "$work/said"
if [ "$mpi" = mpich ]; then
    FALLSFS_MPI_TRACE=$work/again preloaded 4 "$library" "$calls" columns "$mnt/columns" >"$work/said" 2>&1
    same 'a rank that cannot write' "$?" 0
    ok 'says so' grep -q 'again/rank.2: File exists: this rank is not traced' "$work/said"
    refused 'and an empty part' 'has rank.2: is empty' "$fallsctl" profile "$work/again"
fi
mkdir "$work/none"
refused 'no trace' 'is a directory without a part of a trace' "$fallsctl" profile "$work/none"
stop

# -- how it is come by --
if [ -z "$sanitized" ]; then
    make_volume 3
    start
    # by FILE WORDS: groups serve a program that is run so
    by() {
        local file=$1
        shift
        timeout 120 "$@" rounds "$file" >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
        served "$work/said" || { cat "$work/said"; return 1; }
    }
    words=()
    [ "$mpi" = mpich ] || words=(-x FALLSFS_MPI)
    mkdir "$work/bin"
    here=$(dirname "$mpirun")
    # Where it looks for libraries, from where it is.
    # shellcheck disable=SC2016  # a pattern
    relative=$(sed -n 's|.*readlink -f "$0")")/\([^}]*\)}$|\1|p' "$mpirun")
    mkdir -p "$work/usr/bin" "$work/usr/bin/$relative" && cp "$mpirun" "$work/usr/bin" &&
        cp "$FALLSFS_LIBRARIES"/libfallsfs-*.so "$work/usr/bin/$relative"
    ln -s ../usr/bin/fallsfs-mpirun "$work/bin/mpi"
    ok 'by what the program needs' by "$mnt/detected" "$here/fallsfs-mpirun" "${words[@]}" -n 2 "$calls"
    ok 'installed' by "$mnt/installed" env -u FALLSFS_LIBRARIES "$work/usr/bin/fallsfs-mpirun" "${words[@]}" -n 2 "$calls"
    ok 'through a symbolic link' by "$mnt/link" env -u FALLSFS_LIBRARIES "$work/bin/mpi" "${words[@]}" -n 2 "$calls"
    # shellcheck disable=SC2046  # flags are words
    ok 'builds a program that is linked with it' "mpicc.$mpi" -D_GNU_SOURCE -I"$(dirname "$0")/../.." "$(dirname "$0")/calls.c" \
        "$(dirname "$0")/forms.c" -Wl,--no-as-needed "$library" -Wl,-rpath,"$FALLSFS_LIBRARIES" -o "$work/linked"
    ok 'which needs no preload' by "$mnt/linked" "mpirun.$mpi" "${words[@]}" -n 2 "$work/linked"
    stop
fi

# -- limits --
make_volume 2
printf 'limits = { groups = 2; };' >"$work/conf" # root has four times as many
start -c "$work/conf"
ours 2 "$calls" many "$mnt/many" >"$work/said" 2>&1
same 'no group to be had: all ranks are told' "$?" 0
ok 'in words' grep -q "the MPI's (a group cannot be had: .*limits.groups" "$work/said"
stop

# -- memory --
if [ -n "${FALLSFS_FULL:-}" ] && [ -z "$sanitized" ]; then
    make_volume 3
    start
    for what in rounds irregular updates; do
        ok "$what, with valgrind" ours 2 valgrind -q --leak-check=full --log-file="$work/valgrind.$what.%p" \
            "$calls" "$what" "$mnt/$what"
    done
    ok 'which has written of each rank' test "$(find "$work" -name 'valgrind.*' | wc -l)" -ge 6
    ours_in=$(cd "$(dirname "$0")/../../ioctl" && find mpi client . -maxdepth 1 -name '*.c' -printf '%f\n' | sed 's/[.]c$//' | grep -vx calls | sort -u | paste -sd'|')
    not 'nothing of it is ours' grep -hE "\((in .*libfallsfs|($ours_in)\.c:)" "$work"/valgrind.*
    stop
fi

# -- lists that there is no room for are asked for part by part --
make_volume 2
printf 'limits = { description_memory = "64K"; };' >"$work/conf"
start -c "$work/conf"
for what in irregular uneven; do
    ok "little room: $what" by_groups 4 "$calls" "$what" "$mnt/$what"
done
stop

# -- death --
make_volume 3
start
ours 4 "$calls" killed "$mnt/killed" >"$work/said" 2>&1
status=$?
ok "a rank is killed: the job ends, with $status" test "$status" != 0 -a "$status" != 124
ok 'and nothing stays' no_groups
ours 3 "$calls" deserted "$mnt/deserted" >"$work/said" 2>&1 &
job=$!
for ((i = 0; i < 600; i++)); do
    grep -q begun "$work/said" && break
    sleep 0.1
done
before=$(date +%s%3N)
kill -9 "$daemon"
wait "$job"
wait "$daemon" 2>/dev/null
told=$(sed -n 's/.*MPI_ERR_IO at //p' "$work/said" | sort -n)
same 'a daemon is killed: all ranks are told' "$(wc -w <<<"$told")" 3
took=$(($(tail -n 1 <<<"$told") - before))
printf 'the last one after %s ms\n' "$took"
# It takes some ten; a busy machine lets those who are told wait until it is their turn.
ok "in time, $took ms" test "$took" -lt 2000
unmount_one
daemon=

# -- stacks --
make_volume 3
start
compiler=mpicc.$mpi
fortran=mpif90.$mpi
for kind in mpif use f08; do
    ok "builds $kind" "$fortran" -fallow-argument-mismatch "$stacks/$kind.f90" -J "$work" -o "$work/$kind"
    ok "Fortran, $kind" by_groups 3 "$work/$kind" "$mnt/$kind"
done
if [ "$mpi" = mpich ]; then
    # shellcheck disable=SC2046  # flags are words
    ok 'builds HDF5 in C' "$compiler" "$stacks/hdf5.c" $(pkg-config --cflags --libs hdf5-mpich) -o "$work/hdf5c"
    ok 'HDF5 in C' by_groups 3 "$work/hdf5c" "$mnt/c.h5"
    ok 'builds HDF5 in Fortran' h5pfc.mpich "$stacks/hdf5.f90" -o "$work/hdf5f"
    ok 'HDF5 in Fortran' by_groups 3 "$work/hdf5f" "$mnt/f.h5"
else
    netcdf=$(pkg-config --variable=prefix netcdf-mpi)
    ok 'builds netCDF' "$compiler" "$stacks/netcdf.c" -I"$netcdf/include" -lnetcdf_mpi -o "$work/netcdf"
    ok 'netCDF-4' by_groups 3 "$work/netcdf" "$mnt/n.nc"
    ok 'builds PnetCDF' "$compiler" "$stacks/pnetcdf.c" -lpnetcdf -o "$work/pnetcdf"
    ok 'PnetCDF' by_groups 3 "$work/pnetcdf" "$mnt/p.nc"
    ok 'mpi4py' by_groups 3 /usr/bin/python3 "$stacks/arrays.py" "$mnt/arrays"
    ok 'h5py' by_groups 3 /usr/bin/python3 "$stacks/hyperslabs.py" "$mnt/hyperslabs.h5"
fi
stop
finish
