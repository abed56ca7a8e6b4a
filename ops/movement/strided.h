#pragma once

#include "engine/core/tensor.h"
#include "ops/movement/cpu/movement_table.h"

namespace lamella {

/// Runs a two-dimensional CPU kernel over all elements of a shape, on several threads. Strides in bytes.
void run_strided(void (*kernel)(const cpu::Copy2d&), DimsView shape, char* to, DimsView to_strides, const char* from,
                 DimsView from_strides);

/// Writes from's values, cast, into `to`, which has the same shape and does not overlap `from`. Any device; nothing on
/// meta.
void write_values(const Tensor& to, const Tensor& from, const char* op);
/// Sets every element of `to` to `value`, cast.
void write_value(const Tensor& to, Scalar value, const char* op);

/// Whether some byte belongs to both.
bool may_overlap(const Tensor& a, const Tensor& b);
/// Whether two elements of x share memory: x was broadcast along some axis, or has windows that overlap.
bool has_repeated_elements(const Tensor& x);

}  // namespace lamella
