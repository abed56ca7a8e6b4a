"""Distributions, and sums over graphs, of the paddle front beside formulas written out."""

import subprocess
import sys
import textwrap

import pytest

HEADER = """
import numpy as np
import paddle
import paddle.nn.functional as F
from numpy.testing import assert_allclose

rng = np.random.default_rng(5)

def tensor(values, dtype="float32", wanted=False):
    return paddle.to_tensor(values, dtype=dtype, stop_gradient=not wanted)
"""

DISTRIBUTIONS = {
    "functions of variables": """
        from paddle import distribution as D

        x = tensor([0.5, 2.0])
        for change, wanted, slope in (
            (D.ExpTransform(), np.exp, lambda x: x),
            (D.TanhTransform(), np.tanh, lambda x: np.log(1 - np.tanh(x) ** 2)),
            (D.ChainTransform([D.AffineTransform(tensor(1.0), tensor(3.0)), D.ExpTransform()]),
             lambda x: np.exp(1 + 3 * x), lambda x: 1 + 3 * x + np.log(3)),
        ):
            y = change.forward(x)
            assert_allclose(y.numpy(), wanted(x.numpy()), 1e-5)
            assert_allclose(change.inverse(y).numpy(), x.numpy(), 1e-3)
            assert_allclose(change.forward_log_det_jacobian(x).numpy(), slope(x.numpy()), 1e-4)
            assert_allclose(change.inverse_log_det_jacobian(y).numpy(), -slope(x.numpy()), 1e-3)

        class Squared(D.Transform):
            def _forward(self, x):
                return x * x

            def _inverse(self, y):
                return paddle.sqrt(y)

            def _forward_log_det_jacobian(self, x):
                return paddle.log(2 * x)

        made = D.TransformedDistribution(D.Uniform(0.0, 1.0), [Squared()])
        assert_allclose(made.log_prob(tensor([0.25])).numpy(), [-np.log(2 * 0.5)], atol=1e-6)
        """,
    "numbers for values, and values that cannot occur": """
        from math import comb, exp, factorial, log
        from paddle import distribution as D

        geometric = D.Geometric(0.25)
        assert_allclose(geometric.pmf(2).item(), 0.75**2 * 0.25, 1e-6)
        assert_allclose(geometric.log_pmf(2).item(), log(0.75**2 * 0.25), 1e-6)
        assert_allclose(geometric.cdf(2).item(), 1 - 0.75**3, 1e-6)
        assert geometric.rsample([5]).shape == [5]
        assert D.Uniform(0.0, 1.0).prob(tensor(2.0)).item() == 0.0
        outside = D.Dirichlet(tensor([1.0, 2.0, 3.0])).prob(tensor([0.3, 0.5, 0.6]))
        assert_allclose(outside.item(), 60 * 0.5 * 0.36, 1e-5)
        coin = D.Bernoulli(0.3)
        assert [round(coin.cdf(x).item(), 6) for x in (-1, 0, 0.5, 1)] == [0.0, 0.7, 0.7, 1.0]
        drawn = coin.rsample([2000], temperature=0.1)
        assert drawn.shape == [2000] and abs((F.sigmoid(drawn) > 0.5).astype("float32").mean().item() - 0.3) < 0.06
        p = [exp(-2.5) * 2.5**k / factorial(k) for k in range(40)]
        assert_allclose(D.Poisson(2.5).entropy().item(), -sum(x * log(x) for x in p), 1e-4)
        p = [comb(6, k) * 0.3**k * 0.7 ** (6 - k) for k in range(7)]
        assert_allclose(D.Binomial(6, 0.3).entropy().item(), -sum(x * log(x) for x in p), 1e-4)
        """,
}
GRAPHS = {
    "segments": """
        from paddle import geometric, incubate

        rows = rng.normal(size=(5, 3)).astype("float32")
        ids = np.array([0, 0, 2, 2, 2])
        x, places = tensor(rows, wanted=True), paddle.to_tensor(ids)
        for name, join in (("sum", np.sum), ("mean", np.mean), ("max", np.max), ("min", np.min)):
            found = getattr(geometric, f"segment_{name}")(x, places)
            wanted = [join(rows[ids == i], axis=0) if (ids == i).any() else np.zeros(3) for i in range(3)]
            assert_allclose(found.numpy(), wanted, 1e-5)
            assert_allclose(getattr(incubate, f"segment_{name}")(x, places).numpy(), found.numpy())
        geometric.segment_mean(x, places).backward()
        assert_allclose(x.grad.numpy(), np.repeat([1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3], 3).reshape(5, 3), 1e-6)
        """,
    "messages": """
        from paddle import geometric

        rows, edges = rng.normal(size=(3, 2)), rng.normal(size=(4, 1))
        begins, ends = np.array([0, 1, 2, 0]), np.array([1, 2, 1, 0])
        x, y = tensor(rows, "float64"), tensor(edges, "float64")
        sums = np.zeros((3, 2))
        np.add.at(sums, ends, rows[begins])
        s, t = paddle.to_tensor(begins), paddle.to_tensor(ends)
        assert_allclose(geometric.send_u_recv(x, s, t).numpy(), sums)
        assert geometric.send_u_recv(x, s, t, "max", out_size=5).shape == [5, 2]
        products = np.zeros((3, 2))
        np.add.at(products, ends, rows[begins] * edges)
        assert_allclose(geometric.send_ue_recv(x, y, s, t, "mul").numpy(), products)
        assert_allclose(geometric.send_uv(x, x, s, t, "sub").numpy(), rows[begins] - rows[ends])
        try:
            geometric.send_u_recv(x, s, t, "median")
        except ValueError as error:
            assert "reduce_op" in str(error) and "median" in str(error)
        else:
            raise AssertionError
        """,
    "masked softmaxes": """
        from paddle import incubate

        x = tensor(rng.normal(size=(1, 1, 3, 3)))
        hidden = np.where(np.triu(np.ones((3, 3)), 1) > 0, -np.inf, 0).astype("float32")
        wanted = F.softmax(x + tensor(hidden)).numpy()
        assert_allclose(incubate.softmax_mask_fuse_upper_triangle(x).numpy(), wanted, 1e-6)
        assert_allclose(incubate.softmax_mask_fuse(x, tensor(hidden)).numpy(), wanted, 1e-6)
        assert_allclose(incubate.identity_loss(x, 1).item(), x.numpy().mean(), 1e-5)
        """,
}
TABLES = [DISTRIBUTIONS, GRAPHS]


@pytest.mark.parametrize("table", TABLES, ids=["distributions", "graphs"])
def test_programs(table):
    parts = [
        f"def part_{number}():  # {title}\n{textwrap.indent(textwrap.dedent(code).strip(), '    ')}\npart_{number}()\n"
        for number, (title, code) in enumerate(table.items())
    ]
    command = [sys.executable, "-m", "lamella.compat", "-c", HEADER + "\n".join(parts)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
