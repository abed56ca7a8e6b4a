#include "ops/transforms/functional.h"

#include "engine/autograd/forward_mode/forward_ad.h"
#include "engine/autograd/graph/place.h"
#include "engine/core/modes.h"
#include "ops/creation/creation.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/support/room.h"
#include "ops/transforms/batched.h"
#include "ops/transforms/forward.h"
#include "ops/transforms/own_inputs.h"

namespace lamella::autograd {
namespace {

Tensor plain_zeros(DimsView shape, const Tensor& like) {
  const NoGrad off;
  return zeros(Dims(shape), like.dtype(), like.device());
}

void detach_all(std::vector<Tensor>& tensors) {
  for (Tensor& x : tensors) x = off_tape(x);
}

void check_outputs(std::span<const Tensor> outputs, bool strict, const char* op) {
  check_differentiable(outputs, op);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (strict && !wants_gradient(outputs[o])) {
      fail<RuntimeError>("[", op, "] strict=True: output ", o,
                         " of the function does not depend on the inputs by recorded operations");
    }
  }
}

void check_one_element(std::span<const Tensor> outputs, const char* op) {
  if (outputs.size() != 1 || outputs[0].numel() != 1) {
    fail<ValueError>("[", op, "] the function must return one tensor with one element, it returned ",
                     outputs.size() == 1 ? describe(outputs[0]) : str(outputs.size(), " tensors"));
  }
}

/// Returns the gradient of an input, zeros if there is none. With `strict` that throws, as does a gradient off the tape
/// that is to be differentiated; `what` is the clause that says that there is no dependence.
Tensor filled(Tensor grad, const Tensor& input, bool strict, bool on_tape, const char* op, const std::string& what) {
  if (!grad.defined()) {
    if (strict) fail<RuntimeError>("[", op, "] strict=True: ", what, " (by recorded operations)");
    return plain_zeros(input.shape(), input);
  }
  if (strict && on_tape && !wants_gradient(grad)) {
    fail<RuntimeError>("[", op, "] strict=True: the derivative cannot be differentiated in turn, because ", what,
                       " other than linearly");
  }
  return grad;
}

/// Returns the rows of one output's Jacobian, stacked: for each input a tensor [output.numel(), *input shape].
std::vector<Tensor> stacked_rows(const Tensor& y, std::size_t o, std::span<const Tensor> inputs, bool create_graph,
                                 const JacobianOptions& options) {
  const auto what = [&](std::size_t i) { return str("output ", o, " does not depend on input ", i); };
  const auto zero_rows = [&](std::size_t i) {
    return plain_zeros(joined(Dims{y.numel()}, inputs[i].shape()), inputs[i]);
  };
  std::vector<Tensor> columns(inputs.size());
  if (y.numel() == 0) {
    for (std::size_t i = 0; i < inputs.size(); ++i) columns[i] = zero_rows(i);
    return columns;
  }
  if (options.vectorize && wants_gradient(y)) {
    columns = detail::batched_rows(y, inputs, create_graph);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (columns[i].defined()) continue;
      if (options.strict) fail<RuntimeError>("[jacobian] strict=True: ", what(i), " (by recorded operations)");
      columns[i] = zero_rows(i);
    }
    return columns;
  }
  std::vector<std::vector<Tensor>> rows(inputs.size());
  for (std::int64_t k = 0; k < y.numel(); ++k) {
    const Tensor seed = one_hot_like(y, k);
    std::vector<Tensor> grads = grad_where_recorded(std::span(&y, 1), inputs, std::span(&seed, 1), create_graph);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      rows[i].push_back(filled(std::move(grads[i]), inputs[i], options.strict, create_graph, "jacobian", what(i)));
    }
  }
  const GradMode mode(create_graph);
  for (std::size_t i = 0; i < inputs.size(); ++i) columns[i] = stack(rows[i], 0);
  return columns;
}

void check_vector(std::span<const Tensor> v, std::span<const Tensor> inputs, const char* op) {
  if (v.size() != inputs.size()) {
    fail<ValueError>("[", op, "] v has ", v.size(), " tensors, the function ", inputs.size(), " inputs");
  }
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (!v[i].defined()) fail<ValueError>("[", op, "] tensor ", i, " of v is undefined");
    if (v[i].shape() != inputs[i].shape()) {
      fail<ValueError>("[", op, "] tensor ", i, " of v has shape ", v[i].shape(), ", its input ", inputs[i].shape());
    }
  }
}

/// Returns v, or ones for a single input with one element; off the tape unless the product is to be on it.
std::vector<Tensor> own_vector(std::span<const Tensor> v, std::span<const Tensor> inputs, bool create_graph,
                               const char* op) {
  if (v.empty()) {
    if (inputs.size() != 1 || inputs[0].numel() != 1) {
      fail<ValueError>("[", op, "] v can only be left out for one input with one element, got ",
                       inputs.size() == 1 ? describe(inputs[0]) : str(inputs.size(), " inputs"));
    }
    const NoGrad off;
    return {ones_like(inputs[0])};
  }
  check_vector(v, inputs, op);
  std::vector<Tensor> own(v.begin(), v.end());
  if (!create_graph) detach_all(own);
  return own;
}

/// The common part of hvp() and vhp(): the function's result and its gradient, on the tape.
struct FirstOrder {
  std::vector<Tensor> own;
  std::vector<Tensor> v;
  Tensor output;
  std::vector<Tensor> gradient;

  FirstOrder(const TensorFunction& func, std::span<const Tensor> inputs, std::span<const Tensor> given_v,
             const ProductOptions& options, const char* op)
      : own(own_inputs(inputs, options.create_graph, op)), v(own_vector(given_v, inputs, options.create_graph, op)) {
    if (inputs.empty()) fail<ValueError>("[", op, "] needs at least one input");
    const std::vector<Tensor> outputs = call_recorded(func, own, op);
    check_one_element(outputs, op);
    check_outputs(outputs, options.strict, op);
    output = outputs[0];
    const Tensor one = [&] {
      const NoGrad off;
      return ones_like(output);
    }();
    gradient = grad_where_recorded(outputs, own, std::span(&one, 1), true);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = filled(std::move(gradient[i]), own[i], options.strict, true, op,
                           str("the function does not depend on input ", i));
    }
  }

  ProductResult finish(std::vector<Tensor> product, const ProductOptions& options, const char* op) {
    for (std::size_t i = 0; i < product.size(); ++i) {
      product[i] = filled(std::move(product[i]), own[i], options.strict, options.create_graph, op,
                          str("the gradient does not depend on input ", i));
    }
    if (!options.create_graph) {
      output = off_tape(output);
      detach_all(product);
    }
    return {std::move(output), std::move(product)};
  }
};

}  // namespace

Vjp vjp(const TensorFunction& func, std::span<const Tensor> primals) {
  const bool recording = is_grad_enabled();
  std::vector<Tensor> own = own_inputs(primals, recording, "vjp");
  std::vector<Tensor> outputs = call_recorded(func, own, "vjp");
  const bool others = recording && depends_on_others(outputs, own);
  Vjp result{outputs, {}};
  if (!others) detach_all(result.outputs);
  result.pullback = [own = std::move(own), outputs = std::move(outputs),
                     others](std::span<const Tensor> cotangents) -> std::vector<Tensor> {
    if (cotangents.size() != outputs.size()) {
      fail<ValueError>("[vjp] got ", cotangents.size(), " gradients for ", outputs.size(), " outputs");
    }
    bool create_graph = others;
    for (const Tensor& g : cotangents) create_graph = create_graph || (g.defined() && wants_gradient(g));
    create_graph = create_graph && is_grad_enabled();
    std::vector<Tensor> grads = grad_where_recorded(outputs, own, cotangents, create_graph);
    for (std::size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i].defined()) grads[i] = plain_zeros(own[i].shape(), own[i]);
    }
    return grads;
  };
  return result;
}

std::vector<std::vector<Tensor>> jacobian(const TensorFunction& func, std::span<const Tensor> inputs,
                                          const JacobianOptions& options) {
  if (inputs.empty()) fail<ValueError>("[jacobian] needs at least one input");
  if (options.strategy == JacobianStrategy::Forward) {
    return detail::forward_jacobian(func, inputs, options);
  }
  if (options.vectorize && options.strict) {
    fail<ValueError>("[jacobian] strict=True cannot be combined with vectorize=True: a batch has no graph of its own");
  }
  const bool automatic = !options.create_graph.has_value();
  const bool connected = automatic ? is_grad_enabled() : *options.create_graph;
  const std::vector<Tensor> own = own_inputs(inputs, connected, "jacobian");
  const std::vector<Tensor> outputs = call_recorded(func, own, "jacobian");
  check_outputs(outputs, options.strict, "jacobian");
  const bool create_graph = automatic ? connected && depends_on_others(outputs, own) : connected;
  for (const Tensor& y : outputs) {
    for (const Tensor& x : own) check_room_for(joined(y.shape(), x.shape()), x.dtype(), x.device());
  }

  std::vector<std::vector<Tensor>> result(outputs.size());
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    result[o] = stacked_rows(outputs[o], o, own, create_graph, options);
    const GradMode mode(create_graph);
    for (std::size_t i = 0; i < own.size(); ++i) {
      result[o][i] = reshape(result[o][i], joined(outputs[o].shape(), own[i].shape()));
    }
    if (!create_graph) detach_all(result[o]);
  }
  return result;
}

std::vector<std::vector<Tensor>> hessian(const TensorFunction& func, std::span<const Tensor> inputs,
                                         const JacobianOptions& options) {
  const TensorFunction gradient = [&](std::span<const Tensor> at) {
    const TensorFunction one_element = [&](std::span<const Tensor> x) {
      std::vector<Tensor> outputs = func(x);
      check_one_element(outputs, "hessian");
      return std::vector<Tensor>{reshape(outputs[0], {})};
    };
    return jacobian(one_element, at, {.create_graph = true, .strict = options.strict})[0];
  };
  return jacobian(gradient, inputs, options);
}

ProductResult hvp(const TensorFunction& func, std::span<const Tensor> inputs, std::span<const Tensor> v,
                  const ProductOptions& options) {
  FirstOrder first(func, inputs, v, options, "hvp");
  // The backward pass of the gradient is linear in its starting gradients, and its derivative is the product.
  std::vector<Tensor> begin;
  begin.reserve(first.own.size());
  for (const Tensor& x : first.own) begin.push_back(plain_zeros(x.shape(), x).set_requires_grad(true));
  const EnableGrad recording;
  const std::vector<Tensor> twice = grad_where_recorded(first.gradient, first.own, begin, true);
  return first.finish(grad_where_recorded(twice, begin, first.v, options.create_graph), options, "hvp");
}

ProductResult vhp(const TensorFunction& func, std::span<const Tensor> inputs, std::span<const Tensor> v,
                  const ProductOptions& options) {
  FirstOrder first(func, inputs, v, options, "vhp");
  return first.finish(grad_where_recorded(first.gradient, first.own, first.v, options.create_graph), options, "vhp");
}

}  // namespace lamella::autograd
