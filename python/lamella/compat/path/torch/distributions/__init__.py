"""Distributions, which are Lamella's under the same names."""

from __future__ import annotations

import importlib
import re
import sys
from typing import Any

from lamella.compat.front import add_paths, close_module

from . import _differing, _extending  # noqa: F401 (_differing changes the classes)

_native: Any = importlib.import_module("lamella.distributions")
__all__ = _native.__all__
globals().update((_name, getattr(_native, _name)) for _name in __all__)  # programs go through the module's names

#: Modules whose names are not those of one distribution in small letters.
_MODULES = {
    "exp_family": "ExponentialFamily",
    "fishersnedecor": "FisherSnedecor",
    "lowrank_multivariate_normal": "LowRankMultivariateNormal",
    "one_hot_categorical": "OneHotCategorical OneHotCategoricalStraightThrough",
    "relaxed_bernoulli": "LogitRelaxedBernoulli RelaxedBernoulli",
    "relaxed_categorical": "ExpRelaxedCategorical RelaxedOneHotCategorical",
    "studentT": "StudentT",
}


def _with_base(names: str) -> str:
    """Returns the names of a module with those that every module imports."""
    return " ".join(dict.fromkeys([*names.split(), "Distribution", "constraints"]))


def _paths() -> dict[str, dict[str, str]]:
    """Returns the modules of PyTorch's package: one for each distribution, in small letters with underscores."""
    named = {name for names in _MODULES.values() for name in names.split()}
    modules = dict(_MODULES)
    for name in _native.__all__:
        kind = getattr(_native, name)
        if isinstance(kind, type) and issubclass(kind, _native.Distribution) and name not in named:
            modules[re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()] = name
    paths = {f"{__name__}.{module}": {__name__: _with_base(names)} for module, names in modules.items()}
    paths[f"{__name__}.multivariate_normal"] |= {_extending.__name__: "_batch_mahalanobis _precision_to_scale_tril"}
    return paths


for _name in ("constraints", "transforms", "constraint_registry", "kl"):
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = importlib.import_module(f"lamella.distributions.{_name}")
add_paths("torch", _paths())
__getattr__ = close_module(__name__)
