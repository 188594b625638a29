"""Types of arrays."""

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
# Of any width: long tables from files take 8 or 32 bits a number where that is enough. Widen before you multiply.
IntArray = npt.NDArray[np.signedinteger[Any]]
