#include "ops/transforms/forward.h"

#include "engine/autograd/forward_mode/forward_ad.h"
#include "engine/autograd/graph/place.h"
#include "engine/core/modes.h"
#include "ops/creation/creation.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/support/room.h"
#include "ops/transforms/checked_function.h"
#include "ops/transforms/diagnosis.h"
#include "ops/transforms/own_inputs.h"

// Jacobians and gradient checks by forward mode.

namespace lamella::autograd::detail {
namespace {

/// Returns the tangents of func's outputs if only input i has one; undefined for outputs that do not depend on it.
/// Fills `outputs` with their values.
std::vector<Tensor> column(const TensorFunction& func, std::span<const Tensor> inputs, std::size_t i,
                           const Tensor& direction, std::vector<Tensor>& outputs) {
  const DualLevel level;
  std::vector<Tensor> duals(inputs.begin(), inputs.end());
  duals[i] = make_dual(duals[i], direction, level.level());
  outputs = func(duals);
  std::vector<Tensor> tangents;
  for (Tensor& y : outputs) {
    if (!y.defined()) {
      tangents.emplace_back();
      continue;
    }
    UnpackedDual parts = unpack_dual(y, level.level());
    y = std::move(parts.primal);
    tangents.push_back(std::move(parts.tangent));
  }
  return tangents;
}

}  // namespace

std::vector<std::vector<Tensor>> forward_jacobian(const TensorFunction& func, std::span<const Tensor> inputs,
                                                  const JacobianOptions& options) {
  const bool automatic = !options.create_graph.has_value();
  const bool connected = automatic ? is_grad_enabled() : *options.create_graph;
  const std::vector<Tensor> own = own_inputs(inputs, connected, "jacobian");
  const TensorFunction recorded = [&](std::span<const Tensor> at) { return call_recorded(func, at, "jacobian"); };
  std::vector<std::vector<std::vector<Tensor>>> columns(own.size());  // [input][element][output]
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < own.size(); ++i) {
    for (std::int64_t k = 0; k < own[i].numel(); ++k) {
      const std::size_t before = outputs.size();
      columns[i].push_back(column(recorded, own, i, one_hot_like(own[i], k), outputs));
      if (before == 0) {
        for (const Tensor& y : outputs) {
          for (const Tensor& x : own) check_room_for(joined(y.shape(), x.shape()), y.dtype(), y.device());
        }
      }
      if (before != 0 && before != outputs.size()) {
        fail<ValueError>("[jacobian] the function returned ", before, " tensors, and ", outputs.size(),
                         " when it was called again");
      }
    }
  }
  if (outputs.empty()) outputs = recorded(own);  // no input has an element
  check_differentiable(outputs, "jacobian");

  std::vector<std::vector<Tensor>> result(outputs.size());
  std::vector<Tensor> all;
  const GradMode mode(connected);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const Tensor& y = outputs[o];
    const Tensor none = zeros(y.shape(), y.dtype(), y.device());
    for (std::size_t i = 0; i < own.size(); ++i) {
      const Dims shape = joined(y.shape(), own[i].shape());
      std::vector<Tensor> parts;
      bool depends = false;
      for (auto& outputs_at : columns[i]) {
        depends |= outputs_at[o].defined();
        parts.push_back(outputs_at[o].defined() ? outputs_at[o] : none);
      }
      if (options.strict && !depends) {
        fail<RuntimeError>("[jacobian] strict=True: output ", o, " does not depend on input ", i);
      }
      const Tensor block = parts.empty() ? zeros(shape, y.dtype(), y.device()) : reshape(stack(parts, -1), shape);
      result[o].push_back(block);
      all.push_back(block);
    }
  }
  const bool create_graph = automatic ? connected && depends_on_others(all, own) : connected;
  if (!create_graph) {
    for (auto& row : result) {
      for (Tensor& block : row) block = off_tape(block);
    }
  }
  return result;
}

GradcheckResult check_forward_derivatives(const TensorFunction& func, std::span<const Tensor> inputs,
                                          const GradcheckOptions& options) {
  const CheckedFunction f(func, inputs, options);
  std::size_t w = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!wants_gradient(inputs[i])) continue;
    const std::size_t count = component_count(inputs[i]);
    for (std::size_t c = 0; c < (options.fast_mode ? std::min<std::size_t>(1, count) : count); ++c) {
      Components v(count);
      v[c] = 1;
      if (options.fast_mode) v = random_components(count, 2 * w, 0.5);
      std::vector<Tensor> at;
      for (const Tensor& x : inputs) {
        at.push_back(copy_in_layout(x));
        // The function may compute gradients itself, as gradgradcheck()'s does.
        if (wants_gradient(x)) at.back().set_requires_grad(true);
      }
      std::vector<Tensor> outputs;
      const std::vector<Tensor> tangents = column(func, at, i, from_components(v, inputs[i]), outputs);
      const std::vector<Components> expected = f.directional_differences(w, v, options.eps);
      double reach = 1;
      if (options.fast_mode) {
        reach = 0;
        for (const double step : v) reach += step;
      }
      for (std::size_t o = 0; o < f.output_count(); ++o) {
        if (!f.recorded(o)) continue;
        const Tensor& tangent = tangents.at(f.output_place(o));
        const Components found = tangent.defined() ? components_of(tangent) : Components(expected[o].size());
        for (std::size_t r = 0; r < found.size(); ++r) {
          if (agrees(found[r], expected[o][r], options.atol * reach, options.rtol)) continue;
          return {false,
                  str("[", options.name, "] the forward-mode derivative of ", f.output_name(o),
                      component_name(f.output(o), r), " with respect to ", f.input_name(w),
                      options.fast_mode ? std::string(", along a random direction,") : component_name(inputs[i], c),
                      " is ", found[r], ", by differences it is ", expected[o][r])};
        }
      }
    }
    ++w;
  }
  return {};
}

}  // namespace lamella::autograd::detail
