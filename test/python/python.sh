#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Python's fallsfs on a mount and off it: python.sh FALLSFS FALLSCTL LIBRARY STRUCTS
# STRUCTS prints what the compiler makes of the structures. A word, as in only=test_group, runs one of the modules.
# shellcheck disable=SC2317  # functions are called by ok
# shellcheck source-path=SCRIPTDIR source=../mount/common.sh
source "$(dirname "$0")/../mount/common.sh"
export FALLSFS_LIBRARY=$3 FALLSFS_TEST_STRUCTS=$4
here=$(realpath "$(dirname "$0")")
package=$(realpath "$here/../../ioctl/client/python")
python=/usr/bin/python3 # whose numpy is Debian's

export PYTHONPATH=$package:$here PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=error
export FALLSFS_TEST_MOUNT=$mnt FALLSFS_TEST_PLAIN=$work/plain
mkdir "$work/plain"
make_volume 4
start -o 'layout=stripe(4K)'

# tests MODULE: all of them go well
tests() {
    cd "$here" && timeout 3000 "$python" -W error -m unittest "$1" 2>&1
}

# -- structs --
ok 'structures are those of the headers' tests test_structs

# -- index --
ok 'indexes are those of numpy' tests test_index

# -- array --
ok 'arrays and their files' tests test_array

# -- group --
ok 'groups' tests test_group

# -- ticket --
ok 'tickets' tests test_ticket

# -- signals --
ok 'handlers of signals that raise' tests test_signals

# -- slabs --
ok 'slabs' tests test_slabs

# -- examples --
ok 'examples' tests test_examples

# -- docs --
ok 'what is shown happens' tests test_docs

# -- mpi4py --
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_rmaps_base_oversubscribe=1
if command -v mpirun.openmpi >/dev/null && "$python" -c 'import mpi4py' 2>"$work/err"; then
    ok 'the group of a communicator' timeout 100 mpirun.openmpi -n 3 "$python" "$here/mpi.py" "$mnt/of_mpi"
fi

# -- without the library --
not 'no library' env FALLSFS_LIBRARY=/nowhere/libfallsfs.so "$python" -c 'import fallsfs'
cp "$work/out" "$work/why"
ok 'it is said what is missing' grep -q 'fallsfs needs its C library, /nowhere/libfallsfs.so' "$work/why"

# -- types, of which mypy learns in half a minute --
if [ -n "${FALLSFS_FULL:-}" ] && "$python" -m mypy --version >"$work/out" 2>&1; then
    ok 'types are what they are said to be' "$python" -m mypy --strict --cache-dir "$work/mypy" "$package/fallsfs"
fi

stop
finish
