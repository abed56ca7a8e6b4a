#pragma once

#include <tuple>
#include <vector>

#include "ATen/Functions.h"
#include "c10/util/MaybeOwned.h"

namespace at {

/// Returns the shape to which two shapes broadcast; ValueError if they do not.
inline std::vector<std::int64_t> infer_size(IntArrayRef a, IntArrayRef b) {
  const lamella::Dims shape = lamella::broadcast_shapes(to_dims(a), to_dims(b), "infer_size");
  return {shape.begin(), shape.end()};
}
/// True if a tensor of a shape can be expanded to another.
inline bool is_expandable_to(IntArrayRef shape, IntArrayRef wanted) {
  if (shape.size() > wanted.size()) return false;
  const IntArrayRef last = wanted.slice(wanted.size() - shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && shape[i] != last[i]) return false;
  }
  return true;
}
/// Expands a tensor to the shape of another, which is written to.
inline c10::MaybeOwned<Tensor> expand_inplace(const Tensor& written, const Tensor& x) {
  if (written.sizes() == x.sizes()) return c10::MaybeOwned<Tensor>::borrowed(x);
  return c10::MaybeOwned<Tensor>::owned(x.expand(written.sizes()));
}
/// Expands two tensors to the shape to which they broadcast.
inline std::tuple<c10::MaybeOwned<Tensor>, c10::MaybeOwned<Tensor>> expand_outplace(const Tensor& a, const Tensor& b) {
  const std::vector<std::int64_t> shape = infer_size(a.sizes(), b.sizes());
  const auto expanded = [&](const Tensor& x) {
    if (x.sizes() == shape) return c10::MaybeOwned<Tensor>::borrowed(x);
    return c10::MaybeOwned<Tensor>::owned(x.expand(shape));
  };
  return {expanded(a), expanded(b)};
}

}  // namespace at
