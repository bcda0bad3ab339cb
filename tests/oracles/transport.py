"""The transportation problem as the linear programme that it is, without a thought for its size."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

Floats = npt.NDArray[np.float64]


def least_cost(cost: Floats, supply: Floats, demand: Floats) -> float:
    n, m = cost.shape
    leaves = np.kron(np.eye(n), np.ones(m))
    arrives = np.kron(np.ones(n), np.eye(m))
    solved = linprog(cost.ravel(), A_eq=np.vstack([leaves, arrives]), b_eq=np.concatenate([supply, demand]))
    return float(solved.fun)
