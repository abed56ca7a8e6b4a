#pragma once

#include <span>
#include <utility>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/transforms/options.h"

// Derivatives of functions: each takes a function of tensors and the point at which it is differentiated, and changes
// the `grad` of no tensor.
//
// The function is called with separate tensors, on the memory of the given ones, with recording on. Inputs that it does
// not depend on have derivatives of zero, unless `strict` makes that a RuntimeError. An undefined tensor throws
// ValueError, a dtype that has no gradient TypeError. Gradients of complex tensors are conjugate Wirtinger derivatives,
// as everywhere on the tape.

namespace lamella::autograd {

/// The result of vjp().
struct Vjp {
  /// The function's results. On the tape if something besides the primals put them there, or if a primal is on it.
  std::vector<Tensor> outputs;
  /// Takes one gradient per output, undefined for none, and returns one per primal. It may be called any number of
  /// times; the graph lives as long as this function.
  TensorFunction pullback;
};

/// Returns the results of `func` at `primals`, and a function that multiplies a row vector by its Jacobian there.
Vjp vjp(const TensorFunction& func, std::span<const Tensor> primals);

/// Returns the Jacobian: entry [o][i] has the shape of output o followed by that of input i.
std::vector<std::vector<Tensor>> jacobian(const TensorFunction& func, std::span<const Tensor> inputs,
                                          const JacobianOptions& options = {});

/// Returns the second derivatives of a function with one result of one element: entry [i][j] has the shape of input i
/// followed by that of input j. `strategy` is that of the outer differentiation; the inner one is a backward pass.
std::vector<std::vector<Tensor>> hessian(const TensorFunction& func, std::span<const Tensor> inputs,
                                         const JacobianOptions& options = {});

/// Options of hvp() and vhp().
struct ProductOptions {
  bool create_graph = false;
  bool strict = false;
};

/// A function's result, and a product for each input.
using ProductResult = std::pair<Tensor, std::vector<Tensor>>;

/// Returns the Hessian of a function with one result of one element, times a vector of the inputs' shapes;
/// differentiates the backward pass twice. `v` may be empty for a single input with one element: it is 1 then. Throws
/// ValueError if `v` does not fit.
ProductResult hvp(const TensorFunction& func, std::span<const Tensor> inputs, std::span<const Tensor> v,
                  const ProductOptions& options = {});

/// Returns a vector times the Hessian: the numbers of hvp() if the second derivatives are continuous, with one pass
/// less.
ProductResult vhp(const TensorFunction& func, std::span<const Tensor> inputs, std::span<const Tensor> v,
                  const ProductOptions& options = {});

}  // namespace lamella::autograd
