#include "ops/transforms/gradcheck.h"

#include <cmath>
#include <iomanip>
#include <numeric>
#include <sstream>

#include "engine/autograd/graph/place.h"
#include "ops/creation/creation.h"
#include "ops/movement/cast.h"
#include "ops/transforms/batched.h"
#include "ops/transforms/checked_function.h"
#include "ops/transforms/diagnosis.h"
#include "ops/transforms/forward.h"
#include "ops/transforms/own_inputs.h"

namespace lamella::autograd {
namespace {

std::string number(double value) {
  std::ostringstream out;
  out << std::setprecision(10) << value;
  return std::move(out).str();
}

std::string described(const std::string& name, const Tensor& x) { return str(name, " (", x.dtype(), x.shape(), ")"); }

/// The checks of one function, in order. Each returns a problem, or an empty text.
class Check {
 public:
  Check(const TensorFunction& func, std::span<const Tensor> inputs, const GradcheckOptions& options)
      : options_(options), f_(func, inputs, options), again_(f_.run()) {}

  GradcheckResult run() {
    for (const auto check : {&Check::same_values, &Check::gradients, &Check::zero_gradients, &Check::undefined}) {
      if (std::string problem = (this->*check)(); !problem.empty()) {
        return {.ok = false, .message = str("[", options_.name, "] ", problem)};
      }
    }
    return {};
  }

 private:
  /// Checks that two calls give the same values.
  std::string same_values() {
    for (std::size_t o = 0; o < f_.output_count(); ++o) {
      const Components first = components_of(f_.output(o));
      const Components second = components_of(again_.outputs[o]);
      for (std::size_t r = 0; r < first.size(); ++r) {
        if (agrees(first[r], second[r], options_.nondet_tol, 0) || std::isnan(first[r])) continue;
        return str("the function is not deterministic: two calls with the same inputs gave ", number(first[r]), " and ",
                   number(second[r]), " for ", f_.output_name(o), component_name(f_.output(o), r), " (nondet_tol is ",
                   options_.nondet_tol, "); seed what is random inside it");
      }
    }
    return {};
  }

  bool any_recorded() const {
    for (std::size_t o = 0; o < f_.output_count(); ++o) {
      if (f_.recorded(o)) return true;
    }
    return false;
  }

  std::string gradients() {
    if (!any_recorded()) return constant_outputs();
    return options_.fast_mode ? projections() : entries();
  }

  /// Checks, if nothing was recorded, that the outputs do not depend on the inputs.
  std::string constant_outputs() {
    for (std::size_t w = 0; w < f_.input_count(); ++w) {
      const std::vector<Matrix> numerical = f_.differences(w, options_.eps);
      for (std::size_t o = 0; o < numerical.size(); ++o) {
        const auto wrong = find_wrong(Matrix(numerical[o].rows, numerical[o].columns), numerical[o], options_.atol, 0);
        if (!wrong) continue;
        return str("no output wants a gradient, but ", entry_name(o, w, *wrong), " is ",
                   number(numerical[o].at(wrong->row, wrong->column)),
                   " by differences: the function computes off the tape (by numpy, detach(), or under no_grad)");
      }
    }
    return {};
  }

  std::string entry_name(std::size_t o, std::size_t w, const WrongEntry& entry) const {
    return str("d ", f_.output_name(o), component_name(f_.output(o), entry.row), " / d ", f_.input_name(w),
               component_name(f_.input(w), entry.column));
  }

  std::string entries() {
    const Analytical analytical = analytical_jacobians(f_, f_.first_run());
    if (!analytical.problem.empty()) return analytical.problem;
    if (std::string problem = same_gradients(analytical); !problem.empty()) return problem;
    std::vector<std::vector<Matrix>> numerical;
    numerical.reserve(f_.input_count());
    for (std::size_t w = 0; w < f_.input_count(); ++w) numerical.push_back(f_.differences(w, options_.eps));

    std::string first;
    std::string others;
    for (std::size_t o = 0; o < f_.output_count(); ++o) {
      if (!f_.recorded(o)) continue;
      for (std::size_t w = 0; w < f_.input_count(); ++w) {
        const auto wrong = find_wrong(analytical.jacobians[o][w], numerical[w][o], options_.atol, options_.rtol);
        if (!wrong) continue;
        if (first.empty()) {
          first = report({f_, analytical, numerical, o, w, *wrong});
        } else {
          others +=
              str(others.empty() ? "\n  also wrong: " : "; ", f_.output_name(o), " with respect to ", f_.input_name(w));
        }
      }
    }
    return first + others;
  }

  std::string report(const Finding& finding) const {
    const auto& [row, column, count] = finding.entry;
    const double analytical = finding.tape().at(row, column);
    const double numerical = finding.differences().at(row, column);
    return str("the gradient of ", described(f_.output_name(finding.o), f_.output(finding.o)), " with respect to ",
               described(f_.input_name(finding.w), f_.input(finding.w)), " is wrong in ", count, " of ",
               finding.tape().values.size(), " entries; the worst is ", entry_name(finding.o, finding.w, finding.entry),
               "\n", numbers(analytical, numerical, options_.atol), "\n  likely reason: ", likely_reason(finding));
  }

  std::string numbers(double analytical, double numerical, double atol) const {
    const double error = std::abs(analytical - numerical);
    return str("  analytical ", number(analytical), ", numerical ", number(numerical), ": absolute error ",
               number(error), ", relative error ", number(error / std::abs(numerical)), " (allowed: ", number(atol),
               " + ", number(options_.rtol), " * |numerical|)");
  }

  std::string same_gradients(const Analytical& first) {
    const Analytical second = analytical_jacobians(f_, f_.first_run());
    for (std::size_t o = 0; o < f_.output_count(); ++o) {
      for (std::size_t w = 0; w < first.jacobians[o].size(); ++w) {
        const Matrix& a = first.jacobians[o][w];
        for (std::size_t k = 0; k < a.values.size(); ++k) {
          const double b = second.jacobians[o][w].values[k];
          if (agrees(a.values[k], b, options_.nondet_tol, 0) || std::isnan(a.values[k])) continue;
          const WrongEntry entry{.row = k / a.columns, .column = k % a.columns};
          return str("backward is not deterministic: two passes through the same graph gave ", number(a.values[k]),
                     " and ", number(b), " for ", entry_name(o, w, entry), " (nondet_tol is ", options_.nondet_tol,
                     "); does it change what it has saved, or draw random numbers?");
        }
      }
    }
    return {};
  }

  /// Checks u^T J v for each pair of an output and an input, by one pass and two calls.
  std::string projections() {
    for (std::size_t w = 0; w < f_.input_count(); ++w) {
      const Components v = random_components(component_count(f_.input(w)), 2 * w, 0.5);
      const std::vector<Components> moved = f_.directional_differences(w, v, options_.eps);
      for (std::size_t o = 0; o < f_.output_count(); ++o) {
        if (!f_.recorded(o)) continue;
        const Components u = random_components(component_count(f_.output(o)), 2 * o + 1, 0.5);
        const double numerical = std::inner_product(u.begin(), u.end(), moved[o].begin(), 0.0);
        double both[2] = {0, 0};
        for (double& analytical : both) {
          const Tensor grad = f_.gradients(f_.first_run(), o, u)[w];
          if (!grad.defined()) continue;
          if (std::string problem = form_problem(f_, w, grad); !problem.empty()) return problem;
          const Components parts =
              components_of(is_complex(f_.input(w).dtype()) ? cast(grad, f_.input(w).dtype()) : grad);
          analytical = std::inner_product(parts.begin(), parts.end(), v.begin(), 0.0);
        }
        const double sums = std::accumulate(u.begin(), u.end(), 0.0) * std::accumulate(v.begin(), v.end(), 0.0);
        if (!agrees(both[0], both[1], options_.nondet_tol * sums, 0) && !std::isnan(both[0])) {
          return str("backward is not deterministic: two passes through the same graph gave ", number(both[0]), " and ",
                     number(both[1]), " for ", f_.output_name(o), " with respect to ", f_.input_name(w));
        }
        if (agrees(both[0], numerical, options_.atol * sums, options_.rtol)) continue;
        // Only the entries show which one is wrong, and how.
        if (std::string problem = entries(); !problem.empty()) return problem;
        if (std::string problem = zero_gradients(); !problem.empty()) return problem;
        return str("the gradient of ", f_.output_name(o), " with respect to ", f_.input_name(w),
                   " is wrong along a random direction, though no entry alone is beyond the tolerances\n",
                   numbers(both[0], numerical, options_.atol * sums));
      }
    }
    return {};
  }

  /// Checks that a gradient of zeros gives zeros.
  std::string zero_gradients() {
    for (std::size_t o = 0; o < f_.output_count(); ++o) {
      if (!f_.recorded(o)) continue;
      const std::vector<Tensor> grads = f_.gradients(again_, o, Components(component_count(f_.output(o))));
      for (std::size_t w = 0; w < grads.size(); ++w) {
        if (!grads[w].defined()) continue;
        for (const double value : components_of(grads[w])) {
          if (value == 0 || !std::isfinite(value)) continue;
          return str("backward returned ", number(value), " for ", f_.input_name(w), " where the gradient of ",
                     f_.output_name(o), " is zero: does it multiply by the gradient that it is given?");
        }
      }
    }
    return {};
  }

  /// Checks that outputs without a gradient are treated like outputs with a gradient of zeros.
  std::string undefined() {
    if (!options_.check_undefined_grad) return {};
    for (std::size_t o = 0; o < f_.output_count(); ++o) {
      if (!f_.recorded(o)) continue;
      const Components seed = random_components(component_count(f_.output(o)), o, 0.5);
      std::vector<Tensor> alone;
      try {
        alone = f_.gradients(again_, o, seed, CheckedFunction::Others::Nothing);
      } catch (const std::exception& error) {
        const std::string text = options_.error_text ? options_.error_text(error) : error.what();
        return str("backward fails where only ", f_.output_name(o), " has a gradient: ", text,
                   "\n  likely reason: the others' gradients are then None (undefined in C++), unless the layer "
                   "leaves set_materialize_grads on");
      }
      const std::vector<Tensor> together = f_.gradients(again_, o, seed);
      for (std::size_t w = 0; w < alone.size(); ++w) {
        if (!same(alone[w], together[w])) {
          return str("with a gradient for ", f_.output_name(o), " alone, the gradient of ", f_.input_name(w),
                     " differs from that with zeros for the other outputs: a gradient that is None (undefined in C++) "
                     "counts as zeros");
        }
      }
    }
    return {};
  }

  bool same(const Tensor& a, const Tensor& b) const {
    if (!a.defined() && !b.defined()) return true;
    const Components x = components_of(a.defined() ? a : b);
    const Components y = a.defined() && b.defined() ? components_of(b) : Components(x.size());
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (!agrees(x[k], y[k], options_.atol + options_.nondet_tol, options_.rtol) && std::isfinite(x[k])) return false;
    }
    return true;
  }

  const GradcheckOptions& options_;
  CheckedFunction f_;
  CheckedRun again_;
};

/// Returns the options for the function's gradient, with the names of its inputs and outputs in messages.
GradcheckOptions second_order_names(const GradcheckOptions& options, std::size_t inputs,
                                    std::span<const std::size_t> wanted, std::span<const std::size_t> outputs) {
  GradcheckOptions result = options;
  result.input_names.clear();
  result.output_names.clear();
  for (std::size_t i = 0; i < inputs; ++i) result.input_names.push_back(name_at(options.input_names, i, "input"));
  for (const std::size_t o : outputs) {
    result.input_names.push_back("the gradient of " + name_at(options.output_names, o, "output"));
  }
  for (const std::size_t i : wanted) {
    result.output_names.push_back("the gradient of " + name_at(options.input_names, i, "input"));
  }
  return result;
}

}  // namespace

GradcheckResult gradcheck(const TensorFunction& func, std::span<const Tensor> inputs, const GradcheckOptions& options) {
  GradcheckResult result = Check(func, inputs, options).run();
  if (result && options.check_batched_grad) result = detail::check_batched_gradients(func, inputs, options);
  if (result && options.check_forward_ad) result = detail::check_forward_derivatives(func, inputs, options);
  return result;
}

GradcheckResult gradgradcheck(const TensorFunction& func, std::span<const Tensor> inputs,
                              std::span<const Tensor> grad_outputs, const GradcheckOptions& given) {
  GradcheckOptions options = given;
  if (options.name == GradcheckOptions().name) options.name = "gradgradcheck";
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].defined() && wants_gradient(inputs[i])) wanted.push_back(i);
  }
  const CheckedFunction at(func, inputs, options);  // also checks the inputs
  std::vector<std::size_t> checked;
  std::vector<Tensor> arguments(inputs.begin(), inputs.end());
  for (std::size_t o = 0; o < at.output_count(); ++o) {
    if (!at.recorded(o)) continue;
    checked.push_back(at.output_place(o));
    if (!grad_outputs.empty()) continue;
    Components values = random_components(component_count(at.output(o)), o + 17, 0.25);
    for (std::size_t r = 0; r < values.size(); r += 2) values[r] = -values[r];
    arguments.push_back(from_components(values, at.output(o)).set_requires_grad(true));
  }
  if (checked.empty()) return {};  // nothing was recorded, so there is no second derivative; gradcheck() examines why
  if (!grad_outputs.empty() && grad_outputs.size() != checked.size()) {
    fail<ValueError>("[", options.name, "] got ", grad_outputs.size(), " grad_outputs for ", checked.size(),
                     " outputs that have a gradient");
  }
  for (const Tensor& g : grad_outputs) {
    if (!g.defined()) fail<ValueError>("[", options.name, "] a tensor of grad_outputs is undefined");
    arguments.push_back(wants_gradient(g) ? g : g.detach().set_requires_grad(true));
  }
  const std::size_t count = inputs.size();
  const TensorFunction gradient = [&func, &checked, &wanted, count](std::span<const Tensor> args) {
    const std::vector<Tensor> all = func(args.first(count));
    std::vector<Tensor> outputs;
    outputs.reserve(checked.size());
    for (const std::size_t place : checked) outputs.push_back(all.at(place));
    std::vector<Tensor> at_inputs;
    at_inputs.reserve(wanted.size());
    for (const std::size_t i : wanted) at_inputs.push_back(args[i]);
    std::vector<Tensor> grads = grad_where_recorded(outputs, at_inputs, args.subspan(count), true);
    for (std::size_t w = 0; w < grads.size(); ++w) {
      if (!grads[w].defined()) grads[w] = zeros_like(at_inputs[w].detach());
    }
    return grads;
  };
  return gradcheck(gradient, arguments, second_order_names(options, count, wanted, checked));
}

}  // namespace lamella::autograd
