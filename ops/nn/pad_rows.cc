#include "ops/nn/pad_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/movement/cast.h"
#include "ops/operand.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"
#include "ops/support/item_type.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

/// Maps each element of the result along one axis to the element that it copies.
class AxisMap {
 public:
  /// Maps an axis that stays as it is.
  explicit AxisMap(std::int64_t size) : size_(size), last_(size) {}
  AxisMap(std::int64_t size, std::int64_t before, std::int64_t after, PadMode mode) : AxisMap(size) {
    if (before == 0 && after == 0) return;
    cut_ = std::max<std::int64_t>(0, -before);
    first_ = std::max<std::int64_t>(0, before);
    last_ = first_ + size - cut_ - std::max<std::int64_t>(0, -after);
    size_ = last_ + std::max<std::int64_t>(0, after);
    mode_ = mode;
    whole_ = false;
  }

  std::int64_t size() const { return size_; }
  /// True if nothing is added or cut.
  bool whole() const { return whole_; }
  /// The range of the result between the added elements.
  std::int64_t first() const { return first_; }
  std::int64_t last() const { return last_; }
  /// Returns the number of the element that element i of the result copies, or -1 for none.
  std::int64_t source(std::int64_t i) const {
    const std::int64_t k = inside(i - first_, last_ - first_, mode_);
    return k < 0 ? -1 : cut_ + k;
  }
  /// Returns the number of elements from i on that copy adjacent elements.
  std::int64_t run(std::int64_t i) const { return i >= first_ && i < last_ ? last_ - i : 1; }

 private:
  static std::int64_t inside(std::int64_t i, std::int64_t size, PadMode mode) {
    if (i >= 0 && i < size) return i;
    switch (mode) {
      case PadMode::Reflect:
        return i < 0 ? -i : 2 * (size - 1) - i;
      case PadMode::Replicate:
        return std::clamp<std::int64_t>(i, 0, size - 1);
      case PadMode::Circular:
        return i < 0 ? i + size : i - size;
      default:
        return -1;
    }
  }

  std::int64_t size_;
  std::int64_t first_ = 0;
  std::int64_t last_;
  std::int64_t cut_ = 0;  // elements cut from the beginning
  PadMode mode_ = PadMode::Constant;
  bool whole_ = true;
};

/// Returns the shape of the result; throws ValueError if it is too large.
Dims padded_shape(DimsView shape, const PadSettings& padding) {
  Dims result(shape.begin(), shape.end());
  for (std::size_t k = 0; k < padding.sizes.size(); ++k) {
    std::int64_t& size = result[result.size() - 1 - k / 2];
    if (__builtin_add_overflow(size, padding.sizes[k], &size))
      fail<ValueError>("[pad] the result has too many elements: ", padding.sizes[k], " more along axis ",
                       result.size() - 1 - k / 2);
  }
  count_elements(result);
  return result;
}

/// The rows of a result, each with the row of the source that it copies.
class PaddedRows {
 public:
  PaddedRows(DimsView from, const PadSettings& padding) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::size_t k = 2 * (from.size() - 1 - i);
      const bool given = k < padding.sizes.size();
      const AxisMap map(from[i], given ? padding.sizes[k] : 0, given ? padding.sizes[k + 1] : 0, padding.mode);
      // Adjacent unchanged axes merge into one.
      if (i > 0 && i + 1 < from.size() && map.whole() && maps_.back().whole()) {
        from_.back() *= from[i];
        shape_.back() *= from[i];
        maps_.back() = AxisMap(shape_.back());
      } else {
        from_.push_back(from[i]);
        shape_.push_back(map.size());
        maps_.push_back(map);
      }
    }
  }
  const Dims& shape() const { return shape_; }
  std::int64_t width() const { return shape_.back(); }
  std::int64_t source_width() const { return from_.back(); }
  const AxisMap& columns() const { return maps_.back(); }

  /// Returns the number of rows in one of the parts that share no element of the source.
  std::int64_t part() const {
    std::size_t axis = 0;
    while (axis + 1 < maps_.size() && maps_[axis].whole()) ++axis;
    return count_elements(DimsView(shape_).subspan(axis, maps_.size() - 1 - axis));
  }

  /// Calls f(row, row of the source or -1, number of rows) for runs of the rows [begin, end).
  template <class F>
  void for_each(std::int64_t begin, std::int64_t end, F&& f) const {
    const std::size_t axes = maps_.size() - 1;
    Dims place(axes, 0);
    for (std::size_t i = axes, rest = static_cast<std::size_t>(begin); i-- > 0;) {
      place[i] = static_cast<std::int64_t>(rest) % shape_[i];
      rest /= static_cast<std::size_t>(shape_[i]);
    }
    while (begin < end) {
      std::int64_t source = 0;
      for (std::size_t i = 0; i < axes && source >= 0; ++i) {
        const std::int64_t number = maps_[i].source(place[i]);
        source = number < 0 ? -1 : source * from_[i] + number;
      }
      const std::int64_t rows = axes == 0 ? 1 : std::min(maps_.end()[-2].run(place.back()), end - begin);
      f(begin, source, rows);
      begin += rows;
      if (axes > 0) place.back() += rows - 1;
      for (std::size_t i = axes; i-- > 0;) {
        if (++place[i] < shape_[i]) break;
        place[i] = 0;
      }
    }
  }

 private:
  Dims from_;
  Dims shape_;
  std::vector<AxisMap> maps_;
};

/// Writes narrow rows: the unchanged part as one copy, then each padding column.
template <class T>
void write_narrow(const T* from, const PaddedRows& all, const T& value, T* to, std::int64_t rows) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  constexpr std::int64_t kBytesAtOnce = 8192;  // bytes written at once, which stay in the L1 cache
  const auto copy = cpu_kernels().movement.copy[std::countr_zero(sizeof(T))];
  const AxisMap& columns = all.columns();
  const std::int64_t step = all.width() * kSize;
  const std::int64_t from_step = all.source_width() * kSize;
  const std::int64_t at_once = std::max<std::int64_t>(16, kBytesAtOnce / step);
  for (; rows > 0; rows -= at_once, to += at_once * all.width(), from += at_once * all.source_width()) {
    const std::int64_t here = std::min(at_once, rows);
    const auto write_column = [&](std::int64_t i) {
      const std::int64_t k = columns.source(i);
      copy({.to = reinterpret_cast<char*>(to + i),
            .from = reinterpret_cast<const char*>(k < 0 ? &value : from + k),
            .inner = here,
            .to_inner = step,
            .from_inner = k < 0 ? 0 : from_step});
    };
    for (std::int64_t i = 0; i < columns.first(); ++i) write_column(i);
    if (columns.last() > columns.first()) {
      copy({.to = reinterpret_cast<char*>(to + columns.first()),
            .from = reinterpret_cast<const char*>(from + columns.source(columns.first())),
            .outer = here,
            .inner = columns.last() - columns.first(),
            .to_outer = step,
            .to_inner = kSize,
            .from_outer = from_step,
            .from_inner = kSize});
    }
    for (std::int64_t i = columns.last(); i < all.width(); ++i) write_column(i);
  }
}

/// Writes elements [begin, end) of a row.
template <class T>
void write_row(const T* from, const AxisMap& columns, const T& value, T* to, std::int64_t begin, std::int64_t end) {
  const auto write = [&](std::int64_t i) { to[i] = columns.source(i) < 0 ? value : from[columns.source(i)]; };
  for (std::int64_t i = begin; i < std::min(end, columns.first()); ++i) write(i);
  const std::int64_t first = std::max(begin, columns.first());
  const std::int64_t last = std::min(end, columns.last());
  if (last > first)
    std::memcpy(to + first, from + columns.source(first), static_cast<std::size_t>(last - first) * sizeof(T));
  for (std::int64_t i = std::max(begin, columns.last()); i < end; ++i) write(i);
}

template <class T>
void write_padded(const T* x, const PaddedRows& all, const T& value, T* y) {
  constexpr std::int64_t kNarrow = 256;  // bytes
  const std::int64_t width = all.width();
  const std::int64_t rows_in_all = count_elements(all.shape()) / width;
  if (width >= kElementGrain) {  // threads share each row
    all.for_each(0, rows_in_all, [&](std::int64_t row, std::int64_t source, std::int64_t rows) {
      for (std::int64_t i = 0; i < rows; ++i) {
        T* const to = y + (row + i) * width;
        const T* const from = x + (source + i) * all.source_width();
        parallel_for(0, width, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
          if (source < 0) {
            std::fill(to + begin, to + end, value);
          } else {
            write_row(from, all.columns(), value, to, begin, end);
          }
        });
      }
    });
    return;
  }
  parallel_for(0, rows_in_all, std::max<std::int64_t>(1, kElementGrain / width),
               [&](std::int64_t begin, std::int64_t end) {
                 all.for_each(begin, end, [&](std::int64_t row, std::int64_t source, std::int64_t rows) {
                   T* const to = y + row * width;
                   const T* const from = x + source * all.source_width();
                   if (source < 0) {
                     std::fill_n(to, rows * width, value);
                   } else if (rows > 4 && width * static_cast<std::int64_t>(sizeof(T)) <= kNarrow) {
                     write_narrow(from, all, value, to, rows);
                   } else {
                     for (std::int64_t i = 0; i < rows; ++i)
                       write_row(from + i * all.source_width(), all.columns(), value, to + i * width, 0, width);
                   }
                 });
               });
}

template <class T>
void add_row(const T* from, const AxisMap& columns, T* to) {
  const auto add = [&](std::int64_t i) {
    if (columns.source(i) >= 0) to[columns.source(i)] += from[i];
  };
  for (std::int64_t i = 0; i < columns.first(); ++i) add(i);
  T* const middle = columns.last() > columns.first() ? to + columns.source(columns.first()) : to;
  for (std::int64_t i = columns.first(); i < columns.last(); ++i) middle[i - columns.first()] += from[i];
  for (std::int64_t i = columns.last(); i < columns.size(); ++i) add(i);
}

template <class T>
void add_padded(const T* dy, const PaddedRows& all, T* dx) {
  const std::int64_t width = all.width();
  // Tasks are parts, not rows, so that the order of additions is the same for any number of threads.
  const std::int64_t part = all.part();
  parallel_for(0, count_elements(all.shape()) / width / part, std::max<std::int64_t>(1, kElementGrain / (part * width)),
               [&](std::int64_t begin, std::int64_t end) {
                 all.for_each(begin * part, end * part, [&](std::int64_t row, std::int64_t source, std::int64_t rows) {
                   if (source < 0) return;
                   for (std::int64_t i = 0; i < rows; ++i)
                     add_row(dy + (row + i) * width, all.columns(), dx + (source + i) * all.source_width());
                 });
               });
}

Tensor padded(const Tensor& x, const PadSettings& padding) {
  if (is_batched(x)) [[unlikely]]
    return over_examples([&](const Tensor& shown) { return padded(shown, padding); }, x);
  const Tensor y = empty(padded_shape(x.shape(), padding), x.dtype(), x.device());
  if (y.device().is_meta() || y.numel() == 0) return y;
  const PaddedRows rows(x.shape(), padding);
  const Tensor from = contiguous(x);
  const Tensor value = number_tensor(padding.value, x.dtype());
  const HostRelease release(y.numel());
  visit_item(x.dtype(), [&]<class T>() {
    write_padded(static_cast<const T*>(from.raw_data()), rows, *static_cast<const T*>(value.raw_data()),
                 static_cast<T*>(y.raw_data()));
  });
  return y;
}

/// Returns the transpose of padding with zeros: copies are added to the element that they came from. `shape` is the
/// source's.
Tensor folded(const Tensor& dy, const PadSettings& padding, const Dims& shape) {
  if (is_batched(dy)) [[unlikely]] {
    const HiddenAxes axes = *dy->hidden;
    return hide_in_place(folded(physical(dy, axes), padding, with_axes(axes, shape)), axes);
  }
  if (is_half(dy.dtype())) return cast(folded(cast(dy, DType::Float32), padding, shape), dy.dtype());
  const Tensor dx = zeros(shape, dy.dtype(), dy.device());
  if (dx.device().is_meta() || dy.numel() == 0) return dx;
  const Tensor from = contiguous(dy);
  const PaddedRows rows(shape, padding);
  const HostRelease release(dy.numel());
  visit<DTypeSet{DType::Float32, DType::Float64} | Complex>(
      dy.dtype(), "pad", [&]<class T>() { add_padded(from.data<T>(), rows, dx.data<T>()); });
  return dx;
}

struct Padded {
  PadSettings padding;
  Dims shape;
};

struct FoldFn : LinearOperatorLayer<FoldFn> {
  static constexpr std::string_view name = "pad_backward";

  static Tensor forward(Context& ctx, const Tensor& dy, const Padded* given) {
    if (ctx.recording()) ctx.state<Padded>() = *given;
    return folded(dy, given->padding, given->shape);
  }
  static Tensor backward(Context& ctx, const Tensor& ddx);
};

struct PadFn : OperatorLayer<PadFn> {
  static constexpr std::string_view name = "pad";

  static Tensor forward(Context& ctx, const Tensor& x, const PadSettings* padding) {
    ctx.state<Padded>() = {*padding, x.shape()};
    return padded(x, *padding);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    return FoldFn::apply(dy, &std::as_const(ctx.state<Padded>()));
  }
  /// The padding value has no derivative.
  static Tensor jvp(Context& ctx, const Tensor& dx) {
    PadSettings padding = ctx.state<Padded>().padding;
    padding.value = 0;
    return apply(dx, &std::as_const(padding));
  }
};

Tensor FoldFn::backward(Context& ctx, const Tensor& ddx) {
  PadSettings padding = ctx.state<Padded>().padding;
  padding.value = 0;
  return PadFn::apply(ddx, &std::as_const(padding));
}

}  // namespace

Tensor pad_rows(const Tensor& x, const PadSettings& padding) { return PadFn::apply(x, &padding); }

}  // namespace lamella
