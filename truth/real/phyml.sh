# shellcheck shell=sh
# PhyML: the tree of 44 drawn DNA sequences by maximum likelihood, with SPR moves and the support of each branch.
# shellcheck disable=SC2034,SC2154
package=phyml
source=upstream

build() {
    autoreconf -fi
    ./configure --enable-phyml --disable-native
    make -C src CFLAGS="$flags -std=c99 -msse4.2" LDFLAGS=-pg
}

# dna.phy: 44 leaves, each a changed copy of one that was drawn among those before it, which changes then as well.
input() {
    LC_ALL=C awk "$drawing"'
        # sites differ: every fifth hardly changes, every fifth changes twice as much
        function change(s, share, at, out, here) {
            out = ""
            for (at = 1; at <= length(s); at++) {
                here = at % 5 == 0 ? share / 8 : at % 5 == 1 ? share * 2 : share
                out = out (random(1000) < here ? substr("ACGT", 1 + random(4), 1) : substr(s, at, 1))
            }
            return out
        }
        BEGIN {
            state = 20261123; divisor = 64
            for (i = 0; i < 500; i++) leaf[0] = leaf[0] substr("ACGT", 1 + random(4), 1)
            for (n = 1; n < 44; n++) {
                parent = random(n)
                leaf[n] = change(leaf[parent], 30 + random(120))
                leaf[parent] = change(leaf[parent], 30 + random(120))
            }
            printf "44 500\n" >"dna.phy"
            for (n = 0; n < 44; n++) printf "leaf%d  %s\n", n, leaf[n] >"dna.phy"
        }'
}

run() {
    cp "$data/dna.phy" .
    recorded "$tree/src/phyml" -i dna.phy -d nt -m GTR -c 4 -a e -s SPR -b -4 --r_seed 1
}
