#pragma once

#include <string>
#include <vector>

#include "ops/transforms/options.h"
#include "ops/transforms/real_view.h"

namespace lamella::autograd {

/// Returns the i-th of `names`, or a default such as "input 2" if there are fewer.
std::string name_at(const std::vector<std::string>& names, std::size_t i, const char* kind);

/// One call of a checked function: its own leaves, and the outputs that can have a gradient.
struct CheckedRun {
  std::vector<Tensor> leaves;
  std::vector<Tensor> outputs;
};

/// A function at the point where its gradients are checked. "Input" w is the w-th that requires a gradient, "output" o
/// the o-th with a differentiable dtype.
class CheckedFunction {
 public:
  /// Throws ValueError for inputs that cannot be checked.
  CheckedFunction(const TensorFunction& func, std::span<const Tensor> inputs, const GradcheckOptions& options);

  std::size_t input_count() const noexcept { return wanted_.size(); }
  std::size_t output_count() const noexcept { return first_.outputs.size(); }
  const Tensor& input(std::size_t w) const { return inputs_[wanted_[w]]; }
  const Tensor& output(std::size_t o) const { return first_.outputs[o]; }
  /// True if output o was recorded, so that the tape knows its gradient.
  bool recorded(std::size_t o) const;
  /// Returns the position of output o among the function's results.
  std::size_t output_place(std::size_t o) const { return places_[o]; }
  std::string input_name(std::size_t w) const;
  std::string output_name(std::size_t o) const;
  const GradcheckOptions& options() const noexcept { return options_; }
  const CheckedRun& first_run() const noexcept { return first_; }

  /// Calls the function with copies of the inputs, with input w moved by `steps`.
  CheckedRun run(std::size_t w, const Components& steps) const;
  CheckedRun run() const { return run(0, {}); }
  /// Returns the components of all outputs, with input w moved by `steps`.
  std::vector<Components> values(std::size_t w, const Components& steps) const;

  /// Returns the Jacobians of all outputs with respect to input w, by central differences.
  std::vector<Matrix> differences(std::size_t w, double step) const;
  /// Returns (f(x + h v) - f(x - h v)) / 2h for all outputs, with input w = x.
  std::vector<Components> directional_differences(std::size_t w, const Components& v, double step) const;
  /// The gradients of the other outputs while one has a gradient.
  enum class Others : std::uint8_t { Zeros, Nothing };
  /// Returns the gradients of all inputs with respect to output o of a run, starting from `seed`; undefined if none
  /// arrives.
  std::vector<Tensor> gradients(const CheckedRun& run, std::size_t o, const Components& seed,
                                Others others = Others::Zeros) const;

 private:
  void check_inputs() const;
  /// Calls the function and fills `places` with the outputs' positions among its results.
  CheckedRun call(std::size_t w, const Components& steps, std::vector<std::size_t>& places) const;

  const TensorFunction& func_;
  std::vector<Tensor> inputs_;
  const GradcheckOptions& options_;
  std::vector<std::size_t> wanted_;
  /// For each output, its position among the function's results.
  std::vector<std::size_t> places_;
  CheckedRun first_;
};

/// Jacobians by backward passes.
struct Analytical {
  /// Jacobians [o][w]; empty if output o was not recorded.
  std::vector<std::vector<Matrix>> jacobians;
  /// Flags [o][w]: true if no pass returned a gradient.
  std::vector<std::vector<bool>> missing;
  /// The problem with the gradients' form; empty if there is none.
  std::string problem;
};

Analytical analytical_jacobians(const CheckedFunction& f, const CheckedRun& run);

/// Returns the problem with the form of a gradient that arrived at input w; empty if there is none.
std::string form_problem(const CheckedFunction& f, std::size_t w, const Tensor& grad);

}  // namespace lamella::autograd
