#include "engine/autograd/gradient_counts.h"

#include <algorithm>
#include <numeric>

namespace lamella::autograd {

std::optional<std::vector<std::size_t>> match_gradients(std::span<const ArgumentInfo> arguments,
                                                        const std::vector<bool>& given) {
  std::vector<std::size_t> every(arguments.size());
  std::iota(every.begin(), every.end(), std::size_t{0});
  std::vector<std::size_t> with_tensors;
  std::ranges::copy_if(every, std::back_inserter(with_tensors),
                       [&](std::size_t i) { return arguments[i].has_tensors; });

  const std::size_t count = given.size();
  if (count == with_tensors.size()) return with_tensors;
  if (count == every.size()) return every;
  if (count < with_tensors.size()) {
    with_tensors.resize(count);
    return with_tensors;
  }
  // What follows the last gradient is None, and may be more than there are arguments.
  std::size_t used = count;
  while (used > 0 && !given[used - 1]) --used;
  const auto fits = [&](const std::vector<std::size_t>& targets) {
    if (used > targets.size() || count < targets.size()) return false;
    for (std::size_t i = 0; i < used; ++i) {
      if (given[i] && !arguments[targets[i]].has_tensors) return false;
    }
    return true;
  };
  if (fits(every)) return every;
  if (fits(with_tensors)) return with_tensors;
  return std::nullopt;
}

}  // namespace lamella::autograd
