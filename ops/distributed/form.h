#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "engine/core/shape.h"
#include "engine/core/tensor.h"
#include "engine/distributed/process_group.h"
#include "engine/distributed/reduce_op.h"

namespace lamella::distributed {

/// Pattern in which elements move between processes.
enum class Pattern : std::uint8_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  Broadcast,
  Reduce,
  Gather,
  Scatter,
  AllToAll,
  Send,
  Receive,
};

/// A collective operation and its arguments, without its tensor.
struct Form {
  Pattern pattern = Pattern::AllReduce;
  ReduceOp op = ReduceOp::Sum;
  /// True if the sum is divided by the number of processes.
  bool mean = false;
  /// Rank of the process that all others send to or receive from.
  int root = 0;
  std::int64_t tag = 0;
  /// The axis along which tensors are split or joined, counted from the end, which hidden axes do not change; for
  /// AllToAll the one along which they are split.
  std::int64_t axis = 0;
  /// The axis along which AllToAll joins, counted from the end.
  std::int64_t joined_axis = 0;
  /// Size along `axis` of each process's part.
  Dims sizes = {};
  /// Size along `joined_axis` of what each process sends to this one.
  Dims received = {};
  /// Shape of the tensor that Send takes and Receive gives.
  Dims shape = {};
  DType dtype = DType::Float32;
  std::shared_ptr<ProcessGroup> group = {};

  /// Name of the operator.
  const char* name() const;
  /// Returns the operation that takes gradients back, the transpose of this linear one.
  Form transposed() const;
  /// Returns the shape of the result.
  Dims result_shape(const Tensor& x) const;
  /// Returns a description that is equal on all processes if their calls fit together.
  std::string describe(const Tensor& x) const;
};

/// An operation under way.
struct Pending {
  std::shared_ptr<Work> work;
  /// Returns the result, once the work is done.
  std::function<Tensor()> result;

  /// Waits for the result.
  Tensor take() const {
    if (work) work->wait();
    return result();
  }
};

/// Starts an operation on x off the tape. Tensors on `meta` give the result's shape alone.
Pending start(const Tensor& x, const Form& form);

/// Starts an operation whose result replaces the values of x, which has its shape; without a copy where the backend
/// takes x as it is. The result is x itself.
Pending start_in_place(const Tensor& x, const Form& form);

/// Returns start(x, form).take() for a tensor that vmap may have hidden axes of.
Tensor run(const Tensor& x, const Form& form);

/// Returns the numbers that the processes of a group give, in the order of their ranks, each gives equally many.
Dims gather_numbers(ProcessGroup& group, const char* op, DimsView own);

}  // namespace lamella::distributed
