#!/bin/sh
# Programs as Debian ships them, never built again: recorded without -pg, and their phases. What is not installed is
# named and left out: apt-get install lammps gromacs octave ffmpeg g++ python3-numpy ripgrep hugo
#   binaries.sh [build] [lammps|gromacs|octave|ffmpeg|cc1plus|numpy|ripgrep|hugo]...
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$here/common.sh"
need python3
work_dir=$scratch/binaries
mkdir -p "$work_dir"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

installed() {
    command -v "$1" >/dev/null 2>&1 || { say "$1 is not installed: left out"; return 1; }
}

# text LINES: that many lines of words, the same on every machine.
text() {
    python3 -c "
import random, sys
draw = random.Random(4711)
words = [''.join(draw.choices('abcdefghijklmnop', k=draw.randint(2, 11))) for _ in range(5000)]
for _ in range($1):
    sys.stdout.write(' '.join(draw.choices(words, k=12)) + '\n')
"
}

run_lammps() {
    installed lmp && installed mpirun || return 0
    melt_input 16 2000 600 >"$work_dir/in.melt"
    only_build || INCPROF_EXE=lmp record binary-lammps 0.5 mpirun --oversubscribe --allow-run-as-root -n 2 lmp -in in.melt -log none
}

run_gromacs() {
    installed gmx || return 0
    if [ ! -f "$work_dir/water.tpr" ]; then
        cat >"$work_dir/water.mdp" <<END
integrator = md
nsteps = 4000
cutoff-scheme = Verlet
coulombtype = PME
tcoupl = v-rescale
tc-grps = System
tau-t = 0.1
ref-t = 300
gen-vel = yes
gen-seed = 4711
ld-seed = 4711
END
        (cd "$work_dir"
        printf '#include "oplsaa.ff/forcefield.itp"\n#include "oplsaa.ff/spc.itp"\n[ system ]\nwater\n[ molecules ]\n' >water.top
        logged water.log gmx solvate -cs spc216.gro -box 4.3 4.3 4.3 -o water.gro -p water.top
        logged grompp.log gmx grompp -f water.mdp -c water.gro -p water.top -o water.tpr -maxwarn 2)
    fi
    only_build || OMP_NUM_THREADS=2 record binary-gromacs 0.5 gmx mdrun -s water.tpr -deffnm md -ntmpi 1 -ntomp 2 -nb cpu
}

run_octave() {
    installed octave-cli || return 0
    cat >"$work_dir/work.m" <<'END'
rand("seed", 4711);
a = rand(1600); b = rand(1600, 1);
for i = 1:12, x = a \ b; end
e = rand(700);
for i = 1:3, v = eig(e); end
s = 0;
for i = 1:4000000, s = s + mod(i, 7); end
r = rand(1, 3000000);
for i = 1:25, t = sort(r); end
printf("%d %g %g\n", s, t(1), sum(real(v)));
END
    only_build || record binary-octave 0.5 octave-cli --no-init-file work.m
}

run_ffmpeg() {
    installed ffmpeg || return 0
    only_build || record binary-ffmpeg 0.5 ffmpeg -nostdin -v error -y -filter_complex_threads 1 -filter_complex \
        'testsrc2=s=960x540:d=16,format=yuv420p,gblur=sigma=40:steps=6[a];testsrc2=s=960x540:d=1.6,format=yuv420p,nlmeans[b];[a][b]concat' \
        -threads 1 -c:v mpeg4 -f avi /dev/null
}

run_cc1plus() {
    installed g++ || return 0
    compiler=$(g++ -print-prog-name=cc1plus)
    [ -f "$work_dir/unit.ii" ] || {
        python3 - >"$work_dir/unit.cpp" <<'END'
print("#include <algorithm>\n#include <map>\n#include <regex>\n#include <string>\n#include <vector>")
for i in range(200):
    print(f"""struct key{i} {{ int a; std::string b; bool operator<(const key{i} &o) const {{ return a < o.a; }} }};
int work{i}(std::vector<key{i}> &v) {{
    std::map<key{i}, int> m;
    std::sort(v.begin(), v.end());
    for (auto &k : v) m[k] += {i};
    int sum = 0;
    for (auto &[k, n] : m) sum += n * k.a;
    return sum;
}}""")
END
        (cd "$work_dir" && g++ -E unit.cpp -o unit.ii)
    }
    only_build || record binary-cc1plus 0.5 "$compiler" -quiet -O2 unit.ii -o /dev/null
}

run_numpy() {
    python=/usr/bin/python3
    "$python" -c 'import numpy' 2>/dev/null || { say "python3-numpy is not installed: left out"; return 0; }
    cat >"$work_dir/work.py" <<'END'
import numpy

draw = numpy.random.default_rng(4711)


def products(a):
    for _ in range(14):
        a = a @ a / numpy.abs(a).sum()
    return a


def sorts(r):
    for _ in range(60):
        numpy.sort(r)


def transforms(r):
    for _ in range(40):
        numpy.fft.fft(r)


def counted(n):
    total = 0
    for i in range(n):
        total += i % 7
    return total


products(draw.random((1800, 1800)))
sorts(draw.random(1_500_000).astype(numpy.float32))
transforms(draw.random(2_000_000))
print(counted(80_000_000))
END
    only_build || record binary-numpy 0.5 "$python" work.py
}

run_ripgrep() {
    installed rg || return 0
    [ -f "$work_dir/text/7" ] || {
        mkdir -p "$work_dir/text"
        text 700000 >"$work_dir/text/0"
        for i in 1 2 3 4 5 6 7; do cp "$work_dir/text/0" "$work_dir/text/$i"; done
    }
    only_build || record binary-ripgrep 0.5 rg -j 2 -c '(\w+) .*[aeiou]{3}\w* (\w*nop)\b.*\bm\w+e$' text
}

run_hugo() {
    installed hugo || return 0
    [ -d "$work_dir/site" ] || {
        mkdir -p "$work_dir/site/content" "$work_dir/site/layouts/_default"
        printf 'baseURL = "http://example.org/"\ntitle = "words"\n' >"$work_dir/site/config.toml"
        links='{{ range first 20 .Site.RegularPages }}<a href="{{ .RelPermalink }}">{{ .Title }}</a>{{ end }}'
        echo "<html><body>{{ .Content }}$links</body></html>" |
            tee "$work_dir/site/layouts/_default/single.html" >"$work_dir/site/layouts/_default/list.html"
        text 400000 | split -l 100 -a 4 - "$work_dir/site/content/page-"
        for page in "$work_dir"/site/content/page-????; do
            { printf -- '---\ntitle: %s\n---\n' "${page##*/}"; cat "$page"; } >"$page.md"
            rm "$page"
        done
    }
    only_build || record_flags=--external record binary-hugo 0.5 hugo --quiet --source site --destination "$work_dir/site-made" --cleanDestinationDir
}

only_build() { [ -n "$build" ]; }

build=
[ "${1:-}" != build ] || { build=yes; shift; }
[ $# -gt 0 ] || set -- lammps gromacs octave ffmpeg cc1plus numpy ripgrep hugo
for program in "$@"; do
    case $program in
        lammps | gromacs | octave | ffmpeg | cc1plus | numpy | ripgrep | hugo) "run_$program" ;;
        *) die "unknown program $program" ;;
    esac
done
