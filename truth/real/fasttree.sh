# shellcheck shell=sh
# FastTree: the tree of drawn proteins that descend from one ancestor along a binary tree, without gaps.
# shellcheck disable=SC2034,SC2154
package=fasttree

build() {
    make CC=gcc CFLAGS="$flags" LDFLAGS=-pg fasttree
}

# alignment.fa: 1024 leaves of a tree of ten levels; each branch exchanges its own share of the residues, 3 to 14 of 100.
input() {
    LC_ALL=C awk "$drawing"'
        function child(s, share, at, out) {
            out = ""
            for (at = 1; at <= length(s); at++) out = out (random(100) < share ? residue() : substr(s, at, 1))
            return out
        }
        function descend(s, level) {
            if (level == 10) {
                printf ">leaf%d\n%s\n", leaves++, s >"alignment.fa"
                return
            }
            descend(child(s, 3 + random(12)), level + 1)
            descend(child(s, 3 + random(12)), level + 1)
        }
        BEGIN {
            state = 20261123; divisor = 64
            for (i = 0; i < 350; i++) ancestor = ancestor residue()
            descend(ancestor, 0)
        }'
}

run() {
    recorded "$tree/fasttree" -seed 1 -out tree.nwk "$data/alignment.fa"
}
