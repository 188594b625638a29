"""Times with units: options, settings, configuration files and variables take them alike."""

import argparse
from pathlib import Path

import pytest

from incprof.errors import UsageError
from incprof.record import settings
from incprof.record.settings import resolve
from incprof.systems.counters import sample_verb as sample
from incprof.systems.heartbeats.verb import seconds


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5", 0.5), ("2", 2), (".25", 0.25), ("1e-2", 0.01), ("250ms", 0.25), ("100us", 1e-4), ("5ns", 5e-9),
        ("2m", 120), ("2min", 120), ("1.5h", 5400), ("1d", 86400), ("3s", 3), ("3 s", 3), ("0", 0),
    ],
)  # fmt: skip
def test_times(text: str, value: float) -> None:
    assert settings.seconds(text) == pytest.approx(value, rel=1e-12)
    assert settings.time(text) == settings.seconds(text)


@pytest.mark.parametrize("text", ["", "ms", "one", "-1", "nan", "inf", "1x", "1.2.3", "2M", "1h30m", "9" * 20])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="250ms or 2m"):
        settings.seconds(text)
    with pytest.raises(argparse.ArgumentTypeError, match="250ms"):
        settings.time(text)


@pytest.mark.parametrize(
    ("text", "value"), [("250", 250), ("250Hz", 250), ("1kHz", 1000), ("1 khz", 1000), (".5", 0.5), ("2.5kHz", 2500)]
)
def test_rates(text: str, value: float) -> None:
    assert settings.hertz(text) == value
    assert settings.rate(text) == value


@pytest.mark.parametrize("text", ["", "Hz", "1KHZ", "1k", "1MHz", "1ms", "-5", "inf"])
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(ValueError, match="1kHz"):
        settings.hertz(text)
    with pytest.raises(argparse.ArgumentTypeError, match="250Hz"):
        settings.rate(text)


def test_the_collector_gets_plain_hertz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert resolve({"rate": "1kHz"}, environ) == {"INCPROF_RATE": "1000"}
    assert resolve({}, {**environ, "INCPROF_RATE": "250Hz"}) == {"INCPROF_RATE": "250"}
    (tmp_path / "incprof.toml").write_text('[record]\nrate = "2kHz"\n')
    assert resolve({}, environ) == {"INCPROF_RATE": "2000"}
    with pytest.raises(UsageError, match=r"'20kHz' is wrong, expected a rate such as .*, from 1 to 10000 hertz"):
        resolve({"rate": "20kHz"}, environ)


def test_rows_of_counters_come_as_often_as_they_are_requested() -> None:
    parser = argparse.ArgumentParser()
    sample.add_arguments(parser)
    assert parser.parse_args(["--rate", "1kHz", "-p", "1"]).interval == pytest.approx(0.001)
    assert parser.parse_args(["-r", "200", "-p", "1"]).interval == pytest.approx(0.005)
    assert parser.parse_args(["-p", "1"]).interval is None
    assert sample.OF_A_PROGRAM_S == 0.005
    for wrong in (["-r", "20kHz"], ["-r", "0"], ["-r", "100", "-i", "1s"]):
        with pytest.raises(SystemExit):
            parser.parse_args([*wrong, "-p", "1"])


def test_the_collector_gets_plain_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert resolve({"interval": "250ms"}, environ) == {"INCPROF_INTERVAL": "0.25"}
    assert resolve({}, {**environ, "INCPROF_INTERVAL": "2m"}) == {"INCPROF_INTERVAL": "120"}
    (tmp_path / "incprof.toml").write_text('[record]\ninterval = "1.5h"\n')
    assert resolve({}, environ) == {"INCPROF_INTERVAL": "5400"}
    for wrong in ("2d", "10us", "5 minutes"):
        with pytest.raises(UsageError, match=r"--interval: .* from 0.001 to 86400 seconds"):
            resolve({"interval": wrong}, environ)


def test_stretches_of_heartbeats() -> None:
    assert seconds("10:20") == (10, 20)
    assert seconds(":500ms") == (None, 0.5)
    assert seconds("1m:") == (60, None)
    for wrong in (":", "2m:1m", "a:b", "1:2:3"):
        with pytest.raises(argparse.ArgumentTypeError, match="A before B"):
            seconds(wrong)
