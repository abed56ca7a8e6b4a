#include "ops/index/picks.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "engine/core/modes.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/extrema.h"
#include "ops/elementwise/where.h"
#include "ops/index/loops.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/shape/reshape.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

/// Writes index * stride to `rows`, or adds it if this is not the first index, checking the range in the same pass.
void add_picks(const Tensor& index, std::int64_t size, std::int64_t axis, std::int64_t stride, const Tensor& rows,
               const char* op, std::int64_t lowest, bool is_first) {
  const auto* from = index.data<std::int64_t>();
  auto* to = rows.data<std::int64_t>();
  if (is_first && stride == 1 && lowest == 0) {
    // Checks in vectors; if that fails, the loop below finds the number that is out of range.
    std::copy_n(from, rows.numel(), to);
    if (all_in_range(to, rows.numel(), size)) return;
  }
  for (std::int64_t i = 0; i < rows.numel(); ++i) {
    std::int64_t k = from[i];
    if (k < lowest || k >= size) raise_index_error(op, {k, axis, size}, "");
    if (k < 0) k += size;
    to[i] = (is_first ? 0 : to[i]) + k * stride;
  }
}

}  // namespace

void raise_index_error(const char* op, const LateNumbers& numbers, const char* hint) {
  const auto [index, axis, size] = numbers;
  fail<IndexError>("[", op, "] index ", index, " is out of range for axis ", axis, " of size ", size, hint);
}

Tensor as_index(const Tensor& index, const char* op) {
  if (!is_integral(index.dtype())) fail<TypeError>("[", op, "] indices must be integers, got ", index.dtype());
  // Numbers that int64 does not hold become its largest, which no axis has, and not negative ones, which count from the
  // end.
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  return cast(index.dtype() == DType::UInt64 ? minimum(index, kLargest) : index, DType::Int64);
}

namespace {

/// Returns the picks of all examples at once; see Note [Batched tensors].
Tensor pick_rows_of_examples(std::span<const Tensor> indices, const HiddenAxes& hidden, DimsView sizes, DimsView axes,
                             const char* op, NegativeIndex negative) {
  std::vector<Tensor> all;
  for (const Tensor& index : indices) all.push_back(physical(index, hidden, 0, MissingAxis::Repeated));
  const Tensor rows = pick_rows(all, sizes, axes, op, negative);
  rows->shape = with_axes(hidden, Dims{indices[0].numel()});
  rows->strides = contiguous_strides(rows->shape);
  return hide_in_place(rows, hidden);
}

}  // namespace

Tensor pick_rows(std::span<const Tensor> indices, DimsView sizes, DimsView axes, const char* op,
                 NegativeIndex negative) {
  SmallVector<const Tensor*, 4> given;
  for (const Tensor& index : indices) given.push_back(&index);
  if (is_batched(given)) [[unlikely]]
    return pick_rows_of_examples(indices, hidden_axes(given), sizes, axes, op, negative);
  const autograd::NoGrad no_grad;
  const Device device = indices[0].device();
  const Dims shape = indices[0].shape();
  if (device.is_meta()) return empty({count_elements(shape)}, DType::Int64, device);
  if (count_elements(shape) > 0 && has_device_kernel<&DeviceKernels::pick_positions>(device)) {
    std::vector<Tensor> flat;
    for (const Tensor& index : indices) flat.push_back(contiguous(reshape(index, Dims{-1})));
    return device_kernel<&DeviceKernels::pick_positions>(device, op)(flat, sizes, axes,
                                                                     negative == NegativeIndex::FromEnd, {}, op);
  }
  Tensor rows = device.is_cpu() ? empty({count_elements(shape)}, DType::Int64) : Tensor();
  std::int64_t stride = 1;
  for (std::size_t k = indices.size(); k-- > 0;) {
    const Tensor flat = contiguous(reshape(indices[k], Dims{-1}));
    const std::int64_t lowest = negative == NegativeIndex::FromEnd ? -sizes[k] : 0;
    if (device.is_cpu()) {
      add_picks(flat, sizes[k], axes[k], stride, rows, op, lowest, k + 1 == indices.size());
    } else {
      // On other devices the check is composed and costs a transfer of one bool. The host finds the index for the
      // error.
      const Tensor bad = to_device(any((flat < lowest) | (flat >= sizes[k])), kCPU);
      if (*bad.data<bool>()) {
        const Tensor host[] = {to_device(flat, kCPU)};
        static_cast<void>(pick_rows(host, sizes.subspan(k, 1), axes.subspan(k, 1), op, negative));
      }
      // A copy where nothing is computed: the caller may change the numbers.
      Tensor part = negative == NegativeIndex::FromEnd ? where(flat < 0, flat + sizes[k], flat) : clone(flat);
      if (stride != 1) part = part * stride;
      rows = rows.defined() ? rows + part : part;
    }
    stride *= sizes[k];
  }
  return rows;
}

}  // namespace lamella
