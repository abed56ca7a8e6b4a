#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "engine/autograd/graph/primitives.h"
#include "engine/autograd/layers/backward_rules.h"
#include "engine/autograd/saved/context.h"
#include "engine/core/error.h"
#include "engine/core/tensors_in.h"

// Tangents of a C++ layer's outputs: what the layer may declare, and the calls that follow from it.

namespace lamella::autograd::detail {

constexpr std::size_t kMaxTangents = 8;

template <class Layer, class... Tangents>
concept TakesTangents = requires(Context& ctx, Tangents... tangents) { Layer::jvp(ctx, tangents...); };
template <class Layer, std::size_t... I>
constexpr bool takes_n_tangents(std::index_sequence<I...>) {
  return TakesTangents<Layer, decltype((static_cast<void>(I), std::declval<const Tensor&>()))...>;
}
/// Number of tangents that the layer's jvp takes as separate arguments; 0 where it takes none so.
template <class Layer, std::size_t N = 1>
constexpr std::size_t count_tangents() {
  if constexpr (N > kMaxTangents) {
    return 0;
  } else if constexpr (takes_n_tangents<Layer>(std::make_index_sequence<N>{})) {
    return N;
  } else {
    return count_tangents<Layer, N + 1>();
  }
}
template <class Layer>
constexpr bool has_jvp() {
  return TakesTangents<Layer, const TensorList&> || count_tangents<Layer>() != 0;
}

/// Calls jvp with one tangent for each tensor of the call, or, where it is declared so, with one list.
template <class Layer>
TensorList call_jvp(const Node& node, Context& ctx, const TensorList& tangents) {
  TensorList list;
  const auto collect = [&](auto result) { for_each_tensor(result, Collect{list}); };
  if constexpr (TakesTangents<Layer, const TensorList&>) {
    collect(Layer::jvp(ctx, tangents));
  } else {
    constexpr std::size_t kCount = count_tangents<Layer>();
    if (tangents.size() != kCount) {
      fail<ValueError>("[", node.name(), "] jvp takes ", kCount, " tangents, the layer was called with ",
                       tangents.size(), " tensors");
    }
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      collect(Layer::jvp(ctx, tangents[I]...));
    }(std::make_index_sequence<kCount>{});
  }
  return list;
}

/// Type in which an argument of a call is kept: a copy of what holds tensors or is a temporary, a reference to anything
/// else.
template <class Arg>
using Substitute = std::conditional_t<kHoldsTensors<Arg> || !std::is_lvalue_reference_v<Arg>, std::decay_t<Arg>,
                                      const std::remove_reference_t<Arg>&>;

/// Returns the results of the layer for the same arguments, with the tensors that `replace(k, tensor)` gives in the
/// place of theirs.
template <class Layer, class Replace, class... Args>
TensorList apply_to(Replace&& replace, const Args&... args) {
  std::tuple<Substitute<const Args&>...> arguments(args...);
  std::size_t k = 0;
  const auto substitute = [&](auto& argument) {
    if constexpr (kHoldsTensors<decltype(argument)>) {
      for_each_tensor(argument, [&](Tensor& x) { x = replace(k++, x); });
    }
  };
  std::apply([&](auto&... argument) { (substitute(argument), ...); }, arguments);
  auto result = std::apply([](const auto&... argument) { return Layer::apply(argument...); }, arguments);
  TensorList list;
  for_each_tensor(result, [&](const Tensor& y) {
    if (y.defined()) list.push_back(y);
  });
  return list;
}

/// Returns the tangents of a linear or multilinear layer's outputs.
template <class Layer, class... Args>
TensorList linear_tangents(const TensorList& tangents, const Args&... args) {
  if constexpr (Layer::kLinear) {
    return apply_to<Layer>(
        [&](std::size_t k, const Tensor& x) {
          if (tangents[k].defined() || !is_differentiable(x.dtype())) return tangents[k].defined() ? tangents[k] : x;
          return primitives().full(x.shape(), x.dtype(), x.device(), 0.0);
        },
        args...);
  } else {
    TensorList sum;
    for (std::size_t i = 0; i < tangents.size(); ++i) {
      if (!tangents[i].defined()) continue;
      TensorList part =
          apply_to<Layer>([&](std::size_t k, const Tensor& x) { return k == i ? tangents[i] : x; }, args...);
      if (sum.empty()) {
        sum = std::move(part);
      } else {
        for (std::size_t k = 0; k < sum.size(); ++k) sum[k] = primitives().add(sum[k], part[k]);
      }
    }
    return sum;
  }
}

}  // namespace lamella::autograd::detail
