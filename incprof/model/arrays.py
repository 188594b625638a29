"""Types of arrays, and what numpy is slow at."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
# Of any width: long tables from files take 8 or 32 bits a number where that is enough. Widen before you multiply.
IntArray = npt.NDArray[np.signedinteger[Any]]
Number = TypeVar("Number", bound=np.number[Any])


def distinct(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """The distinct values of an array of any shape, ascending, as `np.unique` has them.

    numpy 2.3 and later hash the values first, which takes 150 times as long where most of them differ.
    """
    ordered = np.sort(values, axis=None)
    first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]
