#include "ops/distributed/collectives.h"

#include "ops/distributed/layers.h"

namespace lamella {

using distributed::Pattern;

namespace {

Tensor call(Pattern pattern, const Tensor& x, const distributed::Arguments& arguments, const char* op) {
  return distributed::apply(x, distributed::form_of(pattern, x, arguments, op));
}

}  // namespace

Tensor DistributedAllReduce::call(const Tensor& x, std::string_view op, std::string_view group) {
  return lamella::call(Pattern::AllReduce, x, {.op = op, .group = group}, info.name);
}

Tensor DistributedAllGather::call(const Tensor& x, std::int64_t axis, const std::optional<Dims>& sizes,
                                  std::string_view group) {
  return lamella::call(Pattern::AllGather, x, {.axis = axis, .sizes = sizes, .group = group}, info.name);
}

Tensor DistributedReduceScatter::call(const Tensor& x, std::string_view op, std::int64_t axis,
                                      const std::optional<Dims>& sizes, std::string_view group) {
  return lamella::call(Pattern::ReduceScatter, x, {.op = op, .axis = axis, .sizes = sizes, .group = group}, info.name);
}

Tensor DistributedBroadcast::call(const Tensor& x, std::int64_t root, std::string_view group) {
  return lamella::call(Pattern::Broadcast, x, {.root = root, .group = group}, info.name);
}

Tensor DistributedReduce::call(const Tensor& x, std::string_view op, std::int64_t root, std::string_view group) {
  return lamella::call(Pattern::Reduce, x, {.op = op, .root = root, .group = group}, info.name);
}

Tensor DistributedGather::call(const Tensor& x, std::int64_t root, std::int64_t axis, const std::optional<Dims>& sizes,
                               std::string_view group) {
  return lamella::call(Pattern::Gather, x, {.root = root, .axis = axis, .sizes = sizes, .group = group}, info.name);
}

Tensor DistributedScatter::call(const Tensor& x, std::int64_t root, std::int64_t axis, const std::optional<Dims>& sizes,
                                std::string_view group) {
  return lamella::call(Pattern::Scatter, x, {.root = root, .axis = axis, .sizes = sizes, .group = group}, info.name);
}

Tensor DistributedAllToAll::call(const Tensor& x, std::int64_t split_axis, std::int64_t concat_axis,
                                 const std::optional<Dims>& sizes, const std::optional<Dims>& received,
                                 std::string_view group) {
  const distributed::Arguments arguments{
      .axis = split_axis, .joined_axis = concat_axis, .sizes = sizes, .received = received, .group = group};
  return lamella::call(Pattern::AllToAll, x, arguments, info.name);
}

Tensor DistributedSend::call(const Tensor& x, std::int64_t to, std::int64_t tag, std::string_view group) {
  return lamella::call(Pattern::Send, x, {.root = to, .tag = tag, .group = group}, info.name);
}

Tensor DistributedRecv::call(const Tensor& like, std::int64_t source, std::int64_t tag, std::string_view group) {
  return lamella::call(Pattern::Receive, like, {.root = source, .tag = tag, .group = group}, info.name);
}

}  // namespace lamella
