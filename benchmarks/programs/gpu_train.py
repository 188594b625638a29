"""Train a small network on a GPU with PyTorch. Output: `steps` and `wall_ns`, the time of the steps.

gpu_train.py SECONDS [kineto]: with `kineto`, PyTorch's own profiler observes ten steps in the middle.
"""

from __future__ import annotations

import contextlib
import sys
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

STEPS_PER_S = 100


def train(model: nn.Module, optimizer: torch.optim.Optimizer, images: torch.Tensor, labels: torch.Tensor) -> None:
    """Take one step."""
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()


def main() -> None:
    """Train for a number of steps that does not depend on their speed."""
    steps = int(float(sys.argv[1]) * STEPS_PER_S)
    model = nn.Sequential(
        nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(2048, 10),
    ).cuda()  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters())
    images, labels = torch.randn(256, 3, 32, 32).cuda(), torch.randint(0, 10, (256,)).cuda()
    train(model, optimizer, images, labels)
    torch.cuda.synchronize()
    start = time.monotonic_ns()
    for step in range(steps):
        observed = step == steps // 2 and "kineto" in sys.argv[2:]
        with profile(activities=[ProfilerActivity.CUDA]) if observed else contextlib.nullcontext():
            for _ in range(10 if observed else 1):
                train(model, optimizer, images, labels)
    torch.cuda.synchronize()
    print(f"steps {steps}\nwall_ns {time.monotonic_ns() - start}")


main()
