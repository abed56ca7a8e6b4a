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
    "samples with gradients": """
        from paddle import distribution as D

        def of(number):
            return tensor([number, number], wanted=True)

        Of, ones = D.TransformedDistribution, paddle.ones([2])
        for make, parameters, through_sample in (
            (D.Normal, (0.5, 1.0), [1, 1]), (D.LogNormal, (0.5, 1.0), [1, 1]), (D.Uniform, (0.5, 1.0), [1, 1]),
            (D.StudentT, (5.0, 0.0, 1.0), [1, 1, 1]), (D.Gumbel, (0.5, 1.0), [0, 0]), (D.Laplace, (0.5, 1.0), [0, 0]),
            (D.Cauchy, (0.5, 1.0), [0, 0]), (D.Beta, (0.5, 1.0), [0, 0]), (D.Gamma, (0.5, 1.0), [0, 0]),
            (D.Exponential, (0.5,), [0]), (D.Chi2, (0.5,), [0]), (D.Poisson, (0.5,), [0]), (D.Bernoulli, (0.5,), [0]),
            (D.ContinuousBernoulli, (0.3,), [0]), (D.Geometric, (0.5,), [0]), (D.Dirichlet, (0.5,), [0]),
            (lambda a, b: D.Independent(D.Normal(a, b), 1), (0.5, 1.0), [1, 1]),
            (lambda a, b: D.Independent(D.Laplace(a, b), 1), (0.5, 1.0), [0, 0]),
            (lambda a, b: Of(D.Normal(a, b), [D.ExpTransform()]), (0.5, 1.0), [1, 1]),
            (lambda a, b: Of(D.Laplace(a, ones), [D.AffineTransform(a, b)]), (0.5, 2.0), [1, 1]),
            (lambda a: Of(D.Laplace(a, ones), [D.ExpTransform()]), (0.5,), [0]),
            (lambda a: Of(D.Normal(a, ones), [D.StickBreakingTransform()]), (0.5,), [1]),
        ):
            given = [of(each) for each in parameters]
            drawn = make(*given).sample([50])
            assert drawn.shape[0] == 50 and drawn.stop_gradient == (not any(through_sample)), (make, drawn)
            (drawn * drawn).sum().backward()
            assert [each.grad is not None for each in given] == [bool(each) for each in through_sample], make

        mean, scale = of(0.5), of(2.0)
        drawn = D.Normal(mean, scale).sample([1000])
        drawn.mean(axis=0).sum().backward()
        assert_allclose(mean.grad.numpy(), [1.0, 1.0], 1e-5)
        assert_allclose(scale.grad.numpy(), ((drawn - mean) / scale).mean(axis=0).numpy(), 1e-4, 1e-5)
        """,
    "options and properties": """
        from paddle import distribution as D

        loc, factor = tensor([0.3, 0.7], wanted=True), np.array([[2.0, 0.0], [0.5, 1.0]])
        x, covariance = tensor([1.0, -1.0]), factor @ factor.T
        offset = x.numpy() - loc.numpy()
        wanted = -0.5 * offset @ np.linalg.inv(covariance) @ offset - np.log(2 * np.pi) - np.log(2.0)
        for given in (
            {"covariance_matrix": tensor(covariance)}, {"scale_tril": tensor(factor)},
            {"precision_matrix": tensor(np.linalg.inv(covariance))},
        ):
            made = D.MultivariateNormal(loc, **given)
            assert_allclose(made.log_prob(x).item(), wanted, 1e-4)
            assert [made.covariance_matrix, made.precision_matrix, made.scale_tril].count(None) == 2
            assert made.sample([3]).stop_gradient and not made.rsample([3]).stop_gradient
        assert D.MultivariateNormal(1.0, paddle.eye(1)).event_shape == (1,)
        for given in ({}, {"scale_tril": paddle.eye(2), "covariance_matrix": paddle.eye(2)}):
            try:
                D.MultivariateNormal(loc, **given)
            except ValueError as error:
                assert "covariance_matrix" in str(error)
            else:
                raise AssertionError(given)

        made = D.ExpTransform()(D.Normal(0.0, 1.0))
        assert_allclose(made.log_prob(tensor(2.0)).item(), D.LogNormal(0.0, 1.0).log_prob(tensor(2.0)).item(), 1e-5)
        chain = D.ExpTransform()(D.AffineTransform(tensor(1.0), tensor(3.0)))
        assert_allclose(chain.forward(tensor([0.5])).numpy(), [1 + 3 * np.exp(0.5)], 1e-5)

        assert_allclose(D.Multinomial(4, tensor([1.0, 3.0])).probs.numpy(), [0.25, 0.75])
        squares = D.Chi2(tensor([3.0]))
        assert isinstance(squares, D.Gamma) and squares.rate.item() == 0.5 and squares.concentration.item() == 1.5
        assert_allclose(D.Bernoulli(0.2).logits.item(), np.log(0.25), 1e-6)
        assert D.LKJCholesky(3).sample_method == "onion" and D.Normal(0.0, 1.0, name="z").name == "z"
        for make, dtype in (
            (lambda: D.Normal(np.zeros(2), np.ones(2)), "float64"), (lambda: D.Uniform(0.0, np.ones(2)), "float64"),
            (lambda: D.LogNormal(np.zeros(2), 1.0), "float64"), (lambda: D.Categorical(np.ones(2)), "float64"),
            (lambda: D.Normal(np.zeros(2, "float32"), np.ones(2)), "float32"),
            (lambda: D.Normal([0.0], [1.0]), "float32"),
            (lambda: D.Normal(np.float64(0), np.float64(1)), "float32"),
        ):
            assert str(make().entropy().dtype).split(".")[-1] == dtype, dtype
        for make in (lambda: D.Poisson(2.0), lambda: D.Poisson(2), lambda: D.ContinuousBernoulli(0.3, (0.4, 0.6))):
            assert make().batch_shape == (1,) and make().sample([3]).shape == [3, 1]
        assert np.isinf(D.Uniform(0.0, 1.0).log_prob(tensor([0.0, 1.0])).numpy()).all()
        for wrong in (lambda: D.Normal(1 + 2j, 1.0), lambda: D.Normal(tensor([1 + 2j], "complex64"), tensor([1.0]))):
            try:
                wrong()
            except NotImplementedError as error:
                assert "complex" in str(error)
            else:
                raise AssertionError
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
