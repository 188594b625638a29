# shellcheck shell=sh
# Prodigal: the genes of a drawn bacterial genome of one piece, trained on itself, without the model of Shine and Dalgarno.
# shellcheck disable=SC2034,SC2154
package=prodigal

# training.c holds fifty tables in code that runs only for -p meta; optimised, it takes a compiler many minutes.
build() {
    make CC=gcc CFLAGS="-pg -O0" training.o
    make CC=gcc CFLAGS="$flags" LDFLAGS=-pg prodigal
}

# genome.fa: 6500 genes of 90 to 589 codons on either strand, a motif before most of them, and bases of no meaning between.
input() {
    LC_ALL=C awk "$drawing"'
        function complement(s, at, out) {
            out = ""
            for (at = length(s); at > 0; at--) out = out other[substr(s, at, 1)]
            return out
        }
        function bases(length_, s) {
            for (s = ""; length_ > 0; length_--) s = s substr("ACGT", 1 + random(4), 1)
            return s
        }
        # coding triplets, some of them often
        function gene(codons, s) {
            s = (random(10) < 7 ? "TATAAT" bases(7) : bases(13)) (random(10) < 8 ? "ATG" : "GTG")
            for (; codons > 0; codons--) s = s (random(10) < 6 ? often[random(20)] : codon[random(many)])
            return s "TAA"
        }
        BEGIN {
            state = 20261123; divisor = 64
            other["A"] = "T"; other["C"] = "G"; other["G"] = "C"; other["T"] = "A"
            for (i = 0; i < 64; i++) {
                c = substr("ACGT", 1 + int(i / 16), 1) substr("ACGT", 1 + int(i / 4) % 4, 1) substr("ACGT", 1 + i % 4, 1)
                if (c != "TAA" && c != "TAG" && c != "TGA") codon[many++] = c
            }
            for (i = 0; i < 20; i++) often[i] = codon[random(many)]
            printf ">genome\n" >"genome.fa"
            for (g = 0; g < 6500; g++) {
                s = gene(90 + random(500))
                printf "%s\n%s\n", random(2) ? s : complement(s), bases(20 + random(160)) >"genome.fa"
            }
        }'
}

run() {
    recorded "$tree/prodigal" -n -i "$data/genome.fa" -o genes.gbk -a proteins.fa
}
