#include "ops/nn/pad_rows.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/autograd/function.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/movement/cast.h"
#include "ops/operand.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/item_type.h"

namespace lamella {
namespace {

constexpr std::int64_t kGrain = 16384;  // elements that one thread takes at a time

/// For one axis, the number of the element that each element of the result is a copy of, -1 for none.
struct AxisMap {
  std::vector<std::int64_t> source;
  bool whole = true;  ///< nothing is added or cut

  AxisMap(std::int64_t size, std::int64_t before, std::int64_t after, PadMode mode) : whole(before == 0 && after == 0) {
    const std::int64_t cut = std::max<std::int64_t>(0, -before);
    const std::int64_t left = size - cut - std::max<std::int64_t>(0, -after);
    const std::int64_t added = std::max<std::int64_t>(0, before);
    const std::int64_t total = added + left + std::max<std::int64_t>(0, after);
    source.reserve(static_cast<std::size_t>(total));
    for (std::int64_t i = -added; i < total - added; ++i) {
      const std::int64_t k = inside(i, left, mode);
      source.push_back(k < 0 ? -1 : cut + k);
    }
  }

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
};

/// The shape of a result; ValueError where it is too large.
Dims padded_shape(DimsView shape, const Padding& padding) {
  Dims result(shape.begin(), shape.end());
  for (std::size_t k = 0; k < padding.sizes.size(); ++k) {
    std::int64_t& size = result[result.size() - 1 - k / 2];
    if (__builtin_add_overflow(size, padding.sizes[k], &size))
      fail<ValueError>("[pad] the result has too many elements");
  }
  count_elements(result);
  return result;
}

/// The rows of a result, each with the one of the source that it is made of.
class PaddedRows {
 public:
  PaddedRows(DimsView from, const Padding& padding) : from_(from.begin(), from.end()) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::size_t k = 2 * (from.size() - 1 - i);
      const bool given = k < padding.sizes.size();
      maps_.emplace_back(from[i], given ? padding.sizes[k] : 0, given ? padding.sizes[k + 1] : 0, padding.mode);
      shape_.push_back(static_cast<std::int64_t>(maps_.back().source.size()));
    }
    // The part of the last axis that is copied as it stands.
    const std::vector<std::int64_t>& last = maps_.back().source;
    const std::int64_t before = padding.sizes.empty() ? 0 : std::max<std::int64_t>(0, padding.sizes[0]);
    const std::int64_t after = padding.sizes.empty() ? 0 : std::max<std::int64_t>(0, padding.sizes[1]);
    first_ = before;
    last_ = static_cast<std::int64_t>(last.size()) - after;
  }
  const Dims& shape() const { return shape_; }
  std::int64_t width() const { return shape_.back(); }
  std::int64_t source_width() const { return from_.back(); }
  /// The columns of the result between what is added, and the numbers of the elements that all columns come from.
  std::int64_t first() const { return first_; }
  std::int64_t last() const { return last_; }
  const std::int64_t* columns() const { return maps_.back().source.data(); }

  /// The rows that make up one of the parts that share no element of the source.
  std::int64_t part() const {
    std::size_t axis = 0;
    while (axis + 1 < maps_.size() && maps_[axis].whole) ++axis;
    return count_elements(DimsView(shape_).subspan(axis, maps_.size() - 1 - axis));
  }

  /// Calls f(row, the row of the source or -1) for the rows [begin, end).
  template <class F>
  void for_each(std::int64_t begin, std::int64_t end, F&& f) const {
    const std::size_t axes = maps_.size() - 1;
    Dims place(axes, 0);
    for (std::size_t i = axes, rest = static_cast<std::size_t>(begin); i-- > 0;) {
      place[i] = static_cast<std::int64_t>(rest) % shape_[i];
      rest /= static_cast<std::size_t>(shape_[i]);
    }
    for (std::int64_t row = begin; row < end; ++row) {
      std::int64_t source = 0;
      for (std::size_t i = 0; i < axes && source >= 0; ++i) {
        const std::int64_t number = maps_[i].source[static_cast<std::size_t>(place[i])];
        source = number < 0 ? -1 : source * from_[i] + number;
      }
      f(row, source);
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
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
};

template <class T>
void write_padded(const T* x, const PaddedRows& rows, const T& value, T* y) {
  const std::int64_t width = rows.width();
  const std::int64_t* const columns = rows.columns();
  parallel_for(0, count_elements(rows.shape()) / width, std::max<std::int64_t>(1, kGrain / width),
               [&](std::int64_t begin, std::int64_t end) {
                 rows.for_each(begin, end, [&](std::int64_t row, std::int64_t source) {
                   T* const to = y + row * width;
                   if (source < 0) {
                     std::fill_n(to, width, value);
                     return;
                   }
                   const T* const from = x + source * rows.source_width();
                   const auto write = [&](std::int64_t i) { to[i] = columns[i] < 0 ? value : from[columns[i]]; };
                   for (std::int64_t i = 0; i < rows.first(); ++i) write(i);
                   if (rows.last() > rows.first()) {
                     std::memcpy(to + rows.first(), from + columns[rows.first()],
                                 static_cast<std::size_t>(rows.last() - rows.first()) * sizeof(T));
                   }
                   for (std::int64_t i = rows.last(); i < width; ++i) write(i);
                 });
               });
}

template <class T>
void add_padded(const T* dy, const PaddedRows& rows, T* dx) {
  const std::int64_t width = rows.width();
  const std::int64_t* const columns = rows.columns();
  // Parts, not rows: what several rows are added to has one order for any number of threads.
  const std::int64_t part = rows.part();
  parallel_for(0, count_elements(rows.shape()) / width / part, std::max<std::int64_t>(1, kGrain / (part * width)),
               [&](std::int64_t begin, std::int64_t end) {
                 rows.for_each(begin * part, end * part, [&](std::int64_t row, std::int64_t source) {
                   if (source < 0) return;
                   const T* const from = dy + row * width;
                   T* const to = dx + source * rows.source_width();
                   const auto add = [&](std::int64_t i) {
                     if (columns[i] >= 0) to[columns[i]] += from[i];
                   };
                   for (std::int64_t i = 0; i < rows.first(); ++i) add(i);
                   T* const middle = rows.last() > rows.first() ? to + columns[rows.first()] : to;
                   for (std::int64_t i = rows.first(); i < rows.last(); ++i) middle[i - rows.first()] += from[i];
                   for (std::int64_t i = rows.last(); i < width; ++i) add(i);
                 });
               });
}

Tensor padded(const Tensor& x, const Padding& padding) {
  if (is_batched(x)) [[unlikely]] {
    const HiddenAxes axes = *x->hidden;
    return hide_in_place(padded(physical(x, axes), padding), axes);
  }
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

/// The transpose of padding with zeros: what was copied is added up where it came from. `shape` is the source's.
Tensor folded(const Tensor& dy, const Padding& padding, const Dims& shape) {
  if (is_batched(dy)) [[unlikely]] {
    const HiddenAxes axes = *dy->hidden;
    return hide_in_place(folded(physical(dy, axes), padding, with_axes(axes, shape)), axes);
  }
  if (dy.dtype() == DType::Float16 || dy.dtype() == DType::BFloat16)
    return cast(folded(cast(dy, DType::Float32), padding, shape), dy.dtype());
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
  Padding padding;
  Dims shape;
};

struct FoldFn : Function<FoldFn> {
  static constexpr bool kChecksGradients = false;
  static constexpr bool kLinear = true;
  static constexpr std::string_view name = "pad_backward";

  static Tensor forward(Context& ctx, const Tensor& dy, const Padded* given) {
    if (ctx.recording()) ctx.state<Padded>() = *given;
    return folded(dy, given->padding, given->shape);
  }
  static Tensor backward(Context& ctx, const Tensor& ddx);
};

struct PadFn : Function<PadFn> {
  static constexpr bool kChecksGradients = false;
  static constexpr std::string_view name = "pad";

  static Tensor forward(Context& ctx, const Tensor& x, const Padding* padding) {
    ctx.state<Padded>() = {*padding, x.shape()};
    return padded(x, *padding);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    return FoldFn::apply(dy, &std::as_const(ctx.state<Padded>()));
  }
  /// A value that is added has no derivative.
  static Tensor jvp(Context& ctx, const Tensor& dx) {
    Padding padding = ctx.state<Padded>().padding;
    padding.value = 0;
    return apply(dx, &std::as_const(padding));
  }
};

Tensor FoldFn::backward(Context& ctx, const Tensor& ddx) {
  Padding padding = ctx.state<Padded>().padding;
  padding.value = 0;
  return PadFn::apply(ddx, &std::as_const(padding));
}

}  // namespace

Tensor pad_rows(const Tensor& x, const Padding& padding) { return PadFn::apply(x, &padding); }

}  // namespace lamella
