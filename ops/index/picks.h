#pragma once

#include <optional>

#include "engine/core/tensor.h"
#include "engine/runtime/late_error.h"

namespace lamella {

/// The meaning of a negative index: counted from the end, or an error.
enum class NegativeIndex : std::uint8_t { FromEnd, Refuse };

/// Returns the row-major positions over `sizes` of the elements that integer tensors of one common shape pick: int64,
/// flat, on the tensors' device. Throws IndexError that names an index out of range; `axes` are the axes' numbers for
/// that message. A device that works behind the host gives -1 for such an index, and the host throws when it next
/// waits.
Tensor pick_rows(std::span<const Tensor> indices, DimsView sizes, DimsView axes, const char* op,
                 NegativeIndex negative = NegativeIndex::FromEnd);

/// Throws the IndexError of pick_rows(): `numbers` are the index, the axis and its size.
[[noreturn]] void raise_index_error(const char* op, const LateNumbers& numbers, const char* hint);

/// Returns an index tensor as int64; throws TypeError that names `op` if its dtype is not an integer dtype.
Tensor as_index(const Tensor& index, const char* op);

}  // namespace lamella
