# shellcheck shell=sh disable=SC2034,SC2154  # sourced by record.sh, which reads and sets the variables
# GLPK's glpsol: a facility location model is generated from MathProg, its relaxation solved, then branch and cut.
package=glpk

build() {
    ./configure --disable-shared --enable-static CFLAGS="$flags" LDFLAGS=-pg
    make -j"$jobs"
}

# Which of m places are opened, and who of n customers is served from where, by way of the hub that makes it shortest.
# All numbers are remainders of multiples of primes: the model says them itself, nothing is drawn.
input() {
    cat >facilities.mod <<'END'
param m := 50;
param n := 200;
param hubs := 150;
set I := 1..m;
set J := 1..n;
set H := 1..hubs;
param ix{i in I} := (i * 7919) mod 1009;
param iy{i in I} := (i * 104729) mod 997;
param jx{j in J} := (j * 1299709) mod 1009;
param jy{j in J} := (j * 15485863) mod 997;
param hx{h in H} := (h * 32452843) mod 1009;
param hy{h in H} := (h * 49979687) mod 997;
param d{i in I, j in J} := min{h in H}
    round(sqrt((ix[i] - hx[h])^2 + (iy[i] - hy[h])^2) + sqrt((hx[h] - jx[j])^2 + (hy[h] - jy[j])^2));
param demand{j in J} := 10 + (j * 611953) mod 41;
param capacity{i in I} := 260 + (i * 350377) mod 181;
param fixed{i in I} := 9000 + (i * 746773) mod 4001;
var y{I} binary;
var x{I, J} >= 0, <= 1;
s.t. served{j in J}: sum{i in I: d[i,j] <= 2000} x[i,j] = 1;
s.t. limit{i in I}: sum{j in J} demand[j] * x[i,j] <= capacity[i] * y[i];
s.t. linked{i in I, j in J}: x[i,j] <= y[i];
s.t. enough: sum{i in I} capacity[i] * y[i] >= sum{j in J} demand[j];
minimize cost: sum{i in I} fixed[i] * y[i] + sum{i in I, j in J} d[i,j] * demand[j] / 10 * x[i,j];
solve;
end;
END
}

run() {
    recorded "$tree/examples/glpsol" --cuts -m "$data/facilities.mod"
}
