#pragma once

#include "engine/core/tensor.h"
#include "ops/cpu/tables/scan.h"

namespace lamella {

/// Runs a scan along an axis of x, from the last element if `reverse`; not recorded. A 0-d tensor counts as one
/// element. Scans that return positions also write the elements at those positions to `extremes`, contiguous and shaped
/// like x, if it is defined; x must not have hidden axes then.
Tensor run_scan(cpu::Scan scan, const Tensor& x, std::int64_t axis, bool reverse, const char* op,
                const Tensor& extremes = Tensor());

/// Returns y_i = b_i + a_i y_(i-1) along an axis, with y_0 = b_0; from the last element to the first if `reverse`. a
/// and b have the same shape and floating or complex dtype.
///
/// Differentiable any number of times: with g_i = dy_i + a_(i+1) g_(i+1), a recurrence in the opposite direction, db =
/// g and da_i = g_i y_(i-1). The gradients of other scans use it, because it needs no division.
Tensor linear_recurrence(const Tensor& a, const Tensor& b, std::int64_t axis, bool reverse, const char* op);

/// Returns x shifted by one position along an axis, towards its end, or towards its beginning if `reverse`; `filling`
/// enters at the other end. Recorded.
Tensor shifted(const Tensor& x, std::int64_t axis, double filling, bool reverse);

}  // namespace lamella
