#pragma once

#include "engine/core/tensor.h"

namespace lamella {

/// The meaning of a negative index: counted from the end, or an error.
enum class NegativeIndex : std::uint8_t { FromEnd, Refuse };

/// Returns the row-major positions over `sizes` of the elements that integer tensors of one common shape pick: int64,
/// flat, on the tensors' device. Throws IndexError that names an index out of range; `axes` are the axes' numbers for
/// that message.
Tensor pick_rows(std::span<const Tensor> indices, DimsView sizes, DimsView axes, const char* op,
                 NegativeIndex negative = NegativeIndex::FromEnd);

/// Returns an index tensor as int64; throws TypeError that names `op` if its dtype is not an integer dtype.
Tensor as_index(const Tensor& index, const char* op);

}  // namespace lamella
