"""Where the tests find the files of the project, whatever folder they are in themselves."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORDINGS = ROOT / "tests" / "recordings"
INTEGRATION = ROOT / "tests" / "integration"
