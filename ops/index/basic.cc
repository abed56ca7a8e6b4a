#include "ops/index/basic.h"

#include "engine/autograd/function.h"
#include "ops/movement/strided.h"

namespace lamella {
namespace {

struct ViewLayer : Function<ViewLayer> {
  static constexpr bool kChecksGradients = false;
  static constexpr std::string_view name = "getitem";

  static Tensor forward(Context& ctx, const Tensor& x, const BasicIndex& index) {
    if (ctx.recording()) {
      ctx.input_metas.emplace_back(x);
      ctx.state<BasicIndex>() = index;
    }
    if (autograd::wants_gradient(x)) x->storage->viewed.store(true, std::memory_order_relaxed);
    return index.of(x);
  }
  static Tensor backward(Context& ctx, const Tensor& dy) { return embed(dy, ctx.input_metas[0].shape, ctx.state<BasicIndex>()); }
};

struct EmbedLayer : Function<EmbedLayer> {
  static constexpr bool kChecksGradients = false;
  static constexpr std::string_view name = "embed";

  static Tensor forward(Context& ctx, const Tensor& x, const Dims& shape, const BasicIndex& index) {
    if (ctx.recording()) ctx.state<BasicIndex>() = index;
    Tensor out = empty(shape, x.dtype(), x.device());
    write_value(out, 0, "getitem");
    write_values(index.of(out), x, "getitem");
    return out;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) { return basic_view(dy, ctx.state<BasicIndex>()); }
};

}  // namespace

BasicIndex BasicIndex::whole(const Tensor& x) {
  BasicIndex index;
  for (std::size_t i = 0; i < x.ndim(); ++i) index.pieces.push_back({.axis = static_cast<std::int32_t>(i), .length = x.shape()[i]});
  return index;
}

bool BasicIndex::is_whole(const Tensor& x) const {
  for (const Piece& piece : pieces) {
    if (piece.axis < 0 || piece.dropped || piece.start != 0 || piece.step != 1 || piece.length != x.shape()[static_cast<std::size_t>(piece.axis)]) {
      return false;
    }
  }
  return true;
}

Dims BasicIndex::shape() const {
  Dims result;
  for (const Piece& piece : pieces) {
    if (!piece.dropped) result.push_back(piece.length);
  }
  return result;
}

Tensor BasicIndex::of(const Tensor& x) const {
  Dims strides;
  std::int64_t offset = 0;
  for (const Piece& piece : pieces) {
    const std::int64_t stride = piece.axis < 0 ? 0 : x.strides()[static_cast<std::size_t>(piece.axis)];
    if (piece.length > 0) offset += piece.start * stride;
    if (!piece.dropped) strides.push_back(stride * piece.step);
  }
  const Dims sizes = shape();
  return make_view(x, sizes, strides, x.numel() > 0 ? offset : 0);
}

Tensor basic_view(const Tensor& x, const BasicIndex& index) { return ViewLayer::apply(x, index); }

Tensor embed(const Tensor& x, const Dims& shape, const BasicIndex& index) { return EmbedLayer::apply(x, shape, index); }

Tensor narrow(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t length) {
  BasicIndex index = BasicIndex::whole(x);
  BasicIndex::Piece& piece = index.pieces[static_cast<std::size_t>(normalize_axis(axis, x.ndim(), "narrow"))];
  piece.start = start;
  piece.length = length;
  return basic_view(x, index);
}

}  // namespace lamella
