#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// What an index below 0 means: counted from the end, or an error.
enum class NegativeIndex : std::uint8_t { FromEnd, Refuse };

/// Numbers, in row-major order over the sizes `sizes`, of the elements that integer tensors of one common shape pick:
/// int64, flat, on the tensors' device. IndexError where one is out of range, naming it; `axes` are the axes' numbers
/// for that message.
Tensor pick_rows(std::span<const Tensor> indices, DimsView sizes, DimsView axes, const char* op,
                 NegativeIndex negative = NegativeIndex::FromEnd);

/// An index tensor as int64; TypeError naming `op` where it is not of integers.
Tensor as_index(const Tensor& index, const char* op);

}  // namespace lamella
