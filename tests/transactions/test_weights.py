"""TF-IDF weights: the paper's Figure 2."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.transactions.weights import tf_idf
from tests.oracles.transactions import histories


def test_the_weights_of_figure_2() -> None:
    weights = tf_idf(histories(["12", "123", "14", "145"]).sets).toarray()
    expected = [
        [0.5, 0.846574, 0, 0, 0],
        [0.333333, 0.564382, 0.795431, 0, 0],
        [0.5, 0, 0, 0.846574, 0],
        [0.333333, 0, 0, 0.564382, 0.795431],
    ]
    assert weights == pytest.approx(np.array(expected), abs=1e-6)
    unit = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    cosine = unit @ unit.T
    assert cosine[0, 1:] == pytest.approx([0.635943, 0.258615, 0.164464], abs=1e-6)
    assert cosine[1, 3] == pytest.approx(0.104590, abs=1e-6)
