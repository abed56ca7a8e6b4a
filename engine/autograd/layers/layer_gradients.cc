#include "engine/autograd/layers/layer_gradients.h"

#include <algorithm>

#include "engine/autograd/graph/primitives.h"
#include "engine/autograd/graph/running_pass.h"
#include "engine/autograd/layers/gradient_counts.h"
#include "engine/core/error.h"

namespace lamella::autograd {
namespace {

std::string argument_name(std::size_t i, std::span<const std::string> names) {
  return i < names.size() ? names[i] : "argument " + std::to_string(i);
}

std::string tensor_arguments(const Context& ctx, std::span<const std::string> names) {
  std::string text;
  for (std::size_t i = 0; i < ctx.arguments.size(); ++i) {
    if (ctx.arguments[i].has_tensors) text += (text.empty() ? "" : ", ") + argument_name(i, names);
  }
  return text;
}

bool argument_wants(const Node& node, const ArgumentInfo& argument) {
  for (std::uint32_t k = argument.first; k < argument.first + argument.count; ++k) {
    if (node.edges()[k]) return true;
  }
  return false;
}

/// True if the running pass wants the gradient of the argument: grad() may ask for some of the inputs only.
bool pass_wants(const Node& node, const ArgumentInfo& argument) {
  for (std::uint32_t k = argument.first; k < argument.first + argument.count; ++k) {
    if (is_needed(node.edges()[k])) return true;
  }
  return false;
}

bool is_given(const GradientEntry& entry) {
  return std::ranges::any_of(entry.tensors, [](const Tensor& g) { return g.defined(); });
}

}  // namespace

TensorList assign_gradients(const Node& node, const Context& ctx, std::vector<GradientEntry> entries,
                            const Dialect& dialect, std::span<const std::string> names) {
  const auto& arguments = ctx.arguments;
  GradientTargets tensor_arguments_at;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].has_tensors) tensor_arguments_at.push_back(i);
  }
  const std::size_t by_tensor = tensor_arguments_at.size();
  const std::size_t by_argument = arguments.size();

  const auto wrong_count = [&] {
    fail<ValueError>("[", node.name(), "] backward returned ", entries.size(),
                     entries.size() == 1 ? " gradient" : " gradients", ", expected ", by_tensor,
                     ", one for each tensor argument (", tensor_arguments(ctx, names), ")",
                     by_argument != by_tensor ? str(", or ", by_argument, ", one for each argument") : std::string());
  };

  SmallVector<bool, 4> given;
  for (const GradientEntry& entry : entries) given.push_back(is_given(entry));
  const auto target = match_gradients(arguments, given);
  if (!target) wrong_count();
  for (std::size_t i = target->size(); i < by_tensor; ++i) {
    if (pass_wants(node, arguments[tensor_arguments_at[i]])) wrong_count();
  }

  TensorList grads(node.edges().size());
  for (std::size_t i = 0; i < target->size(); ++i) {
    const ArgumentInfo& argument = arguments[(*target)[i]];
    GradientEntry& entry = entries[i];
    if (!given[i]) continue;
    const auto name = [&] { return argument_name((*target)[i], names); };
    if (!argument.has_tensors) {
      fail<ValueError>("[", node.name(), "] backward returned a gradient for ", name(), ", which is not a tensor");
    }
    if (!argument_wants(node, argument)) {
      if (dialect.strict_stop_gradient) {
        fail<ValueError>("[", node.name(), "] backward returned a gradient for ", name(),
                         ", which has stop_gradient=True; return None");
      }
      continue;
    }
    if (entry.container && entry.tensors.size() != argument.count) {
      // Leaves out empty optionals of the gradient, which may stand for empty ones of the argument.
      TensorList given;
      for (Tensor& g : entry.tensors) {
        if (g.defined()) given.push_back(std::move(g));
      }
      entry.tensors = std::move(given);
    }
    if (entry.container != argument.container || entry.tensors.size() != argument.count) {
      fail<ValueError>(
          "[", node.name(), "] backward must return, for ", name(), ", ",
          argument.container ? str("a gradient of the argument's form, with ", argument.count, " tensors")
                             : std::string("one tensor"),
          ", got ",
          entry.container ? str("a container with ", entry.tensors.size(), " tensors") : std::string("one tensor"));
    }
    for (std::uint32_t k = 0; k < argument.count; ++k) {
      const std::size_t at = argument.first + k;
      if (entry.tensors[k].defined() && node.edges()[at]) {
        grads[at] = conform_gradient(node, ctx, at, std::move(entry.tensors[k]));
      }
    }
  }
  return grads;
}

Tensor conform_gradient(const Node& node, const Context& ctx, std::size_t k, Tensor grad) {
  const TensorMeta& input = ctx.input_metas[k];
  if (grad.device() != input.device) {
    fail<RuntimeError>("[", node.name(), "] backward returned a gradient on ", grad.device(), " for an input on ",
                       input.device);
  }
  if (grad.shape() != input.shape) {
    if (!broadcasts_to(input.shape, grad.shape())) {
      fail<ValueError>("[", node.name(), "] backward returned a gradient of shape ", grad.shape(),
                       " for an input of shape ", input.shape);
    }
    grad = primitives().sum_to(grad, input.shape);
  }
  if (grad.dtype() != input.dtype && is_differentiable(input.dtype)) grad = primitives().cast(grad, input.dtype);
  return grad;
}

void prepare_gradients(const Context& ctx, TensorList& grads) {
  for (std::size_t i = 0; i < ctx.output_metas.size(); ++i) {
    const TensorMeta& output = ctx.output_metas[i];
    if (!grads[i].defined()) {
      if (ctx.materialize_grads()) grads[i] = primitives().full(output.shape, output.dtype, output.device, 0.0);
    } else if (ctx.grad_in_dtype_consistent() && grads[i].dtype() != output.dtype && is_differentiable(output.dtype)) {
      grads[i] = primitives().cast(grads[i], output.dtype);
    }
  }
}

}  // namespace lamella::autograd
