"""Solve a system of equations by conjugate gradients on a GPU with CuPy. Output: `steps` and `wall_ns`."""

from __future__ import annotations

import time

import cupy as cp

SIZE, STEPS = 4096, 2000


def solve(matrix: cp.ndarray, right: cp.ndarray, steps: int) -> cp.ndarray:
    """Take a number of steps."""
    solution, residual = cp.zeros_like(right), right.copy()
    direction, norm = residual.copy(), residual @ residual
    for _ in range(steps):
        product = matrix @ direction
        length = norm / (direction @ product)
        solution += length * direction
        residual -= length * product
        before, norm = norm, residual @ residual
        direction = residual + (norm / before) * direction
    return solution


def main() -> None:
    """Solve for a matrix that is well-conditioned."""
    matrix = cp.eye(SIZE, dtype=cp.float32) * SIZE + cp.random.rand(SIZE, SIZE, dtype=cp.float32)
    matrix = (matrix + matrix.T) / 2
    right = cp.random.rand(SIZE, dtype=cp.float32)
    solve(matrix, right, 10)
    start = time.monotonic_ns()
    solve(matrix, right, STEPS)
    cp.cuda.Device().synchronize()
    print(f"steps {STEPS}\nwall_ns {time.monotonic_ns() - start}")


main()
