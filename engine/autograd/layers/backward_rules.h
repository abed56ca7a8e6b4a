#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/autograd/layers/layer_gradients.h"
#include "engine/autograd/saved/context.h"
#include "engine/core/error.h"
#include "engine/core/tensors_in.h"

// Gradients of a C++ layer's inputs: what the layer may declare, how its backward is called, and how its results are
// assigned to the inputs.

namespace lamella::autograd::detail {

/// Returns the name of a type as the compiler prints it, without its namespaces.
template <class T>
std::string type_name() {
  const std::string text = __PRETTY_FUNCTION__;  // "... type_name() [with T = ns::Layer; ...]"
  std::size_t begin = text.find("T = ");
  if (begin == std::string::npos) return "Function";
  begin += 4;
  std::size_t end = text.find_first_of(";]", begin);
  std::string full = text.substr(begin, end - begin);
  const std::size_t angle = full.find('<');
  const std::size_t colon = full.rfind("::", angle);
  return colon == std::string::npos ? full : full.substr(colon + 2);
}

template <class Layer>
std::string layer_name() {
  if constexpr (requires {
                  { Layer::name } -> std::convertible_to<std::string_view>;
                }) {
    return std::string(std::string_view(Layer::name));
  } else {
    return type_name<Layer>();
  }
}

/// True if the layer's backward can be called with these gradients.
template <class Layer, class... Gradients>
concept TakesGradients = requires(Context& ctx, Gradients... grads) { Layer::backward(ctx, grads...); };

template <class Layer, std::size_t... I>
constexpr bool takes_n(std::index_sequence<I...>) {
  return TakesGradients<Layer, decltype((static_cast<void>(I), std::declval<const Tensor&>()))...>;
}

/// Calls backward with the gradients as separate arguments, or, where it is declared so, as one list.
template <class Layer, std::size_t N = 1>
auto call_backward(Context& ctx, const TensorList& grads) {
  constexpr std::size_t kMaxOutputs = 8;
  if constexpr (TakesGradients<Layer, const TensorList&>) {
    return Layer::backward(ctx, grads);
  } else if constexpr (TakesGradients<Layer, std::vector<Tensor>>) {
    return Layer::backward(ctx, std::vector<Tensor>(grads.begin(), grads.end()));
  } else {
    static_assert(N <= kMaxOutputs,
                  "backward must be `static R backward(Context&, const Tensor&...)` with one gradient for each output "
                  "of forward (at most 8), or take them all as `const TensorList&` or `std::vector<Tensor>`");
    if constexpr (N > kMaxOutputs) {
      return Tensor();
    } else if constexpr (takes_n<Layer>(std::make_index_sequence<N>{})) {
      if (grads.size() != N) {
        fail<ValueError>("[", layer_name<Layer>(), "] backward takes ", N, " gradients, forward returned ",
                         grads.size(), " tensors");
      }
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return Layer::backward(ctx, grads[I]...);
      }(std::make_index_sequence<N>{});
    } else {
      return call_backward<Layer, N + 1>(ctx, grads);
    }
  }
}

/// Puts gradients into a list, undefined ones for empty optionals.
struct Collect {
  TensorList& list;
  void operator()(Tensor& grad) const { list.push_back(std::move(grad)); }
  void operator()(std::nullopt_t) const { list.emplace_back(); }
};

template <class T>
GradientEntry to_entry(T&& value) {
  using D = std::decay_t<T>;
  GradientEntry entry;
  if constexpr (std::is_same_v<D, std::nullopt_t> || std::is_same_v<D, std::nullptr_t>) {
    return entry;
  } else {
    static_assert(kHoldsTensors<D>,
                  "backward returns tensors, containers of tensors, or std::nullopt for \"no gradient\"");
    entry.container = !kIsTensor<D>;
    for_each_tensor(value, Collect{entry.tensors});
    return entry;
  }
}

/// Treats a tuple of gradients as that of a container, where this is the only argument with tensors and there is one
/// gradient for each of its tensors: the gradient need not be wrapped.
inline void wrap_sole_container(std::vector<GradientEntry>& entries, const Context& ctx) {
  const ArgumentInfo* sole = nullptr;
  for (const ArgumentInfo& argument : ctx.arguments) {
    if (!argument.has_tensors) continue;
    if (sole) return;
    sole = &argument;
  }
  if (!sole || !sole->container || entries.size() != sole->count) return;
  GradientEntry whole;
  whole.container = true;
  for (GradientEntry& entry : entries) {
    if (entry.container) return;
    whole.tensors.push_back(entry.tensors.empty() ? Tensor() : entry.tensors[0]);
  }
  entries.clear();
  entries.push_back(std::move(whole));
}

/// Returns the results of backward, one entry for each gradient.
template <class R>
std::vector<GradientEntry> to_entries(R&& result, const Context& ctx) {
  using D = std::decay_t<R>;
  std::vector<GradientEntry> entries;
  if constexpr (kIsTuple<D>) {
    std::apply([&](auto&... parts) { (entries.push_back(to_entry(parts)), ...); }, result);
    wrap_sole_container(entries, ctx);
  } else if constexpr (!kIsTensorSequence<D>) {
    static_assert(kIsTensor<D> || std::is_same_v<D, std::nullopt_t> || kIsPlainStruct<D>,
                  "backward must return a Tensor, a std::tuple, std::pair or std::array of gradients, a struct, "
                  "std::vector<Tensor> or TensorList");
    entries.push_back(to_entry(result));
  } else {
    // Splits a flat list, whose tensors fill the arguments in order, so that a container takes as many as it has.
    std::size_t flat = 0;
    bool any_container = false;
    for (const ArgumentInfo& argument : ctx.arguments) {
      flat += argument.count;
      any_container |= argument.container;
    }
    if (any_container && result.size() == flat) {
      std::size_t at = 0;
      for (const ArgumentInfo& argument : ctx.arguments) {
        if (!argument.has_tensors) continue;
        GradientEntry entry;
        entry.container = argument.container;
        for (std::uint32_t k = 0; k < argument.count; ++k) entry.tensors.push_back(std::move(result[at++]));
        entries.push_back(std::move(entry));
      }
    } else {
      for (Tensor& g : result) entries.push_back(to_entry(g));
    }
  }
  return entries;
}

}  // namespace lamella::autograd::detail
