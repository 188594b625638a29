# shellcheck shell=sh
# MrBayes: two of its own examples, as bases, as codons and as proteins, one analysis after the other.
# shellcheck disable=SC2034,SC2154
package=mrbayes
source=upstream

build() {
    ./configure --with-beagle=no --with-mpi=no --with-readline=no --disable-avx --disable-fma CC=gcc CFLAGS="$flags" LDFLAGS=-pg
    make -C src
}

input() {
    cp "$source_dir/examples/replicase.nex" "$source_dir/examples/avian_ovomucoids.nex" .
    cat >run.nex <<'END'
#NEXUS
begin mrbayes;
    set autoclose=yes nowarn=yes seed=1 swapseed=1;
    execute replicase.nex;
    lset nst=6 rates=gamma;
    mcmc ngen=20000 nruns=2 nchains=4 samplefreq=100 printfreq=1000 diagnfreq=1000 file=bases;
    lset nst=1 rates=equal nucmodel=codon;
    mcmc ngen=6000 nruns=1 nchains=2 samplefreq=100 printfreq=1000 file=codons;
    execute avian_ovomucoids.nex;
    prset aamodelpr=fixed(wag);
    lset rates=gamma;
    mcmc ngen=6000 nruns=1 nchains=2 samplefreq=100 printfreq=1000 file=proteins;
end;
END
}

run() {
    cp "$data"/*.nex .
    recorded "$tree/src/mb" run.nex
}
