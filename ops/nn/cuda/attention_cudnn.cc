#include "ops/nn/cuda/attention_cudnn.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "engine/core/error.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cudnn_setting.h"
#include "engine/runtime/deterministic.h"
#include "engine/runtime/graphs.h"
#include "ops/nn/cuda/attention_cudnn_graph.h"
#include "ops/nn/cuda/cudnn_plans.h"
#include "ops/support/dtypes.h"

// Note [Attention by cuDNN]
// cuDNN has kernels for attention in 16 bits that never hold the matrix of scores (Dao et al., 2022). It is told of
// them as a graph of products, maps and reductions, which has to be the one that its engines look for: the softmax by
// its largest score, its scale as a number of the host's, the keys transposed by their strides, and in the gradients
// the probabilities again from the saved logarithms of sums. It takes heads of any strides, so that [batch, position,
// head, element] needs no copy. Masks and dropout are not handed to it: of a row without visible keys it makes NaN, and
// its dropout has bits of its own.
//
// The sums of the query's gradient are collected by atomic additions, except under use_deterministic_algorithms(), by
// which another graph is asked for: it writes the changes of all scores to memory first, and where that is more than
// the limit, cuDNN is not taken.
//
// To make a plan takes some tenths of a second, in which cuDNN compiles its kernels for the sizes. It is made when
// sizes come for the third time, so that sizes that vary do not cost more than they gain, and never for few products.
// Under use_deterministic_algorithms(), by which equal calls have equal results, it is made at once. Each thread keeps
// its plans. While work is captured none is made, as kernels cannot be loaded then.

namespace lamella::cuda {
namespace {

using Id = CudnnAttentionId;

constexpr const char* kName = "scaled_dot_product_attention";
constexpr std::int64_t kMostWorkspace = std::int64_t{1} << 30;
/// Earlier versions err in gradients where the number of keys is no multiple of 128.
constexpr std::size_t kOldestVersion = 91600;
/// Products of a query's and a key's element from which on a plan is worth its price.
constexpr double kLeastProducts = 1 << 24;
constexpr int kCallsBeforePlan = 3;

AttentionKey key_of(const CudnnAttention& problem, Device device, bool is_backward) {
  AttentionKey key{static_cast<std::int64_t>(problem.dtype), device.index, problem.causal, problem.deterministic,
                   is_backward};
  for (const CudnnAxes* axes : {&problem.query, &problem.key, &problem.value, &problem.out, &problem.dout,
                                &problem.dquery, &problem.dkey, &problem.dvalue}) {
    key.insert(key.end(), axes->sizes.begin(), axes->sizes.end());
    key.insert(key.end(), axes->strides.begin(), axes->strides.end());
  }
  return key;
}

/// Returns the thread's plan for a problem; null if there is none, or none yet.
const cudnn::Plan* plan_of(const CudnnAttention& problem, Device device, bool is_backward) {
  auto& plans = CudnnPlans::of_thread().attention;
  if (plans.size() >= CudnnPlans::kMost) plans.clear();
  KeptPlan& kept = plans[key_of(problem, device, is_backward)];
  if (!kept.is_known) {
    if (is_capturing()) return nullptr;
    if (++kept.calls < kCallsBeforePlan && !are_deterministic_algorithms_enabled()) return nullptr;
    kept.is_known = true;
    try {
      cudnn::GraphParts graph =
          is_backward ? describe_attention_gradients(problem, kName) : describe_attention(problem, kName);
      kept.plan = cudnn::make_plan(cudnn::context(device), std::move(graph), {{}, kMostWorkspace}, kName);
    } catch (const RuntimeError&) {
      kept.plan = std::nullopt;  // the kernels of the library compute it
    }
  }
  return kept.plan ? &*kept.plan : nullptr;
}

Tensor room(std::int64_t bytes, Device device) { return bytes ? empty({bytes}, DType::UInt8, device) : Tensor(); }

class Arguments {
 public:
  void add(Id id, const Tensor& x) { add(id, x.raw_data()); }
  void add(Id id, float& number) { add(id, static_cast<void*>(&number)); }

  void run(const cudnn::Plan& plan, Device device) const {
    const Tensor workspace = room(plan.workspace, device);
    cudnn::execute(cudnn::context(device), plan, ids_, data_, workspace.defined() ? workspace.raw_data() : nullptr,
                   kName);
  }

 private:
  void add(Id id, void* data) {
    ids_.push_back(static_cast<std::int64_t>(id));
    data_.push_back(data);
  }

  std::vector<std::int64_t> ids_;
  std::vector<void*> data_;
};

bool is_available(const Tensor& query) {
  return is_half(query.dtype()) && is_cudnn_enabled() && cudnn::api() && cudnn::api()->version() >= kOldestVersion;
}

bool is_worth_a_plan(const CudnnAttention& problem) {
  double products = static_cast<double>(problem.key.sizes[2]);
  for (const std::int64_t size : problem.query.sizes) products *= static_cast<double>(size);
  return products >= kLeastProducts;
}

}  // namespace

bool attention_forward_by_cudnn(const Tensor& query, const Tensor& key, const Tensor& value,
                                const AttentionSettings& settings, const Tensor& out, const Tensor& totals) {
  if (!is_available(query)) return false;
  const CudnnAttentionOperands operands{query, key, value, out};
  const auto problem = cudnn_attention(operands, settings);
  if (!problem || !is_worth_a_plan(*problem)) return false;
  const Device device = query.device();
  const DeviceGuard guard(device);  // a context works where it was made
  const cudnn::Plan* const plan = plan_of(*problem, device, false);
  if (!plan) return false;
  auto scale = static_cast<float>(settings.scale);
  float hidden = -std::numeric_limits<float>::infinity();
  Arguments arguments;
  arguments.add(Id::Query, query);
  arguments.add(Id::Key, key);
  arguments.add(Id::Value, value);
  arguments.add(Id::Out, out);
  arguments.add(Id::Totals, totals);
  arguments.add(Id::Scale, scale);
  if (problem->causal) arguments.add(Id::Hidden, hidden);
  arguments.run(*plan, device);
  return true;
}

bool attention_backward_by_cudnn(const Tensor& query, const Tensor& key, const Tensor& value,
                                 const AttentionResult& result, const Tensor& dout, const AttentionSettings& settings,
                                 const AttentionGradients& grads) {
  if (!is_available(query)) return false;
  const CudnnAttentionOperands operands{query, key, value, result.out};
  const auto problem = cudnn_attention(operands, settings, dout, grads);
  if (!problem || !is_worth_a_plan(*problem)) return false;
  const Device device = query.device();
  const DeviceGuard guard(device);
  const cudnn::Plan* const plan = plan_of(*problem, device, true);
  if (!plan) return false;
  auto scale = static_cast<float>(settings.scale);
  float hidden = -std::numeric_limits<float>::infinity();
  float one = 1;
  const Tensor sums = empty(result.totals.shape(), DType::Float32, device);
  Arguments arguments;
  arguments.add(Id::Query, query);
  arguments.add(Id::Key, key);
  arguments.add(Id::Value, value);
  arguments.add(Id::Out, result.out);
  arguments.add(Id::Totals, result.totals);
  arguments.add(Id::Dout, dout);
  arguments.add(Id::Dquery, grads.query);
  arguments.add(Id::Dkey, grads.key);
  arguments.add(Id::Dvalue, grads.value);
  arguments.add(Id::Sums, sums);
  arguments.add(Id::Scale, scale);
  arguments.add(Id::One, one);
  if (problem->causal) arguments.add(Id::Hidden, hidden);
  Tensor products;
  if (!problem->deterministic) {
    products = empty(query.shape(), DType::Float32, device);
    arguments.add(Id::Products, products);
  }
  arguments.run(*plan, device);
  return true;
}

}  // namespace lamella::cuda
