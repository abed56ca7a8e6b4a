#pragma once

#include <string>
#include <vector>

#include "ops/transforms/gradcheck.h"
#include "ops/transforms/real_view.h"

namespace lamella::autograd {

/// The i-th of `names`, "input 2" (say) where there are fewer.
std::string name_at(const std::vector<std::string>& names, std::size_t i, const char* kind);

/// One call of a checked function: leaves of its own, and the outputs that can have a gradient.
struct CheckedRun {
  std::vector<Tensor> leaves;
  std::vector<Tensor> outputs;
};

/// A function at the point where its gradients are checked. "Input" w is the w-th that wants a gradient, "output" o the
/// o-th with a dtype that can have one.
class CheckedFunction {
 public:
  /// ValueError for inputs that cannot be checked.
  CheckedFunction(const TensorFunction& func, std::span<const Tensor> inputs, const GradcheckOptions& options);

  std::size_t input_count() const noexcept { return wanted_.size(); }
  std::size_t output_count() const noexcept { return first_.outputs.size(); }
  const Tensor& input(std::size_t w) const { return inputs_[wanted_[w]]; }
  const Tensor& output(std::size_t o) const { return first_.outputs[o]; }
  /// Whether output o was recorded: the tape knows its gradient.
  bool recorded(std::size_t o) const;
  /// Where output o stands in what the function returns.
  std::size_t output_place(std::size_t o) const { return places_[o]; }
  std::string input_name(std::size_t w) const;
  std::string output_name(std::size_t o) const;
  const GradcheckOptions& options() const noexcept { return options_; }
  const CheckedRun& first_run() const noexcept { return first_; }

  /// Calls the function with copies of the inputs, of which input w is moved by `steps`.
  CheckedRun run(std::size_t w, const Components& steps) const;
  CheckedRun run() const { return run(0, {}); }
  /// The components of all outputs, input w moved by `steps`.
  std::vector<Components> values(std::size_t w, const Components& steps) const;

  /// The Jacobians of all outputs with respect to input w, by central differences.
  std::vector<Matrix> differences(std::size_t w, double step) const;
  /// (f(x + h v) - f(x - h v)) / 2h for all outputs, with input w = x.
  std::vector<Components> directional_differences(std::size_t w, const Components& v, double step) const;
  /// What the other outputs get while one gets a gradient.
  enum class Others : std::uint8_t { Zeros, Nothing };
  /// The gradients of all inputs with respect to output o of a run, begun with `seed`; undefined where none arrives.
  std::vector<Tensor> gradients(const CheckedRun& run, std::size_t o, const Components& seed,
                                Others others = Others::Zeros) const;

 private:
  void check_inputs() const;
  /// Calls the function and fills `places` with where the outputs stand in what it returns.
  CheckedRun call(std::size_t w, const Components& steps, std::vector<std::size_t>& places) const;

  const TensorFunction& func_;
  std::vector<Tensor> inputs_;
  const GradcheckOptions& options_;
  std::vector<std::size_t> wanted_;
  /// For each output, its place in what the function returns.
  std::vector<std::size_t> places_;
  CheckedRun first_;
};

/// Jacobians by backward passes.
struct Analytical {
  /// [o][w]; empty where output o was not recorded.
  std::vector<std::vector<Matrix>> jacobians;
  /// [o][w]: no pass brought a gradient.
  std::vector<std::vector<bool>> missing;
  /// What is wrong with the gradients' form; empty where nothing is.
  std::string problem;
};

Analytical analytical_jacobians(const CheckedFunction& f, const CheckedRun& run);

/// What is wrong with the form of a gradient that arrived at input w; empty where nothing is.
std::string form_problem(const CheckedFunction& f, std::size_t w, const Tensor& grad);

}  // namespace lamella::autograd
