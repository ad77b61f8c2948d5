# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by mount.sh: libfuse's own pass-through, from the source package of the distribution. Nothing of it is kept in
# the tree; it is made below build/.

# Lists of source packages made from the machine's own lists of packages: nothing of the machine changes.
source_lists() {
    local dir=$1 from
    mkdir -p "$dir/parts" "$dir/lists/partial"
    for from in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ ! -f "$from" ] || sed -n -E 's/^deb[[:space:]]/deb-src /p' "$from" >"$dir/parts/$(basename "$from" .list).list"
    done
    for from in /etc/apt/sources.list.d/*.sources; do
        [ ! -f "$from" ] || sed -E 's/^Types:.*/Types: deb-src/' "$from" >"$dir/parts/$(basename "$from")"
    done
    cat >"$dir/apt.conf" <<END
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$dir/parts";
Dir::State::lists "$dir/lists";
APT::Sandbox::User "root";
END
}

# passthrough DIR: leaves DIR/passthrough_hp, and DIR/passthrough_hp_direct, which opens every file with direct_io as
# later versions of it do when told --direct-io.
passthrough() {
    local dir=$1 log=$1/log
    [ ! -x "$dir/passthrough_hp_direct" ] || return 0
    printf 'fetching the source of libfuse for its pass-through\n'
    rm -rf "$dir"
    mkdir -p "$dir/src"
    source_lists "$dir"
    # Lists of others than the distribution may have no sources: what counts is that the package comes.
    (cd "$dir" && { APT_CONFIG=$dir/apt.conf apt-get update || true; } &&
        APT_CONFIG=$dir/apt.conf apt-get source --download-only fuse3) >"$log" 2>&1 ||
        { tail -n 20 "$log" >&2; die "the source of fuse3 cannot be had; the lines above say why"; }
    tar -xf "$dir"/fuse3_*.orig.tar.* -C "$dir/src" --strip-components=1 --wildcards '*/example/passthrough_hp.cc' \
        '*/example/cxxopts.hpp' 2>>"$log" || tar -xf "$dir"/fuse3_*.orig.tar.xz -C "$dir/src" --strip-components=1
    printf '#define HAVE_UTIMENSAT 1\n#define HAVE_SETXATTR 1\n#define HAVE_COPY_FILE_RANGE 1\n' >"$dir/src/config.h"
    sed 's/fi->fh = fd;/fi->fh = fd; fi->direct_io = 1;/' "$dir/src/example/passthrough_hp.cc" \
        >"$dir/src/example/passthrough_hp_direct.cc"
    [ "$(grep -c 'direct_io = 1' "$dir/src/example/passthrough_hp_direct.cc")" -eq 2 ] ||
        die "this pass-through opens files in a way that is not known"
    local program
    for program in passthrough_hp passthrough_hp_direct; do
        # shellcheck disable=SC2046  # a list of flags
        g++ -O2 -D_FILE_OFFSET_BITS=64 -I"$dir/src" $(pkg-config --cflags fuse3) "$dir/src/example/$program.cc" \
            -o "$dir/$program" $(pkg-config --libs fuse3) -pthread >>"$log" 2>&1 ||
            { tail -n 20 "$log" >&2; die "$program does not compile; the lines above say why"; }
    done
}
