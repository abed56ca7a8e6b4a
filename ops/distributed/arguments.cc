#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "ops/distributed/layers.h"
#include "ops/support/checks.h"

namespace lamella::distributed {
namespace {

void read_op(Form& form, std::string_view op, DType dtype, const char* caller) {
  const std::string text(op);
  form.mean = op == "mean";
  if (op == "sum" || form.mean) {
    form.op = ReduceOp::Sum;
  } else if (op == "max") {
    form.op = ReduceOp::Max;
  } else if (op == "min") {
    form.op = ReduceOp::Min;
  } else if (op == "product") {
    form.op = ReduceOp::Product;
  } else {
    fail<ValueError>("[", caller, "] op is 'sum', 'mean', 'max', 'min' or 'product', not '", text, "'");
  }
  const bool orders = form.op == ReduceOp::Max || form.op == ReduceOp::Min;
  if (orders && is_complex(dtype)) fail<TypeError>("[", caller, "] complex numbers have no order for op='", text, "'");
  if (!orders && dtype == DType::Bool) {
    fail<TypeError>("[", caller, "] bools are joined by op='max' (one is True) or op='min' (all are), not by '", text,
                    "'");
  }
  if (form.mean && !is_differentiable(dtype)) {
    fail<TypeError>("[", caller, "] op='mean' takes floating and complex numbers, got ", name(dtype),
                    ": cast x, or take op='sum'");
  }
}

int read_rank(std::int64_t rank, const char* argument, const ProcessGroup& group, const char* caller) {
  if (rank < 0 || rank >= group.size()) {
    fail<ValueError>("[", caller, "] ", argument, " is a rank in group '", group.name(), "', from 0 to ",
                     group.size() - 1, ", not ", rank);
  }
  return static_cast<int>(rank);
}

/// Returns the axis counted from the end.
std::int64_t read_axis(const Tensor& x, std::int64_t axis, const char* caller) {
  return normalize_axis(axis, x.ndim(), caller) - static_cast<std::int64_t>(x.ndim());
}

void check_sizes(const Dims& sizes, const char* argument, const ProcessGroup& group, const char* caller) {
  if (sizes.size() == static_cast<std::size_t>(group.size()) &&
      std::ranges::all_of(sizes, [](std::int64_t size) { return size >= 0; }))
    return;
  fail<ValueError>("[", caller, "] ", argument, " has a size of at least 0 for each of the ", group.size(),
                   " processes, not ", sizes);
}

/// Returns the sizes of so many parts of an axis, as tensor_split cuts it.
Dims even_parts(std::int64_t size, std::int64_t parts) {
  Dims sizes;
  for (std::int64_t i = 0; i < parts; ++i) sizes.push_back(size / parts + (i < size % parts ? 1 : 0));
  return sizes;
}

/// Returns the sizes of the parts into which x is cut.
Dims read_parts(const Tensor& x, const Form& form, const std::optional<Dims>& given, const char* caller) {
  const std::int64_t size = x.size(form.axis);
  if (!given) return even_parts(size, form.group->size());
  check_sizes(*given, "sizes", *form.group, caller);
  if (std::accumulate(given->begin(), given->end(), std::int64_t{0}) != size) {
    fail<ValueError>("[", caller, "] sizes ", *given, " do not add up to the size ", size, " of axis ",
                     form.axis + static_cast<std::int64_t>(x.ndim()), " (shape ", x.shape(), ")");
  }
  return *given;
}

/// Returns the sizes of the tensors that are joined.
Dims read_joined(const Tensor& x, const Form& form, const std::optional<Dims>& given, const char* caller) {
  const std::int64_t size = x.size(form.axis);
  if (!given) {
    if (x.device().is_meta()) return Dims(static_cast<std::size_t>(form.group->size()), size);
    return gather_numbers(*form.group, form.name(), Dims{size});
  }
  check_sizes(*given, "sizes", *form.group, caller);
  const auto rank = static_cast<std::size_t>(std::max(form.group->rank(), 0));
  if ((*given)[rank] != size) {
    fail<ValueError>("[", caller, "] sizes ", *given, " say ", (*given)[rank], " for this process, rank ", rank,
                     ", whose tensor has the size ", size, " along the axis (shape ", x.shape(), ")");
  }
  return *given;
}

/// Returns the sizes, along the axis of the joint, of what the others send to this process.
Dims read_received(const Tensor& x, const Form& form, const std::optional<Dims>& given, const char* caller) {
  if (given) {
    check_sizes(*given, "received", *form.group, caller);
    return *given;
  }
  const bool one_axis = form.axis == form.joined_axis;
  const auto rank = static_cast<std::size_t>(std::max(form.group->rank(), 0));
  const auto count = static_cast<std::size_t>(form.group->size());
  if (x.device().is_meta()) return Dims(count, one_axis ? form.sizes[rank] : x.size(form.joined_axis));
  if (!one_axis) return gather_numbers(*form.group, form.name(), Dims{x.size(form.joined_axis)});
  const Dims all = gather_numbers(*form.group, form.name(), form.sizes);
  Dims received;
  for (std::size_t i = 0; i < count; ++i) received.push_back(all[i * count + rank]);
  return received;
}

}  // namespace

Form form_of(Pattern pattern, const Tensor& x, const Arguments& arguments, const char* caller) {
  check_defined(x, caller);
  Form form{.pattern = pattern, .tag = arguments.tag, .group = find_group(arguments.group)};
  const ProcessGroup& group = *form.group;
  if (!x.device().is_meta()) form.group->usable_backend(caller);
  const bool by_parts =
      pattern == Pattern::ReduceScatter || pattern == Pattern::Scatter || pattern == Pattern::AllToAll;
  const bool joins = pattern == Pattern::AllGather || pattern == Pattern::Gather;
  switch (pattern) {
    case Pattern::AllReduce:
    case Pattern::ReduceScatter:
    case Pattern::Reduce:
      read_op(form, arguments.op, x.dtype(), caller);
      break;
    case Pattern::Send:
    case Pattern::Receive:
      if (arguments.tag < 0 || arguments.tag >= (std::int64_t{1} << 31)) {
        fail<ValueError>("[", caller, "] tag is at least 0 and less than 2**31, not ", arguments.tag);
      }
      break;
    default:
      break;
  }
  form.root = read_rank(arguments.root,
                        pattern == Pattern::Send      ? "to"
                        : pattern == Pattern::Receive ? "source"
                                                      : "root",
                        group, caller);
  if ((pattern == Pattern::Send || pattern == Pattern::Receive) && form.root == group.rank() && group.size() > 1) {
    fail<ValueError>("[", caller, "] ", pattern == Pattern::Send ? "to" : "source", " is ", form.root,
                     ", this process itself");
  }
  if (by_parts || joins) form.axis = read_axis(x, arguments.axis, caller);
  if (pattern == Pattern::AllToAll) form.joined_axis = read_axis(x, arguments.joined_axis, caller);
  if (by_parts) form.sizes = read_parts(x, form, arguments.sizes, caller);
  if (joins) form.sizes = read_joined(x, form, arguments.sizes, caller);
  if (pattern == Pattern::AllToAll) form.received = read_received(x, form, arguments.received, caller);
  return form;
}

}  // namespace lamella::distributed
