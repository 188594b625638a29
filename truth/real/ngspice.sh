# ngspice, the circuit simulator: a bank of 200 transistor amplifiers, four analyses of it one after the other.
# shellcheck shell=sh disable=SC2034,SC2154
package=ngspice

build() {
    # The source comes without configure and without parsers; the tools for these are unpacked, not installed.
    fetch_packages ngspice bison libtool m4 flex
    tools=$work_dir/root/usr
    export PATH="$work_dir/bin:$tools/bin:$PATH"
    export BISON_PKGDATADIR="$tools/share/bison" ACLOCAL_PATH="$tools/share/aclocal"
    M4=$(command -v m4)
    export M4
    mkdir -p "$work_dir/bin"
    sed "s#/usr/share#$tools/share#" "$tools/bin/libtoolize" >"$work_dir/bin/libtoolize"
    chmod +x "$work_dir/bin/libtoolize"
    ./autogen.sh
    ./configure --disable-shared --disable-xspice --disable-osdi --disable-openmp --disable-debug --without-x \
        --with-readline=no CFLAGS="$flags" LDFLAGS=-pg
    make
}

input() {
    LC_ALL=C awk '
        BEGIN {
            print "* a bank of amplifiers"
            print ".model amplifier npn(is=1e-15 bf=120 vaf=80 rb=60 rc=2 re=0.3 cje=0.8p cjc=0.5p"
            print "+ tf=0.3n tr=8n ikf=0.15 ise=1e-14 kf=1e-15 af=1)"
            print "vcc vcc 0 12"
            print "vin in 0 dc 0 ac 1 sin(0 0.05 20k)"
            for (i = 1; i <= 200; i++) {
                printf "rs%d in s%d %d\n", i, i, 200 + i
                printf "ci%d s%d b%d %gu\n", i, i, i, 0.1 + i / 100
                printf "ra%d vcc b%d %dk\n", i, i, 40 + i % 7
                printf "rb%d b%d 0 %dk\n", i, i, 9 + i % 3
                printf "rc%d vcc c%d %d\n", i, i, 2000 + 10 * (i % 11)
                printf "re%d e%d 0 %d\n", i, i, 800 + 5 * (i % 13)
                printf "ce%d e%d 0 %gu\n", i, i, 1 + i / 50
                printf "q%d c%d b%d e%d amplifier\n", i, i, i, i
                printf "co%d c%d o%d 1u\n", i, i, i
                printf "ro%d o%d out 10k\n", i, i
            }
            print "rl out 0 1k"
            print "cl out 0 100p"
            print ".control\nsave v(out) onoise_spectrum inoise_spectrum onoise_total inoise_total"
            print "dc vcc 4 14 0.0005\ntran 0.5u 6m\nac dec 5000 10 1g\nnoise v(out) vin dec 1000 10 1g"
            print "quit\n.endc\n.end"
        }' >bank.cir
}

# -n: no .spiceinit of the user's
run() { recorded "$tree/src/ngspice" -n -b "$data/bank.cir"; }
