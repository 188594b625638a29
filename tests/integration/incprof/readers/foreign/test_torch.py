"""Import of a trace that PyTorch's profiler wrote of a real training loop, without `ProfilerStep`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from incprof.study.study import Study
from tests.integration.collector import FIXTURES

# Debian's python3-torch, whose profiler has no Kineto; the same test holds for a PyTorch with it.
PYTHON = "/usr/bin/python3"


@pytest.mark.slow
def test_operators_are_below_the_names_that_the_program_gave(tmp_path: Path) -> None:
    if subprocess.run([PYTHON, "-c", "import torch.profiler"], capture_output=True, check=False).returncode != 0:
        pytest.skip("python3-torch is not installed")
    trace, run = tmp_path / "trace.json", tmp_path / "run"
    words = [PYTHON, str(FIXTURES / "torch_training.py"), str(trace)]
    subprocess.run(words, check=True, capture_output=True, cwd=tmp_path)
    words = [sys.executable, "-m", "incprof", "import", str(trace), "-o", str(run)]
    subprocess.run(words, check=True, capture_output=True, cwd=tmp_path)
    profile = Study(run).profile
    tree, samples = profile.tree, profile.samples

    def names_to(node: int) -> list[str]:
        names = list[str]()
        while node > 0:
            if tree.function[node] >= 0:
                names.append(profile.functions[tree.function[node]].name.strip("[]"))
            node = int(tree.parent[node])
        return names[::-1]

    seconds = dict[str, float]()
    ticks = np.bincount(tree.of_node[samples.node], samples.weight, minlength=len(tree.parent))
    for node in np.flatnonzero(ticks).tolist():
        names = names_to(node)
        for part in {"forward pass", "backward pass"} & {*names}:
            seconds[part] = seconds.get(part, 0.0) + float(ticks[node])
        assert "ProfilerStep" not in names
        # Products of matrices are computed in both halves, and nowhere else.
        if names[-1] in ("aten::addmm", "aten::mm"):
            assert names[0] == ("forward pass" if names[-1] == "aten::addmm" else "backward pass"), names
    assert set(seconds) == {"forward pass", "backward pass"}
    # Each of them takes a part of every step.
    assert min(seconds.values()) >= 0.05 * ticks.sum()
