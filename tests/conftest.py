"""What all tests have in common."""

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is.
settings.register_profile("busy", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

# What a user has set or kept is no part of a test, and what tests keep for the next run is none of the user's.
for name in ("CACHE", "CONFIG", "DATA"):
    os.environ[f"XDG_{name}_HOME"] = str(Path(__file__).parents[1] / "build" / "tests" / name.lower())
