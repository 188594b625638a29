"""Heartbeats all the way into Prometheus: Debian's exporter reads the files, its server scrapes and answers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.appekg_sinks import finish, host, poll, running, wait_until_it_stays
from tests.integration.prometheus_stack import Stack, prometheus_stack


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with prometheus_stack(tmp_path_factory.mktemp("prometheus")) as running_stack:
        yield running_stack


def variables(stack: Stack, rank: int = 0) -> dict[str, object]:
    return {
        "EKG_SINK": "prometheus",
        "EKG_PROMETHEUS_DIR": stack.directory,
        "EKG_DIR": "run",
        "EKG_INTERVAL": 0.1,
        "EKG_RANK": rank,
    }


def no_errors(stack: Stack) -> bool:
    return "node_textfile_scrape_error 0\n" in stack.metrics()


@pytest.mark.slow
def test_counts_are_exact_and_series_end_with_the_program(stack: Stack, tmp_path: Path) -> None:
    with running([host(), 3, "stay"], tmp_path, **variables(stack)) as process:
        wait_until_it_stays(process)
        mine = f'pid="{process.pid}"'
        stack.wait_for(f'appekg_open_beats{{{mine},id="4"}} == 1')
        assert stack.value(f'appekg_beats_total{{{mine},id="1"}}') == 600
        assert stack.value(f'appekg_beats_total{{{mine},id="2"}}') == 6
        assert stack.value(f'appekg_pulses_total{{{mine},id="3"}}') == 6
        # A phase that does not end: it has no beats, and is seen all the same.
        assert stack.wait_for(f'rate(appekg_busy_seconds_total{{{mine},id="4"}}[5s]) > 0')
        assert stack.wait_for(f'appekg_open_seconds{{{mine},id="4"}} > 0.3')
        ((labels, _),) = stack.query(f'appekg_beats_total{{{mine},id="1"}}')
        assert (labels["app"], labels["rank"], labels["name"]) == ("sink_host", "0", 'assemble "A\\B"\nC')
        ((labels, _),) = stack.query(f"appekg_info{{{mine}}}")
        assert labels["launch"] == (tmp_path / "run/launch").read_text().rstrip("\n")
        assert no_errors(stack)
        assert finish(process)[0] == 7
    stack.wait_for_none(f"appekg_intervals_total{{{mine}}}")


@pytest.mark.slow
def test_rates_and_means_of_a_running_program(stack: Stack, tmp_path: Path) -> None:
    with running([host(), 10_000], tmp_path, **variables(stack)) as process:
        mine = f'pid="{process.pid}"'
        stack.wait_for(f'rate(appekg_beats_total{{{mine},id="1"}}[5s]) > 0')
        mean = f'rate(appekg_beat_seconds_total{{{mine},id="2"}}[5s]) / rate(appekg_beats_total{{{mine},id="2"}}[5s])'
        # Rates of counters that have just begun are extrapolated, each in its own way.
        stack.wait_for(f"{mean} >= 0.1")
        assert no_errors(stack)
        process.kill()
        process.wait()
    # After a kill the file stays and its time stands still, which triggers an operator's alert.
    changed = f'node_textfile_mtime_seconds{{file=~".*-{process.pid}.prom"}}'
    stack.wait_for(f"abs({changed} - on() appekg_last_write_timestamp_seconds{{{mine}}}) < 5")
    stack.wait_for(f"time() - appekg_last_write_timestamp_seconds{{{mine}}} > 0.5")
    (stack.directory / f"appekg-sink_host-{process.pid}.prom").unlink()


def test_ranks_processes_and_strange_names_on_one_node(stack: Stack, tmp_path: Path) -> None:
    strange = tmp_path / 'a "b" \\c.prom'
    shutil.copy(host(), strange)
    with (
        running([host(), 1, "stay"], tmp_path, **variables(stack, 0)) as first,
        running([host(), 1, "stay"], tmp_path, **variables(stack, 1)) as second,
        running([host(), 1, "stay"], tmp_path, **variables(stack, 1)) as same_rank,
        running([strange, 1, "stay"], tmp_path, **variables(stack, 0)) as named,
    ):
        pids = "|".join(str(process.pid) for process in (first, second, same_rank, named))
        chosen = f'appekg_beats_total{{pid=~"{pids}",id="1"}} == 200'
        found = poll(lambda: answer if len(answer := stack.query(chosen)) == 4 else None, "four processes")
        assert no_errors(stack)
    assert sorted(labels["rank"] for labels, _ in found) == ["0", "0", "1", "1"]
    assert {labels["app"] for labels, _ in found} == {"sink_host", strange.name}
    for file in stack.directory.iterdir():
        file.unlink()
