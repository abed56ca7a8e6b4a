#include "ops/nn/cuda/attention_cudnn.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/core/error.h"
#include "engine/runtime/cuda/cudnn_graph.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cudnn_setting.h"
#include "engine/runtime/deterministic.h"
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
// To make a plan takes some tenths of a second, as cuDNN compiles its kernels. Those of the forward pass take any sizes
// and are kept by kind; to make another plan of the kind then takes milliseconds. The gradients' are compiled for each
// size anew. Each thread keeps its plans.

namespace lamella::cuda {
namespace {

using cudnn::PointwiseMode;
using cudnn::ReductionMode;
using Node = cudnn::GraphBuilder::Node;
using Axes = cudnn::GraphBuilder::Axes;

constexpr const char* kName = "scaled_dot_product_attention";
constexpr std::int64_t kMostWorkspace = std::int64_t{1} << 30;
/// Earlier versions err in gradients where the number of keys is no multiple of 128.
constexpr std::size_t kOldestVersion = 91600;
/// Strides and the beginnings of tensors are multiples of 16 bytes.
constexpr std::int64_t kStrideUnit = 8;
constexpr std::int64_t kMostElements = 256;
/// Plans that a thread keeps; beyond it all are dropped.
constexpr std::size_t kPlans = 256;

/// Names of the tensors in graphs and in what is handed to plans.
enum Id : std::int64_t {
  Query = 1,
  Key,
  Value,
  Out,
  Totals,
  Scale,
  Hidden,
  Dout,
  Dquery,
  Dkey,
  Dvalue,
  Sums,
  Products,
  One
};

cudnn::DataType data_type(DType dtype) {
  return dtype == DType::Float16 ? cudnn::DataType::Float16 : cudnn::DataType::BFloat16;
}

/// Joins the axes before the last three, where their strides allow it.
std::optional<AttentionAxes> axes_of(const Tensor& x) {
  const auto count = static_cast<std::int64_t>(x.ndim());
  const auto size = [&](std::int64_t axis) { return axis < 0 ? 1 : x.shape()[static_cast<std::size_t>(axis)]; };
  const auto stride = [&](std::int64_t axis) { return axis < 0 ? 1 : x.strides()[static_cast<std::size_t>(axis)]; };
  AttentionAxes axes{{1, size(count - 3), size(count - 2), size(count - 1)},
                     {1, stride(count - 3), stride(count - 2), stride(count - 1)}};
  for (std::int64_t axis = count - 4; axis >= 0; --axis) {
    if (size(axis) == 1) continue;
    if (axes.sizes[0] == 1) {
      axes.strides[0] = stride(axis);
    } else if (stride(axis) != axes.strides[0] * axes.sizes[0]) {
      return std::nullopt;
    }
    axes.sizes[0] *= size(axis);
  }
  if (reinterpret_cast<std::uintptr_t>(x.raw_data()) % 16 != 0 || axes.strides[3] != 1) return std::nullopt;
  std::int64_t extent = axes.sizes[3];
  for (std::size_t i = 0; i < 3; ++i) {
    if (axes.sizes[i] < 1) return std::nullopt;
    if (axes.sizes[i] == 1) continue;
    if (axes.strides[i] < axes.sizes[3] || axes.strides[i] % kStrideUnit != 0) return std::nullopt;
    extent = std::max(extent, axes.sizes[i] * axes.strides[i]);
  }
  // The stride of an axis of one element says nothing.
  for (std::size_t i = 0; i < 3; ++i) {
    if (axes.sizes[i] == 1) axes.strides[i] = extent;
  }
  return axes;
}

bool sizes_fit(const AttentionProblem& problem) {
  const Axes& q = problem.query.sizes;
  const Axes& k = problem.key.sizes;
  const Axes& v = problem.value.sizes;
  const auto is_width = [](std::int64_t size) { return size % kStrideUnit == 0 && size <= kMostElements; };
  return is_width(q[3]) && is_width(v[3]) && k[0] == q[0] && q[1] % k[1] == 0 && k[3] == q[3] &&
         v == Axes{k[0], k[1], k[2], v[3]} && problem.out.sizes == Axes{q[0], q[1], q[2], v[3]} &&
         std::max(q[2], k[2]) > 1;
}

Axes with_columns(Axes axes, std::int64_t columns) {
  axes[3] = columns;
  return axes;
}

Node described(cudnn::GraphBuilder& graph, Id id, const AttentionProblem& problem, const AttentionAxes& axes) {
  return graph.tensor(id, data_type(problem.dtype), axes.sizes, axes.strides);
}

/// A matrix whose columns are x's rows.
Node described_transposed(cudnn::GraphBuilder& graph, Id id, const AttentionProblem& problem, AttentionAxes axes) {
  std::swap(axes.sizes[2], axes.sizes[3]);
  std::swap(axes.strides[2], axes.strides[3]);
  return described(graph, id, problem, axes);
}

/// float32 [batch, head, row, columns] without gaps.
Node described_packed(cudnn::GraphBuilder& graph, Id id, const AttentionProblem& problem, std::int64_t columns) {
  const Axes sizes = with_columns(problem.query.sizes, columns);
  return graph.tensor(id, cudnn::DataType::Float32, sizes,
                      {sizes[1] * sizes[2] * columns, sizes[2] * columns, columns, 1});
}

/// The numbers on which a plan depends.
using PlanKey = std::vector<std::int64_t>;

struct Plans {
  std::map<PlanKey, std::optional<cudnn::Plan>> plans;
  std::map<PlanKey, std::optional<cudnn::Description>> kernels;
};

Plans& plans_of_thread() {
  // A pointer, as memory of threads in a library that is loaded late is scarce: see cmake/check_symbols.py.
  thread_local const auto held = std::make_unique<Plans>();
  if (held->plans.size() >= kPlans) held->plans.clear();
  return *held;
}

/// What graphs have in common that differ in sizes alone.
PlanKey kind_of(const AttentionProblem& problem, Device device) {
  const Axes& q = problem.query.sizes;
  PlanKey key{static_cast<std::int64_t>(problem.dtype),
              device.index,
              problem.causal,
              problem.deterministic,
              q[1] / problem.key.sizes[1],
              q[3],
              problem.value.sizes[3]};
  for (const AttentionAxes* axes : {&problem.query, &problem.key, &problem.value, &problem.out}) {
    key.push_back(axes->strides[1] < axes->strides[2]);
  }
  return key;
}

PlanKey key_of(const AttentionProblem& problem, Device device, bool is_backward) {
  PlanKey key = kind_of(problem, device);
  key.push_back(is_backward);
  for (const AttentionAxes* axes : {&problem.query, &problem.key, &problem.value, &problem.out, &problem.dout,
                                    &problem.dquery, &problem.dkey, &problem.dvalue}) {
    key.insert(key.end(), axes->sizes.begin(), axes->sizes.end());
    key.insert(key.end(), axes->strides.begin(), axes->strides.end());
    if (!is_backward && axes == &problem.out) break;
  }
  return key;
}

/// Returns the thread's plan for a problem, made at the first call; null if there is none.
const cudnn::Plan* plan_of(const AttentionProblem& problem, Device device, bool is_backward) {
  Plans& held = plans_of_thread();
  const PlanKey key = key_of(problem, device, is_backward);
  auto found = held.plans.find(key);
  if (found == held.plans.end()) {
    std::optional<cudnn::Plan> made;
    try {
      const cudnn::PlanLimits limits{{}, kMostWorkspace};
      cudnn::Context* const context = cudnn::context(device);
      if (is_backward) {
        made = cudnn::make_plan(context, describe_attention_gradients(problem, kName), limits, kName);
      } else {
        made = cudnn::make_plan(context, describe_attention(problem, kName), limits, kName,
                                &held.kernels[kind_of(problem, device)]);
      }
    } catch (const RuntimeError&) {
      made = std::nullopt;  // the kernels of the library compute it
    }
    found = held.plans.emplace(key, std::move(made)).first;
  }
  return found->second ? &*found->second : nullptr;
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
    ids_.push_back(id);
    data_.push_back(data);
  }

  std::vector<std::int64_t> ids_;
  std::vector<void*> data_;
};

}  // namespace

std::optional<AttentionProblem> attention_problem(const AttentionOperands& operands, const AttentionSettings& settings,
                                                  const Tensor& dout, const AttentionGradients& grads) {
  AttentionProblem problem{.dtype = operands.query.dtype(),
                           .causal = settings.causal,
                           .deterministic = dout.defined() && are_deterministic_algorithms_enabled(),
                           .query = {},
                           .key = {},
                           .value = {},
                           .out = {},
                           .dout = {},
                           .dquery = {},
                           .dkey = {},
                           .dvalue = {}};
  if (!is_half(problem.dtype) || settings.dropout > 0) return std::nullopt;
  std::vector<std::pair<const Tensor*, AttentionAxes*>> list{{&operands.query, &problem.query},
                                                             {&operands.key, &problem.key},
                                                             {&operands.value, &problem.value},
                                                             {&operands.out, &problem.out}};
  if (dout.defined()) {
    list.insert(list.end(), {{&dout, &problem.dout},
                             {&grads.query, &problem.dquery},
                             {&grads.key, &problem.dkey},
                             {&grads.value, &problem.dvalue}});
  }
  for (const auto& [tensor, axes] : list) {
    if (tensor->dtype() != problem.dtype || tensor->numel() == 0) return std::nullopt;
    const auto found = axes_of(*tensor);
    if (!found) return std::nullopt;
    *axes = *found;
  }
  if (!sizes_fit(problem)) return std::nullopt;
  return problem;
}

cudnn::GraphParts describe_attention(const AttentionProblem& problem, const char* op) {
  cudnn::GraphBuilder graph(op);
  const Node q = described(graph, Query, problem, problem.query);
  const Node k = described_transposed(graph, Key, problem, problem.key);
  const Node v = described(graph, Value, problem, problem.value);
  Node scores = graph.map(PointwiseMode::Multiply, graph.matmul(q, k), graph.number(Scale));
  if (problem.causal) scores = graph.lower_triangle(scores, graph.number(Hidden));
  const Axes rows = with_columns(scores.sizes, 1);
  const Node largest = graph.reduce(ReductionMode::Max, scores, rows);
  const Node powers = graph.map(PointwiseMode::Exp, graph.map(PointwiseMode::Subtract, scores, largest));
  const Node sum = graph.reduce(ReductionMode::Add, powers, rows);
  graph.map_to(described_packed(graph, Totals, problem, 1), PointwiseMode::Add, largest,
               graph.map(PointwiseMode::Log, sum));
  graph.matmul_to(described(graph, Out, problem, problem.out), graph.divided_as(data_type(problem.dtype), powers, sum),
                  v);
  return graph.take();
}

cudnn::GraphParts describe_attention_gradients(const AttentionProblem& problem, const char* op) {
  cudnn::GraphBuilder graph(op);
  const cudnn::DataType dtype = data_type(problem.dtype);
  const Node q = described(graph, Query, problem, problem.query);
  const Node k = described_transposed(graph, Key, problem, problem.key);
  const Node v = described_transposed(graph, Value, problem, problem.value);
  const Node out = described(graph, Out, problem, problem.out);
  const Node dout = described(graph, Dout, problem, problem.dout);
  const Node scale = graph.number(Scale);

  // A part of each head's gradient: the sum over the heads that it serves is one more operation.
  const auto product_to = [&](Id id, const AttentionAxes& axes, const Node& a, const Node& b) {
    const Node to = described(graph, id, problem, axes);
    if (a.sizes[1] == axes.sizes[1]) return graph.matmul_to(to, a, b);
    graph.reduce_to(to, ReductionMode::Add, graph.matmul(a, b, dtype));
  };

  // The sums of out * dout by rows, which are those of p * dp.
  const Node products = graph.map(PointwiseMode::Multiply, dout, out);
  const Node sums = described_packed(graph, Sums, problem, 1);
  graph.map_to(sums, PointwiseMode::Multiply, graph.reduce(ReductionMode::Add, products, sums.sizes),
               graph.number(One));

  const Node scores = graph.map(PointwiseMode::Multiply, graph.matmul(q, k), scale);
  Node logarithms = graph.map(PointwiseMode::Subtract, scores, described_packed(graph, Totals, problem, 1));
  if (problem.causal) logarithms = graph.lower_triangle(logarithms, graph.number(Hidden));
  const Node p = graph.map(PointwiseMode::Exp, logarithms);
  product_to(Dvalue, problem.dvalue, graph.transposed(p, dtype), dout);

  const Node dp = graph.map(PointwiseMode::Subtract, graph.matmul(dout, v), sums);
  const Node ds = graph.map(PointwiseMode::Multiply, graph.map(PointwiseMode::Multiply, dp, p), scale);
  product_to(Dkey, problem.dkey, graph.transposed(ds, dtype), q);

  const Node keys = graph.transposed(k, dtype);
  const Node dq = described(graph, Dquery, problem, problem.dquery);
  if (problem.deterministic) {
    graph.matmul_to(dq, ds, keys);
  } else {
    const Node collected = described_packed(graph, Products, problem, problem.query.sizes[3]);
    graph.matmul_to(collected, ds, keys);
    graph.map_to(dq, PointwiseMode::Identity, collected);
  }
  return graph.take();
}

namespace {

bool is_available() { return is_cudnn_enabled() && cudnn::api() && cudnn::api()->version() >= kOldestVersion; }

}  // namespace

bool attention_forward_by_cudnn(const AttentionOperands& operands, const AttentionSettings& settings,
                                const Tensor& totals) {
  if (!is_available()) return false;
  const auto problem = attention_problem(operands, settings);
  if (!problem) return false;
  const Device device = operands.query.device();
  const DeviceGuard guard(device);  // a context works where it was made
  const cudnn::Plan* const plan = plan_of(*problem, device, false);
  if (!plan) return false;
  auto scale = static_cast<float>(settings.scale);
  float hidden = -std::numeric_limits<float>::infinity();
  Arguments arguments;
  arguments.add(Query, operands.query);
  arguments.add(Key, operands.key);
  arguments.add(Value, operands.value);
  arguments.add(Out, operands.out);
  arguments.add(Totals, totals);
  arguments.add(Scale, scale);
  if (problem->causal) arguments.add(Hidden, hidden);
  arguments.run(*plan, device);
  return true;
}

bool attention_backward_by_cudnn(const AttentionOperands& operands, const AttentionSettings& settings,
                                 const Tensor& totals, const Tensor& dout, const AttentionGradients& grads) {
  if (!is_available()) return false;
  const auto problem = attention_problem(operands, settings, dout, grads);
  if (!problem) return false;
  const Device device = operands.query.device();
  const DeviceGuard guard(device);
  const cudnn::Plan* const plan = plan_of(*problem, device, true);
  if (!plan) return false;
  auto scale = static_cast<float>(settings.scale);
  float hidden = -std::numeric_limits<float>::infinity();
  float one = 1;
  const Tensor sums = empty(totals.shape(), DType::Float32, device);
  Arguments arguments;
  arguments.add(Query, operands.query);
  arguments.add(Key, operands.key);
  arguments.add(Value, operands.value);
  arguments.add(Out, operands.out);
  arguments.add(Totals, totals);
  arguments.add(Dout, dout);
  arguments.add(Dquery, grads.query);
  arguments.add(Dkey, grads.key);
  arguments.add(Dvalue, grads.value);
  arguments.add(Sums, sums);
  arguments.add(Scale, scale);
  arguments.add(One, one);
  if (problem->causal) arguments.add(Hidden, hidden);
  Tensor products;
  if (!problem->deterministic) {
    products = empty(operands.query.shape(), DType::Float32, device);
    arguments.add(Products, products);
  }
  arguments.run(*plan, device);
  return true;
}

}  // namespace lamella::cuda
