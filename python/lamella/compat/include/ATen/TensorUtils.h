#pragma once

// Checks of arguments, which name the function and the argument in their texts.

#include <initializer_list>
#include <ostream>

#include "ATen/Functions.h"

namespace at {

using CheckedFrom = const char*;

/// An argument: its tensor, its name and its place, from 1; 0 for a result.
struct TensorArg {
  const Tensor& tensor;
  const char* name;
  int pos;
  TensorArg(const Tensor& tensor, const char* name, int pos) : tensor(tensor), name(name), pos(pos) {}
  TensorArg(Tensor&&, const char*, int) = delete;
  const Tensor* operator->() const { return &tensor; }
  const Tensor& operator*() const { return tensor; }
  friend std::ostream& operator<<(std::ostream& out, const TensorArg& arg) {
    return arg.pos == 0 ? out << "'" << arg.name << "'" : out << "argument #" << arg.pos << " '" << arg.name << "'";
  }
};
using TensorGeometryArg = TensorArg;

namespace detail {
/// Throws RuntimeError unless an argument is as expected.
template <class... Parts>
void check_argument(bool good, CheckedFrom function, const Parts&... parts) {
  if (!good) lamella::fail<lamella::RuntimeError>(parts..., " (while checking arguments for ", function, ")");
}
}  // namespace detail

inline void checkDim(CheckedFrom f, const TensorArg& t, std::int64_t dim) {
  detail::check_argument(t->dim() == dim, f, "Expected ", dim, "-dimensional tensor, but got ", t->dim(),
                         "-dimensional tensor for ", t);
}
/// Takes numbers of axes from `start` to below `end`.
inline void checkDimRange(CheckedFrom f, const TensorArg& t, std::int64_t start, std::int64_t end) {
  detail::check_argument(t->dim() >= start && t->dim() < end, f, "Expected ", start, " to ", end - 1,
                         " dimensions, but got ", t->dim(), "-dimensional tensor for ", t);
}
inline void checkContiguous(CheckedFrom f, const TensorArg& t) {
  detail::check_argument(t->is_contiguous(), f, "Expected contiguous tensor, but got non-contiguous tensor for ", t);
}
inline void checkSize(CheckedFrom f, const TensorArg& t, IntArrayRef sizes) {
  checkDim(f, t, static_cast<std::int64_t>(sizes.size()));
  detail::check_argument(t->sizes() == sizes, f, "Expected tensor of size ", sizes, ", but got tensor of size ",
                         t->sizes(), " for ", t);
}
inline void checkSize(CheckedFrom f, const TensorArg& t, std::int64_t axis, std::int64_t size) {
  detail::check_argument(t->size(axis) == size, f, "Expected tensor to have size ", size, " at dimension ", axis,
                         ", but got size ", t->size(axis), " for ", t);
}
inline void checkNumel(CheckedFrom f, const TensorArg& t, std::int64_t count) {
  detail::check_argument(t->numel() == count, f, "Expected tensor for ", t, " to have ", count,
                         " elements; but it actually has ", t->numel(), " elements");
}
inline void checkSameSize(CheckedFrom f, const TensorArg& a, const TensorArg& b) {
  detail::check_argument(a->sizes() == b->sizes(), f, "Expected tensor for ", a, " to have same size as tensor for ", b,
                         "; but ", a->sizes(), " does not equal ", b->sizes());
}
inline void checkSameDim(CheckedFrom f, const TensorArg& a, const TensorArg& b) {
  detail::check_argument(a->dim() == b->dim(), f, "Expected tensor for ", a,
                         " to have the same dimension as tensor for ", b, "; but ", a->dim(), " does not equal ",
                         b->dim());
}
inline void checkSameNumel(CheckedFrom f, const TensorArg& a, const TensorArg& b) {
  detail::check_argument(a->numel() == b->numel(), f, "Expected tensor for ", a,
                         " to have same number of elements as tensor for ", b, "; but ", a->numel(), " does not equal ",
                         b->numel());
}
inline void checkSameType(CheckedFrom f, const TensorArg& a, const TensorArg& b) {
  detail::check_argument(a->scalar_type() == b->scalar_type(), f, "Expected tensor for ", a,
                         " to have the same type as tensor for ", b, "; but type ", a->scalar_type(),
                         " does not equal ", b->scalar_type());
}
inline void checkScalarType(CheckedFrom f, const TensorArg& t, ScalarType type) {
  detail::check_argument(t->scalar_type() == type, f, "Expected tensor for ", t, " to have scalar type ", type,
                         "; but got ", t->scalar_type(), " instead");
}
inline void checkDefined(CheckedFrom f, const TensorArg& t) {
  detail::check_argument(t->defined(), f, "Expected tensor for ", t, " to be non-null, but it was undefined");
}
inline void checkSameGPU(CheckedFrom f, const TensorArg& a, const TensorArg& b) {
  detail::check_argument(a->is_cuda() && b->is_cuda() && a->device() == b->device(), f, "Expected tensor for ", a,
                         " and tensor for ", b, " to be on the same GPU");
}
inline void checkAllDefined(CheckedFrom f, std::initializer_list<TensorArg> args) {
  for (const TensorArg& t : args) checkDefined(f, t);
}
inline void checkAllContiguous(CheckedFrom f, std::initializer_list<TensorArg> args) {
  for (const TensorArg& t : args) checkContiguous(f, t);
}
inline void checkAllSameSize(CheckedFrom f, std::initializer_list<TensorArg> args) {
  for (const TensorArg& t : args) checkSameSize(f, *args.begin(), t);
}
inline void checkAllSameType(CheckedFrom f, std::initializer_list<TensorArg> args) {
  for (const TensorArg& t : args) checkSameType(f, *args.begin(), t);
}
inline void checkAllSameNumel(CheckedFrom f, std::initializer_list<TensorArg> args) {
  for (const TensorArg& t : args) checkSameNumel(f, *args.begin(), t);
}
inline void checkAllSameGPU(CheckedFrom f, std::initializer_list<TensorArg> args) {
  for (const TensorArg& t : args) checkSameGPU(f, *args.begin(), t);
}

}  // namespace at
