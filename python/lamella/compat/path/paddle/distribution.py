"""Probability distributions with Paddle's names of parameters, over :mod:`lamella.distributions`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

import lamella as lm
from lamella import distributions as _native
from lamella.compat.front import add_paths, close_module

from ._transforms import (  # noqa: F401
    AbsTransform,
    AffineTransform,
    ChainTransform,
    ExpTransform,
    IndependentTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
)

#: Modules in which Paddle defines its distributions.
_MODULES = """
bernoulli beta binomial categorical cauchy chi2 continuous_bernoulli dirichlet distribution exponential
exponential_family gamma geometric gumbel independent kl laplace lkj_cholesky lognormal multinomial
multivariate_normal normal poisson student_t transform transformed_distribution uniform
"""


def _tensor(value: Any, dtype: str = "float32") -> lm.Tensor:
    """Returns a parameter as a tensor of floats: what is none yet, or has integers, in a dtype."""
    made = value if isinstance(value, lm.Tensor) else lm.asarray(value)
    if lm.isdtype(made.dtype, "complex floating"):
        raise NotImplementedError("[distribution] parameters and values are real numbers here, not complex ones")
    kept = isinstance(value, lm.Tensor) and lm.isdtype(made.dtype, "real floating")
    return made if kept else made.astype(dtype)


def _in_dtype_of_arrays(values: Mapping[str, Any]) -> dict[str, lm.Tensor]:
    """Returns parameters as tensors, those that are none yet in the dtype of the first one that is a numpy array."""
    arrays = (each.dtype.name for each in values.values() if isinstance(each, np.ndarray) and each.dtype.kind == "f")
    dtype = next((name for name in arrays if name in ("float32", "float64")), "float32")
    return {name: _tensor(value, dtype) for name, value in values.items()}


def _in_float32(values: Mapping[str, Any]) -> dict[str, lm.Tensor]:
    return {name: _tensor(value) for name, value in values.items()}


def _with_axis(values: Mapping[str, Any]) -> dict[str, lm.Tensor]:
    """Returns parameters as tensors, of which a number has one element on one axis."""
    return _in_float32({name: [v] if isinstance(v, (int, float)) else v for name, v in values.items()})


class Distribution:
    """The methods of all distributions, which are those of one of Lamella's.

    Values that cannot occur are no errors, as in Paddle.
    """

    # True where Paddle's `sample` has gradients, as `rsample` has.
    _samples_on_tape = False

    def __init__(self, native: Any) -> None:
        self._distribution = native
        native._validate_args = False

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the parameters."""
        return tuple(self._distribution.batch_shape)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The shape of one sample."""
        return tuple(self._distribution.event_shape)

    @property
    def mean(self) -> lm.Tensor:
        """The mean."""
        return self._distribution.mean

    @property
    def variance(self) -> lm.Tensor:
        """The variance."""
        return self._distribution.variance

    @property
    def stddev(self) -> lm.Tensor:
        """The standard deviation."""
        return self._distribution.stddev

    def sample(self, shape: Any = (), seed: int = 0) -> lm.Tensor:
        """Draws samples in a shape before that of the parameters.

        Gradients reach the parameters of Normal, LogNormal, Uniform and StudentT, and those of functions of variables.
        """
        return self._drawn(self._distribution, tuple(shape))

    def _drawn(self, native: Any, shape: tuple[int, ...]) -> lm.Tensor:
        """Returns samples of the native distribution, or of one with the same parameters in a larger batch."""
        drawn: lm.Tensor = native.rsample(shape) if self._samples_on_tape else native.sample(shape)
        return drawn

    def _transformed(self, transform: Transform) -> TransformedDistribution:
        """Returns the distribution of a function's values."""
        return TransformedDistribution(self, [transform])

    def rsample(self, shape: Any = (), seed: int = 0) -> lm.Tensor:
        """Draws samples through which gradients reach the parameters."""
        return self._distribution.rsample(tuple(shape))

    def entropy(self) -> lm.Tensor:
        """Returns the entropy."""
        return self._distribution.entropy()

    def log_prob(self, value: Any) -> lm.Tensor:
        """Returns the logarithm of the density, or of the probability, of values."""
        return self._distribution.log_prob(_tensor(value))

    def prob(self, value: Any) -> lm.Tensor:
        """Returns the density, or the probability, of values."""
        return lm.exp(self.log_prob(value))

    def probs(self, value: Any) -> lm.Tensor:
        """Older name of :meth:`prob`."""
        return self.prob(value)

    def cdf(self, value: Any) -> lm.Tensor:
        """Returns the probability of less."""
        return self._distribution.cdf(_tensor(value))

    def icdf(self, value: Any) -> lm.Tensor:
        """Returns the value below which lies a probability."""
        return self._distribution.icdf(_tensor(value))

    def kl_divergence(self, other: Distribution) -> lm.Tensor:
        """Returns the Kullback-Leibler divergence from another distribution."""
        return kl_divergence(self, other)


def _of(name: str, native: type, parameters: str, tensors: Any = _in_float32, on_tape: bool = False) -> Any:
    """Returns the class of a distribution whose parameters have the native order.

    Args:
        name: the name of the class.
        native: the class of Lamella's.
        parameters: the names of its parameters.
        tensors: makes tensors of parameters by their names.
        on_tape: whether gradients go through `sample`.
    """
    names = parameters.split()

    def __init__(self: Any, *args: Any, name: Any = None, **named: Any) -> None:  # noqa: N807
        given = dict(zip(names, args, strict=False)) | named
        unknown = set(given) - set(names)
        if unknown or len(args) > len(names):
            raise TypeError(f"[{type(self).__name__}] takes {', '.join(names)}; got {sorted(unknown) or len(args)}")
        values = tensors(given)
        vars(self).update(values)
        self.name = type(self).__name__ if name is None else name
        Distribution.__init__(self, native(*values.values()))

    members = {"__init__": __init__, "_samples_on_tape": on_tape, "__doc__": native.__doc__, "__module__": __name__}
    return type(name, (Distribution,), members)


Normal = _of("Normal", _native.Normal, "loc scale", _in_dtype_of_arrays, on_tape=True)
Beta = _of("Beta", _native.Beta, "alpha beta")
Cauchy = _of("Cauchy", _native.Cauchy, "loc scale")
Dirichlet = _of("Dirichlet", _native.Dirichlet, "concentration")
Exponential = _of("Exponential", _native.Exponential, "rate")
Gamma = _of("Gamma", _native.Gamma, "concentration rate")
Gumbel = _of("Gumbel", _native.Gumbel, "loc scale")
Laplace = _of("Laplace", _native.Laplace, "loc scale")
LogNormal = _of("LogNormal", _native.LogNormal, "loc scale", _in_dtype_of_arrays, on_tape=True)
StudentT = _of("StudentT", _native.StudentT, "df loc scale", on_tape=True)


class Uniform(_of("Uniform", _native.Uniform, "low high", _in_dtype_of_arrays, on_tape=True)):  # type: ignore[misc]
    """Numbers between two bounds, which are no such numbers themselves."""

    def log_prob(self, value: Any) -> lm.Tensor:
        """Returns the logarithm of the density, minus infinity at the bounds and outside of them."""
        values = _tensor(value)
        inside = (values > self.low) & (values < self.high)
        return lm.where(inside, -lm.log(self.high - self.low), -math.inf)


class Chi2(Gamma):  # type: ignore[valid-type, misc]
    """The sum of ``df`` squares of standard normal numbers."""

    def __init__(self, df: Any) -> None:
        self.df = _tensor(df)
        self.concentration, self.rate = 0.5 * self.df, lm.full_like(self.df, 0.5)
        Distribution.__init__(self, _native.Chi2(self.df))


class ContinuousBernoulli(Distribution):
    """Numbers between 0 and 1 whose density is in proportion to ``probs ** x * (1 - probs) ** (1 - x)``.

    Args:
        probs: the probabilities; a number has one element on one axis.
        lims: not used: between these probabilities Paddle takes a series, and Lamella chooses for itself.
    """

    def __init__(self, probs: Any, lims: tuple[float, float] = (0.499, 0.501)) -> None:
        found = _with_axis({"probs": probs})["probs"]
        self.probs = found  # type: ignore[method-assign, assignment]
        self.lims = _tensor(lims)
        super().__init__(_native.ContinuousBernoulli(found))


class MultivariateNormal(Distribution):
    """Normal vectors.

    Args:
        loc: their mean.
        covariance_matrix: their covariance, or one of the following instead.
        precision_matrix: its inverse.
        scale_tril: its lower Cholesky factor.
    """

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None
    ) -> None:
        matrices = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = [name for name, matrix in matrices.items() if matrix is not None]
        if len(given) != 1:
            raise ValueError(f"[MultivariateNormal] takes one of {', '.join(matrices)}; got {given or 'none'}")
        mean = _with_axis({"loc": loc})["loc"]
        matrix: dict[str, Any] = {given[0]: _tensor(matrices[given[0]]).astype(mean.dtype)}
        native = _native.MultivariateNormal(lm.reshape(mean, (1,)) if mean.ndim == 0 else mean, **matrix)
        self.covariance_matrix = self.precision_matrix = self.scale_tril = None
        setattr(self, given[0], getattr(native, given[0]))
        self.loc = native.loc
        super().__init__(native)


class Bernoulli(_of("Bernoulli", _native.Bernoulli, "probs")):  # type: ignore[misc]
    """1 with the probability ``probs``, else 0."""

    @property
    def logits(self) -> lm.Tensor:
        """The logarithm of the probability over that of 0."""
        found: lm.Tensor = self._distribution.logits
        return found

    def rsample(self, shape: Any = (), temperature: float = 1.0) -> lm.Tensor:
        """Draws numbers through which gradients reach the probability; their sigmoids lie between 0 and 1.

        The logit and logistic noise over the ``temperature``: far from 0 where that is low (Maddison et al. 2017, "The
        concrete distribution").
        """
        logit = lm.log(self.probs) - lm.log1p(-self.probs)
        tiny = 1e-7
        noise = lm.clip(lm.rand((*shape, *self.batch_shape), dtype=logit.dtype), tiny, 1 - tiny)
        return (logit + lm.log(noise) - lm.log1p(-noise)) / temperature

    def cdf(self, value: Any) -> lm.Tensor:
        """Returns the probability of numbers up to values: a step at 0, and one at 1."""
        values = _tensor(value)
        steps = lm.where(values < 1, 1 - self.probs, lm.ones_like(self.probs))
        return lm.where(values < 0, lm.zeros_like(steps), steps)


class Geometric(_of("Geometric", _native.Geometric, "probs")):  # type: ignore[misc]
    """The number of failures before the first success."""

    def pmf(self, k: Any) -> lm.Tensor:
        """Returns the probability of counts."""
        return self.prob(k)

    def log_pmf(self, k: Any) -> lm.Tensor:
        """Returns the logarithm of the probability of counts."""
        return self.log_prob(k)

    def rsample(self, shape: Any = (), seed: int = 0) -> lm.Tensor:
        """Draws samples, through which no gradient passes."""
        return self.sample(shape)


class _Counts(Distribution):
    """Counts whose entropy is a sum over all that are likely."""

    def _most(self) -> int:
        """Returns a count beyond which the probability is 0, or nearly so."""
        raise TypeError(f"[{type(self).__name__}] the class names no largest count")

    def entropy(self) -> lm.Tensor:
        """Returns the entropy, ``-sum(p * log(p))`` over the counts."""
        counts = lm.arange(self._most() + 1, dtype=self.mean.dtype)
        logs = self.log_prob(lm.reshape(counts, (-1,) + (1,) * len(self.batch_shape)))
        return -lm.sum(lm.where(logs > -math.inf, lm.exp(logs) * logs, lm.zeros_like(logs)), axis=0)


class Poisson(_Counts, _of("Poisson", _native.Poisson, "rate", _with_axis)):  # type: ignore[misc]
    """Counts of independent events of which there are ``rate`` in the mean."""

    def _most(self) -> int:
        mean = float(lm.max(self.rate))
        return int(mean + 30 * math.sqrt(mean + 1))


class Binomial(_Counts, _of("Binomial", _native.Binomial, "total_count probs")):  # type: ignore[misc]
    """The number of successes among ``total_count`` tries."""

    def _most(self) -> int:
        return int(lm.max(self.total_count))


class Categorical(Distribution):
    """Classes by weights: :meth:`probs` and :meth:`log_prob` divide them by their sum, as Paddle does.

    :meth:`sample`, :meth:`entropy` and :meth:`kl_divergence` take their softmax.

    Args:
        logits: the weights, at least 0.
        name: not used.
    """

    def __init__(self, logits: Any, name: Any = None) -> None:
        self.logits = _in_dtype_of_arrays({"logits": logits})["logits"]
        self.name = "Categorical" if name is None else name
        super().__init__(_native.Categorical(logits=self.logits))

    def log_prob(self, value: Any) -> lm.Tensor:
        """Returns the logarithms of classes' probabilities."""
        return lm.log(self.probs(value))

    def probs(self, value: Any) -> lm.Tensor:
        """Returns the probabilities of classes: of the same ones for all distributions, if there are several."""
        shares = self.logits / lm.sum(self.logits, axis=-1, keepdims=True)
        if self.logits.ndim == 1:
            return lm.take(shares, lm.reshape(value, (-1,)), axis=-1).reshape(list(value.shape))
        return lm.take_along_axis(shares, lm.broadcast_to(value, (*shares.shape[:-1], value.shape[-1])), axis=-1)

    prob = probs


class Multinomial(Distribution):
    """Counts of classes among ``total_count`` draws, by probabilities that are divided by their sum."""

    def __init__(self, total_count: int, probs: Any) -> None:
        if not isinstance(total_count, int) or total_count < 1:
            raise ValueError(f"[Multinomial] total_count is an integer above 0, not {total_count!r}")
        weights = _tensor(probs)
        self.total_count = total_count
        self.probs = weights / lm.sum(weights, axis=-1, keepdims=True)  # type: ignore[method-assign, assignment]
        super().__init__(_native.Multinomial(total_count, probs=weights))


class ExponentialFamily(Distribution):
    """The base of distributions with natural parameters, see :class:`lamella.distributions.ExponentialFamily`."""


class LKJCholesky(Distribution):
    """Cholesky factors of random correlation matrices (Lewandowski, Kurowicka & Joe 2009).

    Args:
        dim: number of rows.
        concentration: above 1 for matrices near to the unit one, below for others.
        sample_method: "onion" or "cvine", of which both draw the same matrices.
    """

    def __init__(self, dim: int = 2, concentration: Any = 1.0, sample_method: str = "onion") -> None:
        if sample_method not in ("onion", "cvine"):
            raise ValueError(f"[LKJCholesky] sample_method is 'onion' or 'cvine', not {sample_method!r}")
        self.dim, self.concentration, self.sample_method = dim, _tensor(concentration), sample_method
        super().__init__(_native.LKJCholesky(dim, self.concentration))


_divergences: dict[tuple[type, type], Any] = {}


def register_kl(cls_p: type, cls_q: type) -> Any:
    """Returns a decorator for the divergence of distributions of the first class from those of the second."""

    def register(function: Any) -> Any:
        _divergences[cls_p, cls_q] = function
        return function

    return register


class Independent(Distribution):
    """A distribution whose last ``reinterpreted_batch_rank`` batch axes are axes of a sample."""

    def __init__(self, base: Distribution, reinterpreted_batch_rank: int) -> None:
        self._base = base
        super().__init__(_native.Independent(base._distribution, reinterpreted_batch_rank))

    def _drawn(self, native: Any, shape: tuple[int, ...]) -> lm.Tensor:
        return self._base._drawn(native.base_dist, shape)


class TransformedDistribution(Distribution):
    """The distribution of functions, one after the other, of a variable.

    Through its samples gradients reach the parameters of the functions, and those that they reach in the variable.
    """

    def __init__(self, base: Distribution, transforms: Any) -> None:
        self._base = base
        super().__init__(_native.TransformedDistribution(base._distribution, list(transforms)))

    def _drawn(self, native: Any, shape: tuple[int, ...]) -> lm.Tensor:
        inner = native.base_dist
        if isinstance(inner, _native.Independent) and not isinstance(self._base, Independent):
            inner = inner.base_dist  # functions of vectors make vectors of what the base has on several axes
        drawn = self._base._drawn(inner, shape)
        for transform in native.transforms:
            drawn = transform(drawn)
        return drawn


def kl_divergence(p: Distribution, q: Distribution) -> lm.Tensor:
    """Returns the Kullback-Leibler divergence of ``p`` from ``q``."""
    for one in type(p).__mro__:
        for two in type(q).__mro__:
            if (one, two) in _divergences:
                return _divergences[one, two](p, q)
    found = _native.kl_divergence(p._distribution, q._distribution)
    return lm.expand_dims(found, -1) if isinstance(p, Categorical) else found  # its axis of classes stays, as of one


add_paths("paddle", {f"{__name__}.{name}": {__name__: "*"} for name in _MODULES.split()})
__getattr__ = close_module(__name__)
