"""What all tests have in common."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is. Properties that need more examples, or fewer, say so.
settings.register_profile(
    "busy", settings(), max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("busy")

# As the command line does (incprof/cli.py), here for what calls the parts of it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# What a user has set or kept is no part of a test, and what tests keep for the next run is none of the user's.
for name in ("CACHE", "CONFIG", "DATA"):
    os.environ[f"XDG_{name}_HOME"] = str(Path(__file__).parents[1] / "build" / "tests" / name.lower())

# In the background, or under nohup, these are ignored, and so they would be in the programs that the tests end by them.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what takes by far the longest first: at the end, one processor would wait for the other."""
    items.sort(key=lambda item: item.path.name != "test_realworld_zstd.py")
