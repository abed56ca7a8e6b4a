#include "ops/transforms/checked_function.h"

#include <algorithm>

#include "engine/autograd/backward/backward.h"
#include "engine/autograd/graph/place.h"
#include "engine/core/modes.h"
#include "ops/movement/cast.h"

namespace lamella::autograd {
namespace {

/// Returns the smallest step that leaves differences of this dtype about two digits.
double smallest_step(DType dtype) {
  switch (dtype) {
    case DType::Float64:
    case DType::Complex128:
      return 0;
    case DType::Float32:
    case DType::Complex64:
      return 1e-4;
    default:
      return 1e-2;
  }
}

}  // namespace

std::string name_at(const std::vector<std::string>& names, std::size_t i, const char* kind) {
  return i < names.size() ? names[i] : str(kind, " ", i);
}

CheckedFunction::CheckedFunction(const TensorFunction& func, std::span<const Tensor> inputs,
                                 const GradcheckOptions& options)
    : func_(func), inputs_(inputs.begin(), inputs.end()), options_(options) {
  check_inputs();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (wants_gradient(inputs_[i])) wanted_.push_back(i);
  }
  if (wanted_.empty()) {
    fail<ValueError>("[", options_.name,
                     "] no input requires a gradient: there is nothing to check; make the inputs with "
                     "stop_gradient=False");
  }
  first_ = call(0, {}, places_);
  if (first_.outputs.empty()) {
    fail<ValueError>("[", options_.name, "] the function returned no floating or complex tensor");
  }
}

void CheckedFunction::check_inputs() const {
  const GradcheckOptions& o = options_;
  if (!(o.eps > 0)) fail<ValueError>("[", o.name, "] eps must be positive, got ", o.eps);
  if (!(o.atol >= 0 && o.rtol >= 0 && o.nondet_tol >= 0)) {
    fail<ValueError>("[", o.name, "] atol, rtol and nondet_tol must not be negative, got ", o.atol, ", ", o.rtol,
                     " and ", o.nondet_tol);
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& x = inputs_[i];
    if (!x.defined()) fail<ValueError>("[", o.name, "] input ", i, " is undefined");
    if (!wants_gradient(x)) continue;
    const std::string name = name_at(o.input_names, i, "input");
    if (x.device().type == DeviceType::Meta) {
      fail<ValueError>("[", o.name, "] ", name, " is on the meta device: it has no values to differentiate at");
    }
    if (o.eps < smallest_step(x.dtype())) {
      fail<ValueError>("[", o.name, "] ", name, " is ", x.dtype(),
                       ", which is too coarse for differences with eps=", o.eps,
                       ": use float64 (complex128) inputs, or eps of at least ", smallest_step(x.dtype()),
                       " with atol and rtol to match");
    }
  }
}

bool CheckedFunction::recorded(std::size_t o) const { return wants_gradient(first_.outputs[o]); }

std::string CheckedFunction::input_name(std::size_t w) const {
  return name_at(options_.input_names, wanted_[w], "input");
}

std::string CheckedFunction::output_name(std::size_t o) const {
  return name_at(options_.output_names, places_[o], "output");
}

CheckedRun CheckedFunction::call(std::size_t w, const Components& steps, std::vector<std::size_t>& places) const {
  CheckedRun result;
  std::vector<Tensor> arguments;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Tensor copy = copy_in_layout(inputs_[i]);
    if (!steps.empty() && i == wanted_[w]) add_to_components(copy, steps);
    if (wants_gradient(inputs_[i])) {
      copy.set_requires_grad(true);
      result.leaves.push_back(copy);
    }
    arguments.push_back(std::move(copy));
  }
  const EnableGrad recording;
  std::vector<Tensor> returned = func_(arguments);
  for (std::size_t i = 0; i < returned.size(); ++i) {
    if (!returned[i].defined() || !is_differentiable(returned[i].dtype())) continue;
    places.push_back(i);
    result.outputs.push_back(std::move(returned[i]));
  }
  return result;
}

CheckedRun CheckedFunction::run(std::size_t w, const Components& steps) const {
  std::vector<std::size_t> places;
  CheckedRun result = call(w, steps, places);
  if (places != places_) {
    fail<ValueError>("[", options_.name, "] the function returned ", first_.outputs.size(),
                     " floating or complex tensors, and ", result.outputs.size(), " when it was called again");
  }
  for (std::size_t o = 0; o < result.outputs.size(); ++o) {
    const Tensor& before = first_.outputs[o];
    const Tensor& now = result.outputs[o];
    if (now.shape() != before.shape() || now.dtype() != before.dtype()) {
      fail<ValueError>("[", options_.name, "] ", output_name(o), " was ", describe(before), ", and ", describe(now),
                       " when the function was called again");
    }
  }
  return result;
}

std::vector<Components> CheckedFunction::values(std::size_t w, const Components& steps) const {
  std::vector<Components> result;
  for (const Tensor& y : run(w, steps).outputs) result.push_back(components_of(y));
  return result;
}

std::vector<Matrix> CheckedFunction::differences(std::size_t w, double step) const {
  const Tensor& x = input(w);
  const Components at = components_of(x);
  std::vector<Matrix> result;
  result.reserve(first_.outputs.size());
  for (const Tensor& y : first_.outputs) result.emplace_back(component_count(y), at.size());
  for (std::size_t c = 0; c < at.size(); ++c) {
    Components steps(at.size());
    steps[c] = step;
    const std::vector<Components> above = values(w, steps);
    steps[c] = -step;
    const std::vector<Components> below = values(w, steps);
    const double width = rounded(at[c] + step, x.dtype()) - rounded(at[c] - step, x.dtype());
    for (std::size_t o = 0; o < result.size(); ++o) {
      for (std::size_t r = 0; r < result[o].rows; ++r) result[o].at(r, c) = (above[o][r] - below[o][r]) / width;
    }
  }
  return result;
}

std::vector<Components> CheckedFunction::directional_differences(std::size_t w, const Components& v,
                                                                 double step) const {
  Components steps(v.size());
  std::ranges::transform(v, steps.begin(), [&](double part) { return part * step; });
  std::vector<Components> result = values(w, steps);
  std::ranges::transform(v, steps.begin(), [&](double part) { return -part * step; });
  const std::vector<Components> below = values(w, steps);
  for (std::size_t o = 0; o < result.size(); ++o) {
    for (std::size_t r = 0; r < result[o].size(); ++r) result[o][r] = (result[o][r] - below[o][r]) / (2 * step);
  }
  return result;
}

std::vector<Tensor> CheckedFunction::gradients(const CheckedRun& run, std::size_t o, const Components& seed,
                                               Others others) const {
  std::vector<Tensor> outputs{run.outputs[o]};
  std::vector<Tensor> begin{from_components(seed, run.outputs[o])};
  for (std::size_t other = 0; others == Others::Zeros && other < run.outputs.size(); ++other) {
    const Tensor& y = run.outputs[other];
    if (other == o || !wants_gradient(y)) continue;
    outputs.push_back(y);
    begin.push_back(from_components(Components(component_count(y)), y));
  }
  return grad(outputs, run.leaves, begin, {.retain_graph = true, .allow_unused = true});
}

std::string form_problem(const CheckedFunction& f, std::size_t w, const Tensor& grad) {
  const Tensor& x = f.input(w);
  if (grad.shape() != x.shape()) {
    return str("the gradient of ", f.input_name(w), " has shape ", grad.shape(), ", the input ", x.shape());
  }
  if (is_complex(grad.dtype()) && !is_complex(x.dtype())) {
    return str("the gradient of ", f.input_name(w), " is ", grad.dtype(), ", the input ", x.dtype(),
               ": the gradient of a real input is the real part");
  }
  if (f.options().check_grad_dtypes && grad.dtype() != x.dtype()) {
    return str("the gradient of ", f.input_name(w), " is ", grad.dtype(), ", the input ", x.dtype());
  }
  return {};
}

Analytical analytical_jacobians(const CheckedFunction& f, const CheckedRun& run) {
  Analytical result;
  result.jacobians.resize(f.output_count());
  result.missing.resize(f.output_count(), std::vector<bool>(f.input_count(), true));
  for (std::size_t o = 0; o < f.output_count(); ++o) {
    if (!wants_gradient(run.outputs[o])) continue;
    const std::size_t rows = component_count(run.outputs[o]);
    for (std::size_t w = 0; w < f.input_count(); ++w) {
      result.jacobians[o].emplace_back(rows, component_count(f.input(w)));
    }
    Components seed(rows);
    for (std::size_t r = 0; r < rows; ++r) {
      seed[r] = 1;
      const std::vector<Tensor> grads = f.gradients(run, o, seed);
      seed[r] = 0;
      for (std::size_t w = 0; w < grads.size(); ++w) {
        if (!grads[w].defined()) continue;
        result.missing[o][w] = false;
        if (result.problem = form_problem(f, w, grads[w]); !result.problem.empty()) return result;
        const Components row = components_of(is_complex(f.input(w).dtype()) && !is_complex(grads[w].dtype())
                                                 ? cast(grads[w], f.input(w).dtype())
                                                 : grads[w]);
        std::ranges::copy(row, result.jacobians[o][w].values.begin() + static_cast<std::ptrdiff_t>(r * row.size()));
      }
    }
  }
  return result;
}

}  // namespace lamella::autograd
