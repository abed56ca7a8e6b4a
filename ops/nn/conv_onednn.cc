#include <algorithm>
#include <atomic>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <vector>

#include "engine/core/error.h"
#include "engine/core/memory_limit.h"
#include "engine/runtime/parallel.h"
#include "ops/nn/conv_problem.h"
#include "ops/runtime/onednn_functions.h"

namespace lamella::detail {
namespace {

using Desc = dnnl::memory::desc;
using Sizes = dnnl::memory::dims;

dnnl::engine& engine() {
  static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

/// Bytes that oneDNN may need to compile the kernels of a primitive and of its reorders; the largest observed amount is
/// 8 MB.
constexpr std::size_t kKernelRoom = std::size_t{24} << 20;

/// The parameters that a primitive was made for: all of a problem except its data, and the number of threads (a child
/// of fork() must not use a primitive made for its parent's threads).
using Key = std::vector<std::int64_t>;

struct KeyHash {
  std::size_t operator()(const Key& key) const noexcept {
    std::size_t hash = key.size();
    for (const std::int64_t value : key)
      hash = (hash ^ static_cast<std::size_t>(value)) * 0x9E3779B97F4A7C15u + (hash >> 29);
    return hash;
  }
};

Key key_of(const ConvProblem& p, int threads) {
  Key key{static_cast<std::int64_t>(p.result),
          static_cast<std::int64_t>(p.dtype),
          p.bias != nullptr,
          threads,
          p.n,
          p.c,
          p.o,
          p.groups,
          static_cast<std::int64_t>(p.in.size())};
  for (const Dims* part : {&p.in, &p.kernel, &p.out, &p.stride, &p.dilation, &p.pad_low, &p.pad_high})
    key.insert(key.end(), part->begin(), part->end());
  return key;
}

dnnl::primitive_attr own_scratchpad() {
  dnnl::primitive_attr attributes;
  // oneDNN's own scratchpad would be shared between threads.
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// Version 3 of oneDNN takes the parameters of an operation directly, version 2 in a descriptor object.

template <class... Args>
dnnl::convolution_forward::primitive_desc choose(const Args&... operation) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine(), operation..., own_scratchpad()};
#else
  return {dnnl::convolution_forward::desc(operation...), own_scratchpad(), engine()};
#endif
}

template <class Backward, class... Args>
typename Backward::primitive_desc choose_backward(const dnnl::convolution_forward::primitive_desc& forward,
                                                  const Args&... operation) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine(), operation..., forward, own_scratchpad()};
#else
  return {typename Backward::desc(operation...), own_scratchpad(), engine(), forward};
#endif
}

Sizes joined(std::initializer_list<std::int64_t> first, const Dims& rest) {
  Sizes sizes(first);
  sizes.insert(sizes.end(), rest.begin(), rest.end());
  return sizes;
}

Sizes sizes_of(const Dims& dims) { return Sizes(dims.begin(), dims.end()); }

Desc row_major(const Sizes& shape, dnnl::memory::data_type dtype) {
  Sizes strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i];
  }
  return Desc(shape, dtype, strides);
}

Desc any_layout(const Sizes& shape, dnnl::memory::data_type dtype) {
  return Desc(shape, dtype, dnnl::memory::format_tag::any);
}

/// Allocates memory for the duration of a call from the caching allocator, which does not return blocks to the system
/// in between.
dnnl::memory temporary(const Desc& desc, TensorList& held) {
  held.push_back(empty({static_cast<std::int64_t>(desc.get_size())}, DType::UInt8));
  return dnnl::memory(desc, engine(), held.back().raw_data());
}

/// A tensor of a convolution: its layout at the caller and the layout that the primitive requires.
class Operand {
 public:
  Operand(const Desc& plain, const Desc& wanted, bool is_result) : plain_(plain), wanted_(wanted) {
    if (plain == wanted) return;
    const Desc& from = is_result ? wanted : plain;
    const Desc& to = is_result ? plain : wanted;
    const dnnl::reorder::primitive_desc chosen(engine(), from, engine(), to, own_scratchpad());
    scratchpad_ = chosen.scratchpad_desc();
    reorder_ = dnnl::reorder(chosen);
  }

  /// Returns the memory that the primitive reads, reordered if necessary.
  dnnl::memory read(void* data, dnnl::stream& stream, TensorList& held) const {
    dnnl::memory plain(plain_, engine(), data);
    if (!reorder_) return plain;
    const dnnl::memory wanted = temporary(wanted_, held);
    move(plain, wanted, stream, held);
    return wanted;
  }
  /// Returns the memory that the primitive writes; finish() reorders it into the caller's layout.
  dnnl::memory target(void* data, TensorList& held) const {
    return reorder_ ? temporary(wanted_, held) : dnnl::memory(plain_, engine(), data);
  }
  void finish(const dnnl::memory& written, void* data, dnnl::stream& stream, TensorList& held) const {
    if (reorder_) move(written, dnnl::memory(plain_, engine(), data), stream, held);
  }

 private:
  void move(const dnnl::memory& from, const dnnl::memory& to, dnnl::stream& stream, TensorList& held) const {
    reorder_.execute(stream,
                     {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, temporary(scratchpad_, held)}});
  }

  Desc plain_;
  Desc wanted_;
  Desc scratchpad_;
  dnnl::primitive reorder_;
};

/// A convolution for one set of sizes, with the reorders to and from the layouts that oneDNN chose. Immutable except
/// for a flag that it has run, so that threads share it.
class Convolution {
 public:
  explicit Convolution(const ConvProblem& p) {
    const auto dtype = p.dtype == DType::BFloat16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
    const Sizes x = joined({p.n, p.c}, p.in);
    const Sizes w =
        p.groups == 1 ? joined({p.o, p.c}, p.kernel) : joined({p.groups, p.o / p.groups, p.c / p.groups}, p.kernel);
    const Sizes y = joined({p.n, p.o}, p.out);
    Sizes dilation = sizes_of(p.dilation);
    for (std::int64_t& step : dilation) --step;  // oneDNN counts the skipped elements
    const Sizes stride = sizes_of(p.stride);
    const Sizes low = sizes_of(p.pad_low);
    const Sizes high = sizes_of(p.pad_high);
    const Desc any_x = any_layout(x, dtype);
    const Desc any_w = any_layout(w, dtype);
    const Desc any_y = any_layout(y, dtype);
    const Desc bias = p.bias ? row_major({p.o}, dtype) : Desc();
    constexpr auto training = dnnl::prop_kind::forward_training;
    constexpr auto direct = dnnl::algorithm::convolution_direct;
    const auto forward = p.bias ? choose(training, direct, any_x, any_w, bias, any_y, stride, dilation, low, high)
                                : choose(training, direct, any_x, any_w, any_y, stride, dilation, low, high);
    const auto keep = [&](const auto& chosen, const Desc& wx, const Desc& ww, const Desc& wy) {
      scratchpad_ = chosen.scratchpad_desc();
      operands_.reserve(3);
      operands_.emplace_back(row_major(x, dtype), wx, p.result == ConvResult::Input);
      operands_.emplace_back(row_major(w, dtype), ww, p.result == ConvResult::Weight);
      operands_.emplace_back(row_major(y, dtype), wy, p.result == ConvResult::Output);
      bias_ = bias;
    };
    switch (p.result) {
      case ConvResult::Output:
        keep(forward, forward.src_desc(), forward.weights_desc(), forward.dst_desc());
        primitive_ = dnnl::convolution_forward(forward);
        break;
      case ConvResult::Input: {
        const auto chosen = choose_backward<dnnl::convolution_backward_data>(forward, direct, any_x, any_w, any_y,
                                                                             stride, dilation, low, high);
        keep(chosen, chosen.diff_src_desc(), chosen.weights_desc(), chosen.diff_dst_desc());
        primitive_ = dnnl::convolution_backward_data(chosen);
        break;
      }
      case ConvResult::Weight: {
        const auto chosen = choose_backward<dnnl::convolution_backward_weights>(forward, direct, any_x, any_w, any_y,
                                                                                stride, dilation, low, high);
        keep(chosen, chosen.src_desc(), chosen.diff_weights_desc(), chosen.diff_dst_desc());
        primitive_ = dnnl::convolution_backward_weights(chosen);
        break;
      }
    }
  }

  void run(const ConvProblem& p, dnnl::stream& stream) const {
    // Some kernels are compiled with their first run.
    if (!has_run_.load(std::memory_order_relaxed)) require_room(kKernelRoom, "conv", "oneDNN's kernels");
    TensorList held;
    std::unordered_map<int, dnnl::memory> arguments{{DNNL_ARG_SCRATCHPAD, temporary(scratchpad_, held)}};
    const Operand* result = nullptr;
    void* home = nullptr;
    int slot = 0;
    const auto give = [&](const Operand& operand, void* data, bool is_result, int read_slot, int write_slot) {
      if (is_result) {
        result = &operand;
        home = data;
        slot = write_slot;
        arguments.emplace(write_slot, operand.target(data, held));
      } else {
        arguments.emplace(read_slot, operand.read(data, stream, held));
      }
    };
    const bool is_forward = p.result == ConvResult::Output;
    give(operands_[0], p.x, p.result == ConvResult::Input, DNNL_ARG_SRC, DNNL_ARG_DIFF_SRC);
    give(operands_[1], p.w, p.result == ConvResult::Weight, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_WEIGHTS);
    give(operands_[2], p.y, is_forward, DNNL_ARG_DIFF_DST, DNNL_ARG_DST);
    if (p.bias) arguments.emplace(DNNL_ARG_BIAS, dnnl::memory(bias_, engine(), const_cast<void*>(p.bias)));
    primitive_.execute(stream, arguments);
    result->finish(arguments.at(slot), home, stream, held);
    stream.wait();
    has_run_.store(true, std::memory_order_relaxed);
  }

 private:
  dnnl::primitive primitive_;
  std::vector<Operand> operands_;  // x, weight and y
  Desc bias_;
  Desc scratchpad_;
  mutable std::atomic<bool> has_run_{false};
};

/// The most recently used convolutions of all threads: creating one takes as long as a small convolution. A null entry
/// stands for one that oneDNN does not support.
class Cache {
 public:
  std::shared_ptr<const Convolution> get(const ConvProblem& problem, int threads) {
    const Key key = key_of(problem, threads);
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = index_.find(key); found != index_.end()) {
        entries_.splice(entries_.begin(), entries_, found->second);
        return found->second->convolution;
      }
    }
    // oneDNN ends the process if there is no memory for the kernels that it compiles.
    require_room(kKernelRoom, "conv", "oneDNN's kernels");
    // Two threads may create the same convolution at once; the second one is dropped.
    std::shared_ptr<const Convolution> made = make(problem);
    const std::lock_guard lock(mutex_);
    if (const auto found = index_.find(key); found != index_.end()) return found->second->convolution;
    entries_.push_front({key, made});
    index_.emplace(key, entries_.begin());
    if (entries_.size() > kCapacity) {
      index_.erase(entries_.back().key);
      entries_.pop_back();
    }
    return made;
  }

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const Convolution> convolution;
  };

  static std::shared_ptr<const Convolution> make(const ConvProblem& problem) {
    try {
      return std::make_shared<const Convolution>(problem);
    } catch (const dnnl::error& error) {
      if (error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments) return nullptr;
      throw;
    }
  }

  static constexpr std::size_t kCapacity = 256;
  std::mutex mutex_;
  std::list<Entry> entries_;
  std::unordered_map<Key, std::list<Entry>::iterator, KeyHash> index_;
};

/// Some of oneDNN's kernels use 32-bit sizes.
bool fits(const ConvProblem& p) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  const auto small = [](const Dims& dims) { return std::ranges::all_of(dims, [](auto d) { return d <= kLargest; }); };
  for (std::size_t i = 0; i < p.in.size(); ++i) {
    if (p.pad_high[i] + p.stride[i] <= 0 || p.dilation[i] * (p.kernel[i] - 1) >= kLargest) return false;
  }
  return p.n <= kLargest && p.c <= kLargest && p.o <= kLargest && small(p.in) && small(p.out) && small(p.kernel);
}

/// Returns the number of multiplications of the whole problem.
double work_of(const ConvProblem& p) {
  double work = static_cast<double>(p.n) * static_cast<double>(p.o) * static_cast<double>(p.c / p.groups);
  for (std::size_t i = 0; i < p.in.size(); ++i)
    work *= static_cast<double>(p.out[i]) * static_cast<double>(p.kernel[i]);
  return work;
}

}  // namespace

bool onednn_conv(const ConvProblem& problem) {
  // Never destroyed: a thread may still compute while the process ends.
  static Cache& cache = *new Cache;
  if (!fits(problem)) return false;
  constexpr double kWorthSharing = 1e6;  // as for matrix products
  const int threads = share_thread_count(work_of(problem) < kWorthSharing ? 1 : std::numeric_limits<int>::max());
  try {
    const std::shared_ptr<const Convolution> convolution = cache.get(problem, threads);
    if (!convolution) return false;
    thread_local dnnl::stream stream(engine());
    convolution->run(problem, stream);
    return true;
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory)
      fail<OutOfMemoryError>("[conv] oneDNN has no memory left: ", describe_memory());
    fail<RuntimeError>("[conv] oneDNN failed: ", error.what());
  }
}

}  // namespace lamella::detail
