#include "ops/nn/cuda/attention_cudnn_graph.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/runtime/cuda/cudnn_graph.h"
#include "engine/runtime/deterministic.h"
#include "ops/support/dtypes.h"

namespace lamella::cuda {
namespace {

using cudnn::PointwiseMode;
using cudnn::ReductionMode;
using Id = CudnnAttentionId;
using Node = cudnn::GraphBuilder::Node;
using Axes = cudnn::GraphBuilder::Axes;

/// Strides and the beginnings of tensors are multiples of 16 bytes.
constexpr std::int64_t kStrideUnit = 8;
constexpr std::int64_t kStartUnit = 16;
constexpr std::int64_t kMostElements = 256;

cudnn::DataType data_type(DType dtype) {
  return dtype == DType::Float16 ? cudnn::DataType::Float16 : cudnn::DataType::BFloat16;
}

/// Joins the axes before the last three, where their strides allow it.
std::optional<CudnnAxes> axes_of(const Tensor& x) {
  const auto count = static_cast<std::int64_t>(x.ndim());
  const auto size = [&](std::int64_t axis) { return axis < 0 ? 1 : x.shape()[static_cast<std::size_t>(axis)]; };
  const auto stride = [&](std::int64_t axis) { return axis < 0 ? 1 : x.strides()[static_cast<std::size_t>(axis)]; };
  CudnnAxes axes{{1, size(count - 3), size(count - 2), size(count - 1)},
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
  if (reinterpret_cast<std::uintptr_t>(x.raw_data()) % kStartUnit != 0 || axes.strides[3] != 1) return std::nullopt;
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

bool sizes_fit(const CudnnAttention& problem) {
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

Node described(cudnn::GraphBuilder& graph, Id id, const CudnnAttention& problem, const CudnnAxes& axes) {
  return graph.tensor(static_cast<std::int64_t>(id), data_type(problem.dtype), axes.sizes, axes.strides);
}

Node number(cudnn::GraphBuilder& graph, Id id) { return graph.number(static_cast<std::int64_t>(id)); }

/// A matrix whose columns are x's rows.
Node described_transposed(cudnn::GraphBuilder& graph, Id id, const CudnnAttention& problem, CudnnAxes axes) {
  std::swap(axes.sizes[2], axes.sizes[3]);
  std::swap(axes.strides[2], axes.strides[3]);
  return described(graph, id, problem, axes);
}

/// float32 [batch, head, row, columns] without gaps.
Node described_packed(cudnn::GraphBuilder& graph, Id id, const CudnnAttention& problem, std::int64_t columns) {
  const Axes sizes = with_columns(problem.query.sizes, columns);
  return graph.tensor(static_cast<std::int64_t>(id), cudnn::DataType::Float32, sizes,
                      {sizes[1] * sizes[2] * columns, sizes[2] * columns, columns, 1});
}

}  // namespace

std::optional<CudnnAttention> cudnn_attention(const CudnnAttentionOperands& operands, const AttentionSettings& settings,
                                              const Tensor& dout, const AttentionGradients& grads) {
  CudnnAttention problem{.dtype = operands.query.dtype(),
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
  if (!is_half(problem.dtype) || settings.dropout > 0 || !(settings.scale > 0)) return std::nullopt;
  std::vector<std::pair<const Tensor*, CudnnAxes*>> list{{&operands.query, &problem.query},
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

cudnn::GraphParts describe_attention(const CudnnAttention& problem, const char* op) {
  cudnn::GraphBuilder graph(op);
  const Node q = described(graph, Id::Query, problem, problem.query);
  const Node k = described_transposed(graph, Id::Key, problem, problem.key);
  const Node v = described(graph, Id::Value, problem, problem.value);
  Node scores = graph.map(PointwiseMode::Multiply, graph.matmul(q, k), number(graph, Id::Scale));
  if (problem.causal) scores = graph.lower_triangle(scores, number(graph, Id::Hidden));
  const Axes rows = with_columns(scores.sizes, 1);
  const Node largest = graph.reduce(ReductionMode::Max, scores, rows);
  const Node powers = graph.map(PointwiseMode::Exp, graph.map(PointwiseMode::Subtract, scores, largest));
  const Node sum = graph.reduce(ReductionMode::Add, powers, rows);
  graph.map_to(described_packed(graph, Id::Totals, problem, 1), PointwiseMode::Add, largest,
               graph.map(PointwiseMode::Log, sum));
  graph.matmul_to(described(graph, Id::Out, problem, problem.out),
                  graph.divided_as(data_type(problem.dtype), powers, sum), v);
  return graph.take();
}

cudnn::GraphParts describe_attention_gradients(const CudnnAttention& problem, const char* op) {
  cudnn::GraphBuilder graph(op);
  const cudnn::DataType dtype = data_type(problem.dtype);
  const Node q = described(graph, Id::Query, problem, problem.query);
  const Node k = described_transposed(graph, Id::Key, problem, problem.key);
  const Node v = described_transposed(graph, Id::Value, problem, problem.value);
  const Node out = described(graph, Id::Out, problem, problem.out);
  const Node dout = described(graph, Id::Dout, problem, problem.dout);
  const Node scale = number(graph, Id::Scale);

  // A part of each head's gradient: the sum over the heads that it serves is one more operation.
  const auto product_to = [&](Id id, const CudnnAxes& axes, const Node& a, const Node& b) {
    const Node to = described(graph, id, problem, axes);
    if (a.sizes[1] == axes.sizes[1]) return graph.matmul_to(to, a, b);
    graph.reduce_to(to, ReductionMode::Add, graph.matmul(a, b, dtype));
  };

  // The sums of out * dout by rows, which are those of p * dp.
  const Node products = graph.map(PointwiseMode::Multiply, dout, out);
  const Node sums = described_packed(graph, Id::Sums, problem, 1);
  graph.map_to(sums, PointwiseMode::Multiply, graph.reduce(ReductionMode::Add, products, sums.sizes),
               number(graph, Id::One));

  const Node scores = graph.map(PointwiseMode::Multiply, graph.matmul(q, k), scale);
  Node logarithms = graph.map(PointwiseMode::Subtract, scores, described_packed(graph, Id::Totals, problem, 1));
  if (problem.causal) logarithms = graph.lower_triangle(logarithms, number(graph, Id::Hidden));
  const Node p = graph.map(PointwiseMode::Exp, logarithms);
  product_to(Id::Dvalue, problem.dvalue, graph.transposed(p, dtype), dout);

  const Node dp = graph.map(PointwiseMode::Subtract, graph.matmul(dout, v), sums);
  const Node ds = graph.map(PointwiseMode::Multiply, graph.map(PointwiseMode::Multiply, dp, p), scale);
  product_to(Id::Dkey, problem.dkey, graph.transposed(ds, dtype), q);

  const Node keys = graph.transposed(k, dtype);
  const Node dq = described(graph, Id::Dquery, problem, problem.dquery);
  if (problem.deterministic) {
    graph.matmul_to(dq, ds, keys);
  } else {
    const Node collected = described_packed(graph, Id::Products, problem, problem.query.sizes[3]);
    graph.matmul_to(collected, ds, keys);
    graph.map_to(dq, PointwiseMode::Identity, collected);
  }
  return graph.take();
}

}  // namespace lamella::cuda
