#!/bin/sh
# HMMER: profiles are built from four generated protein families, then a generated
# sequence file (strangers first, then the families) is searched with each.
#   hmmer.sh [build]      HMMER_STRANGERS, HMMER_MEMBERS change the size
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$here/common.sh"
# shellcheck source=loop.sh
. "$here/loop.sh"

strangers=${HMMER_STRANGERS:-160000}
members=${HMMER_MEMBERS:-2000}

need make gcc nm awk autoconf
fetch_source hmmer
tree=$work_dir/tree
hmmbuild=$tree/src/hmmbuild
hmmsearch=$tree/src/hmmsearch

build() {
    [ ! -x "$hmmsearch" ] || [ ! -x "$hmmbuild" ] || return 0
    say "building hmmer (a few minutes)"
    rm -rf "$tree"
    cp -r "$source_dir" "$tree"
    # the suffix arrays of the DNA indexer, which is not built, are all that
    # libdivsufsort is for
    (cd "$tree" && logged "$work_dir/autoconf.log" autoconf &&
        logged "$work_dir/configure.log" ./configure --enable-sse --disable-threads \
            CFLAGS="$pg_flags" LDFLAGS="$pg")
    logged "$work_dir/build.log" make -C "$tree/easel" -j"$jobs" libeasel.a
    logged "$work_dir/build-sse.log" make -C "$tree/src" -j"$jobs" \
        LIBS="-lhmmer -leasel -lm" hmmbuild hmmsearch
}

# families-N.sto: four alignments; search-N.fa: strangers, then new members.
input() {
    file=$work_dir/search-$strangers-$members.fa
    alignments=$work_dir/families.sto
    [ ! -s "$file" ] || return 0
    say "generating $strangers strangers and 4 x $members family members"
    LC_ALL=C awk -v strangers="$strangers" -v members="$members" \
        -v alignments="$alignments" -v fasta="$file.tmp" "$drawing"'
        function stranger(length_, s) {
            for (s = ""; length_ > 0; length_--) s = s residue()
            return s
        }
        # a family member: 55 of 100 residues kept, some lost, as one aligned row
        function relative(f, i, s) {
            s = ""
            for (i = 1; i <= size[f]; i++)
                s = s (random(100) < 55 ? ancestor[f, i] : random(100) < 6 ? "-" : residue())
            return s
        }
        BEGIN {
            state = 20261121
            for (f = 0; f < 4; f++) {
                size[f] = 300 + 200 * f
                for (i = 1; i <= size[f]; i++) ancestor[f, i] = residue()
                printf "# STOCKHOLM 1.0\n#=GF ID family%d\n\n", f >alignments
                for (n = 0; n < 300; n++) printf "f%d_%04d  %s\n", f, n, relative(f) >alignments
                print "//" >alignments
            }
            for (n = 0; n < strangers; n++) printf ">s%d\n%s\n", n, stranger(150 + random(450)) >fasta
            for (f = 0; f < 4; f++)
                for (n = 0; n < members; n++) {
                    s = relative(f)
                    gsub("-", "", s)
                    printf ">m%d_%d\n%s%s%s\n", f, n, stranger(20 + random(60)), s, stranger(20 + random(60)) >fasta
                }
        }'
    mv "$file.tmp" "$file"
}

build
check_mcount "$hmmbuild"
check_mcount "$hmmsearch"
input
[ "${1:-}" != build ] || exit 0
record hmmer-build 0.5 "$hmmbuild" --EmN 40000 --EvN 40000 --EfN 40000 \
    "$work_dir/families.hmm" "$alignments"
record hmmer-search 0.5 "$hmmsearch" -o "$work_dir/search.out" "$work_dir/families.hmm" "$file"

# build_heartbeats builds $target; the tree is configured already, for -pg.
build_heartbeats() {
    logged "$work_dir/clean-easel.log" make -C "$1/easel" clean
    logged "$work_dir/clean-src.log" make -C "$1/src" clean
    logged "$work_dir/build-heartbeats-easel.log" make -C "$1/easel" -j"$jobs" CFLAGS="-O2 $cflags" LDFLAGS= libeasel.a
    logged "$work_dir/build-heartbeats.log" make -C "$1/src" -j"$jobs" CFLAGS="-O2 $cflags" LDFLAGS= \
        LIBS="-lhmmer -leasel -lm $libs" "$target"
}
interval=0.5
target=hmmbuild
heartbeats hmmer-build "$tree" src/hmmbuild --EmN 40000 --EvN 40000 --EfN 40000 "$work_dir/families.hmm" "$alignments"
target=hmmsearch
heartbeats hmmer-search "$tree" src/hmmsearch -o "$work_dir/search.out" "$work_dir/families.hmm" "$file"
