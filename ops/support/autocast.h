#pragma once

#include <concepts>
#include <optional>
#include <vector>

#include "engine/autograd/autocast/autocast.h"
#include "ops/op_info.h"

namespace lamella {

namespace detail {

template <Autocast kPolicy>
Tensor autocast_argument(const Tensor& x) {
  return kPolicy == Autocast::Lower ? autograd::lower_input(x) : autograd::raise_input(x);
}
template <Autocast kPolicy>
std::optional<Tensor> autocast_argument(const std::optional<Tensor>& x) {
  if (!x) return x;
  return autocast_argument<kPolicy>(*x);
}
template <Autocast kPolicy, class Tensors>
  requires std::same_as<typename Tensors::value_type, Tensor>
Tensors autocast_argument(const Tensors& given) {
  Tensors cast;
  for (const Tensor& x : given) cast.push_back(autocast_argument<kPolicy>(x));
  return cast;
}
template <Autocast kPolicy, class T>
T autocast_argument(const T& value) {
  return value;
}

}  // namespace detail

/// Calls Op::call under autocast: casts the tensors by Op's policy, and casts nothing within the call. An operator that
/// is not elementwise and has a policy begins with
///
///     if (autograd::autocast_active()) [[unlikely]] return call_in_autocast<Matmul>(a, b);
template <class Op, class... Args>
auto call_in_autocast(const Args&... args) {
  static_assert(Op::info.autocast != Autocast::Keep, "the operator's OpInfo names no policy");
  const autograd::AutocastOff off;
  return Op::call(detail::autocast_argument<Op::info.autocast>(args)...);
}

}  // namespace lamella
