"""Sites are the user's own functions, not those of the packages that they call, whether these have symbols or not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.command_line import incprof
from tests.integration.hosts import need
from tests.integration.preload.test_without_pg import record

PACKAGE = """
__attribute__((noinline)) static double work(long n, double x)
{
    for (long i = 0; i < n; i++)
        x = x * 1.0000001 + 1e-9;
    return x;
}
double fast_sum(long n) { return work(n, 1.0); }
double fast_fold(long n) { double x = 0; for (int k = 0; k < 10; k++) x += work(n / 10, 2.0); return x; }
"""
DRIVER = """
import ctypes, sys, time
fast = ctypes.CDLL(sys.argv[1])
def spend(call):
    until = time.process_time() + 0.4
    while time.process_time() < until:
        call(200000)
def assemble():
    spend(fast.fast_sum)
def solve():
    spend(fast.fast_fold)
assemble()
solve()
"""
# Named as a library that all programs share; no caller is on the stack of its thread.
POOL = """
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>
static volatile double sink;
static void *work(void *unused)
{
    struct timespec used = {0};
    for (; used.tv_sec == 0 && used.tv_nsec < 500000000; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used))
        for (int i = 0; i < 100000; i++) sink = sink * 1.0000001 + 1e-9;
    return unused;
}
static pthread_t thread;
void pool_start(void) { pthread_create(&thread, 0, work, 0); }
void pool_end(void) { pthread_join(thread, 0); }
"""
POOLED = """
#define _GNU_SOURCE
#include <time.h>
void pool_start(void);
void pool_end(void);
static volatile double sum;
__attribute__((noinline)) static void solve(void)
{
    struct timespec used = {0};
    for (; used.tv_sec == 0 && used.tv_nsec < 500000000; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used))
        for (int i = 0; i < 100000; i++) sum = sum * 1.0000001 + 1e-9;
}
int main(void) { pool_start(); solve(); pool_end(); return 0; }
"""
RUST = """
use std::collections::BTreeMap;
#[inline(never)]
fn sort_rows(rows: &mut Vec<u64>, times: u64) {
    for k in 0..times {
        rows.sort_by(|a, b| (a ^ k).wrapping_mul(0x9e3779b97f4a7c15).cmp(&(b ^ k).wrapping_mul(0x9e3779b97f4a7c15)));
    }
}
#[inline(never)]
fn group(rows: &[u64], times: u64) -> usize {
    let mut found = BTreeMap::new();
    for k in 0..times { for r in rows { *found.entry((r ^ k) % 20011).or_insert(0u64) += r; } }
    found.len()
}
fn main() {
    let mut rows: Vec<u64> = (0..100000u64).map(|i| i.wrapping_mul(7919) % 50021).collect();
    sort_rows(&mut rows, 80);
    println!("{}", group(&rows, 80));
}
"""


def site_functions(run: Path) -> set[str]:
    answer = json.loads(incprof("phases", run, "--json", "--k", "2").stdout)
    return {site["function"] for phase in answer["phases"] for site in phase["sites"]}


def test_sites_of_a_program_in_python_are_not_in_a_package_with_symbols(tmp_path: Path) -> None:
    package = tmp_path / "lib" / "python3.11" / "site-packages" / "fast"
    package.mkdir(parents=True)
    (package / "fast.c").write_text(PACKAGE)
    library = package / "libfast.so"
    subprocess.run(["gcc", "-O1", "-g", "-shared", "-fPIC", package / "fast.c", "-o", library], check=True)
    (tmp_path / "driver.py").write_text(DRIVER)
    done = record(tmp_path, sys.executable, tmp_path / "driver.py", library)
    assert done.shares()["work"] > 0.5
    found = site_functions(done.directory)
    assert found
    assert found <= {"driver.py:assemble", "driver.py:solve", "driver.py:spend"}, found


@pytest.mark.slow
def test_threads_that_a_library_keeps_for_itself_are_called_so(tmp_path: Path) -> None:
    (tmp_path / "pool.c").write_text(POOL)
    (tmp_path / "pooled.c").write_text(POOLED)
    library = tmp_path / "libblaspool.so"
    compile_c = ["gcc", "-O1", "-g", "-pthread"]
    subprocess.run([*compile_c, "-shared", "-fPIC", tmp_path / "pool.c", "-o", library], check=True)
    words = [tmp_path / "pooled.c", library, f"-Wl,-rpath,{tmp_path}", "-o", tmp_path / "pooled"]
    subprocess.run([*compile_c, *words], check=True)
    shares = record(tmp_path, tmp_path / "pooled").shares()
    assert "[no application frame]" not in shares
    assert shares["[threads of libblaspool.so]"] + shares["solve"] == pytest.approx(1, abs=0.1)
    assert min(shares["[threads of libblaspool.so]"], shares["solve"]) > 0.3


PACKED = """
static volatile double sum;
__attribute__((noinline)) static void sort_block(long n) { while (n--) sum = sum * 1.0000001 + 1e-9; }
__attribute__((noinline)) static void code_block(long n) { while (n--) sum = sum / 1.0000001 - 1e-9; }
void pack(int how, long n) { if (how) sort_block(n); else code_block(n); }
"""
PACKER = """
#include <time.h>
void pack(int how, long n);
__attribute__((noinline)) static void compress(int how)
{
    while (clock() < (2 - how) * CLOCKS_PER_SEC / 2)
        pack(how, 200000);
}
int main(void) { compress(1); compress(0); return 0; }
"""


@pytest.mark.parametrize("flag", [pytest.param("-pg", marks=pytest.mark.slow), "-g"])
def test_libraries_are_found_with_and_without_pg(tmp_path: Path, flag: str) -> None:
    (tmp_path / "pack.c").write_text(PACKED)
    (tmp_path / "packer.c").write_text(PACKER)
    subprocess.run(["gcc", "-O1", "-g", "-shared", "-fPIC", "pack.c", "-o", "libpack.so"], cwd=tmp_path, check=True)
    words = ["gcc", "-O1", "-g", flag, "packer.c", "./libpack.so", f"-Wl,-rpath,{tmp_path}", "-o", "packer"]
    subprocess.run(words, cwd=tmp_path, check=True)
    done = record(tmp_path, tmp_path / "packer")
    shares = done.shares()
    assert shares["sort_block"] == done.near(0.5), shares
    assert shares["code_block"] == done.near(0.5), shares
    answer = json.loads(incprof("phases", done.directory, "--json").stdout)
    # How many phases there are depends on how busy the machine is: waiting for a processor is one, too.
    first = [phase["functions"][0] for phase in answer["phases"] if phase["functions"]]
    assert {function["name"] for function in first} == {"sort_block", "code_block"}
    assert all(function["estimated"] for function in first)
    assert answer["run"]["counted"] is (flag == "-pg")


@pytest.mark.slow
@pytest.mark.parametrize("flags", [["-O", "-g"], ["-O"]])
def test_sites_of_a_program_in_rust_are_not_in_its_library(tmp_path: Path, flags: list[str]) -> None:
    need("rustc")
    (tmp_path / "rows.rs").write_text(RUST)
    subprocess.run(["rustc", *flags, tmp_path / "rows.rs", "-o", tmp_path / "rows"], cwd=tmp_path, check=True)
    done = record(tmp_path, tmp_path / "rows")
    assert done.status == 0
    found = site_functions(done.directory)
    assert found
    assert found <= {"rows::sort_rows", "rows::group", "rows::main"}, found
