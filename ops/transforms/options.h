#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/core/tensor.h"

// Types shared by the transforms of functions.

namespace lamella::autograd {

/// A function of several tensors with several results.
using TensorFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

enum class JacobianStrategy : std::uint8_t { Reverse, Forward };

/// Options of jacobian() and hessian().
struct JacobianOptions {
  /// True if the result can be differentiated in turn. Without a value: if recording is on and the function's results
  /// depend on anything else that requires a gradient, so that calls can be nested.
  std::optional<bool> create_graph = false;
  /// True if a result that does not depend on an input (by recorded operations) throws RuntimeError instead of giving
  /// zeros.
  bool strict = false;
  /// True if all rows are computed by one batched pass; ignored for Forward.
  bool vectorize = false;
  /// Rows by backward passes, or columns by forward-mode differentiation with one call of the function each.
  JacobianStrategy strategy = JacobianStrategy::Reverse;
};

/// Options of gradcheck() and gradgradcheck().
struct GradcheckOptions {
  /// Step of the differences.
  double eps = 1e-6;
  /// Numbers agree if |analytical - numerical| <= atol + rtol * |numerical|.
  double atol = 1e-5;
  double rtol = 1e-3;
  /// Largest difference between two runs.
  double nondet_tol = 0.0;
  /// Checks that an output without a gradient counts as one with a gradient of zeros.
  bool check_undefined_grad = true;
  /// Checks that gradients have their inputs' dtypes.
  bool check_grad_dtypes = false;
  /// Compares u^T J v for one random u and v per output and input, in place of every entry of J: two calls of the
  /// function and one backward pass each. (With entries of u and v that are positive, `atol` grows by the product of
  /// their sums.)
  bool fast_mode = false;
  /// Checks that a pass over a batch of gradients (vmap, GradOptions::is_grads_batched) gives the results of separate
  /// passes.
  bool check_batched_grad = false;
  /// Checks the derivatives of forward mode against differences as well.
  bool check_forward_ad = false;
  /// Prefix of the messages.
  std::string name = "gradcheck";
  /// Names of the inputs and the outputs in messages, in place of "input 0" and "output 0".
  std::vector<std::string> input_names;
  std::vector<std::string> output_names;
  /// Returns the text of an exception of the host language, for messages; what() by default.
  std::function<std::string(const std::exception&)> error_text;
};

/// True if gradients are right; otherwise the message says which one is wrong, by how much, and the probable cause.
struct GradcheckResult {
  bool ok = true;
  std::string message;
  explicit operator bool() const noexcept { return ok; }
};

}  // namespace lamella::autograd
