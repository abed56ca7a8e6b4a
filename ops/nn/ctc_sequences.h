#pragma once

#include <cstdint>

#include "engine/core/tensor.h"
#include "engine/runtime/late_error.h"

namespace lamella {

/// The sequences of ctc_loss and their targets. All tensors are contiguous and on one device.
struct CtcSequences {
  Tensor log_p;    ///< [steps, sequences, classes]
  Tensor labels;   ///< int64: [sequences, at least the longest], or those of all sequences one after the other
  Tensor lengths;  ///< int64, [2, sequences]: numbers of steps, and of labels
  std::int64_t longest = 0;  ///< largest number of labels
  std::int64_t blank = 0;
};

/// Throws IndexError: the first number is a label, and the second one how many classes there are.
[[noreturn]] void raise_label_error(const char* op, const LateNumbers& numbers, const char* hint);

}  // namespace lamella
