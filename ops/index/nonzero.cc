#include "ops/index/nonzero.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "engine/autograd/trace/departure.h"
#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "engine/runtime/parallel.h"
#include "ops/movement/cast.h"
#include "ops/support/hidden.h"
#include "ops/support/item_type.h"

namespace lamella {
namespace {

constexpr std::int64_t kBlock = 16384;  // elements whose true values are counted together

std::uint64_t eight_bytes(const char* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

std::int64_t count_true(const char* mask, std::int64_t begin, std::int64_t end) {
  std::int64_t count = 0;
  // The highest byte of the product is the sum of all bytes, which are 0 or 1.
  constexpr std::uint64_t kSumOfBytes = 0x0101010101010101;
  for (; begin + 8 <= end; begin += 8)
    count += static_cast<std::int64_t>((eight_bytes(mask + begin) & kSumOfBytes) * kSumOfBytes >> 56);
  for (; begin < end; ++begin) count += mask[begin] & 1;
  return count;
}

/// Writes one(i) for the true elements in [begin, end), of which there were last - to when they were counted; exactly
/// as many are written even if the mask changes meanwhile. `eight(i, to)` writes the results for eight true elements.
template <class T, class One, class Eight>
void write_true(const char* mask, std::int64_t begin, std::int64_t end, T* to, const T* last, One one, Eight eight) {
  constexpr std::uint64_t kAllTrue = 0x0101010101010101;
  while (begin < end && to < last) {
    const std::int64_t stop = std::min(begin + 8, end);
    // With room for eight more results, each is written and kept if its element is true, which needs no branch.
    if (begin + 8 <= end && last - to >= 8) {
      // Runs of eight false or eight true elements are common.
      const std::uint64_t word = eight_bytes(mask + begin);
      if (word == kAllTrue) {
        eight(begin, to);
        to += 8;
      } else if (word != 0) {
        for (std::int64_t i = begin; i < stop; ++i) {
          *to = one(i);
          to += mask[i] != 0;
        }
      }
      begin = stop;
      continue;
    }
    for (; begin < stop; ++begin) {
      if (mask[begin] && to < last) *to++ = one(begin);
    }
  }
  std::fill(to, to + (last - to), T{});
}

/// Calls write(begin, end, to, last) for blocks of a contiguous bool tensor on the CPU. The true elements of a block
/// were counted before; their results are [to, last) of a new tensor of T.
template <class T, class Write>
Tensor for_true(const Tensor& mask, DType dtype, Write&& write) {
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
  const Tensor found = empty({starts.back()}, dtype);
  auto* const to = reinterpret_cast<T*>(found->data);
  parallel_for(0, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      const auto at = static_cast<std::size_t>(b);
      write(b * kBlock, std::min(size, (b + 1) * kBlock), to + starts[at], to + starts[at + 1]);
    }
  });
  return found;
}

/// Returns the positions of the true elements of a contiguous bool tensor on the CPU.
Tensor positions_of(const Tensor& mask) {
  const char* const data = mask->data;
  const auto write = [data](std::int64_t begin, std::int64_t end, std::int64_t* to, const std::int64_t* last) {
    write_true(
        data, begin, end, to, last, [](std::int64_t i) { return i; },
        [](std::int64_t i, std::int64_t* eight) {
          for (std::int64_t k = 0; k < 8; ++k) eight[k] = i + k;
        });
  };
  return for_true<std::int64_t>(mask, DType::Int64, write);
}

/// Converts row-major positions to one index per axis, written to a column per axis with the given `step`.
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
      // Positions ascend, so that many of them lie in one row and share its division.
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
                       "] under vmap the number of positions differs between examples, so the result has no shape: use "
                       "where() in place of a bool index");
  }
}

Tensor true_positions(const Tensor& mask, const char* op) {
  check_countable(mask, op);
  const autograd::NoGrad no_grad;
  return to_device(positions_of(contiguous(to_device(mask, kCPU))), mask.device());
}

Tensor true_elements(const Tensor& x, const Tensor& mask) {
  return visit_item(x.dtype(), [&]<class T>() {
    const auto* const from = reinterpret_cast<const T*>(x->data);
    const char* const data = mask->data;
    const auto write = [=](std::int64_t begin, std::int64_t end, T* to, const T* last) {
      write_true(
          data, begin, end, to, last, [from](std::int64_t i) { return from[i]; },
          [from](std::int64_t i, T* eight) { std::memcpy(eight, from + i, 8 * sizeof(T)); });
    };
    return for_true<T>(mask, x.dtype(), write);
  });
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
