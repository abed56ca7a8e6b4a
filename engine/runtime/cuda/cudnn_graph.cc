#include "engine/runtime/cuda/cudnn_graph.h"

#include <algorithm>
#include <span>
#include <utility>

namespace lamella::cuda::cudnn {
namespace {

using Axes = GraphBuilder::Axes;

constexpr std::int64_t kAlignment = 16;

Axes packed(const Axes& sizes) { return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1}; }

Axes exchanged(Axes axes) {
  std::swap(axes[2], axes[3]);
  return axes;
}

Axes joint(const Axes& a, const Axes& b) {
  Axes sizes{};
  std::ranges::transform(a, b, sizes.begin(), [](std::int64_t x, std::int64_t y) { return std::max(x, y); });
  return sizes;
}

}  // namespace

GraphBuilder::Node GraphBuilder::made(std::int64_t id, DataType type, const Axes& sizes, const Axes& strides,
                                      bool is_virtual, bool is_by_value) {
  Description tensor(Kind::Tensor, op_);
  tensor.set(Attribute::TensorDataType, type)
      .set(Attribute::TensorDimensions, std::span<const std::int64_t>(sizes))
      .set(Attribute::TensorStrides, std::span<const std::int64_t>(strides))
      .set(Attribute::TensorUniqueId, id)
      .set(Attribute::TensorByteAlignment, kAlignment);
  if (is_virtual) tensor.set(Attribute::TensorIsVirtual, true);
  if (is_by_value) tensor.set(Attribute::TensorIsByValue, true);
  tensor.finalize();
  graph_.parts.push_back(std::move(tensor));
  return {graph_.parts.back().get(), type, sizes, strides};
}

GraphBuilder::Node GraphBuilder::tensor(std::int64_t id, DataType type, const Axes& sizes, const Axes& strides) {
  return made(id, type, sizes, strides, false, false);
}

GraphBuilder::Node GraphBuilder::number(std::int64_t id) {
  return made(id, DataType::Float32, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true);
}

GraphBuilder::Node GraphBuilder::between(DataType type, const Axes& sizes) {
  return made(next_id_++, type, sizes, packed(sizes), true, false);
}

void GraphBuilder::add(Description setting, Description operation) {
  graph_.operations.push_back(operation.get());
  graph_.parts.push_back(std::move(setting));
  graph_.parts.push_back(std::move(operation));
}

void GraphBuilder::pointwise(const Node& to, PointwiseMode mode, DataType compute, const Node& x, const Node* b,
                             const Node* t, std::int64_t axis) {
  Description setting(Kind::PointwiseSetting, op_);
  setting.set(Attribute::PointwiseMode, mode).set(Attribute::PointwiseComputeType, compute);
  if (axis >= 0) setting.set(Attribute::PointwiseAxis, axis);
  setting.finalize();
  Description operation(Kind::Pointwise, op_);
  operation.set(Attribute::PointwiseSetting, setting)
      .set(Attribute::PointwiseX, x.descriptor)
      .set(Attribute::PointwiseY, to.descriptor);
  if (b) operation.set(Attribute::PointwiseB, b->descriptor);
  if (t) operation.set(Attribute::PointwiseT, t->descriptor);
  operation.finalize();
  add(std::move(setting), std::move(operation));
}

GraphBuilder::Node GraphBuilder::map(PointwiseMode mode, const Node& x) {
  const Node to = between(DataType::Float32, x.sizes);
  map_to(to, mode, x);
  return to;
}

GraphBuilder::Node GraphBuilder::map(PointwiseMode mode, const Node& x, const Node& y) {
  const Node to = between(DataType::Float32, joint(x.sizes, y.sizes));
  map_to(to, mode, x, y);
  return to;
}

GraphBuilder::Node GraphBuilder::divided_as(DataType type, const Node& x, const Node& y) {
  const Node to = between(type, joint(x.sizes, y.sizes));
  map_to(to, PointwiseMode::Divide, x, y);
  return to;
}

void GraphBuilder::map_to(const Node& to, PointwiseMode mode, const Node& x) {
  pointwise(to, mode, DataType::Float32, x);
}

void GraphBuilder::map_to(const Node& to, PointwiseMode mode, const Node& x, const Node& y) {
  pointwise(to, mode, DataType::Float32, x, &y);
}

GraphBuilder::Node GraphBuilder::lower_triangle(const Node& x, const Node& other) {
  const Node row = between(DataType::Int32, x.sizes);
  const Node column = between(DataType::Int32, x.sizes);
  const Node is_below = between(DataType::Boolean, x.sizes);
  const Node to = between(DataType::Float32, x.sizes);
  pointwise(row, PointwiseMode::Index, DataType::Float32, x, nullptr, nullptr, 2);
  pointwise(column, PointwiseMode::Index, DataType::Float32, x, nullptr, nullptr, 3);
  pointwise(is_below, PointwiseMode::GreaterEqual, DataType::Boolean, row, &column);
  pointwise(to, PointwiseMode::Select, DataType::Float32, x, &other, &is_below);
  return to;
}

GraphBuilder::Node GraphBuilder::reduce(ReductionMode mode, const Node& x, const Axes& sizes) {
  const Node to = between(DataType::Float32, sizes);
  reduce_to(to, mode, x);
  return to;
}

void GraphBuilder::reduce_to(const Node& to, ReductionMode mode, const Node& x) {
  Description setting(Kind::ReductionSetting, op_);
  setting.set(Attribute::ReductionMode, mode).set(Attribute::ReductionComputeType, DataType::Float32).finalize();
  Description operation(Kind::Reduction, op_);
  operation.set(Attribute::ReductionSetting, setting)
      .set(Attribute::ReductionX, x.descriptor)
      .set(Attribute::ReductionY, to.descriptor)
      .finalize();
  add(std::move(setting), std::move(operation));
}

GraphBuilder::Node GraphBuilder::matmul(const Node& a, const Node& b, DataType type) {
  const Node to = between(type, {a.sizes[0], a.sizes[1], a.sizes[2], b.sizes[3]});
  matmul_to(to, a, b);
  return to;
}

void GraphBuilder::matmul_to(const Node& to, const Node& a, const Node& b) {
  Description setting(Kind::MatmulSetting, op_);
  setting.set(Attribute::MatmulComputeType, DataType::Float32).finalize();
  Description operation(Kind::Matmul, op_);
  operation.set(Attribute::MatmulSetting, setting)
      .set(Attribute::MatmulA, a.descriptor)
      .set(Attribute::MatmulB, b.descriptor)
      .set(Attribute::MatmulC, to.descriptor)
      .finalize();
  add(std::move(setting), std::move(operation));
}

GraphBuilder::Node GraphBuilder::transposed(const Node& x, DataType type) {
  const Node to = made(next_id_++, type, exchanged(x.sizes), exchanged(x.strides), true, false);
  Description operation(Kind::Reshape, op_);
  operation.set(Attribute::ReshapeX, x.descriptor).set(Attribute::ReshapeY, to.descriptor).finalize();
  graph_.operations.push_back(operation.get());
  graph_.parts.push_back(std::move(operation));
  return to;
}

GraphParts GraphBuilder::take() { return std::move(graph_); }

}  // namespace lamella::cuda::cudnn
