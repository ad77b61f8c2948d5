#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The examples that are whole programs do what numpy does: apps.sh FALLSFS FALLSCTL GAXPY LAPLACE
# shellcheck disable=SC2317  # functions are called by ok
# shellcheck source-path=SCRIPTDIR source=../mount/common.sh
source "$(dirname "$0")/../mount/common.sh"
gaxpy=$3
laplace=$4
beside_numpy() {
    /usr/bin/python3 "$(dirname "$0")/solvers.py" "$gaxpy" "$laplace" "$@"
}

# -- solvers --
for layout in 'stripe(4K)' 'stripe(7) disp 100'; do
    make_volume 4
    start -o "layout=$layout"
    ok "the solvers, together, on $layout" beside_numpy "$mnt" together
    stop
done
mkdir "$work/plain"
ok 'the solvers, together and directly, on a plain directory' beside_numpy "$work/plain" together direct

# -- refusals --
make_volume 2
start
head -c 4096 /dev/zero >"$mnt/A"
not 'a matrix that is too short' "$gaxpy" 64 "$mnt/A" "$mnt/A" "$mnt/C"
same 'why' "$(cat "$work/out")" "$mnt/A: has 4096 bytes, but a matrix of 64 x 64 reals has 16384"
refused 'a matrix that is not there' 'No such file or directory' "$laplace" 64 "$mnt/none" "$mnt/C"
for words in '32 A' '0 A A C' '-p 0 32 A A C' '-s 0 32 A A C' '-s 33 32 A A C' '-z 32 A A C'; do
    # shellcheck disable=SC2086  # words
    refused "gaxpy $words" usage: "$gaxpy" $words
done
for words in '32 A' '-b 0 32 A C' '-k 0 32 A C' '-p 9999 32 A C' '-p 8 -b 999999 32 A C'; do
    # shellcheck disable=SC2086  # words
    refused "laplace $words" usage: "$laplace" $words
done
truncate -s 0 "$mnt/C"
chmod 755 "$mnt"
chmod 600 "$mnt/A"
refused 'one that this user may not read' 'Permission denied' as 1000 "$gaxpy" -p 2 32 "$mnt/A" "$mnt/A" "$work/C"
stop
finish
