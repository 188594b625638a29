"""`beat`: a heartbeat around a block, a function, a generator or a coroutine."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from appekg._loading import library

P = ParamSpec("P")
R = TypeVar("R")

LARGEST_ID = 2**32 - 1


class beat:
    """One execution of a phase, as a context manager or as a decorator.

        with appekg.beat(1):
            assemble()

        @appekg.beat(2)
        def solve(): ...

    A beat holds nothing but its id: it can be kept, used again, nested in itself and shared by threads.

    Args:
        id: Number of the phase.

    Raises:
        ValueError: the id is not within 0 .. 2**32-1.
    """

    __slots__ = ("id",)

    def __init__(self, id: int) -> None:
        number = operator.index(id)
        if not 0 <= number <= LARGEST_ID:
            raise ValueError(f"heartbeat id {number} is not within 0 .. {LARGEST_ID}")
        self.id = number

    def __enter__(self) -> beat:
        library.ekg_begin(self.id)
        return self

    def __exit__(self, *exception: object) -> None:
        library.ekg_end(self.id)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Wrap a function: each call is a beat, however it ends.

        For a generator function or a coroutine function, the beat lasts from the first step to the last one, including
        the time between steps.

        Raises:
            TypeError: an asynchronous generator function; use a `with` statement in it.
        """
        if inspect.isasyncgenfunction(function):
            raise TypeError(f"{function.__qualname__} is an asynchronous generator; use `with appekg.beat(..)` in it")
        if inspect.iscoroutinefunction(function):
            return functools.wraps(function)(self._around_coroutine(function))
        if inspect.isgeneratorfunction(function):
            return functools.wraps(function)(self._around_generator(function))
        return functools.wraps(function)(self._around_call(function))

    def __repr__(self) -> str:
        return f"appekg.beat({self.id})"

    def _around_call(self, function: Callable[P, R]) -> Callable[P, R]:
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return function(*args, **kwargs)

        return call

    def _around_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def generate(*args: Any, **kwargs: Any) -> Any:
            with self:
                return (yield from function(*args, **kwargs))

        return generate

    def _around_coroutine(self, function: Callable[..., Any]) -> Callable[..., Any]:
        async def run(*args: Any, **kwargs: Any) -> Any:
            with self:
                return await function(*args, **kwargs)

        return run
