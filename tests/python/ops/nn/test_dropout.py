"""Dropout keeps its share of the elements, and scales them."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as lm


def test_dropout() -> None:
    lm.seed(3)
    x = lm.tensor(np.ones((200, 200), "float32"), stop_gradient=False)
    y = lm.dropout(x, 0.25)
    values = y.numpy() if y.stop_gradient else y.detach().numpy()
    assert set(np.unique(values)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((values == 0).mean() - 0.25) < 0.01
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), values)
    assert lm.dropout(x, 0.25, training=False) is x or (lm.dropout(x, 0.25, training=False).numpy() == 1).all()
    assert (lm.dropout(x.detach(), 1.0).numpy() == 0).all()
    with pytest.raises(ValueError, match="dropout"):
        lm.dropout(x, 1.5)
