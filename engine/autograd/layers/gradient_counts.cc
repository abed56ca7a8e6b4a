#include "engine/autograd/layers/gradient_counts.h"

#include <algorithm>

namespace lamella::autograd {
namespace {

GradientTargets every_argument(std::span<const ArgumentInfo> arguments) {
  GradientTargets targets;
  for (std::size_t i = 0; i < arguments.size(); ++i) targets.push_back(i);
  return targets;
}

/// Returns the first `count` arguments with tensors.
GradientTargets with_tensors(std::span<const ArgumentInfo> arguments, std::size_t count) {
  GradientTargets targets;
  for (std::size_t i = 0; i < arguments.size() && targets.size() < count; ++i) {
    if (arguments[i].has_tensors) targets.push_back(i);
  }
  return targets;
}

}  // namespace

std::optional<GradientTargets> match_gradients(std::span<const ArgumentInfo> arguments, std::span<const bool> given) {
  const std::size_t count = given.size();
  const auto by_tensor = static_cast<std::size_t>(std::ranges::count(arguments, true, &ArgumentInfo::has_tensors));
  if (count <= by_tensor) return with_tensors(arguments, count);
  if (count == arguments.size()) return every_argument(arguments);
  // Leaves out Nones behind the last gradient, which may be more than there are arguments.
  std::size_t used = count;
  while (used > 0 && !given[used - 1]) --used;
  const auto fits = [&](const GradientTargets& targets) {
    if (used > targets.size() || count < targets.size()) return false;
    for (std::size_t i = 0; i < used; ++i) {
      if (given[i] && !arguments[targets[i]].has_tensors) return false;
    }
    return true;
  };
  if (GradientTargets targets = every_argument(arguments); fits(targets)) return targets;
  if (GradientTargets targets = with_tensors(arguments, by_tensor); fits(targets)) return targets;
  return std::nullopt;
}

}  // namespace lamella::autograd
