#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What fallsctl array set reads from headers that numpy, netCDF and h5py have written:
# test_array.sh FALLSCTL FALLSCTL-HDF5, the latter as it may be there or not
set -uo pipefail

fallsctl=$(realpath "$1") hdf5=$2
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
failed=0
trap 'rm -rf "$work"' EXIT
cp "$here"/../fuzz/corpus/header/*.n* "$here"/hdf5/* "$work" && cd "$work" || exit 1

complain() {
    printf '%s\n' "$1"
    failed=1
}

# says WORD TEXT: that is what it holds
says() {
    local got
    got=$("$fallsctl" array set -n "$1" 2>&1)
    [ "$got" = "would set ${1%%:*}: $2" ] || complain "$1: it says '$got', and should '$2'"
}

# notes WORD TEXT GLOB: that is what it holds, and on standard error what of it cannot be noted
notes() {
    local got why
    got=$("$fallsctl" array set -n "$1" 2>err)
    why=$(cat err)
    [ "$got" = "would set $1: $2" ] || complain "$1: it says '$got', and should '$2'"
    # shellcheck disable=SC2053  # globs are meant
    [[ $why == "$1: note: "$3 ]] || complain "$1: it notes '$why', and should '$3'"
}

# refused WORD GLOB: it holds nothing that could be said, and why
refused() {
    local got status
    got=$("$fallsctl" array set -n "$1" 2>&1)
    status=$?
    # shellcheck disable=SC2053  # globs are meant
    [[ $status:$got == "1:$1: "$2 ]] || complain "$1: it says '$got' ($status), and should '$2'"
}

# value WORD TYPE-OF-OD BYTE-ORDER EXPECTED: the third element that is found there
value() {
    local text off elem got
    text=$("$fallsctl" array set -n "$1")
    off=${text##*header=} elem=${text##*elem=} elem=${elem%% *}
    got=$(od -A n -t "$2" --endian="$3" -j $((off + 2 * elem)) -N "$elem" "${1%%:*}" | tr -d ' ')
    [ "$got" = "$4" ] || complain "$1: its third element is '$got', and should be '$4'"
}

# -- .npy --
says rows.npy 'shape=3x4 elem=8 type=<f8 order=row header=128'
says columns-big.npy 'shape=3x4 elem=2 type=>i2 order=col header=128'
says version-2.npy 'shape=3 elem=8 type=<c8 order=row header=128'
notes version-3.npy 'shape=2 elem=4 order=row header=128' '*structures*'
notes structure.npy 'shape=5 elem=48 order=row header=192' '*structures*their fields stay in its header*'
refused number.npy 'it has no dimensions, which cannot be noted: *'
says times.npy 'shape=3 elem=8 type=<M8[25us] order=row header=128'
value rows.npy fD little 2
value columns-big.npy d2 big 8
refused objects.npy '*objects of Python, which are pickled*'
refused nothing.npy 'it has no elements: a dimension is 0'
refused no-bytes.npy 'its elements have no bytes'
refused many-dimensions.npy '*more than 16 dimensions'
refused rows.npy:x 'a .npy file has one array, without a name'

# npy VERSION TEXT: a file x.npy with that dictionary
npy() {
    printf '\x93NUMPY%b%b\0%s' "$1" "\\x$(printf %02x ${#2})" "$2" >x.npy
}
npy '\1\0' "{'shape': (2L, 3L), \"fortran_order\":True,'descr':'|u1'}"
says x.npy 'shape=2x3 elem=1 type=|u1 order=col header=65'
npy '\4\0' "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}"
refused x.npy 'it is of version 4.0 of .npy*'
npy '\1\0' "{'descr': '|u1', 'fortran_order': False}"
refused x.npy '*lacks one of*'
npy '\1\0' "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), 'shape': (2,)}"
refused x.npy '*other keys*'
npy '\1\0' "{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999,)}"
refused x.npy 'the array reaches past byte 2^62'
npy '\1\0' "{'descr': '|u1', 'fortran_order': False, 'shape': (-1,)}"
refused x.npy '*no tuple of numbers'
npy '\1\0' "{'descr': 'nonsense', 'fortran_order': False, 'shape': (1,)}"
refused x.npy "*none of numpy's"
for type in '<f3' zz '<i16' '<f8[ns]' '<M8[x]' '|O'; do
    npy '\1\0' "{'descr': '$type', 'fortran_order': False, 'shape': (1,)}"
    refused x.npy 'its .npy header *'
done
npy '\1\0' "{'descr': '|V12', 'fortran_order': False, 'shape': (2,)}"
says x.npy 'shape=2 elem=12 type=|V12 order=row header=66'
npy '\1\0' "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)} and more"
refused x.npy '*goes on behind*'
head -c 100 rows.npy >x.npy
refused x.npy 'its .npy header is cut off'

# -- netCDF --
says classic.nc:field 'shape=3x5 elem=8 type=>f8 order=row header=472'
says offset-64.nc:field 'shape=3x5 elem=8 type=>f8 order=row header=496'
says data-64.nc 'shape=5x3 elem=8 type=>u8 order=row header=184'
says classic.nc:name 'shape=5 elem=1 type=S1 order=row header=592'
says classic.nc:b 'shape=5 elem=1 type=i1 order=row header=604'
says classic.nc:scalar 'shape=1 elem=4 type=>i4 order=row header=600'
value classic.nc:field fD big 2
value offset-64.nc:field fD big 2
value data-64.nc u8 big 2
value classic.nc:lat fF big 3
refused classic.nc:temp 'temp is a record variable: its records lie apart*nccopy -u*'
refused classic.nc 'it has several arrays, say which, as FILE:NAME: lat, field, temp, name, scalar, b'
refused classic.nc:nix 'it has no variable of that name, but lat, field, temp, name, scalar, b'
head -c 300 classic.nc >x.nc
refused x.nc:field 'its netCDF header is cut off'
# netcdf BEGIN SIZE: a file x.nc with a variable of SIZE by 4 bytes from there on; both in 4 bytes, as printf has them
netcdf() {
    local name='\0\0\0\1' none='\0\0\0\0\0\0\0\0'
    printf '%b' "CDF\1\0\0\0\0" "\0\0\0\012\0\0\0\2${name}x\0\0\0$2${name}y\0\0\0\0\0\0\4" \
        "$none\0\0\0\013\0\0\0\1${name}v\0\0\0\0\0\0\2\0\0\0\0\0\0\0\1" \
        "$none\0\0\0\1\0\0\0\014$1" >x.nc
}
netcdf '\0\0\0\144' '\0\0\0\3'
says x.nc 'shape=3x4 elem=1 type=i1 order=row header=100'
netcdf '\0\0\0\144' '\0377\0377\0377\0375'
refused x.nc 'its netCDF header has a negative size or place'
netcdf '\0377\0377\0377\0373' '\0\0\0\3'
refused x.nc 'its netCDF header has a negative size or place'
netcdf '\0\0\0\0' '\0\0\0\3'
refused x.nc 'its netCDF header has an array begin within itself'
netcdf '\0\0\0\137' '\0\0\0\3'
refused x.nc 'its netCDF header has an array begin within itself'
printf 'CDF\3' >x.nc
refused x.nc 'it is of version 3 of netCDF*'

# -- HDF5 --
if [ -x "$hdf5" ]; then
    says one.h5 'shape=2x3x4 elem=8 type=<f8 order=row header=2048'
    says one.h5:/g/u 'shape=2x3x4 elem=8 type=<f8 order=row header=2048'
    value one.h5 fD little 2
    value many.h5:u fF big 2 # behind a block of a user's own
    says many.h5:u 'shape=2x3x4 elem=4 type=>f4 order=row header=2560'
    says many.h5:c 'shape=3 elem=16 type=<c16 order=row header=2656'
    says many.h5:st 'shape=4 elem=12 type=|V12 order=row header=2736'
    says many.h5:num 'shape=1 elem=1 type=|u1 order=row header=2784'
    says many.h5:fix 'shape=2 elem=3 type=|S3 order=row header=2785'
    refused many.h5 'it has several arrays, say which, as FILE:NAME: c, *'
    refused many.h5:nix 'it has no dataset of that name'
    refused many.h5:k 'it is chunked: *h5repack*'
    refused many.h5:zip 'it is compressed, or filtered*h5repack*'
    refused many.h5:compact 'it is kept within*'
    refused many.h5:later 'it has no place in the file yet*'
    refused many.h5:s 'it has texts of varying length*'
    refused many.h5:null 'it has no elements'
    head -c 1500 one.h5 >x.h5
    refused x.h5 '*'
else
    refused one.h5 'it is an HDF5 file, and fallsfs was built without libhdf5'
fi

# -- which file is meant: the longest word before a colon that is one --
cp rows.npy a:b
cp classic.nc a:b:c
cp classic.nc a
for word in 'a:b=3x4' 'a:b:c:lat=3' 'a:field=3x5'; do
    got=$("$fallsctl" array set -n "${word%=*}" 2>&1)
    [[ $got == *": shape=${word#*=} "* ]] || complain "${word%=*}: it says $got"
done
refused nowhere:x 'No such file or directory'
refused . 'is no regular file'
refused /dev/null 'is no regular file'
printf 'x' >x
refused x 'has no header that is known: *'

# -- as JSON; and several, of which some fail --
got=$("$fallsctl" array set -n --json rows.npy nowhere 2>/dev/null | jq -c '.files[] | [.file, .array, .done, .error]')
[ "$got" = '["rows.npy","shape=3x4 elem=8 type=<f8 order=row header=128",false,null]
["nowhere",null,null,"No such file or directory"]' ] || complain "as JSON: $got"
"$fallsctl" array set -n rows.npy nowhere >/dev/null 2>&1
[ $? = 3 ] || complain 'some fail: it ends with 3'
exit "$failed"
