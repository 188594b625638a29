"""What all tests have in common."""

import contextlib
import gc
import importlib
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings
from hypothesis.internal.conjecture import providers

# Importing and collecting thousands of tests creates next to no garbage: see pytest_collection_finish.
gc.disable()

# No deadline: the time that an example takes depends on the load of the machine. A property that needs more examples
# than 50, or fewer, has settings of its own. Only an eighth of them is tried, but 8 where there are as many. The slow
# tests try each property again, on twice as many; `make test PYTEST_ARGS=--hypothesis-profile=all` tries them all.
for profile in ("part", "all"):
    settings.register_profile(
        profile, settings(), max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile("part")

# As the command line does (incprof/cli/main.py), here for what calls the parts of it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Launchers of MPI load drivers of OpenCL to list its devices. That of pocl handles SIGUSR1 in place of the launcher.
os.environ.setdefault("HWLOC_COMPONENTS", "-opencl")

# The files whose tests need as many resampled runs as users get.
OF_CONFIDENCE = frozenset(("test_confidence.py", "test_stability.py"))

# What a user has set or kept is no part of a test, and what tests keep for the next run is none of the user's.
for name in ("CACHE", "CONFIG", "DATA"):
    os.environ[f"XDG_{name}_HOME"] = str(Path(__file__).parents[1] / "build" / "tests" / name.lower())

# In the background, or under nohup, these are ignored, and so they would be in the programs that the tests end by them.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def pytest_configure(config: pytest.Config) -> None:
    """Use no constants of the loaded modules in examples of `make test`: reading them takes each worker seconds.

    Nor where examples are fixed: they must not depend on which modules are loaded.
    """
    if settings().derandomize or config.option.markexpr == "not slow":
        providers._get_local_constants = lambda: providers._local_constants


def pytest_collection(session: pytest.Session) -> None:
    """Import the modules of all tests, each worker beginning elsewhere.

    What one has compiled, the others load: in a fresh clone, each would compile them all. A module that cannot be
    imported is reported when it is collected.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    if worker == "gw0" or session.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    here = Path(__file__).parent
    modules = (path.relative_to(here.parent).with_suffix("") for path in sorted(here.rglob("test_*.py")))
    names = [".".join(module.parts) for module in modules]
    first = len(names) * int(worker.removeprefix("gw")) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    for name in (*names[first:], *names[:first]):
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def pytest_collection_finish() -> None:
    """Collect garbage seldom while tests run, and never visit what was imported and collected for them.

    Python's own threshold of 700 objects costs 6 to 8 % of the tests' CPU time.
    """
    gc.set_threshold(20_000, 20, 50)
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest file first, so that no processor waits for it at the end, and set the number of examples."""
    items.sort(key=lambda item: item.path.parts[-2:] != ("realworld", "test_zstd.py"))
    drawn = [item for item in items if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)]
    for item in drawn:
        item.add_marker("drawn")
    if config.getoption("--hypothesis-profile", None) == "all":
        return
    least, part = (16, 4) if "drawn" in config.option.markexpr else (8, 8)
    for function in {item.obj for item in drawn}:
        own = function._hypothesis_internal_use_settings
        few = max(min(own.max_examples, least), own.max_examples // part)
        function._hypothesis_internal_use_settings = settings(own, max_examples=few)


@pytest.fixture(autouse=True)
def fewer_resampled_runs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Resample short runs four times only, as long ones are, where a test is not of confidence: it takes most time."""
    if request.path.name not in OF_CONFIDENCE:
        monkeypatch.setattr("incprof.analysis.answer.confidence.MOST", 4)


@pytest.fixture(autouse=True)
def unchanged_code(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave this program's own files out of the inputs of a kept answer: here they are thousands, and do not change."""
    if request.path.name != "test_kept_answers.py":
        monkeypatch.setattr("incprof.cli.kept_answers._code", lambda: iter(()))
