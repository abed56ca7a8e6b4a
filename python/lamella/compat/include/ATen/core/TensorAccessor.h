#pragma once

#include <cstddef>
#include <cstdint>

#include "c10/macros/Macros.h"

namespace at {

template <class T>
struct DefaultPtrTraits {
  using PtrType = T*;
};
#if defined(__CUDACC__)
template <class T>
struct RestrictPtrTraits {
  using PtrType = T* __restrict__;
};
#else
template <class T>
using RestrictPtrTraits = DefaultPtrTraits<T>;
#endif

/// Accessor of the elements of a tensor of N axes by their indices: `a[i][j]`. Unchecked; it owns neither the memory
/// nor the sizes.
template <class T, std::size_t N, template <class> class PtrTraits = DefaultPtrTraits, class Index = std::int64_t>
class TensorAccessor {
 public:
  using PtrType = typename PtrTraits<T>::PtrType;

  C10_HOST_DEVICE TensorAccessor(PtrType data, const Index* sizes, const Index* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  C10_HOST_DEVICE decltype(auto) operator[](Index i) const {
    if constexpr (N == 1) {
      return static_cast<T&>(data_[strides_[0] * i]);
    } else {
      return TensorAccessor<T, N - 1, PtrTraits, Index>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
    }
  }
  C10_HOST_DEVICE Index size(std::size_t axis) const { return sizes_[axis]; }
  C10_HOST_DEVICE Index stride(std::size_t axis) const { return strides_[axis]; }
  C10_HOST_DEVICE PtrType data() const { return data_; }

 private:
  PtrType data_;
  const Index* sizes_;
  const Index* strides_;
};

/// Accessor that holds sizes and strides, so that it can be passed to a kernel on a device.
template <class T, std::size_t N, template <class> class PtrTraits = DefaultPtrTraits, class Index = std::int64_t>
class GenericPackedTensorAccessor {
 public:
  using PtrType = typename PtrTraits<T>::PtrType;

  GenericPackedTensorAccessor(PtrType data, const std::int64_t* sizes, const std::int64_t* strides) : data_(data) {
    for (std::size_t i = 0; i < N; ++i) {
      sizes_[i] = static_cast<Index>(sizes[i]);
      strides_[i] = static_cast<Index>(strides[i]);
    }
  }
  C10_HOST_DEVICE decltype(auto) operator[](Index i) const {
    return TensorAccessor<T, N, PtrTraits, Index>(data_, sizes_, strides_)[i];
  }
  C10_HOST_DEVICE Index size(std::size_t axis) const { return sizes_[axis]; }
  C10_HOST_DEVICE Index stride(std::size_t axis) const { return strides_[axis]; }
  C10_HOST_DEVICE PtrType data() const { return data_; }

 private:
  PtrType data_;
  Index sizes_[N];
  Index strides_[N];
};
template <class T, std::size_t N, template <class> class PtrTraits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, PtrTraits, std::int32_t>;
template <class T, std::size_t N, template <class> class PtrTraits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, PtrTraits, std::int64_t>;

}  // namespace at
