"""Debian's node_exporter and Prometheus as child processes on free ports, and questions to them over HTTP."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.appekg_sinks import poll

EXPORTER, SERVER = "prometheus-node-exporter", "prometheus"
CONFIGURATION = """
global: {{scrape_interval: 200ms}}
scrape_configs:
  - job_name: node
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""


@dataclass(frozen=True)
class Stack:
    """A running exporter with a server that scrapes it. `directory` is the textfile collector's."""

    directory: Path
    exporter_port: int
    server_port: int

    def metrics(self) -> str:
        """What the exporter answers."""
        return _get(self.exporter_port, "/metrics")

    def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """Labels and values of an instant query."""
        answer: dict[str, Any] = json.loads(
            _get(self.server_port, "/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
        )
        assert answer["status"] == "success", answer
        return [(found["metric"], float(found["value"][1])) for found in answer["data"]["result"]]

    def value(self, expression: str) -> float | None:
        """The value of a query with one answer; None when there is none."""
        found = self.query(expression)
        assert len(found) <= 1, found
        return found[0][1] if found else None

    def wait_for(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """The answer to a query, once it is not empty."""
        return poll(lambda: self.query(expression) or None, expression)

    def wait_for_none(self, expression: str) -> None:
        """Until the answer is empty."""
        poll(lambda: None if self.query(expression) else True, f"no {expression}")


def _get(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=180) as answer:
        return str(answer.read().decode())


def _free_port() -> int:
    """Below those that the kernel gives to connections, which would take it before the daemon does."""
    while True:
        port = random.randrange(10_000, 32_000)
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port


@contextmanager
def _daemon(log: Path, port: int, path: str, *command: object) -> Iterator[None]:
    """A process that answers on a port; ended afterwards."""
    with log.open("w") as output:
        process = subprocess.Popen(list(map(str, command)), stdout=output, stderr=output)

    def answers() -> bool | None:
        assert process.poll() is None, log.read_text()
        try:
            _get(port, path)
        except (urllib.error.URLError, ConnectionError):
            return None
        return True

    try:
        poll(answers, f"{command[0]} to answer")
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def prometheus_stack(place: Path) -> Iterator[Stack]:
    """Both daemons. The test is skipped where they are not installed."""
    for tool in (EXPORTER, SERVER):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    directory = place / "textfiles"
    directory.mkdir()
    exporter_port, server_port = _free_port(), _free_port()
    configuration = place / "prometheus.yml"
    configuration.write_text(CONFIGURATION.format(port=exporter_port))
    exporter = (
        EXPORTER,
        "--collector.disable-defaults",
        "--collector.textfile",
        f"--collector.textfile.directory={directory}",
        f"--web.listen-address=127.0.0.1:{exporter_port}",
    )
    server = (
        SERVER,
        f"--config.file={configuration}",
        f"--storage.tsdb.path={place / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{server_port}",
    )
    with (
        _daemon(place / "exporter.log", exporter_port, "/metrics", *exporter),
        _daemon(place / "server.log", server_port, "/-/ready", *server),
    ):
        yield Stack(directory, exporter_port, server_port)
