"""A function has one name in all answers of a run, also where it is inlined or holds parallel regions."""

import json
import re
import shutil

import pytest

from incprof.cli.main import main
from incprof.model.names import without_marks
from incprof.readers.run import open_run, read_profile
from tests.unit.built import built
from tests.unit.streamwriter import Sample, StreamWriter, module

SOURCE = """\
enum { SIZE = 1 << 14 };
static double field[SIZE];
static inline __attribute__((always_inline)) double fill(int rounds)
{
    double sum = 0;
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < SIZE; i++)
            sum += field[i] = field[i] * 0.5 + i;
    return sum;
}
__attribute__((noinline, noclone)) void relax(void)
{
#pragma omp parallel for
    for (int i = 0; i < SIZE; i++)
        field[i] = field[i] / (2.0 + field[i]);
#pragma omp parallel for
    for (int i = 0; i < SIZE; i++)
        field[i] = 1.0 / (1.0 + field[i] * field[i]);
}
int main(int argc, char **argv)
{
    double sum = fill(1000 * argc);
    for (int round = 0; round < 1000; round++)
        relax();
    return sum + field[7] > 0;
}
"""
REGIONS = {"relax._omp_fn.0", "relax._omp_fn.1"}

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


class Program:
    """A program, and writers of its recordings."""

    def __init__(self, folder):
        made = built(folder, SOURCE, "-g", "-O2", "-fopenmp")
        self.path, self.where = made.path, made.where
        self.modules = [module(0, str(self.path), made.build_id, app=True) | {"counts": False}]

    def writer(self):
        return StreamWriter([], exe=str(self.path), modules=self.modules)

    def addresses(self, name, folder):
        """Addresses of main in a function that is inlined there."""
        begin, size = self.where["main"]
        scout = self.writer()
        scout.interval([Sample(((0, address),)) for address in range(begin, begin + size)])
        scout.end()
        profile = read_profile(open_run(scout.save(folder)), inlined=True)
        own = [function.name for function in profile.functions]
        at = zip(profile.paths.address.tolist(), profile.innermost.tolist(), strict=True)
        return [address for address, function in at if function >= 0 and own[function] == name]


@pytest.fixture
def run(tmp_path):
    """Five intervals of the inlined function, five of the regions."""
    program = Program(tmp_path)
    inside = program.addresses("fill", tmp_path / "scout")
    above = (0, program.where["main"][0] + 4), (0, program.where["relax"][0] + 4)
    regions = [(*above, (0, program.where[name][0] + 8)) for name in sorted(REGIONS)]
    writer = program.writer()
    for _ in range(5):
        writer.interval([Sample(((0, inside[i % len(inside)]),)) for i in range(100)])
    for _ in range(5):
        writer.interval([Sample(regions[i % 3 % 2]) for i in range(100)])
    writer.end()
    return writer.save(tmp_path / "run")


def test_all_lists_of_an_answer_call_a_function_alike(run, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")

    def said(*words):
        assert main([str(word) for word in words]) == 0
        return capsys.readouterr().out

    table, details = said("phases", run, "--details", "--threads").split("note: calls were not counted")
    assert re.findall(r"^ +\d  (\S+) ", table, re.MULTILINE) == ["fill", "relax"]
    assert set(re.findall(r" calls?  (\S+)$", details, re.MULTILINE)) == {"fill", *REGIONS}
    roles = details[details.index("Role ") :]
    assert set(re.findall(r"\d % ([\w.]+)(?:,|$)", roles, re.MULTILINE)) == {"fill", *REGIONS}
    for phase in json.loads(said("phases", run, "--json"))["phases"]:
        functions = {without_marks(function["name"]) for function in phase["functions"]}
        assert {without_marks(site["function"]) for site in phase["sites"]} == functions
    said("report", run, "-o", tmp_path / "page.html")
    data = json.loads((tmp_path / "page.html").read_text().split('id="data">')[1].split("</script>")[0])
    assert set(data["series"]["names"]) - {"2 other functions"} == {"fill", *REGIONS}
    assert {frame["name"] for frame in data["tree"]["frames"]} == {"whole run", "main", "relax", "fill", *REGIONS}
    compared = said("diff", run, run).partition("\nFunction ")[2].partition("\n\n")[0]
    assert {line.split()[0] for line in compared.splitlines()[1:]} == {"fill", "relax"}
    live = json.loads(said("top", run, "--json"))
    assert {function["name"] for function in live["functions"]} == {"fill", *REGIONS}
    assert [phase["function"] for phase in live["phases"]] == ["fill", "relax"]
