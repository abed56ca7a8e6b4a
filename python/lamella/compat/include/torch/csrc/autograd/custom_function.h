#pragma once

// Implements torch::autograd::Function<T> on lamella::Function.

#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "ATen/core/ivalue.h"
#include "engine/autograd/layers/function.h"
#include "torch/types.h"

namespace torch::autograd {

using Variable = at::Tensor;
using variable_list = std::vector<at::Tensor>;
using tensor_list = std::vector<at::Tensor>;

namespace detail {
/// State of a call between forward and backward, beside tensors.
struct CallState {
  /// Kind of each gradient that backward returns: one for each argument, and for each tensor of a list.
  enum class Slot : std::uint8_t { None, Undefined, Tensor };
  std::vector<Slot> slots;
  std::unordered_map<std::string, c10::IValue> saved_data;
};
}  // namespace detail

/// Context that passes tensors and values from forward to backward.
class AutogradContext {
 public:
  explicit AutogradContext(lamella::Context& native)
      : saved_data(native.state<detail::CallState>().saved_data), native_(native) {}
  AutogradContext(const AutogradContext&) = delete;
  AutogradContext& operator=(const AutogradContext&) = delete;

  /// Saves tensors, undefined ones included; to be called once.
  void save_for_backward(const variable_list& tensors) {
    const std::vector<lamella::Tensor> kept(tensors.begin(), tensors.end());
    native_.save_for_backward(std::span<const lamella::Tensor>(kept));
  }
  /// Returns the saved tensors; RuntimeError if the graph was freed, or if a tensor was overwritten since.
  variable_list get_saved_variables() const {
    const lamella::TensorList kept = native_.saved_tensors();
    return variable_list(kept.begin(), kept.end());
  }
  /// Declares that forward wrote into these inputs and returns them.
  void mark_dirty(const variable_list& inputs) {
    for (const at::Tensor& x : inputs) native_.mark_dirty(x);
  }
  /// Declares that these outputs have no gradient.
  void mark_non_differentiable(const variable_list& outputs) {
    for (const at::Tensor& x : outputs) native_.mark_non_differentiable(x);
  }
  /// Sets if an output without a gradient gives backward zeros (true) or an undefined tensor (false).
  void set_materialize_grads(bool value) { native_.set_materialize_grads(value); }
  /// True if the gradient of the tensor argument `i` (counted among tensors) is wanted.
  bool needs_input_grad(std::size_t i) const {
    // Lamella counts arguments, and among their tensors those that are defined.
    std::uint32_t defined = 0;
    for (const auto slot : native_.state<detail::CallState>().slots) {
      if (slot == detail::CallState::Slot::None) continue;
      if (i-- == 0) {
        for (std::size_t k = 0; slot == detail::CallState::Slot::Tensor && k < native_.arguments.size(); ++k) {
          const lamella::ArgumentInfo& argument = native_.arguments[k];
          if (argument.has_tensors && defined < argument.first + argument.count) return native_.needs_input_grad(k);
        }
        return false;
      }
      defined += slot == detail::CallState::Slot::Tensor;
    }
    lamella::fail<lamella::IndexError>("[needs_input_grad] there are not so many tensors among the arguments");
  }

  /// Saved values of any other kind, by name.
  std::unordered_map<std::string, c10::IValue>& saved_data;

 private:
  lamella::Context& native_;
};

namespace detail {

/// Converts an argument for lamella::Function: a tensor becomes an optional, as an undefined tensor is an argument
/// here.
template <class A>
struct Argument {
  using Native = A;
  static Native to_native(const A& value) { return value; }
  static const A& from_native(const Native& value) { return value; }
  static void add_slots(const A&, std::vector<CallState::Slot>& slots) { slots.push_back(CallState::Slot::None); }
};
template <>
struct Argument<at::Tensor> {
  using Native = std::optional<lamella::Tensor>;
  static Native to_native(const at::Tensor& x) { return x.defined() ? Native(x) : std::nullopt; }
  static at::Tensor from_native(const Native& x) { return x ? at::Tensor(*x) : at::Tensor(); }
  static void add_slots(const at::Tensor& x, std::vector<CallState::Slot>& slots) {
    slots.push_back(x.defined() ? CallState::Slot::Tensor : CallState::Slot::Undefined);
  }
};
template <>
struct Argument<std::optional<at::Tensor>> {
  using Native = std::optional<lamella::Tensor>;
  static Native to_native(const std::optional<at::Tensor>& x) { return x && x->defined() ? Native(*x) : std::nullopt; }
  static std::optional<at::Tensor> from_native(const Native& x) {
    return x ? std::optional<at::Tensor>(*x) : std::nullopt;
  }
  static void add_slots(const std::optional<at::Tensor>& x, std::vector<CallState::Slot>& slots) {
    slots.push_back(x && x->defined() ? CallState::Slot::Tensor : CallState::Slot::Undefined);
  }
};
template <>
struct Argument<variable_list> {
  using Native = std::vector<lamella::Tensor>;
  static Native to_native(const variable_list& tensors) { return Native(tensors.begin(), tensors.end()); }
  static variable_list from_native(const Native& tensors) { return variable_list(tensors.begin(), tensors.end()); }
  static void add_slots(const variable_list& tensors, std::vector<CallState::Slot>& slots) {
    slots.insert(slots.end(), tensors.size(), CallState::Slot::Tensor);
  }
};
/// Converts a list owned by somebody else: it is copied, as backward may run later.
template <>
struct Argument<at::TensorList> : Argument<variable_list> {
  static Native to_native(at::TensorList tensors) { return Native(tensors.begin(), tensors.end()); }
  static void add_slots(at::TensorList tensors, std::vector<CallState::Slot>& slots) {
    slots.insert(slots.end(), tensors.size(), CallState::Slot::Tensor);
  }
};

inline lamella::Tensor to_native_result(at::Tensor x) { return x; }
inline std::vector<lamella::Tensor> to_native_result(const variable_list& tensors) {
  return std::vector<lamella::Tensor>(tensors.begin(), tensors.end());
}
inline at::Tensor from_native_result(lamella::Tensor x) { return x; }
inline variable_list from_native_result(const std::vector<lamella::Tensor>& tensors) {
  return variable_list(tensors.begin(), tensors.end());
}

/// Adapts T to lamella::Function. A... are the types of the arguments in the call.
template <class T, class... A>
struct Layer : lamella::Function<Layer<T, A...>> {
  inline static const std::string name = lamella::autograd::detail::type_name<T>();

  static auto forward(lamella::Context& native, const std::vector<CallState::Slot>& slots,
                      const typename Argument<A>::Native&... args) {
    native.state<CallState>().slots = slots;
    AutogradContext ctx(native);
    return to_native_result(T::forward(&ctx, Argument<A>::from_native(args)...));
  }

  static lamella::TensorList backward(lamella::Context& native, const lamella::TensorList& grads) {
    AutogradContext ctx(native);
    const auto& slots = native.state<CallState>().slots;
    variable_list results = T::backward(&ctx, variable_list(grads.begin(), grads.end()));
    while (results.size() > slots.size() && !results.back().defined()) results.pop_back();
    if (results.size() != slots.size()) {
      lamella::fail<lamella::RuntimeError>("[", name, "] backward returned ", results.size(),
                                           " gradients, expected one for each of the ", slots.size(),
                                           " arguments of forward (an undefined tensor for what is no tensor)");
    }
    lamella::TensorList kept;
    std::size_t tensor = 0;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (slots[i] == CallState::Slot::Tensor) {
        // Unwanted gradients are returned all the same, and dropped.
        kept.push_back(ctx.needs_input_grad(tensor) ? lamella::Tensor(results[i]) : lamella::Tensor());
      } else if (slots[i] == CallState::Slot::None && results[i].defined()) {
        lamella::fail<lamella::RuntimeError>("[", name, "] backward returned a gradient for argument ", i,
                                             ", which is no tensor: return an undefined tensor for it");
      }
      tensor += slots[i] != CallState::Slot::None;
    }
    return kept;
  }
};

}  // namespace detail

/// Base of a differentiable operation with a gradient of its own:
///
///     class Double : public torch::autograd::Function<Double> {
///      public:
///       static at::Tensor forward(AutogradContext* ctx, at::Tensor x) { return x * 2; }
///       static variable_list backward(AutogradContext* ctx, variable_list grads) { return {grads[0] * 2}; }
///     };
///     at::Tensor y = Double::apply(x);
///
/// forward returns a tensor or a variable_list, and backward one gradient for each argument of forward.
template <class T>
class Function {
 public:
  template <class... Args>
  static auto apply(Args&&... args) {
    using Layer = detail::Layer<T, std::decay_t<Args>...>;
    std::vector<detail::CallState::Slot> slots;
    (detail::Argument<std::decay_t<Args>>::add_slots(args, slots), ...);
    return detail::from_native_result(Layer::apply(slots, detail::Argument<std::decay_t<Args>>::to_native(args)...));
  }
};

/// Adds the gradients of `tensors` to the `grad` of the leaves.
inline void backward(const variable_list& tensors, const variable_list& grad_tensors = {},
                     std::optional<bool> retain_graph = std::nullopt, bool create_graph = false) {
  const std::vector<lamella::Tensor> outputs(tensors.begin(), tensors.end());
  const std::vector<lamella::Tensor> seeds(grad_tensors.begin(), grad_tensors.end());
  lamella::autograd::backward(std::span<const lamella::Tensor>(outputs), std::span<const lamella::Tensor>(seeds),
                              retain_graph.value_or(create_graph), create_graph);
}
/// Returns the gradients of `outputs` with respect to `inputs`.
inline variable_list grad(const variable_list& outputs, const variable_list& inputs,
                          const variable_list& grad_outputs = {}, std::optional<bool> retain_graph = std::nullopt,
                          bool create_graph = false, bool allow_unused = false) {
  const std::vector<lamella::Tensor> from(outputs.begin(), outputs.end());
  const std::vector<lamella::Tensor> to(inputs.begin(), inputs.end());
  const std::vector<lamella::Tensor> seeds(grad_outputs.begin(), grad_outputs.end());
  const std::vector<lamella::Tensor> grads =
      lamella::autograd::grad(std::span<const lamella::Tensor>(from), std::span<const lamella::Tensor>(to),
                              std::span<const lamella::Tensor>(seeds),
                              {.retain_graph = retain_graph.value_or(create_graph),
                               .create_graph = create_graph,
                               .allow_unused = allow_unused});
  return variable_list(grads.begin(), grads.end());
}

}  // namespace torch::autograd
