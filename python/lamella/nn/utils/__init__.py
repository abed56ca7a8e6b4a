"""Functions of modules and their parameters: vectors, parametrizations, pruning, packed sequences, fused layers."""

from . import parametrizations, parametrize, prune, rnn
from .fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights
from .norms import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm
from .skip_init import skip_init
from .vectors import parameters_to_vector, vector_to_parameters

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]
