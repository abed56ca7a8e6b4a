#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "engine/core/error.h"
#include "engine/core/memory_limit.h"
#include "engine/core/tensor.h"
#include "engine/runtime/parallel.h"
#include "ops/linalg/gemm.h"
#include "ops/runtime/onednn_functions.h"

namespace lamella::detail {
namespace {

/// The parameters that a primitive was made for. They include the number of threads: a child of fork() must not use a
/// primitive made for its parent's threads.
struct Key {
  std::int64_t m, k, n, batches;
  std::int64_t a_row, a_column, a_batch;
  std::int64_t b_row, b_column, b_batch;
  std::int64_t threads;
  std::int64_t bias;
  std::int64_t dtype;

  friend bool operator==(const Key&, const Key&) = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const noexcept {
    const std::int64_t values[] = {key.m,        key.k,       key.n,     key.batches,  key.a_row,
                                   key.a_column, key.a_batch, key.b_row, key.b_column, key.b_batch,
                                   key.threads,  key.bias,    key.dtype};
    std::size_t hash = 0;
    for (const std::int64_t value : values)
      hash = (hash ^ static_cast<std::size_t>(value)) * 0x9E3779B97F4A7C15u + (hash >> 29);
    return hash;
  }
};

dnnl::engine& engine() {
  static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

using Type = dnnl::memory::data_type;

/// Bytes that oneDNN may need to compile the kernels of a primitive; the largest observed amount is 8 MB.
constexpr std::size_t kKernelRoom = std::size_t{24} << 20;

/// A product for one set of shapes, with memory objects that describe its operands.
class Product {
 public:
  Product(const MatrixView& a, const MatrixView& b, bool bias, std::int64_t batches, Type type)
      : Product(describe(a, batches, type), describe(b, batches, type),
                batches == 1 ? dense({a.rows, b.columns}, type) : dense({batches, a.rows, b.columns}, type),
                bias
                    ? dense(batches == 1 ? dnnl::memory::dims{1, b.columns} : dnnl::memory::dims{1, 1, b.columns}, type)
                    : dnnl::memory::desc()) {}

  void run(const MatrixView& a, const MatrixView& b, const void* bias, void* c, dnnl::stream& stream) {
    a_.set_data_handle(const_cast<void*>(a.data));
    b_.set_data_handle(const_cast<void*>(b.data));
    c_.set_data_handle(c);
    if (bias) bias_.set_data_handle(const_cast<void*>(bias));
    primitive_.execute(stream, arguments_);
    stream.wait();
  }

 private:
  using Desc = dnnl::memory::desc;

  Product(const Desc& a, const Desc& b, const Desc& c, const Desc& bias) {
    dnnl::primitive_attr attributes;
    // oneDNN's own scratchpad would be shared between threads.
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const bool with_bias = bias != Desc();
#if DNNL_VERSION_MAJOR >= 3
    const auto chosen = with_bias ? dnnl::matmul::primitive_desc(engine(), a, b, bias, c, attributes)
                                  : dnnl::matmul::primitive_desc(engine(), a, b, c, attributes);
#else
    const auto product = with_bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
    const dnnl::matmul::primitive_desc chosen(product, attributes, engine());
#endif
    primitive_ = dnnl::matmul(chosen);
    a_ = dnnl::memory(a, engine(), DNNL_MEMORY_NONE);
    b_ = dnnl::memory(b, engine(), DNNL_MEMORY_NONE);
    c_ = dnnl::memory(c, engine(), DNNL_MEMORY_NONE);
    arguments_ = {{DNNL_ARG_SRC, a_}, {DNNL_ARG_WEIGHTS, b_}, {DNNL_ARG_DST, c_}};
    if (with_bias) {
      bias_ = dnnl::memory(bias, engine(), DNNL_MEMORY_NONE);
      arguments_.emplace(DNNL_ARG_BIAS, bias_);
    }
    arguments_.emplace(DNNL_ARG_SCRATCHPAD, dnnl::memory(chosen.scratchpad_desc(), engine()));
  }

  static Desc describe(const MatrixView& x, std::int64_t batches, Type type) {
    if (batches == 1) return Desc({x.rows, x.columns}, type, {x.row, x.column});
    // A matrix shared by the whole batch is a batch of one, which broadcasts.
    const std::int64_t own = x.batch == 0 ? 1 : batches;
    return Desc({own, x.rows, x.columns}, type, {x.batch == 0 ? x.rows * x.columns : x.batch, x.row, x.column});
  }
  static Desc dense(const dnnl::memory::dims& shape, Type type) {
    dnnl::memory::dims strides(shape.size());
    std::int64_t step = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
      strides[i] = step;
      step *= shape[i];
    }
    return Desc(shape, type, strides);
  }

  dnnl::matmul primitive_;
  dnnl::memory a_;
  dnnl::memory b_;
  dnnl::memory c_;
  dnnl::memory bias_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

/// The primitives that one thread has used: creating one takes as long as a product of 500 x 500 matrices.
class Cache {
 public:
  /// Computes a product. The first one of its kind compiles kernels, some of them only as they run; room is reserved
  /// first, because oneDNN ends the process if memory runs out.
  void run(const Key& key, const MatrixView& a, const MatrixView& b, const void* bias, void* c, std::int64_t batches,
           Type type) {
    if (const auto found = products_.find(key); found != products_.end())
      return found->second.run(a, b, bias, c, stream_);
    require_room(kKernelRoom, "matmul", "oneDNN's kernels");
    if (products_.size() >= kCapacity) products_.clear();
    const auto made = products_.try_emplace(key, a, b, bias != nullptr, batches, type).first;
    try {
      made->second.run(a, b, bias, c, stream_);
    } catch (...) {
      products_.erase(made);  // the next call reserves room for its kernels again
      throw;
    }
  }

 private:
  static constexpr std::size_t kCapacity = 512;
  dnnl::stream stream_{engine()};
  std::unordered_map<Key, Product, KeyHash> products_;
};

/// Returns this thread's cache.
Cache& cache() {
  thread_local std::unique_ptr<Cache> made;
  if (!made) [[unlikely]] {
    require_room(kKernelRoom, "matmul", "oneDNN");
    made = std::make_unique<Cache>();
  }
  return *made;
}

/// Multiplications from which on sgemm() packs parts of both matrices first; below that it and the primitives read them
/// in place.
constexpr std::int64_t kWorthMoving = std::int64_t{1} << 30;

/// True if sgemm() computes the product faster. If the rows of b are a multiple of a page apart, as in a matrix of 2048
/// x 2048, they compete for the same cache lines, which costs the primitives a tenth to a third.
bool is_for_sgemm(const MatrixView& a, const MatrixView& b, const void* bias, std::int64_t batches, Type type) {
  const bool rows_of_a = a.column == 1 && a.row >= a.columns;
  const bool columns_of_a = a.row == 1 && a.column >= a.rows;
  return type == Type::f32 && batches == 1 && bias == nullptr && b.column == 1 && b.row >= b.columns &&
         (rows_of_a || columns_of_a) && a.rows * a.columns * b.columns >= kWorthMoving;
}

void sgemm(const MatrixView& a, const MatrixView& b, void* c) {
  require_room(kKernelRoom, "matmul", "oneDNN's kernels");  // compiled by the first call
  const bool by_rows = a.column == 1;
  const dnnl_status_t status = dnnl_sgemm(
      by_rows ? 'N' : 'T', 'N', a.rows, b.columns, a.columns, 1.0f, static_cast<const float*>(a.data),
      by_rows ? a.row : a.column, static_cast<const float*>(b.data), b.row, 0.0f, static_cast<float*>(c), b.columns);
  if (status == dnnl_out_of_memory) fail<OutOfMemoryError>("[matmul] oneDNN has no memory left: ", describe_memory());
  if (status != dnnl_success) fail<RuntimeError>("[matmul] oneDNN failed: status ", static_cast<int>(status));
}

/// True if oneDNN has kernels that move matrices into an order of their own first, whatever their size.
bool packs_always() {
  static const bool has_avx512 = [] {
    const auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
    return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
  }();
  return has_avx512;
}

/// Replaces float32 matrices by a copy in `memory` whose rows (columns, if these are contiguous) are a cache line
/// further apart than they are long. Leaves large ones as they are, which would take as much memory again.
void spread(MatrixView& x, std::int64_t batches, Tensor& memory) {
  constexpr std::int64_t kLine = 64 / sizeof(float);
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  const bool by_rows = x.column == 1;
  const std::int64_t own = x.batch == 0 ? 1 : batches;
  const std::int64_t lines = by_rows ? x.rows : x.columns;
  const std::int64_t length = by_rows ? x.columns : x.rows;
  const std::int64_t step = by_rows ? x.row : x.column;
  const std::int64_t new_step = length + kLine;
  if (own * lines * length > kMost) return;
  memory = empty({own * lines, new_step});
  const auto* const from = static_cast<const float*>(x.data);
  auto* const to = memory.data<float>();
  const std::int64_t grain = std::max<std::int64_t>(1, kElementGrain / length);
  parallel_for(0, own * lines, grain, [&, batch = x.batch](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const float* const line = from + i / lines * batch + i % lines * step;
      std::memcpy(to + i * new_step, line, static_cast<std::size_t>(length) * sizeof(float));
    }
  });
  x.data = to;
  (by_rows ? x.row : x.column) = new_step;
  if (x.batch != 0) x.batch = lines * new_step;
}

/// Replaces operands that oneDNN would read in place and slowly by copies in `memory`: the next element of a sum is in
/// the next row of b, and of a transposed a, and if these are a multiple of a quarter of a page apart, few lines of the
/// caches hold all of them. Products of AVX2 then take up to 2.4 times as long; a copy takes a few percent.
void spread_operands(MatrixView& a, MatrixView& b, std::int64_t batches, Tensor (&memory)[2]) {
  constexpr std::int64_t kApart = 1024 / sizeof(float);
  constexpr std::int64_t kFewest = 32;  // lines of the other operand for which a copy pays
  constexpr std::int64_t kMany = 256;
  const std::int64_t m = a.rows;
  const std::int64_t n = b.columns;
  if (a.row == 1 && a.column % kApart == 0 && n >= kFewest) spread(a, batches, memory[0]);
  if (b.column == 1 && b.row % kApart == 0 && m >= (b.row % (2 * kApart) == 0 ? kFewest : kMany))
    spread(b, batches, memory[1]);
}

}  // namespace

bool onednn_multiplies(DType dtype) {
  static const bool has_bfloat16 = [] {
    // Instruction sets are bit masks: newer ones include the bits of those that they extend.
    const auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
    return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
  }();
  return dtype == DType::Float32 || (dtype == DType::BFloat16 && has_bfloat16);
}

void onednn_product(const MatrixView& given_a, const MatrixView& given_b, const void* bias, void* c,
                    std::int64_t batches, DType dtype) {
  // Waking another thread costs as much as a core needs for this many multiplications, and far more if the core is
  // busy.
  constexpr std::int64_t kWorthSharing = 1'000'000;
  MatrixView a = given_a;
  MatrixView b = given_b;
  const std::int64_t work = a.rows * a.columns * b.columns;
  const bool small = work * batches < kWorthSharing;
  const int threads = share_thread_count(small ? 1 : std::numeric_limits<int>::max());
  const Type type = dtype == DType::BFloat16 ? Type::bf16 : Type::f32;
  if (is_for_sgemm(a, b, bias, batches, type)) return sgemm(a, b, c);
  Tensor memory[2];
  if (type == Type::f32 && !small && work < kWorthMoving && !packs_always()) spread_operands(a, b, batches, memory);
  const Key key{a.rows,
                a.columns,
                b.columns,
                batches,
                a.row,
                a.column,
                a.batch,
                b.row,
                b.column,
                b.batch,
                threads,
                bias ? 1 : 0,
                static_cast<std::int64_t>(type)};
  try {
    cache().run(key, a, b, bias, c, batches, type);
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory)
      fail<OutOfMemoryError>("[matmul] oneDNN has no memory left: ", describe_memory());
    fail<RuntimeError>("[matmul] oneDNN failed: ", error.what());
  }
}

}  // namespace lamella::detail
