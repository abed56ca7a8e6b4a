#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/runtime/cuda/cudnn.h"

namespace lamella::cuda::cudnn {

/// Describes a graph of operations on tensors of four axes: batch, head, row and column. What an operation makes is a
/// tensor between operations, without memory of its own, unless one is given that it goes to. Axes of one element
/// broadcast, and a head of fewer serves several that follow each other. Calls that fail throw RuntimeError.
class GraphBuilder {
 public:
  using Axes = std::array<std::int64_t, 4>;

  struct Node {
    Descriptor* descriptor;
    DataType type;
    Axes sizes;
    Axes strides;
  };

  explicit GraphBuilder(const char* op) : op_(op) {}

  /// A tensor in memory that begins at a multiple of 16 bytes.
  Node tensor(std::int64_t id, DataType type, const Axes& sizes, const Axes& strides);
  /// A float32 in the host's memory.
  Node number(std::int64_t id);

  Node map(PointwiseMode mode, const Node& x);
  Node map(PointwiseMode mode, const Node& x, const Node& y);
  void map_to(const Node& to, PointwiseMode mode, const Node& x);
  void map_to(const Node& to, PointwiseMode mode, const Node& x, const Node& y);
  /// Where row >= column: x, else `other`.
  Node lower_triangle(const Node& x, const Node& other);
  Node reduce(ReductionMode mode, const Node& x, const Axes& sizes);
  void reduce_to(const Node& to, ReductionMode mode, const Node& x);
  Node matmul(const Node& a, const Node& b, DataType type = DataType::Float32);
  void matmul_to(const Node& to, const Node& a, const Node& b);
  /// x with rows and columns exchanged.
  Node transposed(const Node& x, DataType type);
  /// x as a type.
  Node divided_as(DataType type, const Node& x, const Node& y);

  /// Returns all that was described, once.
  GraphParts take();

 private:
  Node made(std::int64_t id, DataType type, const Axes& sizes, const Axes& strides, bool is_virtual, bool is_by_value);
  Node between(DataType type, const Axes& sizes);
  void pointwise(const Node& to, PointwiseMode mode, DataType compute, const Node& x, const Node* b = nullptr,
                 const Node* t = nullptr, std::int64_t axis = -1);
  void add(Description setting, Description operation);

  const char* op_;
  GraphParts graph_;
  std::int64_t next_id_ = 1000;
};

}  // namespace lamella::cuda::cudnn
