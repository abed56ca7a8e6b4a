#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/runtime/cuda/cudnn.h"

namespace lamella::cuda {

/// The numbers on which the plan of a convolution depends. Lists take three places each; those of fewer axes fill the
/// first ones.
using ConvolutionKey = std::array<std::int64_t, 11 + 6 * 3>;
/// The numbers on which the plan of attention depends.
using AttentionKey = std::vector<std::int64_t>;

/// A plan that is made once it is wanted often enough, if there is one.
struct KeptPlan {
  int calls = 0;
  bool is_known = false;
  std::optional<cudnn::Plan> plan;
};

/// cuDNN's plans that a thread keeps; an operator drops all of its own beyond kMost.
struct CudnnPlans {
  static constexpr std::size_t kMost = 1024;

  std::map<ConvolutionKey, std::optional<cudnn::Plan>> convolutions;
  std::map<AttentionKey, KeptPlan> attention;

  /// Returns this thread's.
  static CudnnPlans& of_thread();
};

}  // namespace lamella::cuda
