#include "ops/transforms/batched.h"

#include <cmath>

#include "engine/autograd/backward/backward.h"
#include "engine/core/modes.h"
#include "ops/creation/creation.h"
#include "ops/movement/cast.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/transforms/checked_function.h"
#include "ops/transforms/diagnosis.h"
#include "ops/transforms/own_inputs.h"

// Jacobians and gradient checks by passes over a batch of gradients.

namespace lamella::autograd::detail {
namespace {

/// Number of gradients that check_batched_gradients() passes at once.
constexpr std::size_t kBatch = 3;

/// Returns row `k` of the result of a batched pass for one input, off the tape; undefined if the pass returned nothing.
Tensor row_of(const Tensor& batch, std::int64_t k) {
  if (!batch.defined()) return {};
  const NoGrad off;
  return squeeze(narrow(batch.detach(), 0, k, 1), Dims{0});
}

/// Returns the difference between row `k` of a batched pass and `alone`, the result of a separate pass; empty if they
/// agree.
std::string difference(const Tensor& row, const Tensor& alone, const GradcheckOptions& options) {
  if (!row.defined() && !alone.defined()) return {};
  const Components expected = components_of(alone.defined() ? alone : row);
  const Components got = row.defined() ? components_of(row) : Components(expected.size());
  for (std::size_t c = 0; c < expected.size(); ++c) {
    const double wanted = alone.defined() ? expected[c] : 0.0;
    if (!agrees(got[c], wanted, options.atol + options.nondet_tol, options.rtol)) {
      return str("component ", c, " is ", got[c], " in a pass over a batch, and ", wanted, " in a pass of its own");
    }
  }
  return {};
}

}  // namespace

std::vector<Tensor> batched_rows(const Tensor& output, std::span<const Tensor> inputs, bool create_graph) {
  const Dims shape = joined(Dims{output.numel()}, output.shape());
  Tensor seeds;
  {
    const NoGrad off;
    seeds = reshape(cast(eye(output.numel(), std::nullopt, 0, DType::Float64, output.device()), output.dtype()), shape);
  }
  GradOptions options;
  options.retain_graph = true;
  options.create_graph = create_graph;
  options.allow_unused = true;
  options.is_grads_batched = true;
  return grad(std::span(&output, 1), inputs, std::span<const Tensor>(&seeds, 1), options);
}

GradcheckResult check_batched_gradients(const TensorFunction& func, std::span<const Tensor> inputs,
                                        const GradcheckOptions& options) {
  const CheckedFunction f(func, inputs, options);
  const CheckedRun& run = f.first_run();
  GradOptions pass;
  pass.retain_graph = true;
  pass.allow_unused = true;
  for (std::size_t o = 0; o < f.output_count(); ++o) {
    if (!f.recorded(o) || f.output(o).numel() == 0) continue;
    const Tensor& y = run.outputs[o];
    std::vector<Tensor> seeds;
    for (std::size_t k = 0; k < kBatch; ++k) {
      Components seed(component_count(y));
      for (std::size_t c = 0; c < seed.size(); ++c) seed[c] = std::cos(1.0 + static_cast<double>(c * kBatch + k));
      seeds.push_back(from_components(seed, y));
    }
    const Tensor together = stack(seeds, 0);
    pass.is_grads_batched = true;
    const std::vector<Tensor> batch = grad(std::span(&y, 1), run.leaves, std::span(&together, 1), pass);
    pass.is_grads_batched = false;
    for (std::size_t k = 0; k < kBatch; ++k) {
      const std::vector<Tensor> alone = grad(std::span(&y, 1), run.leaves, std::span(&seeds[k], 1), pass);
      for (std::size_t w = 0; w < alone.size(); ++w) {
        const std::string problem = difference(row_of(batch[w], static_cast<std::int64_t>(k)), alone[w], options);
        if (problem.empty()) continue;
        return {false, str("[", options.name, "] the gradient of ", f.input_name(w), " with respect to ",
                           f.output_name(o), ": ", problem,
                           ". A backward that reads values, or that mixes gradients along an axis it does not own, "
                           "cannot be mapped; give the layer a vmap rule")};
      }
    }
  }
  return {};
}

}  // namespace lamella::autograd::detail
