"""The loaded library. It is located by the first call of one of its functions, not at import."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any

from appekg import _forking
from appekg._library import SONAME, find


class _Library:
    """The C functions, by name. The first access loads them all; then they are plain attributes."""

    ffi: Any
    ekg_init: Callable[[Any], int]
    ekg_finalize: Callable[[], None]
    ekg_begin: Callable[[int], None]
    ekg_end: Callable[[int], None]
    ekg_pulse: Callable[[int], None]
    ekg_name: Callable[[int, bytes], None]
    ekg_rate: Callable[[int, int], None]
    ekg_enable: Callable[[], None]
    ekg_disable: Callable[[], None]
    ekg_is_enabled: Callable[[], int]
    ekg_cost: Callable[[Any, Any], int]

    def __getattr__(self, name: str) -> Any:
        if name not in _Library.__annotations__:
            raise AttributeError(name)
        functions = _load()
        self.__dict__.update(functions)
        return functions[name]


def _load() -> dict[str, Any]:
    """Load the functions of libappekg.

    Raises:
        ImportError: it was not found, or is not libappekg.
    """
    from appekg._ffi import ffi

    loaded = _open(ffi)
    try:
        functions = {name: getattr(loaded, name) for name in _Library.__annotations__ if name != "ffi"}
    except (AttributeError, ffi.error) as error:
        raise ImportError(f"{SONAME} is not the one that this package needs: {error}; install incprof again") from None
    # A process that exits through Python ends its last interval while Python still works; else the library's destructor
    # does.
    atexit.register(functions["ekg_finalize"])
    _finalize_in_workers(functions["ekg_finalize"])
    os.register_at_fork(after_in_child=lambda: _finalize_in_workers(functions["ekg_finalize"]))
    if sys.version_info >= (3, 12):
        _forking.expect()
    return {"ffi": ffi, **functions}


def _open(ffi: Any) -> Any:
    """Open the library that the process has loaded (an extension module may be linked with it), else the found one."""
    try:
        # Not by cffi: if a library exists but cannot be loaded, the loader gives no reason, and cffi 1.17 crashes.
        ctypes.CDLL(SONAME, os.RTLD_NOW | os.RTLD_NOLOAD)
        return ffi.dlopen(SONAME, os.RTLD_NOW)
    except OSError:
        pass
    try:
        path = str(find(os.environ).library)
    except FileNotFoundError as error:
        if os.environ.get("APPEKG_LIB"):
            raise ImportError(str(error)) from None
        path, problem = SONAME, str(error)  # the loader searches for it
    else:
        problem = f"{path} cannot be loaded; install incprof again, or set APPEKG_LIB"
    try:
        return ffi.dlopen(path, os.RTLD_NOW)
    except OSError as error:
        raise ImportError(f"{problem} ({error})") from None


def _finalize_in_workers(finalize: Callable[[], None]) -> None:
    """Finalise in workers of multiprocessing.

    They leave by os._exit: neither atexit functions nor destructors run, only multiprocessing's own finalizers. A
    worker first drops the finalizers inherited from its parent, and then runs those registered for after a fork.
    """
    util = sys.modules.get("multiprocessing.util")
    if util is None:
        return

    def register(_: object) -> None:
        util.Finalize(None, finalize, exitpriority=-1000)  # below 0: after what the program registers

    register(None)
    util.register_after_fork(library, register)


library = _Library()
