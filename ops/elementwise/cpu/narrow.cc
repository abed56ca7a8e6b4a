#include <algorithm>

#include "ops/cpu/rows.h"
#include "ops/cpu/tables/elementwise.h"

// See Note [Narrow dtypes].

namespace lamella::cpu {
namespace {

constexpr std::int64_t kBlock = 512;  // elements per block: the buffers of three operands fit into the L1 cache

template <class T, class W>
void load_block(const T* from, std::int64_t stride, std::int64_t n, W* to) {
  if (stride == 1) {
    convert_dense(to, from, n);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i] = convert<W>(from[i * stride]);
  }
}

template <class T, class W>
void store_block(const W* from, std::int64_t n, T* to, std::int64_t stride) {
  if (stride == 1) {
    convert_dense(to, from, n);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * stride] = convert<T>(from[i]);
  }
}

template <class T>
void run(const Loop& loop) {
  using W = cpp_type<computing_dtype(dtype_of<T>)>;
  alignas(64) W buffers[Loop::kMaxOperands + 1][kBlock];
  Loop block;
  for (std::int64_t j = 0; j < loop.outer; ++j) {
    for (std::int64_t i = 0; i < loop.inner; i += kBlock) {
      block.inner = std::min(kBlock, loop.inner - i);
      for (int k = 0; k < loop.operands; ++k) {
        const std::int64_t at = j * loop.in_outer[k] + i * loop.in_inner[k];
        block.in_outer[k] = 0;
        if (k == 0 && loop.mask_first) {
          block.in[k] = loop.in[k] + at * static_cast<std::int64_t>(sizeof(bool));
          block.in_inner[k] = loop.in_inner[k];
          continue;
        }
        const bool repeated = loop.in_inner[k] == 0;
        load_block(reinterpret_cast<const T*>(loop.in[k]) + at, loop.in_inner[k], repeated ? 1 : block.inner,
                   buffers[k]);
        block.in[k] = reinterpret_cast<const char*>(buffers[k]);
        block.in_inner[k] = repeated ? 0 : 1;
      }
      const std::int64_t at = j * loop.out_outer + i * loop.out_inner;
      if (loop.mask_out) {
        block.out = loop.out + at * static_cast<std::int64_t>(sizeof(bool));
        block.out_inner = loop.out_inner;
        loop.wide(block);
      } else {
        W* const results = buffers[Loop::kMaxOperands];
        block.out = reinterpret_cast<char*>(results);
        block.out_inner = 1;
        loop.wide(block);
        store_block(results, block.inner, reinterpret_cast<T*>(loop.out) + at, loop.out_inner);
      }
    }
  }
}

template <class... T>
void fill(ElementwiseTable& table) {
  ((table.narrow[static_cast<int>(dtype_of<T>)] = run<T>), ...);
}

}  // namespace

void fill_elementwise_narrow(ElementwiseTable& table) {
  fill<std::int8_t, std::int16_t, std::uint8_t, std::uint16_t, std::uint32_t, Half, BFloat16>(table);
}

}  // namespace lamella::cpu
