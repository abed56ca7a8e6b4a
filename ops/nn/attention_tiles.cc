#include "ops/nn/attention_tiles.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "engine/runtime/parallel.h"
#include "engine/runtime/philox.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/where.h"
#include "ops/movement/cast.h"
#include "ops/random/fill.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/shape/broadcast.h"
#include "ops/support/device_kernels.h"

// Note [Attention by tiles]
// A block of queries runs over the keys, one tile of scores at a time, and keeps the largest
// score and the sum of exponentials so far for each query; when a larger score appears, the sums so far are scaled
// down. The largest scores and the logarithms of the sums are saved for backward, which can recompute any tile of
// probabilities from them.
// Backward processes each matrix as a whole, because the gradients of its keys are sums over all queries; the order of
// the sums does not depend on threads.

namespace lamella {
namespace {

constexpr const char* kAttention = "scaled_dot_product_attention";
constexpr std::int64_t kQueries = 64;
constexpr std::int64_t kKeys = 256;

/// Contiguous operands, processed one matrix at a time.
struct Problem {
  std::int64_t matrices = 1;
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t width;
  std::int64_t value_width;
  Tensor query;
  Tensor key;
  Tensor value;
  Tensor mask;
  Dims mask_offsets;  ///< offset of each matrix, in elements
  std::int64_t mask_stride = 0;
  AttentionSettings settings;

  Problem(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& given_mask, const AttentionSettings& s)
      : queries(q.size(-2)),
        keys(k.size(-2)),
        width(q.size(-1)),
        value_width(v.size(-1)),
        query(contiguous(q)),
        key(contiguous(k)),
        value(contiguous(v)),
        settings(s) {
    const DimsView leading = DimsView(q.shape()).first(q.ndim() - 2);
    matrices = count_elements(leading);
    if (given_mask.defined()) place_mask(given_mask, leading);
  }

  std::int64_t query_blocks() const { return (queries + kQueries - 1) / kQueries; }

 private:
  void place_mask(const Tensor& given, DimsView leading) {
    // The mask's columns must be contiguous; its rows and matrices may be broadcast.
    Dims laid = given.shape();
    if (laid.empty()) laid.push_back(1);
    laid.back() = keys;
    mask = broadcast_to(given, laid);
    if (keys > 1 && mask.strides().back() != 1) mask = contiguous(mask);
    Dims shape(leading.begin(), leading.end());
    shape.push_back(queries);
    shape.push_back(keys);
    mask = broadcast_to(mask, shape);
    mask_stride = mask.strides()[mask.ndim() - 2];
    for (std::int64_t m = 0; m < matrices; ++m) {
      std::int64_t rest = m;
      std::int64_t offset = 0;
      for (std::size_t i = leading.size(); i-- > 0;) {
        offset += rest % leading[i] * mask.strides()[i];
        rest /= leading[i];
      }
      mask_offsets.push_back(offset);
    }
  }
};

/// Multiplies a tile, whose rows are `stride` apart, by the dropout factors of its elements; the first element of row r
/// has the number first + r * keys.
template <class T>
void drop(T* tile, std::int64_t rows, std::int64_t columns, std::int64_t stride, std::uint64_t first,
          std::uint64_t keys, const AttentionSettings& settings) {
  const auto p = static_cast<float>(settings.dropout);
  const T factor = settings.dropout < 1 ? static_cast<T>(1 / (1 - settings.dropout)) : T(0);
  for (std::int64_t r = 0; r < rows; ++r) {
    std::uint64_t element = first + static_cast<std::uint64_t>(r) * keys;
    Philox::Block words{};
    std::uint64_t block = ~std::uint64_t{0};
    for (std::int64_t i = 0; i < columns; ++i, ++element) {
      if (element / 4 != block) {
        block = element / 4;
        words = Philox::at(settings.seed, settings.offset + block);
      }
      T& x = tile[r * stride + i];
      x = random::unit_float(words[element % 4]) >= p ? x * factor : T(0);
    }
  }
}

/// A problem in dtype T: its pointers and kernels, and the steps on tiles.
template <class T>
class Tiles {
 public:
  Tiles(const Problem& problem, const cpu::AttentionKernels<T>& kernels)
      : p_(problem),
        kernels_(kernels),
        multiply_(cpu_kernels().matmul.large[static_cast<std::size_t>(dtype_of<T>)]),
        scores_(static_cast<std::size_t>(kQueries * kKeys)),
        part_(static_cast<std::size_t>(kKeys * std::max(p_.width, p_.value_width))) {}

  /// Computes a block of queries of one matrix.
  void forward(std::int64_t matrix, std::int64_t first, T* out, T* totals) {
    const std::int64_t rows = std::min(kQueries, p_.queries - first);
    T top[kQueries];
    T total[kQueries];
    T factor[kQueries];
    std::fill_n(top, rows, -std::numeric_limits<T>::infinity());
    std::fill_n(total, rows, T(0));
    std::fill_n(out, rows * p_.value_width, T(0));
    for (std::int64_t k = 0; k < keys_seen(first + rows); k += kKeys) {
      const cpu::AttentionTile<T> tile = scores(matrix, first, rows, k);
      kernels_.softmax(tile, top, total, factor);
      if (p_.settings.dropout > 0) dropped(tile.scores, matrix, first, rows, k, tile.columns);
      product(tile.scores, kKeys, 1, value(matrix, k), p_.value_width, 1, rows, tile.columns, p_.value_width);
      kernels_.accumulate(out, part_.data(), factor, rows, p_.value_width);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      const T scale = total[r] != 0 ? 1 / total[r] : T(0);
      for (std::int64_t i = 0; i < p_.value_width; ++i) out[r * p_.value_width + i] *= scale;
      // Infinite if no key is visible, so that every recomputed probability is 0.
      totals[2 * r] = total[r] != 0 ? top[r] : std::numeric_limits<T>::infinity();
      totals[2 * r + 1] = total[r] != 0 ? std::log(total[r]) : T(0);
    }
  }

  /// Computes the gradients of one matrix; they must be zero before.
  void backward(std::int64_t matrix, const T* out, const T* totals, const T* dout, T* dq, T* dk, T* dv) {
    std::vector<T> delta(static_cast<std::size_t>(p_.queries));
    for (std::int64_t r = 0; r < p_.queries; ++r) {
      T sum = 0;
      for (std::int64_t i = r * p_.value_width; i < (r + 1) * p_.value_width; ++i) sum += out[i] * dout[i];
      delta[static_cast<std::size_t>(r)] = sum;
    }
    std::vector<T> dp(scores_.size());
    std::vector<T> kept(p_.settings.dropout > 0 ? scores_.size() : 0);
    for (std::int64_t k = 0; k < p_.keys; k += kKeys) {
      for (std::int64_t q = 0; q < p_.queries; q += kQueries) {
        const std::int64_t rows = std::min(kQueries, p_.queries - q);
        if (k >= keys_seen(q + rows)) continue;
        const cpu::AttentionTile<T> tile = scores(matrix, q, rows, k);
        const std::int64_t columns = tile.columns;
        kernels_.probabilities(tile, totals + 2 * q);
        T* probabilities = tile.scores;
        if (!kept.empty()) {
          std::copy_n(tile.scores, rows * kKeys, kept.data());
          probabilities = kept.data();
          dropped(probabilities, matrix, q, rows, k, columns);
        }
        const T* dout_rows = dout + q * p_.value_width;
        product(probabilities, 1, kKeys, dout_rows, p_.value_width, 1, columns, rows, p_.value_width);
        kernels_.accumulate(dv + k * p_.value_width, part_.data(), nullptr, columns, p_.value_width);
        multiply_({dout_rows, value(matrix, k), dp.data(), rows, p_.value_width, columns, p_.value_width, 1, 1,
                   p_.value_width, kKeys});
        if (!kept.empty()) dropped(dp.data(), matrix, q, rows, k, columns);
        kernels_.score_gradients(tile.scores, dp.data(), delta.data() + q, tile.scale, rows, columns, kKeys);
        product(tile.scores, kKeys, 1, key(matrix, k), p_.width, 1, rows, columns, p_.width);
        kernels_.accumulate(dq + q * p_.width, part_.data(), nullptr, rows, p_.width);
        product(tile.scores, 1, kKeys, query(matrix, q), p_.width, 1, columns, rows, p_.width);
        kernels_.accumulate(dk + k * p_.width, part_.data(), nullptr, columns, p_.width);
      }
    }
  }

 private:
  const T* query(std::int64_t m, std::int64_t row) const {
    return p_.query.template data<T>() + (m * p_.queries + row) * p_.width;
  }
  const T* key(std::int64_t m, std::int64_t row) const {
    return p_.key.template data<T>() + (m * p_.keys + row) * p_.width;
  }
  const T* value(std::int64_t m, std::int64_t row) const {
    return p_.value.template data<T>() + (m * p_.keys + row) * p_.value_width;
  }
  /// Returns the number of keys visible to the queries before `end`.
  std::int64_t keys_seen(std::int64_t end) const { return p_.settings.causal ? std::min(p_.keys, end) : p_.keys; }

  /// Computes part = a @ b for matrices with the given strides.
  void product(const T* a, std::int64_t a_row, std::int64_t a_column, const T* b, std::int64_t b_row,
               std::int64_t b_column, std::int64_t m, std::int64_t k, std::int64_t n) {
    multiply_({a, b, part_.data(), m, k, n, a_row, a_column, b_row, b_column, n});
  }

  /// Computes the products of a block of queries and a tile of keys, and returns them with their scale and mask.
  cpu::AttentionTile<T> scores(std::int64_t m, std::int64_t q, std::int64_t rows, std::int64_t k) {
    const std::int64_t columns = std::min(kKeys, p_.keys - k);
    multiply_({query(m, q), key(m, k), scores_.data(), rows, p_.width, columns, p_.width, 1, 1, p_.width, kKeys});
    cpu::AttentionTile<T> tile{.scores = scores_.data(),
                               .rows = rows,
                               .columns = columns,
                               .stride = kKeys,
                               .scale = static_cast<T>(p_.settings.scale),
                               .seen = q + 1 - k,
                               .causal = p_.settings.causal};
    if (p_.mask.defined()) {
      const std::int64_t at = p_.mask_offsets[static_cast<std::size_t>(m)] + q * p_.mask_stride + k;
      tile.mask_stride = p_.mask_stride;
      if (p_.mask.dtype() == DType::Bool) {
        tile.keep = p_.mask.template data<bool>() + at;
      } else {
        tile.bias = p_.mask.template data<T>() + at;
      }
    }
    return tile;
  }

  void dropped(T* tile, std::int64_t m, std::int64_t q, std::int64_t rows, std::int64_t k, std::int64_t columns) {
    drop(tile, rows, columns, kKeys, static_cast<std::uint64_t>((m * p_.queries + q) * p_.keys + k),
         static_cast<std::uint64_t>(p_.keys), p_.settings);
  }

  const Problem& p_;
  const cpu::AttentionKernels<T>& kernels_;
  void (*multiply_)(const cpu::MatmulArgs&);
  std::vector<T> scores_;
  std::vector<T> part_;
};

template <class F>
void with_kernels(DType dtype, F&& f) {
  const cpu::AttentionTable& table = cpu_kernels().attention;
  dtype == DType::Float32 ? f(table.float32, float()) : f(table.float64, double());
}

}  // namespace

bool has_attention(const Tensor& query, const Tensor& value) {
  if (query.device().is_cpu()) return query.dtype() == DType::Float32 || query.dtype() == DType::Float64;
  return has_device_kernel<&DeviceKernels::takes_attention>(query.device()) &&
         device_kernel<&DeviceKernels::takes_attention>(query.device(), kAttention)(query, value);
}

AttentionResult attention_forward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                                  const AttentionSettings& settings) {
  const autograd::NoGrad scope;
  if (!query.device().is_cpu())
    return device_kernel<&DeviceKernels::attention>(query.device(), kAttention)(query, key, value, mask, settings);
  const Problem problem(query, key, value, mask, settings);
  Dims shape(query.shape().begin(), query.shape().end() - 1);
  shape.push_back(2);
  const Tensor totals = empty(shape, query.dtype());
  shape.back() = problem.value_width;
  const Tensor out = empty(shape, query.dtype());
  if (totals.numel() == 0) return {out, totals};
  const std::int64_t blocks = problem.query_blocks();
  const std::int64_t work = kQueries * problem.keys * (problem.width + problem.value_width);
  const HostRelease release(problem.matrices * blocks * work);
  with_kernels(query.dtype(), [&]<class T>(const cpu::AttentionKernels<T>& kernels, T) {
    T* to = out.data<T>();
    T* sums = totals.data<T>();
    constexpr std::int64_t kGrain = std::int64_t{1} << 18;
    parallel_for(0, problem.matrices * blocks, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, work)),
                 [&](std::int64_t begin, std::int64_t end) {
                   Tiles<T> tiles(problem, kernels);
                   for (std::int64_t i = begin; i < end; ++i) {
                     const std::int64_t row = i / blocks * problem.queries + i % blocks * kQueries;
                     tiles.forward(i / blocks, i % blocks * kQueries, to + row * problem.value_width, sums + 2 * row);
                   }
                 });
  });
  return {out, totals};
}

AttentionGradients attention_backward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                                      const AttentionResult& result, const Tensor& dout,
                                      const AttentionSettings& settings) {
  const autograd::NoGrad scope;
  if (!query.device().is_cpu()) {
    return device_kernel<&DeviceKernels::attention_gradient>(query.device(), kAttention)(query, key, value, mask,
                                                                                         result, dout, settings);
  }
  const Problem problem(query, key, value, mask, settings);
  const Tensor out = contiguous(result.out);
  const Tensor totals = contiguous(result.totals);
  const Tensor dy = contiguous(dout);
  const AttentionGradients grads{empty(query.shape(), query.dtype()), empty(key.shape(), key.dtype()),
                                 empty(value.shape(), value.dtype())};
  const HostRelease release(problem.matrices * problem.queries * problem.keys);
  with_kernels(query.dtype(), [&]<class T>(const cpu::AttentionKernels<T>& kernels, T) {
    for (const Tensor* grad : {&grads.query, &grads.key, &grads.value})
      std::fill_n(grad->data<T>(), grad->numel(), T(0));
    parallel_for(0, problem.matrices, 1, [&](std::int64_t begin, std::int64_t end) {
      Tiles<T> tiles(problem, kernels);
      for (std::int64_t m = begin; m < end; ++m) {
        const std::int64_t row = m * problem.queries;
        const std::int64_t column = m * problem.keys;
        tiles.backward(m, out.data<T>() + row * problem.value_width, totals.data<T>() + 2 * row,
                       dy.data<T>() + row * problem.value_width, grads.query.data<T>() + row * problem.width,
                       grads.key.data<T>() + column * problem.width,
                       grads.value.data<T>() + column * problem.value_width);
      }
    });
  });
  return grads;
}

Tensor attention_dropout(const Dims& shape, DType dtype, Device device, const AttentionSettings& settings) {
  if (!device.is_cpu()) {
    const Tensor drawn = empty(shape, DType::Float32, device);
    if (drawn.numel() == 0) return cast(drawn, dtype);
    const random::Fill fill{
        .kind = random::Fill::Kind::Uniform, .seed = settings.seed, .offset = settings.offset, .top = 1};
    device_kernel<&DeviceKernels::random>(device, kAttention)(fill, drawn);
    const double factor = settings.dropout < 1 ? 1 / (1 - settings.dropout) : 0;
    return where(drawn >= settings.dropout, full({}, factor, dtype, device), 0);
  }
  const Tensor factors = empty(shape, dtype);
  const std::int64_t keys = shape.back();
  const std::int64_t rows = keys ? factors.numel() / keys : 0;
  visit<DTypeSet{DType::Float32, DType::Float64}>(dtype, kAttention, [&]<class T> {
    std::fill_n(factors.data<T>(), factors.numel(), T(1));
    drop(factors.data<T>(), rows, keys, keys, 0, static_cast<std::uint64_t>(keys), settings);
  });
  return factors;
}

}  // namespace lamella
