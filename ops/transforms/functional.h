#pragma once

#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/core/tensor.h"

// Derivatives of functions: each takes a function of tensors and the point at which it is differentiated, and touches
// the `grad` of no tensor.
//
// The function is called with tensors of its own, on the memory of those given, and with recording on. Inputs that it
// does not depend on have derivatives of zero, unless `strict` makes that a RuntimeError. An undefined tensor is a
// ValueError, a dtype that has no gradient a TypeError. Gradients of complex tensors are conjugate Wirtinger
// derivatives, as everywhere on the tape.

namespace lamella::autograd {

/// A function of several tensors with several results.
using TensorFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

/// What vjp() returns.
struct Vjp {
  /// The function's results. On the tape where something beside the primals made them so, or a primal is on it itself.
  std::vector<Tensor> outputs;
  /// Takes one gradient for each output, undefined for none, and returns one for each primal. It may be called any
  /// number of times; the graph lives as long as it does.
  TensorFunction pullback;
};

/// The results of `func` at `primals`, and the product of a row vector with its Jacobian there as a function.
Vjp vjp(const TensorFunction& func, std::span<const Tensor> primals);

enum class JacobianStrategy : std::uint8_t { Reverse, Forward };

/// Options of jacobian() and hessian().
struct JacobianOptions {
  /// Whether the result can be differentiated in turn. Without a value: where recording is on and the function's
  /// results depend on anything else that wants a gradient, so that calls can be nested.
  std::optional<bool> create_graph = false;
  /// RuntimeError where a result does not depend on an input (by recorded operations), in place of zeros.
  bool strict = false;
  /// All rows by one batched pass; without a meaning for Forward.
  bool vectorize = false;
  /// Rows by backward passes, or columns by forward-mode differentiation, one call of the function for each.
  JacobianStrategy strategy = JacobianStrategy::Reverse;
};

/// The Jacobian: entry [o][i] has the shape of output o followed by that of input i.
std::vector<std::vector<Tensor>> jacobian(const TensorFunction& func, std::span<const Tensor> inputs,
                                          const JacobianOptions& options = {});

/// The second derivatives of a function with one result of one element: entry [i][j] has the shape of input i followed
/// by that of input j. `strategy` is that of the outer differentiation; the inner one is a backward pass.
std::vector<std::vector<Tensor>> hessian(const TensorFunction& func, std::span<const Tensor> inputs,
                                         const JacobianOptions& options = {});

/// Options of hvp() and vhp().
struct ProductOptions {
  bool create_graph = false;
  bool strict = false;
};

/// A function's result, and a product for each input.
using ProductResult = std::pair<Tensor, std::vector<Tensor>>;

/// The Hessian of a function with one result of one element, times a vector that has the inputs' shapes; by
/// differentiating the backward pass twice. `v` may be empty for a single input with one element: it is 1 then.
/// ValueError where `v` does not fit.
ProductResult hvp(const TensorFunction& func, std::span<const Tensor> inputs, std::span<const Tensor> v,
                  const ProductOptions& options = {});

/// A vector times that Hessian: the same numbers as hvp() where the second derivatives are continuous, by one pass
/// less.
ProductResult vhp(const TensorFunction& func, std::span<const Tensor> inputs, std::span<const Tensor> v,
                  const ProductOptions& options = {});

}  // namespace lamella::autograd
