"""Workers of multiprocessing, started in a given way: pools, processes and executors, and their results.

pools.py fork|spawn|forkserver WORKERS ROUNDS
"""

import concurrent.futures
import multiprocessing
import subprocess
import sys


def step(number: int) -> int:
    """Use some CPU time."""
    return sum(i * i % 7 for i in range(number))


def leave(number: int) -> None:
    """End the process with a status."""
    sys.exit(step(number) % 50)


def main() -> None:
    """Run all kinds of workers, and print their results."""
    how, workers, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    multiprocessing.set_start_method(how)
    with multiprocessing.Pool(workers) as pool:
        print("pool", sum(pool.imap_unordered(step, range(1000, 1000 + 10 * rounds))))
    with concurrent.futures.ProcessPoolExecutor(workers) as executor:
        print("executor", sum(executor.map(step, range(500, 500 + rounds))))
    for number in range(rounds // 10):
        process = multiprocessing.Process(target=leave, args=(number * 100,))
        process.start()
        process.join()
        print("process", process.exitcode)
    print("subprocess", subprocess.run([sys.executable, "-c", "import sys; sys.exit(5)"]).returncode)


if __name__ == "__main__":
    main()
