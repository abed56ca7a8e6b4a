#include "ops/index/nonzero.h"

#include <cstring>
#include <span>

#include "engine/autograd/departure.h"
#include "engine/autograd/modes.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/movement/cast.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

constexpr std::int64_t kBlock = 16384;  // elements whose true ones are counted together

std::uint64_t eight_bytes(const char* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

std::int64_t count_true(const char* mask, std::int64_t begin, std::int64_t end) {
  std::int64_t count = 0;
  // A product whose highest byte is the sum of all bytes, which are 0 or 1.
  constexpr std::uint64_t kSumOfBytes = 0x0101010101010101;
  for (; begin + 8 <= end; begin += 8)
    count += static_cast<std::int64_t>((eight_bytes(mask + begin) & kSumOfBytes) * kSumOfBytes >> 56);
  for (; begin < end; ++begin) count += mask[begin];
  return count;
}

/// Writes the positions of the true ones in [begin, end), of which there are as many as lie between `to` and `last`:
/// should somebody write to the mask meanwhile, no more and no fewer are written all the same.
void write_true(const char* mask, std::int64_t begin, std::int64_t end, std::int64_t* to, const std::int64_t* last) {
  while (begin < end && to < last) {
    // Long runs of false are common.
    if (begin + 8 <= end && eight_bytes(mask + begin) == 0) {
      begin += 8;
      continue;
    }
    const std::int64_t stop = std::min(begin + 8, end);
    // Where there is room for all that may come, each position is written, and stays if it counts: no branch is
    // guessed.
    if (last - to >= 8) {
      for (; begin < stop; ++begin) {
        *to = begin;
        to += mask[begin] != 0;
      }
      continue;
    }
    for (; begin < stop; ++begin) {
      if (mask[begin] && to < last) *to++ = begin;
    }
  }
  while (to < last) *to++ = 0;
}

/// The positions in a contiguous bool tensor on the CPU: counted block by block, then written.
Tensor positions_of(const Tensor& mask) {
  const char* const data = mask->data;
  const std::int64_t size = mask.numel();
  const std::int64_t blocks = (size + kBlock - 1) / kBlock;
  const HostRelease release(size);
  std::vector<std::int64_t> starts(static_cast<std::size_t>(blocks) + 1, 0);
  parallel_for(0, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      starts[static_cast<std::size_t>(b) + 1] = count_true(data, b * kBlock, std::min(size, (b + 1) * kBlock));
    }
  });
  for (std::size_t b = 1; b < starts.size(); ++b) starts[b] += starts[b - 1];
  const Tensor positions = empty({starts.back()}, DType::Int64);
  auto* const to = positions.data<std::int64_t>();
  parallel_for(0, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      const auto at = static_cast<std::size_t>(b);
      write_true(data, b * kBlock, std::min(size, (b + 1) * kBlock), to + starts[at], to + starts[at + 1]);
    }
  });
  return positions;
}

/// One index per axis for numbers in row-major order: for each axis a column, from one element to the next `step`.
void split_positions(const Tensor& positions, const Dims& shape, std::span<std::int64_t* const> columns,
                     std::int64_t step) {
  const auto* const from = positions.data<std::int64_t>();
  const std::size_t last_axis = shape.size() - 1;
  const std::int64_t width = shape.back();
  const HostRelease release(positions.numel());
  parallel_for(0, positions.numel(), kBlock, [&](std::int64_t begin, std::int64_t end) {
    Dims leading(shape.size(), 0);
    std::int64_t row_begin = 0;
    std::int64_t row_end = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      // Numbers ascend, so that many of them lie in one row.
      if (from[i] >= row_end) {
        std::int64_t rest = from[i] / width;
        row_begin = rest * width;
        row_end = row_begin + width;
        for (std::size_t axis = last_axis; axis-- > 0;) {
          leading[axis] = rest % shape[axis];
          rest /= shape[axis];
        }
      }
      for (std::size_t axis = 0; axis < last_axis; ++axis) columns[axis][i * step] = leading[axis];
      columns[last_axis][i * step] = from[i] - row_begin;
    }
  });
}

}  // namespace

void check_countable(const Tensor& x, const char* op) {
  if (x.device().is_meta()) fail<RuntimeError>("[", op, "] the number of positions is not known on meta");
  if (is_batched(x)) {
    fail<RuntimeError>("[", op,
                       "] under vmap the number of positions differs from example to example, and has no shape: use "
                       "where() in place of a bool index");
  }
}

Tensor true_positions(const Tensor& mask, const char* op) {
  check_countable(mask, op);
  const autograd::NoGrad no_grad;
  return to_device(positions_of(contiguous(to_device(mask, kCPU))), mask.device());
}

Tensor true_places(const Tensor& x, const char* op) {
  check_countable(x, op);
  const autograd::NoGrad no_grad;
  const Tensor flat = positions_of(contiguous(to_device(cast(x, DType::Bool), kCPU)));
  const auto axes = static_cast<std::int64_t>(x.ndim());
  const Tensor places = empty({flat.numel(), axes}, DType::Int64);
  SmallVector<std::int64_t*, 5> columns;
  for (std::int64_t axis = 0; axis < axes; ++axis) columns.push_back(places.data<std::int64_t>() + axis);
  if (places.numel() > 0) split_positions(flat, x.shape(), columns, axes);
  const Tensor result = to_device(places, x.device());
  const Tensor* const inputs[] = {&x};
  if (autograd::is_tracing()) [[unlikely]]
    autograd::note_departure(op, inputs, result);
  return result;
}

std::vector<Tensor> Nonzero::call(const Tensor& x) {
  if (x.ndim() == 0) fail<ValueError>("[nonzero] a 0-d tensor has no axes; use reshape(x, [1]) first");
  check_countable(x, "nonzero");
  const autograd::NoGrad no_grad;
  const Tensor flat = positions_of(contiguous(to_device(cast(x, DType::Bool), kCPU)));
  std::vector<Tensor> positions{flat};
  if (x.ndim() > 1) {
    SmallVector<std::int64_t*, 5> columns;
    positions.clear();
    for (std::size_t axis = 0; axis < x.ndim(); ++axis) {
      positions.push_back(empty(flat.shape(), DType::Int64));
      columns.push_back(positions.back().data<std::int64_t>());
    }
    split_positions(flat, x.shape(), columns, 1);
  }
  const Tensor* const inputs[] = {&x};
  for (Tensor& p : positions) {
    p = to_device(p, x.device());
    if (autograd::is_tracing()) [[unlikely]]
      autograd::note_departure("nonzero", inputs, p);
  }
  return positions;
}

}  // namespace lamella
