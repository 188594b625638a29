"""The library of C kernels, as Python finds and loads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from incprof.analysis import _native, _native_ffi
from incprof.errors import IncprofError
from incprof.safe import installation


def test_the_generated_binding_is_that_of_the_headers(tmp_path: Path) -> None:
    """Else: python -m incprof.analysis._native."""
    made = tmp_path / "made.py"
    _native.write_binding(made)
    assert made.read_text() == Path(_native_ffi.__file__).read_text()


def test_a_library_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INCPROF_NATIVE_LIB", str(tmp_path / "none.so"))
    with pytest.raises(IncprofError, match=r"INCPROF_NATIVE_LIB=.*no such file"):
        _native.native.__wrapped__()
    monkeypatch.delenv("INCPROF_NATIVE_LIB")
    monkeypatch.setattr(installation, "candidates", lambda *_: iter([tmp_path / "none.so"]))
    with pytest.raises(IncprofError, match="was not found; install incprof again"):
        _native.native.__wrapped__()


@pytest.mark.parametrize("content", [b"", b"\x7fELF" + bytes(100)])
def test_an_invalid_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes) -> None:
    broken = tmp_path / "broken.so"
    broken.write_bytes(content)
    monkeypatch.setenv("INCPROF_NATIVE_LIB", str(broken))
    with pytest.raises(IncprofError, match="cannot be loaded"):
        _native.native.__wrapped__()


def test_a_library_of_another_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("incprof.version.__version__", "999.0")
    with pytest.raises(IncprofError, match=r"and this package of 999\.0"):
        _native.native.__wrapped__()
