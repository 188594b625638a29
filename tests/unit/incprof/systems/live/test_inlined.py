"""`incprof top` finds the same inlined functions as the verbs that read a finished run."""

import shutil

import numpy as np
import pytest

from incprof.readers.run import open_run
from incprof.study.study import Study
from incprof.symbols.source_lines import chains_of
from incprof.systems.live import watch as watching
from incprof.systems.live.watch import Watch
from tests.unit.built import built
from tests.unit.streamwriter import Sample, StreamWriter, module

SOURCE = """\
static volatile int n = 1000;
static double field[1000];
__attribute__((always_inline)) static inline double smooth(double *f)
{
    double sum = 0;
    for (int i = 1; i < n; i++)
        sum += f[i] = 0.5 * (f[i] + f[i - 1]);
    return sum;
}
__attribute__((always_inline)) static inline double reduce(const double *f)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += f[i] * f[i] / (1 + sum);
    return sum;
}
__attribute__((noinline)) double norm(const double *f)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += f[i] * f[i];
    return sum;
}
int main(void)
{
    double sum = 0;
    for (int step = 0; step < n; step++) {
        sum += smooth(field);
        sum += reduce(field);
        sum += norm(field);
    }
    return sum > 0;
}
"""

pytestmark = pytest.mark.skipif(
    not (shutil.which("gcc") and shutil.which("addr2line") and shutil.which("objdump")), reason="gcc and binutils"
)


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """What begins a run of the program; the addresses in it of what loops."""
    root = tmp_path_factory.mktemp("program")
    made = built(root, SOURCE, "-g", "-O1")
    where = {name: range(address, address + size) for name, (address, size) in made.where.items()}

    def begun():
        return StreamWriter([], exe=str(made.path), modules=[module(0, str(made.path), made.build_id, app=True)])

    run = begun()
    run.interval([Sample(((0, where["main"][0]),))])
    run.end()
    opened = open_run(run.save(root / "run"))
    profile = Study(opened).recorded
    chains = chains_of(opened, profile, "app", list(where["main"]))
    places = {"norm": [(where["main"][-1], where["norm"][4 + i]) for i in range(20)]}
    for address, chain in zip(where["main"], chains, strict=True):
        if len(chain) > 1:
            places.setdefault(chain[0].function, []).append((address,))
    return begun, places


def mixed(places, share, shift=0):
    """An interval: ticks by function, each spread over some of its addresses."""
    return [
        Sample(tuple((0, address) for address in places[name][(i + shift) % len(places[name])]), weight=ticks // 10)
        for i in range(10)
        for name, ticks in share.items()
    ]


STORY = [{"smooth": 100}] * 12 + [{"reduce": 100}] * 12 + [{"smooth": 50, "norm": 50}] * 12


def test_a_finished_run_has_the_answers_of_the_other_verbs(job, tmp_path):
    begun, places = job
    writer = begun()
    for number, share in enumerate(STORY):
        writer.interval(mixed(places, share, number))
    writer.end()
    directory = writer.save(tmp_path / "run")
    watch = Watch(str(directory), rank=None, libs="named", exe=None)
    watch.poll()
    watch.fit_now()
    view = watch.view()
    assert not list(directory.rglob("*.json"))
    study = Study(directory)
    own = np.asarray(study.profile.self_s.sum(axis=0)).ravel()
    expected = {f.name: float(s) / own.sum() for f, s in zip(study.profile.functions, own, strict=True) if s > 0}
    assert {"smooth", "reduce", "norm"} == set(expected)
    assert {f.function.name: f.run_share for f in view.front.functions} == pytest.approx(expected)
    assert view.front.labels.tolist() == study.phases(confidence=False).labels.tolist()
    sites = [(phase.sites[0].function, phase.sites[0].kind) for phase in study.phases(confidence=False).phases]
    assert [(phase.description.sites[0].function, phase.description.sites[0].kind) for phase in view.phases] == sites
    assert [function.name for function, _ in sites] == ["smooth", "reduce", "norm"]


class Growing:
    """A run that is written interval by interval, and looked at after each."""

    def __init__(self, job, root, monkeypatch, ranks=(0,)):
        begun, self.places = job
        monkeypatch.setattr(watching, "FIT_SHARE", 1e9)  # whenever there is a reason
        monkeypatch.setattr(watching, "LEAST", 0)  # it is waited for, also where busy programs leave nothing over
        self.writers = {rank: begun() for rank in ranks}
        self.directory = root / "run"
        self.directory.mkdir()
        self.watch = Watch(str(self.directory), rank=None, libs="named", exe=None)
        self.fits = self.n = 0

    def goes_on(self, story):
        for share in story:
            self.n += 1
            for rank, writer in self.writers.items():
                writer.interval(mixed(self.places, share))
                (self.directory / f"rank-{rank:05d}.gmon").write_bytes(writer.data)
            self.watch.poll()
            if not self.watch.fit() and self.watch.fitting:
                self.watch._fitting.join()
            self.fits += self.watch.fit()

    def labels(self, rank=0):
        return self.watch.view().processes[rank].labels.tolist()

    def functions(self):
        return {f.function.name: f.run_share for f in self.watch.view().front.functions}


@pytest.mark.parametrize("ranks", [(0,), (0, 1)])
def test_beside_a_job_code_is_looked_up_when_it_is_sampled(job, tmp_path, monkeypatch, ranks):
    run = Growing(job, tmp_path, monkeypatch, ranks)
    run.goes_on(STORY[:4])
    assert set(run.functions()) == {"main"}  # no answer has been requested yet
    run.goes_on(STORY[4:12])
    assert run.functions() == pytest.approx({"smooth": 1.0})  # also what came before
    run.goes_on([{"reduce": 100}] * 12)
    assert run.functions() == pytest.approx({"smooth": 0.5, "reduce": 0.5})
    for rank in range(len(ranks)):
        assert run.labels(rank) == [0] * 12 + [1] * 12


@pytest.mark.slow
def test_results_are_not_computed_again(job, tmp_path, monkeypatch):
    run = Growing(job, tmp_path, monkeypatch)
    run.goes_on(STORY)
    asked = []
    chains = "incprof.symbols.source_lines.chains"
    monkeypatch.setattr(chains, lambda binary, addresses: asked.append(addresses) or [()] * len(addresses))
    fits = run.fits
    run.goes_on(STORY * 2)
    assert run.fits > fits
    assert not asked
    assert run.functions() == pytest.approx({"smooth": 0.5, "reduce": 1 / 3, "norm": 1 / 6})
