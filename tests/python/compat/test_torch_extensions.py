"""Extensions in PyTorch's dialect: the forms that its tutorials have, with sources of our own."""

import subprocess
import sys

import pytest
from support import extensions

# A layer in C++ functions that are bound by name, and torch::autograd::Function. (Cf. PyTorch's tutorials on C++
# extensions and on autograd in C++.)
LAYERS = """
#include <torch/extension.h>

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

torch::Tensor swish_slope(torch::Tensor z) {
  auto s = torch::sigmoid(z);
  return (1 - s) * s * z + s;
}

std::vector<torch::Tensor> gates(torch::Tensor input, torch::Tensor weights, torch::Tensor bias, torch::Tensor state) {
  auto X = torch::cat({state, input}, /*dim=*/1);
  auto parts = torch::addmm(bias, X, weights.transpose(0, 1)).chunk(2, /*dim=*/1);
  auto gate = torch::sigmoid(parts[0]);
  auto candidate = torch::elu(parts[1], /*alpha=*/1.0);
  return {gate * candidate, X, gate, d_sum(candidate)};
}
"""
