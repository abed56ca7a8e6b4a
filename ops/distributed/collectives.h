#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

// Collective operators: every process of a group calls them in the same order, and each has its gradient, the
// transposed operation, for a loss that is the sum of the processes' losses. `group` is the name of a process group,
// the default one for "", and "self" for this process alone. Python's functions of these are those of
// lamella.distributed.

namespace lamella {

struct DistributedAllReduce {
  static constexpr OpInfo info{
      .name = "distributed_all_reduce",
      .doc =
          "The tensors of all processes of a group, which have one shape, joined element by element, on all of them. "
          "op is 'sum', 'mean', 'max', 'min' or 'product'; bools are joined by 'max' and 'min'. Numbers of 16 bits are "
          "joined in float32. The gradient of a sum is the sum of the processes' gradients; that of an extremum is "
          "shared among the processes that have it.",
      .parameters = "x, /, *, op='sum', group=''",
      .example = "distributed.all_reduce(ones([2]), group='self')",
      .method = false,
      .in_place = true};
  static Tensor call(const Tensor& x, std::string_view op, std::string_view group);
};

struct DistributedAllGather {
  static constexpr OpInfo info{
      .name = "distributed_all_gather",
      .doc =
          "The tensors of all processes of a group one after the other along an axis, on all of them. Their sizes "
          "along "
          "the axis may differ: `sizes` has them, and without it the processes first tell each other theirs.",
      .parameters = "x, /, *, axis=0, sizes=None, group=''",
      .example = "distributed.all_gather(ones([2]), group='self')",
      .method = false};
  static Tensor call(const Tensor& x, std::int64_t axis, const std::optional<Dims>& sizes, std::string_view group);
};

struct DistributedReduceScatter {
  static constexpr OpInfo info{.name = "distributed_reduce_scatter",
                               .doc =
                                   "A part along an axis of what distributed_all_reduce gives: process i gets the "
                                   "i-th. `sizes` has the sizes of "
                                   "the parts; without it they are those of tensor_split.",
                               .parameters = "x, /, *, op='sum', axis=0, sizes=None, group=''",
                               .example = "distributed.reduce_scatter(ones([2]), group='self')",
                               .method = false};
  static Tensor call(const Tensor& x, std::string_view op, std::int64_t axis, const std::optional<Dims>& sizes,
                     std::string_view group);
};

struct DistributedBroadcast {
  static constexpr OpInfo info{
      .name = "distributed_broadcast",
      .doc =
          "The tensor of process `root`, on all processes of a group. Those of the others give its shape and dtype; "
          "their values do not count, and their gradient is 0.",
      .parameters = "x, /, *, root=0, group=''",
      .example = "distributed.broadcast(ones([2]), group='self')",
      .method = false,
      .in_place = true};
  static Tensor call(const Tensor& x, std::int64_t root, std::string_view group);
};

struct DistributedReduce {
  static constexpr OpInfo info{.name = "distributed_reduce",
                               .doc = "What distributed_all_reduce gives, on process `root`; zeros on the others.",
                               .parameters = "x, /, *, op='sum', root=0, group=''",
                               .example = "distributed.reduce(ones([2]), group='self')",
                               .method = false};
  static Tensor call(const Tensor& x, std::string_view op, std::int64_t root, std::string_view group);
};

struct DistributedGather {
  static constexpr OpInfo info{.name = "distributed_gather",
                               .doc = "What distributed_all_gather gives, on process `root`; zeros on the others.",
                               .parameters = "x, /, *, root=0, axis=0, sizes=None, group=''",
                               .example = "distributed.gather(ones([2]), group='self')",
                               .method = false};
  static Tensor call(const Tensor& x, std::int64_t root, std::int64_t axis, const std::optional<Dims>& sizes,
                     std::string_view group);
};

struct DistributedScatter {
  static constexpr OpInfo info{
      .name = "distributed_scatter",
      .doc =
          "A part along an axis of the tensor of process `root`: process i gets the i-th. `sizes` has the sizes of the "
          "parts; without it they are those of tensor_split. The tensors of the others give its shape and dtype; their "
          "values do not count, and their gradient is 0.",
      .parameters = "x, /, *, root=0, axis=0, sizes=None, group=''",
      .example = "distributed.scatter(ones([2]), group='self')",
      .method = false};
  static Tensor call(const Tensor& x, std::int64_t root, std::int64_t axis, const std::optional<Dims>& sizes,
                     std::string_view group);
};

struct DistributedAllToAll {
  static constexpr OpInfo info{
      .name = "distributed_all_to_all",
      .doc =
          "Splits the tensor along an axis, sends the i-th part to process i of a group, and joins the parts that come "
          "from all along another axis, or the same. `sizes` has the sizes of the parts that go out; without it they "
          "are those of tensor_split. `received` has the sizes, along the axis of the joint, of those that come in; "
          "without it the processes first tell each other.",
      .parameters = "x, /, *, split_axis=0, concat_axis=0, sizes=None, received=None, group=''",
      .example = "distributed.all_to_all(ones([2]), group='self')",
      .method = false};
  static Tensor call(const Tensor& x, std::int64_t split_axis, std::int64_t concat_axis,
                     const std::optional<Dims>& sizes, const std::optional<Dims>& received, std::string_view group);
};

struct DistributedSend {
  static constexpr OpInfo info{
      .name = "distributed_send",
      .doc =
          "Sends the tensor to process `to` of a group, which calls distributed_recv with the same tag. The result is "
          "0, and holds the place on the tape: a backward pass through it receives the gradient.",
      .parameters = "x, /, *, to, tag=0, group=''",
      .example = "distributed.send(ones([2]), to=0, tag=1, group='self')",
      .method = false};
  static Tensor call(const Tensor& x, std::int64_t to, std::int64_t tag, std::string_view group);
};

struct DistributedRecv {
  static constexpr OpInfo info{
      .name = "distributed_recv",
      .doc =
          "The tensor that process `source` of a group has sent with this tag, which has the shape and dtype of "
          "`like`. "
          "If `like` wants a gradient, a backward pass sends that of the result back; its own is 0.",
      .parameters = "like, /, *, source, tag=0, group=''",
      .example =
          "distributed.recv(distributed.send(ones([]), to=0, tag=2, group='self'), source=0, tag=2, group='self')",
      .method = false};
  static Tensor call(const Tensor& like, std::int64_t source, std::int64_t tag, std::string_view group);
};

}  // namespace lamella
