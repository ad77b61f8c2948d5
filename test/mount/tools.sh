#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Everyday programs on the mount: tools.sh FALLSFS FALLSCTL
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
source "$(dirname "$0")/common.sh"

# A tree with a bit of everything, in $1.
make_tree() {
    mkdir -p "$1/sub/deep er" "$1/empty"
    seq 50000 >"$1/numbers"
    head -c 3000000 /dev/urandom >"$1/sub/random"
    : >"$1/sub/nothing"
    truncate -s 20M "$1/sub/sparse"
    printf 'end' >>"$1/sub/sparse"
    printf 'odd' >"$1/sub/deep er/na	me"
    ln "$1/numbers" "$1/sub/hard link"
    ln -s ../numbers "$1/sub/soft link"
    mkfifo "$1/sub/pipe"
    chmod 640 "$1/numbers"
    chmod 2755 "$1/sub"
    chown -R 1000:1000 "$1/sub/deep er"
    setfattr -n user.note -v 'a note' "$1/numbers"
    setfacl -m u:1000:rw "$1/sub/random"
    setfacl -d -m g:2000:rx "$1/sub"
    touch -d '2001-02-03 04:05:06.789' "$1/sub/nothing" "$1/empty"
}

# What there is to know about a tree, but for inode numbers, blocks and ctime.
know() (
    cd "$1" || exit 1
    find . -printf '%p %y %m %U %G %n %T@ %l\n' | sort
    find . -type f -printf '%p %s\n' | sort
    find . -type f -print0 | sort -z | xargs -0 sha256sum
    getfattr -R -d -m - . 2>/dev/null | grep -v '^user.falls'
    getfacl -R . 2>/dev/null
)

make_volume 3
start -o 'layout=stripe(64K)'
src=$work/src
make_tree "$src"
know "$src" >"$work/src.known"

copies_of() {
    ok "$1 worked" test -d "$2"
    same "$1 copied everything" "$(know "$2" | diff - "$work/src.known" | head -10)" ''
}

# -- cp, rsync, tar --
ok 'cp -a' cp -a "$src" "$mnt/cp"
copies_of 'cp -a' "$mnt/cp"
ok 'cp -a back' cp -a "$mnt/cp" "$work/back"
copies_of 'cp -a back' "$work/back"
sleep 1.1 # rsync takes times of the same second for equal
ok 'rsync' rsync -aHAX "$src/" "$mnt/rsync/"
copies_of 'rsync' "$mnt/rsync"
same 'rsync has nothing left to do' "$(rsync -aHAXi "$src/" "$mnt/rsync/")" ''
same 'nor has it with checksums, from the mount' "$(rsync -aHAXic "$mnt/rsync/" "$work/back/")" ''
ok 'tar' tar --xattrs --acls -C "$mnt/cp" -cf "$mnt/all.tar" .
mkdir "$mnt/untar"
ok 'untar' tar --xattrs --acls -C "$mnt/untar" -xpf "$mnt/all.tar"
copies_of 'tar' "$mnt/untar"
ok 'tar sees no change while it reads' tar -C "$mnt" -cf "$work/again.tar" cp rsync untar
ok 'diff -r' sh -c "rm '$mnt'/*/sub/pipe && diff -r '$mnt/cp' '$mnt/untar' && diff -r '$mnt/cp' '$mnt/rsync'"

# -- git --
use_git() (
    cd "$mnt" || exit 1
    set -e
    export HOME=$work GIT_CONFIG_GLOBAL=$work/gitconfig
    git config --global user.email a@b.c
    git config --global user.name Nobody
    git config --global safe.directory '*'
    git init -q repository
    cd repository
    cp ../cp/numbers ../cp/sub/random .
    for i in 1 2 3 4 5; do
        echo "$i" >>numbers
        git add .
        git commit -qm "change $i"
    done
    [ -z "$(git status --porcelain)" ]
    git gc -q
    git checkout -q -b branch HEAD~2
    echo more >file
    git add file
    git commit -qm branch
    git merge -q -m merge master 2>/dev/null || git merge -q -m merge main
    git fsck --full --strict
    cd ..
    git clone -q repository clone
    git -C clone fsck
    [ "$(git -C clone rev-parse HEAD)" = "$(git -C repository rev-parse HEAD)" ]
    git -C repository worktree add -q ../worktree HEAD~1
)
ok 'git' use_git

# -- sqlite --
database=$mnt/base.db
sql() {
    sqlite3 "$database" "$1"
}
for mode in delete wal; do
    ok "sqlite, $mode" sql "pragma journal_mode=$mode; create table t_$mode(i integer primary key, t text);
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
        insert into t_$mode select i, hex(randomblob(20)) from n;"
    for ((i = 0; i < 1000; i++)); do
        echo "begin; insert into t_$mode(t) values($i); update t_$mode set t = $i where i = $i; commit;"
    done >"$work/sql"
    sqlite3 "$database" <"$work/sql" >/dev/null 2>&1 &
    writer=$!
    sleep 0.3
    { kill -9 "$writer" && wait "$writer"; } 2>/dev/null
    same "sqlite is whole after a kill, $mode" "$(sql 'pragma integrity_check;')" ok
    same "committed rows are there, $mode" "$(sql "select count(*) >= 20000 from t_$mode;")" 1
done
two_writers() {
    for i in 1 2; do
        (for ((j = 0; j < 50; j++)); do echo ".timeout 20000
insert into t_wal(t) values('$i $j');"; done | sqlite3 "$database") &
    done
    wait -n && wait -n
}
before=$(sql 'select count(*) from t_wal;')
two_writers || fail 'two sqlites at once'
same 'two sqlites at once' "$(sql 'select count(*) from t_wal;')" $((before + 100))

# -- building --
mkdir "$mnt/build"
for ((i = 0; i < 20; i++)); do
    echo "int f$i(int x); int f$i(int x) { return x + $i; }" >"$mnt/build/f$i.c"
done
{
    for ((i = 0; i < 20; i++)); do echo "int f$i(int);"; done
    echo 'int main(void) { return f3(f4(0)) == 7 ? 0 : 1; }'
} >"$mnt/build/main.c"
cat >"$mnt/build/Makefile" <<'EOT'
objects = $(patsubst %.c,%.o,$(wildcard *.c))
program: $(objects)
	$(CC) -o $@ $^
EOT
ok 'make -j' make -s -j 4 -C "$mnt/build"
ok 'the program runs' "$mnt/build/program"
same 'make has nothing left to do' "$(make -C "$mnt/build" -q && echo up to date)" "up to date"
sleep 0.02
touch "$mnt/build/f7.c"
same 'make sees what is newer' "$(make -C "$mnt/build" | grep -c '^cc .* -c ')" 1

# -- editors --
seq 10000 >"$mnt/text"
ok 'sed -i' sed -i 's/^5/five/' "$mnt/text"
same 'sed changed it' "$(sed -n 5p "$mnt/text")" five
ok 'vim' vim -u NONE -es -c '%s/^7$/seven/' -c 'wq' "$mnt/text"
same 'vim changed it' "$(sed -n 7p "$mnt/text")" seven
ok 'sort -o' sort -n -o "$mnt/text" "$mnt/text"

# -- dd, truncate, shred, find --
# needs: editors
# needs: cp, rsync
ok 'dd conv=fsync' dd if="$src/sub/random" of="$mnt/dd" bs=70000 conv=fsync
ok 'dd wrote it' cmp "$src/sub/random" "$mnt/dd"
ok 'dd oflag=direct' dd if=/dev/zero of="$mnt/direct" bs=1M count=8 oflag=direct
ok 'dd iflag=direct' dd if="$mnt/direct" of=/dev/null bs=64K iflag=direct
ok 'dd oflag=append' dd if="$src/sub/random" of="$mnt/direct" bs=1M oflag=append conv=notrunc
same 'its size' "$(stat -c %s "$mnt/direct")" $((8 * 1048576 + 3000000))
ok 'dd seek' dd if="$src/sub/random" of="$mnt/dd" bs=1 seek=1000000 count=3 conv=notrunc
ok 'truncate' truncate -s 1T "$mnt/huge"
same 'of that size' "$(stat -c %s "$mnt/huge")" $((1 << 40))
same 'and of no blocks' "$(($(stat -c %b "$mnt/huge") < 100))" 1
ok 'cp --sparse' cp --sparse=always "$mnt/cp/sub/sparse" "$mnt/sparse"
same 'stays sparse' "$(($(stat -c %b "$mnt/sparse") * 512 < 2000000))" 1
ok 'shred' shred -n 1 -u "$mnt/dd"
touch "$mnt/old"
sleep 0.02
touch "$mnt/new"
same 'find -newer' "$(cd "$mnt" && find . -maxdepth 1 -type f -newer old)" ./new
ok 'find -size, -empty, -perm' sh -c "[ \$(find '$mnt/cp' -type f -empty -size 0 -perm 644 | wc -l) = 1 ]"
same 'du counts blocks' "$(($(du -sk "$mnt/cp/sub/random" | cut -f1) >= 2929))" 1
same 'du --apparent-size' "$(du -b "$mnt/cp/sub/random" | cut -f1)" 3000000
same 'df knows the mount' "$(df --output=fstype "$mnt" | tail -1)" fuse.fallsfs
same 'df has room' "$(($(df --output=avail "$mnt" | tail -1) > 100000))" 1
ok 'stat -f, df -i' sh -c "stat -f '$mnt' && df -i '$mnt'"
ok 'gzip' sh -c "gzip -k '$mnt/text' && zcat '$mnt/text.gz' | cmp - '$mnt/text'"

# -- python: mapped files, locks, temporary files --
cat >"$work/locks.py" <<'EOT'
import fcntl, mmap, multiprocessing, os, sys, tempfile
os.chdir(sys.argv[1])

with open("mapped", "wb+") as f:
    f.truncate(1 << 20)
    with mmap.mmap(f.fileno(), 0) as m:
        m[100000:100005] = b"hello"
        m.flush()
        assert m.find(b"hello") == 100000
    f.seek(100000)
    assert f.read(5) == b"hello"

def add(how, n):
    for _ in range(n):
        with open("counter", "r+") as f:
            how(f, fcntl.LOCK_EX)
            i = int(f.read())
            f.seek(0)
            f.write(str(i + 1))
            f.flush()
            how(f, fcntl.LOCK_UN)

for how in fcntl.flock, fcntl.lockf:
    with open("counter", "w") as f:
        f.write("0")
    workers = [multiprocessing.Process(target=add, args=(how, 100)) for _ in range(4)]
    for w in workers: w.start()
    for w in workers: w.join()
    assert open("counter").read() == "400", open("counter").read()

with tempfile.NamedTemporaryFile(dir=".") as f:
    f.write(b"x" * 100000)
    f.flush()
    assert os.stat(f.name).st_size == 100000
with tempfile.TemporaryFile(dir=".") as f:
    f.write(b"y" * 100000)
    f.seek(0)
    assert f.read() == b"y" * 100000
os.replace("counter", "mapped")
EOT
ok 'python' python3 "$work/locks.py" "$mnt"

# -- a large directory that changes while it is listed --
cat >"$work/large.py" <<'EOT'
import multiprocessing, os, sys, time
os.chdir(sys.argv[1])
N = int(sys.argv[2])
os.mkdir("large")

def meddle(stop):
    i = 0
    while not stop.is_set():
        open(f"large/extra{i}", "w").close()
        if i >= 50:
            os.unlink(f"large/extra{i - 50}")
        i += 1

for i in range(N):
    os.close(os.open(f"large/stays{i}", os.O_CREAT | os.O_WRONLY))
stop = multiprocessing.Event()
meddler = multiprocessing.Process(target=meddle, args=(stop,))
meddler.start()
for _ in range(3):
    names = os.listdir("large")
    assert len(names) == len(set(names)), "listed twice"
    assert sum(n.startswith("stays") for n in names) == N, "not listed"
    for entry in list(os.scandir("large"))[:200]:
        try:
            entry.stat()
        except FileNotFoundError:
            assert entry.name.startswith("extra")
stop.set()
meddler.join()
for n in os.listdir("large"):
    os.unlink("large/" + n)
os.rmdir("large")
EOT
ok 'a large directory that changes' python3 "$work/large.py" "$mnt" "${FALLSFS_NAMES:-20000}"

# -- extract: what a copy outside has, and what it is without --
# needs: cp, rsync
outside() {
    know "$1" | sed -E 's/^(\..* [fdl] [0-7]+ [0-9]+ [0-9]+) [0-9]+ /\1 /'
}
setfacl -m g:2000:rwx "$mnt/cp/empty"
setfattr -n user.note -v 'a directory' "$mnt/cp/empty"
setfattr -h -n trusted.note -v 'a link' "$mnt/cp/sub/soft link"
ok 'written down' sync "$mnt/cp/sub/random" "$mnt/cp/numbers" "$mnt/cp/sub/sparse"
ok 'extract -r' "$fallsctl" extract -r -o "$work/out.tree" "${disks[@]}" cp
same 'extract -r keeps ACLs and attributes' "$(outside "$work/out.tree" | diff - <(outside "$mnt/cp") | head -20)" ''
same 'of symlinks, too' "$(getfattr -h --only-values --absolute-names -n trusted.note "$work/out.tree/sub/soft link")" 'a link'
mkdir "$work/no_acls"
mount -t ramfs -o mode=700 ramfs "$work/no_acls"
not 'a copy without ACLs is told' sh -c "'$fallsctl' extract -r -o '$work/no_acls/tree' ${disks[*]} cp 2>'$work/said'"
ok 'file by file' grep -qF 'cp/sub/random: its copy is without system.posix_acl_access: ' "$work/said"
ok 'with all that it lacks' grep -qE 'cp/empty: its copy is without user.note: .*; system.posix_acl_access: ' "$work/said"
same 'and lets nobody do more' "$(stat -c %a "$mnt/cp/sub/random" "$work/no_acls/tree/sub/random" "$mnt/cp/empty" \
    "$work/no_acls/tree/empty" | paste -sd ' ')" '664 644 775 755'
mkdir "$work/generous"
setfacl -d -m u:1000:rwx "$work/generous"
ok 'to where others are given rights' "$fallsctl" extract -o "$work/generous/numbers" "${disks[@]}" cp/numbers
same 'they get none' "$(getfacl -cp "$work/generous/numbers" | paste -sd ' ')" 'user::rw- group::r-- other::--- '

# -- it all stays --
# needs: cp, rsync
know "$mnt/cp" >"$work/known"
restart -o 'layout=stripe(64K)'
same 'after a remount everything is as it was' "$(know "$mnt/cp" | diff - "$work/known" | head)" ''
same 'git has no change' "$(GIT_CONFIG_GLOBAL=$work/gitconfig git -C "$mnt/repository" status --porcelain)" ''
same 'sqlite is whole' "$(sql 'pragma integrity_check;')" ok
ok 'rm -rf' rm -rf "$mnt/cp" "$mnt/rsync" "$mnt/untar" "$mnt/repository" "$mnt/clone" "$mnt/build" "$mnt/worktree"
finish
