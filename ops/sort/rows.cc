#include "ops/sort/rows.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/sort/counting.h"
#include "ops/sort/radix.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

using sorting::Key;
using sorting::Ranked;

constexpr std::int64_t kGrain = 4096;  // elements that one thread takes at a time

/// Returns the result of run(x, y) for a new y with x's shape, except for a last axis of `width` elements, and the
/// given dtype; on a device that has the kernel kMember, of run_there(kernel, x, y). Rows are along the last axis; a
/// 0-d tensor is one row.
template <auto kMember, class Run, class RunThere>
Tensor for_rows(const Tensor& x, std::int64_t width, DType dtype, const char* op, Run&& run, RunThere&& run_there) {
  if (is_batched(x)) [[unlikely]] {
    const HiddenAxes axes = *x->hidden;
    Tensor shown = physical(x, axes);
    if (x.ndim() > 0) return hide_in_place(for_rows<kMember>(shown, width, dtype, op, run, run_there), axes);
    shown = make_view(shown, with_axes(axes, Dims{1}), [&] {
      Dims strides = shown.strides();
      strides.push_back(1);
      return strides;
    }());
    Tensor rows = for_rows<kMember>(shown, width, dtype, op, run, run_there);
    rows->shape.pop_back();
    rows->strides.pop_back();
    return hide_in_place(rows, axes);
  }
  Dims shape = x.shape();
  if (x.ndim() > 0) shape.back() = width;
  Tensor y = empty(shape, dtype, x.device());
  if (y.device().is_meta() || y.numel() == 0) return y;
  if (has_device_kernel<kMember>(x.device())) {
    run_there(device_kernel<kMember>(x.device(), op), contiguous(x), y);
    return y;
  }
  if (!x.device().is_cpu()) {
    const auto again = [&](const Tensor& host) { return for_rows<kMember>(host, width, dtype, op, run, run_there); };
    return on_host(op, x.device(), again, x);
  }
  run(contiguous(x), y);
  return y;
}

std::int64_t row_length(const Tensor& x) { return x.ndim() == 0 ? 1 : x.shape().back(); }

/// Calls f(first row, last row) on several threads.
template <class F>
void for_each_row(const Tensor& x, std::int64_t n, F&& f) {
  const HostRelease release(x.numel());
  parallel_for(0, x.numel() / n, std::max<std::int64_t>(1, kGrain / n), f);
}

void check_length(std::int64_t n, const char* op) {
  if (n > sorting::kMostRanked) fail<ValueError>("[", op, "] an axis has more than 2^32 elements: ", n);
}

template <class T>
void sort_values(const T* x, T* y, std::int64_t rows, std::int64_t n, bool descending) {
  if constexpr (sizeof(T) == 1) {
    if (n > sorting::kShortRow) {
      sorting::ByteSort sort(n, sorting::byte_flip<T>(descending));
      const auto* from = reinterpret_cast<const std::uint8_t*>(x);
      auto* to = reinterpret_cast<std::uint8_t*>(y);
      for (std::int64_t r = 0; r < rows; ++r) sort.values(from + r * n, to + r * n);
      return;
    }
  }
  using K = Key<T>;
  sorting::SortBuffer<K> buffer(n);
  const K flip = descending ? static_cast<K>(~K{0}) : K{0};
  for (std::int64_t r = 0; r < rows; ++r, x += n, y += n) {
    for (std::int64_t i = 0; i < n; ++i) buffer.items()[i] = sorting::key_of<true>(x[i]) ^ flip;
    const K* sorted = sorting::sort_items(buffer.items(), buffer.spare(), n);
    for (std::int64_t i = 0; i < n; ++i) y[i] = sorting::value_of<T>(sorted[i] ^ flip);
  }
}

/// Computes the order of a row of 64-bit keys that differ in so few bits that positions fit beside them, which halves
/// the data to move. Returns false if they do not fit. Writes the values to `values` unless that is null.
template <class T>
bool sort_close_positions(const T* x, std::int64_t* y, T* values, std::int64_t n, std::uint64_t flip,
                          sorting::SortBuffer<std::uint64_t>& buffer) {
  constexpr std::int64_t kBlock = 1024;  // keys after which to check whether they differ in too many bits
  const int index_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n)));
  const int digit = sorting::digit_width(n);
  // Positions are stored from the next digit boundary on.
  const auto key_bits = [digit](std::uint64_t differing) {
    return (static_cast<int>(std::bit_width(differing)) + digit - 1) / digit * digit;
  };
  std::uint64_t* const keys = buffer.items();
  std::uint64_t differing = 0;
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    for (std::int64_t i = begin; i < std::min(n, begin + kBlock); ++i) {
      keys[i] = sorting::key_of(x[i]) ^ flip;
      differing |= keys[i] ^ keys[0];
    }
    if (key_bits(differing) + index_bits > 64) return false;
  }
  const int bits = key_bits(differing);
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  const std::uint64_t shared = keys[0] & ~mask;
  for (std::int64_t i = 0; i < n; ++i) keys[i] = static_cast<std::uint64_t>(i) << bits | (keys[i] & mask);
  const std::uint64_t* const sorted = sorting::sort_by_bits(keys, buffer.spare(), n, bits);
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<std::int64_t>(sorted[i] >> bits);
  if (values) {
    for (std::int64_t i = 0; i < n; ++i) values[i] = sorting::value_of<T>((shared | (sorted[i] & mask)) ^ flip);
  }
  return true;
}

/// Computes the order of each row and, unless `values` is null, its integers in that order.
template <class T>
void sort_positions(const T* x, std::int64_t* y, T* values, std::int64_t rows, std::int64_t n, bool descending) {
  const auto values_at = [&](std::int64_t row) { return values ? values + row * n : nullptr; };
  using K = Key<T>;
  const K flip = descending ? static_cast<K>(~K{0}) : K{0};
  std::int64_t r = 0;
  if constexpr (std::is_same_v<T, bool>) {
    if (!values && n < sorting::kParallelRow) {
      std::vector<std::uint8_t> bits(static_cast<std::size_t>(n));
      const auto* from = reinterpret_cast<const std::uint8_t*>(x);
      for (; r < rows; ++r) sorting::bit_positions(from + r * n, n, descending ? 1 : 0, bits.data(), y + r * n);
    }
  }
  if (r < rows && n > sorting::kShortRow) {
    if constexpr (sizeof(T) == 1) {
      sorting::ByteSort sort(n, sorting::byte_flip<T>(descending));
      const auto* from = reinterpret_cast<const std::uint8_t*>(x);
      for (; r < rows; ++r) {
        sort.positions(from + r * n, y + r * n);
        if (values) sort.values(from + r * n, reinterpret_cast<std::uint8_t*>(values_at(r)));
      }
    } else if constexpr (sizeof(K) == 8) {
      sorting::SortBuffer<K> buffer(n);
      while (r < rows && sort_close_positions(x + r * n, y + r * n, values_at(r), n, flip, buffer)) ++r;
    }
  }
  if (r == rows) return;
  sorting::SortBuffer<Ranked<K>> buffer(n);
  for (; r < rows; ++r) {
    for (std::int64_t i = 0; i < n; ++i) buffer.items()[i] = Ranked<K>::make(sorting::key_of(x[r * n + i]) ^ flip, i);
    const Ranked<K>* sorted = sorting::sort_items(buffer.items(), buffer.spare(), n);
    for (std::int64_t i = 0; i < n; ++i) y[r * n + i] = sorted[i].index();
    if (T* const to = values_at(r)) {
      for (std::int64_t i = 0; i < n; ++i) to[i] = sorting::value_of<T>(sorted[i].key() ^ flip);
    }
  }
}

template <class T>
void find_modes(const T* x, std::int64_t* y, std::int64_t rows, std::int64_t n) {
  using K = Key<T>;
  sorting::SortBuffer<Ranked<K>> buffer(n);
  for (std::int64_t r = 0; r < rows; ++r, x += n) {
    for (std::int64_t i = 0; i < n; ++i) buffer.items()[i] = Ranked<K>::make(sorting::key_of(x[i]), i);
    const Ranked<K>* const sorted = sorting::sort_items(buffer.items(), buffer.spare(), n);
    std::int64_t most = 0;
    for (std::int64_t begin = 0, end = 0; begin < n; begin = end) {
      const bool alone = sorting::is_nan(x[sorted[begin].index()]);
      for (++end; end < n && !alone && sorted[end].key() == sorted[begin].key();) ++end;
      if (end - begin <= most) continue;
      most = end - begin;
      y[r] = sorted[begin].index();
    }
  }
}

}  // namespace

Tensor sorted_rows(const Tensor& x, bool descending, const char* op) {
  const std::int64_t n = row_length(x);
  check_length(n, op);
  const auto run = [&](const Tensor& from, const Tensor& y) {
    visit<Real | Boolean>(from.dtype(), op, [&]<class T>() {
      for_each_row(from, n, [&](std::int64_t begin, std::int64_t end) {
        sort_values(from.data<T>() + begin * n, y.data<T>() + begin * n, end - begin, n, descending);
      });
    });
  };
  const auto run_there = [&](auto sort, const Tensor& from, const Tensor& y) {
    const Tensor positions = empty(from.shape(), DType::Int64, from.device());
    sort(from, descending, positions, op);
    const auto pick = device_kernel<&DeviceKernels::pick_along>(from.device(), op);
    pick(from, positions, std::max<std::int64_t>(static_cast<std::int64_t>(from.ndim()) - 1, 0), y);
  };
  return for_rows<&DeviceKernels::sort_positions>(x, n, x.dtype(), op, run, run_there);
}

Tensor sorted_positions(const Tensor& x, bool descending, const char* op) {
  const std::int64_t n = row_length(x);
  check_length(n, op);
  const auto run = [&](const Tensor& from, const Tensor& y) {
    visit<Real | Boolean>(from.dtype(), op, [&]<class T>() {
      for_each_row(from, n, [&](std::int64_t begin, std::int64_t end) {
        sort_positions<T>(from.data<T>() + begin * n, y.data<std::int64_t>() + begin * n, nullptr, end - begin, n,
                          descending);
      });
    });
  };
  const auto run_there = [&](auto sort, const Tensor& from, const Tensor& y) { sort(from, descending, y, op); };
  return for_rows<&DeviceKernels::sort_positions>(x, n, DType::Int64, op, run, run_there);
}

Tensor sorted_integers(const Tensor& x, const Tensor& positions, const char* op) {
  const std::int64_t n = x.numel();
  check_length(n, op);
  const Tensor values = empty({n}, x.dtype());
  if (n == 0) return values;
  const Tensor from = contiguous(x);
  visit<Integral | Boolean>(x.dtype(), op, [&]<class T>() {
    const HostRelease release(n);
    sort_positions<T>(from.data<T>(), positions.data<std::int64_t>(), values.data<T>(), 1, n, false);
  });
  return values;
}

Tensor top_positions(const Tensor& x, std::int64_t k, bool largest, bool sorted, const char* op) {
  const std::int64_t n = row_length(x);
  check_length(n, op);
  const auto run = [&](const Tensor& from, const Tensor& y) {
    // A sort takes one pass per byte of the keys; bytes are sorted by counting. The kernel sorts the best elements of
    // rows that are not long, with keys of at most 32 bits, by digits, too.
    const std::size_t bytes = item_size(x.dtype());
    const std::int64_t few = bytes > 4 ? n / 4 : n / 8;
    const bool sorts_all = bytes == 1 || (sorted && (bytes > 4 || n >= sorting::kLongRow));
    if (k > few && n > sorting::kShortRow && sorts_all) {
      const Tensor all = sorted_positions(from, largest, op);
      for_each_row(from, n, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          std::copy_n(all.data<std::int64_t>() + r * n, k, y.data<std::int64_t>() + r * k);
        }
      });
      return;
    }
    const auto kernel = require_kernel(cpu_kernels().sort.top[static_cast<std::size_t>(x.dtype())], op, x.dtype());
    const auto item = static_cast<std::int64_t>(item_size(x.dtype()));
    for_each_row(from, n, [&](std::int64_t begin, std::int64_t end) {
      kernel({from->data + begin * n * item, end - begin, n}, k, largest, sorted, y.data<std::int64_t>() + begin * k);
    });
  };
  const auto run_there = [&](auto select, const Tensor& from, const Tensor& y) {
    select(from, k, largest, sorted, y, op);
  };
  return for_rows<&DeviceKernels::top_positions>(x, k, DType::Int64, op, run, run_there);
}

Tensor top_positions_down(const Tensor& x, std::int64_t axis, std::int64_t k, bool largest, const char* op) {
  constexpr std::int64_t kColumns = 64;  // columns per task
  const Along along(x.shape(), axis);
  check_length(along.n, op);
  Dims shape = x.shape();
  shape[static_cast<std::size_t>(axis)] = k;
  Tensor y = empty(shape, DType::Int64);
  if (y.numel() == 0) return y;
  const auto kernel = require_kernel(cpu_kernels().sort.top_down[static_cast<std::size_t>(x.dtype())], op, x.dtype());
  const auto item = static_cast<std::int64_t>(item_size(x.dtype()));
  const std::int64_t blocks = (along.inner + kColumns - 1) / kColumns;
  const std::int64_t work = along.n * std::min(along.inner, kColumns);
  const HostRelease release(x.numel());
  parallel_for(0, along.outer * blocks, std::max<std::int64_t>(1, 4 * kGrain / work),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t outer = i / blocks;
                   const std::int64_t column = i % blocks * kColumns;
                   const std::int64_t width = std::min(kColumns, along.inner - column);
                   kernel({x->data + (outer * along.n * along.inner + column) * item, along.n, along.inner, width}, k,
                          largest, y.data<std::int64_t>() + outer * k * along.inner + column);
                 }
               });
  return y;
}

Tensor mode_positions(const Tensor& x, const char* op) {
  const std::int64_t n = row_length(x);
  check_length(n, op);
  const auto run = [&](const Tensor& from, const Tensor& y) {
    visit<Real | Boolean>(from.dtype(), op, [&]<class T>() {
      for_each_row(from, n, [&](std::int64_t begin, std::int64_t end) {
        find_modes(from.data<T>() + begin * n, y.data<std::int64_t>() + begin, end - begin, n);
      });
    });
  };
  const auto run_there = [&](auto find, const Tensor& from, const Tensor& y) { find(from, y, op); };
  return for_rows<&DeviceKernels::mode_positions>(x, 1, DType::Int64, op, run, run_there);
}

Tensor nth_positions(const Tensor& x, cpu::Rank rank, std::int64_t k, const char* op) {
  const std::int64_t n = row_length(x);
  check_length(n, op);
  const auto run = [&](const Tensor& from, const Tensor& y) {
    const auto kernel = require_kernel(cpu_kernels().sort.nth[static_cast<std::size_t>(x.dtype())], op, x.dtype());
    const auto item = static_cast<std::int64_t>(item_size(x.dtype()));
    for_each_row(from, n, [&](std::int64_t begin, std::int64_t end) {
      kernel({from->data + begin * n * item, end - begin, n}, rank, k, y.data<std::int64_t>() + begin);
    });
  };
  const auto run_there = [&](auto select, const Tensor& from, const Tensor& y) { select(from, rank, k, y, op); };
  return for_rows<&DeviceKernels::nth_positions>(x, 1, DType::Int64, op, run, run_there);
}

}  // namespace lamella
