#pragma once

#include "engine/core/tensor.h"
#include "ops/scan/cpu/table.h"

namespace lamella {

/// Runs a scan along an axis of x; not recorded. `reverse` begins at the last element. 0-d tensors have one element.
/// The scans that give positions also write the elements there to `extremes`, contiguous and like x, where it is
/// defined; x has no hidden axes then.
Tensor run_scan(cpu::Scan scan, const Tensor& x, std::int64_t axis, bool reverse, const char* op,
                const Tensor& extremes = Tensor());

/// y_i = b_i + a_i y_(i-1) along an axis, with nothing before the first element, of which a does not count; from the
/// last element to the first where `reverse` is set. a and b have the same shape and floating or complex dtype.
///
/// Differentiable any number of times: with g_i = dy_i + a_(i+1) g_(i+1), a recurrence in the other direction, db = g
/// and da_i = g_i y_(i-1). The gradients of other scans are made of it, since it needs no division.
Tensor linear_recurrence(const Tensor& a, const Tensor& b, std::int64_t axis, bool reverse, const char* op);

/// x moved by one place along an axis, towards its end, or towards its beginning where `reverse` is set; `filling`
/// enters at the other end. Recorded.
Tensor shifted(const Tensor& x, std::int64_t axis, double filling, bool reverse);

}  // namespace lamella
