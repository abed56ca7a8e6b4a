#pragma once

#include "engine/core/tensor.h"
#include "ops/cpu/tables/movement.h"

namespace lamella {

/// Runs a two-dimensional CPU kernel over all elements of a shape, on several threads. Strides are in bytes.
void run_strided(void (*kernel)(const cpu::Copy2d&), DimsView shape, char* to, DimsView to_strides, const char* from,
                 DimsView from_strides);

/// Writes the values of `from`, cast, into `to`, which has the same shape and does not overlap it. Any device; does
/// nothing on meta.
void write_values(const Tensor& to, const Tensor& from, const char* op);
/// Sets every element of `to` to `value`, cast.
void write_value(const Tensor& to, Scalar value, const char* op);

/// True if the memory ranges of a and b overlap.
bool may_overlap(const Tensor& a, const Tensor& b);
/// True if two elements of x share memory: x was broadcast, or has overlapping windows.
bool has_repeated_elements(const Tensor& x);

}  // namespace lamella
