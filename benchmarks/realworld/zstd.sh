#!/bin/sh
# zstd: the benchmark mode of the command line tool walks the compression levels;
# each range of levels has a match finder of its own.
#   zstd.sh [build]       ZSTD_SIZE=small: levels 1 to 9 in about 15 s
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$here/common.sh"
# shellcheck source=loop.sh
. "$here/loop.sh"

case ${ZSTD_SIZE:-full} in
    small) name=zstd-small last=9 seconds=1 bytes=2000000 interval=0.2 ;;
    full) name=zstd last=19 seconds=2 bytes=8000000 interval=0.5 ;;
    *) die "ZSTD_SIZE is small or full, not $ZSTD_SIZE" ;;
esac
last=${ZSTD_LAST:-$last}
seconds=${ZSTD_SECONDS:-$seconds}
bytes=${ZSTD_BYTES:-$bytes}
interval=${ZSTD_INTERVAL:-$interval}

need make gcc nm awk
fetch_source zstd libzstd
program=$work_dir/zstd

build() {
    [ ! -x "$program" ] || return 0
    say "building zstd"
    logged "$work_dir/build.log" make -C "$source_dir/programs" -j"$jobs" zstd \
        CFLAGS="$pg_flags" LDFLAGS="$pg" HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0
    cp "$source_dir/programs/zstd" "$program"
}

# Log lines: words of uneven frequency, counters and numbers from a fixed
# generator. The first $bytes bytes are the same on every machine.
input() {
    file=$work_dir/input-$bytes
    [ ! -s "$file" ] || return 0
    say "generating $bytes bytes of text"
    LC_ALL=C awk -v bytes="$bytes" "$drawing"'
        BEGIN {
            state = 20261121
            for (i = 0; i < 2000; i++) {
                word = ""
                for (letters = 2 + random(9); letters > 0; letters--)
                    word = word sprintf("%c", 97 + random(26))
                words[i] = word
            }
            while (written < bytes) {
                line = sprintf("%d node%03d app[%d]:", 1700000000 + n++, random(64), random(32768))
                for (i = 4 + random(12); i > 0; i--) {
                    limit = 1 + random(2000)
                    line = line " " words[random(limit)]
                }
                if (random(3) == 0) line = line sprintf(" value=%d.%06d", random(1000), random(1000000))
                print line
                written += length(line) + 1
            }
        }' >"$file.tmp"
    head -c "$bytes" "$file.tmp" >"$file.cut"
    mv "$file.cut" "$file"
    rm -f "$file.tmp"
}

build
check_mcount "$program"
input
[ "${1:-}" != build ] || exit 0
record "$name" "$interval" "$program" -b1 "-e$last" "-i$seconds" "$file"

build_heartbeats() {
    logged "$work_dir/build-heartbeats.log" make -C "$1/programs" -j"$jobs" zstd \
        CFLAGS="-O2 $cflags" LDLIBS="$libs" HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0
}
heartbeats "$name" "$source_dir" programs/zstd -b1 "-e$last" "-i$seconds" "$file"
