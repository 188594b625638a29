#!/bin/sh
# SQLite: the shell runs a generated script: row-by-row inserts, indexes, joins,
# text work.
#   sqlite.sh [build]     SQLITE_ROWS changes the size
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$here/common.sh"
# shellcheck source=loop.sh
. "$here/loop.sh"

rows=${SQLITE_ROWS:-600000}

need make gcc nm awk tclsh
fetch_source sqlite3
tree=$work_dir/tree
program=$work_dir/sqlite3

build() {
    [ ! -x "$program" ] || return 0
    say "building sqlite3"
    rm -rf "$tree"
    mkdir -p "$tree"
    (cd "$tree" && logged "$work_dir/configure.log" "$source_dir/configure" \
        --disable-tcl --disable-readline --disable-shared)
    logged "$work_dir/amalgamation.log" make -C "$tree" sqlite3.c shell.c
    # shellcheck disable=SC2086  # the flags are words
    logged "$work_dir/build.log" gcc $pg_flags -DSQLITE_THREADSAFE=0 \
        -DSQLITE_OMIT_LOAD_EXTENSION -I"$tree" "$tree/shell.c" "$tree/sqlite3.c" \
        -o "$program" -lm
}

# Four parts, each a known kind of work. The numbers come from a fixed generator.
input() {
    file=$work_dir/script-$rows.sql
    [ ! -s "$file" ] || return 0
    say "generating a script of $rows inserts"
    LC_ALL=C awk -v rows="$rows" "$drawing"'
        BEGIN {
            state = 20261121
            for (i = 0; i < 500; i++) {
                word = ""
                for (letters = 3 + random(8); letters > 0; letters--)
                    word = word sprintf("%c", 97 + random(26))
                words[i] = word
            }
            print "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-400000;"
            print "PRAGMA temp_store=MEMORY;"
            print "CREATE TABLE event(id INTEGER PRIMARY KEY, host INT, code INT, size INT, note TEXT);"
            print "CREATE TABLE host(id INT, name TEXT, rack INT);"
            print "BEGIN;"
            for (i = 0; i < 5000; i++)
                printf "INSERT INTO host VALUES(%d,\047host-%04d\047,%d);\n", i, i, i % 40
            for (i = 0; i < rows; i++) {
                note = words[random(500)]
                for (n = 3 + random(8); n > 0; n--) note = note " " words[random(500)]
                printf "INSERT INTO event VALUES(%d,%d,%d,%d,\047%s\047);\n", \
                    i, random(5000), random(20000), random(1000000), note
            }
            print "COMMIT;"
            print "CREATE INDEX event_code ON event(code, size);"
            print "CREATE INDEX event_note ON event(note);"
            print "CREATE INDEX host_id ON host(id);"
            for (i = 0; i < 6; i++) {
                printf "SELECT h.rack, count(*), sum(e.size) FROM event e JOIN host h ON h.id=e.host WHERE e.id%%6<>%d GROUP BY h.rack ORDER BY 3 DESC LIMIT 3;\n", i
                printf "SELECT count(*), sum(a.size) FROM event a JOIN event b ON b.code=a.code AND b.size>a.size WHERE a.id%%6<3 AND a.id%%7<>%d;\n", i
            }
            for (i = 0; i < 12; i++) {
                printf "SELECT count(*) FROM event WHERE note LIKE \047%%%s%%%s%%\047;\n", words[i * 7], words[i * 11 + 1]
                printf "SELECT sum(length(replace(upper(note), \047%s\047, \047-\047))), sum(instr(note, \047%s\047)) FROM event;\n", toupper(substr(words[i], 1, 2)), words[i * 13 + 2]
                printf "SELECT count(*), max(length(t)) FROM (SELECT group_concat(substr(note, 1, 12), \047;\047) AS t FROM event GROUP BY code %% 997);\n"
            }
        }' >"$file.tmp"
    mv "$file.tmp" "$file"
}

build
check_mcount "$program"
input
[ "${1:-}" != build ] || exit 0
rm -f "$work_dir/bench.db"
record sqlite 0.5 "$program" bench.db ".read $file"
rm -f "$work_dir/bench.db"

build_heartbeats() {
    # shellcheck disable=SC2086  # the flags are words
    logged "$work_dir/build-heartbeats.log" gcc -O2 $cflags -DSQLITE_THREADSAFE=0 \
        -DSQLITE_OMIT_LOAD_EXTENSION -I"$1" "$1/shell.c" "$1/sqlite3.c" -o "$1/sqlite3" -lm $libs
}
interval=0.5
heartbeats sqlite "$tree" sqlite3 bench.db ".read $file"
rm -f "$work_dir/bench.db"
