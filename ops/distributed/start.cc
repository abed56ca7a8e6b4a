#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "engine/core/error.h"
#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "ops/creation/creation.h"
#include "ops/distributed/form.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/join.h"
#include "ops/shape/reshape.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"
#include "ops/support/strided.h"

namespace lamella::distributed {
namespace {

std::size_t from_front(const Tensor& x, std::int64_t axis) {
  return static_cast<std::size_t>(static_cast<std::int64_t>(x.ndim()) + axis);
}

Dims with_size(Dims shape, std::size_t axis, std::int64_t size) {
  shape[axis] = size;
  return shape;
}

/// Returns the numbers of bytes of parts that have the shape of x but for these sizes along an axis.
std::vector<std::size_t> part_bytes(const Tensor& x, std::size_t axis, const Dims& sizes) {
  std::vector<std::size_t> bytes;
  for (const std::int64_t size : sizes) {
    bytes.push_back(static_cast<std::size_t>(count_elements(with_size(x.shape(), axis, size))) * item_size(x.dtype()));
  }
  return bytes;
}

/// Returns the parts of x along an axis, one behind the other in memory: x itself if they lie so already.
Tensor packed(const Tensor& x, std::size_t axis, const Dims& sizes) {
  const bool lies_so = std::all_of(x.shape().begin(), x.shape().begin() + static_cast<std::ptrdiff_t>(axis),
                                   [](std::int64_t size) { return size == 1; });
  if (lies_so) return contiguous(x);
  std::vector<Tensor> parts;
  std::int64_t at = 0;
  for (const std::int64_t size : sizes) {
    parts.push_back(reshape(narrow(x, static_cast<std::int64_t>(axis), at, size), {-1}));
    at += size;
  }
  return concat(parts);
}

/// Returns the parts that lie one behind the other in `flat`, joined along an axis; each has the given shape but for
/// its size along the axis.
Tensor joined(const Tensor& flat, const Dims& shape, std::size_t axis, const Dims& sizes) {
  const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  if (axis == 0) return reshape(flat, with_size(shape, axis, total));
  std::vector<Tensor> parts;
  std::int64_t at = 0;
  for (const std::int64_t size : sizes) {
    const Dims part = with_size(shape, axis, size);
    const std::int64_t count = count_elements(part);
    parts.push_back(reshape(narrow(flat, 0, at, count), part));
    at += count;
  }
  return concat(parts, static_cast<std::int64_t>(axis));
}

/// Returns zeros that take no memory but that of one.
Tensor no_values(const Dims& shape, DType dtype, Device device) {
  return broadcast_to(zeros({}, dtype, device), shape);
}

/// Returns the operation whose result is y, which the work fills.
Pending written_to(Tensor y, std::shared_ptr<Work> work) {
  return {std::move(work), [y = std::move(y)] { return y; }};
}

std::function<std::string()> description(const Tensor& x, const Form& form) {
  return [&] { return form.describe(x); };
}

/// Joins the tensors of all processes, which lie along the first axis.
Tensor joined_along_first(const Tensor& all, const Form& form) {
  const bool is_bool = all.dtype() == DType::Bool;
  switch (form.op) {
    case ReduceOp::Sum:
      return form.mean ? mean(all, 0) : sum(all, Dims{0}, false, all.dtype());
    case ReduceOp::Product:
      return prod(all, Dims{0}, false, all.dtype());
    case ReduceOp::Max:
      return is_bool ? Any::call(all, Dims{0}, false) : max(all, 0);
    default:
      return is_bool ? All::call(all, Dims{0}, false) : min(all, 0);
  }
}

/// Starts a reduction that the backend does not do itself: all tensors are gathered, and joined by an operator.
Pending start_reduce_by_gathering(const Tensor& given, const Form& form) {
  const Tensor x = contiguous(given);
  const auto count = static_cast<std::size_t>(form.group->size());
  Dims shape = x.shape();
  shape.insert(shape.begin(), form.group->size());
  const Tensor all = empty(shape, x.dtype(), x.device());
  const std::vector<std::size_t> bytes(count, x.nbytes());
  auto work = form.group->start(
      form.name(), description(given, form),
      [x, all, bytes](Backend& backend, Milliseconds timeout) {
        backend.all_gather(x.raw_data(), all.raw_data(), bytes, timeout);
      },
      x.device());
  return {std::move(work), [all, form] {
            if (form.pattern == Pattern::Reduce && form.group->rank() != form.root) {
              return no_values(Dims(all.shape().begin() + 1, all.shape().end()), all.dtype(), all.device());
            }
            return joined_along_first(all, form);
          }};
}

Pending start_reduce(const Tensor& x, const Form& form) {
  const DType joined_as = is_half(x.dtype()) ? DType::Float32 : x.dtype();
  if (!x.device().is_cpu() && !form.group->joins(x.device(), joined_as, form.op)) {
    return start_reduce_by_gathering(x, form);
  }
  const Tensor y = is_half(x.dtype()) ? cast(x, DType::Float32) : clone(contiguous(x));
  const auto count = static_cast<std::size_t>(y.numel());
  auto work = form.group->start(
      form.name(), description(x, form),
      [y, count, form_of = form](Backend& backend, Milliseconds timeout) {
        if (form_of.pattern == Pattern::AllReduce) {
          backend.all_reduce(y.raw_data(), count, y.dtype(), form_of.op, timeout);
        } else {
          backend.reduce(y.raw_data(), count, y.dtype(), form_of.op, form_of.root, timeout);
        }
      },
      x.device());
  return {std::move(work), [y, form, dtype = x.dtype()] {
            if (form.pattern == Pattern::Reduce && form.group->rank() != form.root) {
              return no_values(y.shape(), dtype, y.device());
            }
            const Tensor result = form.mean ? y / static_cast<double>(form.group->size()) : y;
            return result.dtype() == dtype ? result : cast(result, dtype);
          }};
}

Pending start_all_gather(const Tensor& given, const Form& form) {
  const Tensor x = contiguous(given);
  const std::size_t axis = from_front(x, form.axis);
  const std::vector<std::size_t> bytes = part_bytes(x, axis, form.sizes);
  const Tensor flat = empty({count_elements(form.result_shape(x))}, x.dtype(), x.device());
  auto work = form.group->start(
      form.name(), description(given, form),
      [x, flat, bytes](Backend& backend, Milliseconds timeout) {
        backend.all_gather(x.raw_data(), flat.raw_data(), bytes, timeout);
      },
      x.device());
  return {std::move(work),
          [flat, shape = x.shape(), axis, sizes = form.sizes] { return joined(flat, shape, axis, sizes); }};
}

/// Starts to send the i-th of the parts along an axis to process i, and to receive `bytes` from each.
std::shared_ptr<Work> start_exchange(const Tensor& x, std::size_t axis, const Dims& sizes, const Tensor& flat,
                                     std::vector<std::size_t> received, const Form& form) {
  const Tensor sent = packed(x, axis, sizes);
  return form.group->start(
      form.name(), description(x, form),
      [sent, flat, sent_bytes = part_bytes(x, axis, sizes), received = std::move(received)](Backend& backend,
                                                                                            Milliseconds timeout) {
        backend.all_to_all(sent.raw_data(), sent_bytes, flat.raw_data(), received, timeout);
      },
      x.device());
}

Pending start_reduce_scatter(const Tensor& x, const Form& form) {
  if (form.op != ReduceOp::Sum) {
    fail<ValueError>("[", form.name(), "] op is 'sum' or 'mean' where the operation is waited for later, not '",
                     name(form.op), "'");
  }
  const Dims shape = form.result_shape(x);
  Dims blocks = shape;
  blocks.insert(blocks.begin(), form.group->size());
  const Tensor flat = empty(blocks, x.dtype(), x.device());
  const auto count = static_cast<std::size_t>(form.group->size());
  const std::size_t bytes = flat.nbytes() / count;
  auto work =
      start_exchange(x, from_front(x, form.axis), form.sizes, flat, std::vector<std::size_t>(count, bytes), form);
  return {std::move(work),
          [flat, form] { return form.mean ? mean(flat, 0) : sum(flat, Dims{0}, false, flat.dtype()); }};
}

Pending start_all_to_all(const Tensor& x, const Form& form) {
  const std::size_t axis = from_front(x, form.axis);
  const std::size_t joined_axis = from_front(x, form.joined_axis);
  const Dims shape = form.result_shape(x);
  const Tensor flat = empty({count_elements(shape)}, x.dtype(), x.device());
  std::vector<std::size_t> bytes;
  for (const std::int64_t size : form.received) {
    bytes.push_back(static_cast<std::size_t>(count_elements(with_size(shape, joined_axis, size))) *
                    item_size(x.dtype()));
  }
  auto work = start_exchange(x, axis, form.sizes, flat, std::move(bytes), form);
  return {std::move(work),
          [flat, shape, joined_axis, sizes = form.received] { return joined(flat, shape, joined_axis, sizes); }};
}

Pending start_broadcast(const Tensor& x, const Form& form) {
  const bool gives = form.group->rank() == form.root;
  const Tensor y = gives ? clone(contiguous(x)) : empty(x.shape(), x.dtype(), x.device());
  auto work = form.group->start(
      form.name(), description(x, form),
      [y, root = form.root](Backend& backend, Milliseconds timeout) {
        backend.broadcast(y.raw_data(), y.nbytes(), root, timeout);
      },
      x.device());
  return written_to(y, std::move(work));
}

/// Starts to collect the parts of all processes on the root: an exchange in which it alone receives.
Pending start_gather(const Tensor& given, const Form& form) {
  const Tensor x = contiguous(given);
  const std::size_t axis = from_front(x, form.axis);
  const auto count = static_cast<std::size_t>(form.group->size());
  const Dims shape = form.result_shape(x);
  const bool takes = form.group->rank() == form.root;
  const Tensor flat = empty({takes ? count_elements(shape) : 0}, x.dtype(), x.device());
  std::vector<std::size_t> sent(count);
  sent[static_cast<std::size_t>(form.root)] = x.nbytes();
  auto work = form.group->start(
      form.name(), description(given, form),
      [x, flat, sent = std::move(sent),
       received = takes ? part_bytes(x, axis, form.sizes) : std::vector<std::size_t>(count)](Backend& backend,
                                                                                             Milliseconds timeout) {
        backend.all_to_all(x.raw_data(), sent, flat.raw_data(), received, timeout);
      },
      x.device());
  return {std::move(work), [flat, takes, shape, axis, sizes = form.sizes] {
            return takes ? joined(flat, shape, axis, sizes) : no_values(shape, flat.dtype(), flat.device());
          }};
}

/// Starts to hand out the root's parts: an exchange in which it alone sends.
Pending start_scatter(const Tensor& x, const Form& form) {
  const std::size_t axis = from_front(x, form.axis);
  const auto count = static_cast<std::size_t>(form.group->size());
  const bool gives = form.group->rank() == form.root;
  const Tensor y = empty(form.result_shape(x), x.dtype(), x.device());
  const Tensor parts = gives ? packed(x, axis, form.sizes) : empty({0}, x.dtype(), x.device());
  std::vector<std::size_t> received(count);
  received[static_cast<std::size_t>(form.root)] = y.nbytes();
  auto work = form.group->start(
      form.name(), description(x, form),
      [parts, y, received = std::move(received),
       sent = gives ? part_bytes(x, axis, form.sizes) : std::vector<std::size_t>(count)](Backend& backend,
                                                                                         Milliseconds timeout) {
        backend.all_to_all(parts.raw_data(), sent, y.raw_data(), received, timeout);
      },
      x.device());
  return written_to(y, std::move(work));
}

Pending start_send(const Tensor& given, const Form& form) {
  const auto x = std::make_shared<Tensor>(contiguous(given));
  const auto begin = [&](Backend& backend) {
    return backend.send(x->raw_data(), x->nbytes(), form.root, static_cast<std::uint32_t>(form.tag));
  };
  auto work = form.group->start_transfer(form.name(), begin, x);
  return {std::move(work), [dtype = given.dtype()] { return zeros({}, dtype); }};
}

Pending start_receive(const Tensor& like, const Form& form) {
  const auto y = std::make_shared<Tensor>(empty(like.shape(), like.dtype()));
  const auto begin = [&](Backend& backend) {
    return backend.receive(y->raw_data(), y->nbytes(), form.root, static_cast<std::uint32_t>(form.tag));
  };
  auto work = form.group->start_transfer(form.name(), begin, y);
  return {std::move(work), [y] { return *y; }};
}

/// Starts an operation on memory that the group's backend for the tensor's device takes.
Pending start_there(const Tensor& x, const Form& form) {
  switch (form.pattern) {
    case Pattern::AllReduce:
    case Pattern::Reduce:
      return start_reduce(x, form);
    case Pattern::AllGather:
      return start_all_gather(x, form);
    case Pattern::ReduceScatter:
      return start_reduce_scatter(x, form);
    case Pattern::Broadcast:
      return start_broadcast(x, form);
    case Pattern::Gather:
      return start_gather(x, form);
    case Pattern::Scatter:
      return start_scatter(x, form);
    case Pattern::AllToAll:
      return start_all_to_all(x, form);
    case Pattern::Send:
      return start_send(x, form);
    default:
      return start_receive(x, form);
  }
}

}  // namespace

Pending start(const Tensor& x, const Form& form) {
  const autograd::NoGrad scope;
  const Device device = x.device();
  if (device.is_meta()) {
    return {nullptr, [y = empty(form.result_shape(x), x.dtype(), device)] { return y; }};
  }
  const bool is_message = form.pattern == Pattern::Send || form.pattern == Pattern::Receive;
  if (device.is_cpu() || (!is_message && form.group->reaches(device))) return start_there(x, form);
  Pending pending = start_there(moved(x, kCPU), form);
  return {pending.work, [device, on_host = pending.result] { return moved(on_host(), device); }};
}

Pending start_in_place(const Tensor& x, const Form& form) {
  ProcessGroup& group = *form.group;
  const Device device = x.device();
  const bool is_reached = device.is_cpu() || (!device.is_meta() && group.reaches(device));
  const bool is_ready = is_reached && x.is_contiguous() && !is_half(x.dtype()) && !form.mean;
  Pending pending;
  if (is_ready && form.pattern == Pattern::AllReduce && group.joins(device, x.dtype(), form.op)) {
    const auto count = static_cast<std::size_t>(x.numel());
    const auto body = [x, count, op = form.op](Backend& backend, Milliseconds timeout) {
      backend.all_reduce(x.raw_data(), count, x.dtype(), op, timeout);
    };
    pending = {group.start(form.name(), description(x, form), body, device), [x] { return x; }};
  } else {
    pending = start(x, form);
    pending.result = [x, name = form.name(), made = std::move(pending.result)] {
      const autograd::NoGrad scope;
      if (!x.device().is_meta()) write_values(x, made(), name);
      return x;
    };
  }
  x->storage->bump_version(form.name(), current_source_line());
  return pending;
}

Tensor run(const Tensor& x, const Form& form) {
  if (is_batched(x)) [[unlikely]] {
    const auto whole = [&](const Tensor& shown) {
      const Tensor y = run(shown, form);
      // One message takes all examples; each of them gets a number of its own.
      if (form.pattern != Pattern::Send) return clone(y);
      const std::size_t hidden = shown.ndim() - x.ndim();
      return zeros(Dims(shown.shape().begin(), shown.shape().begin() + hidden), y.dtype(), y.device());
    };
    return over_examples(whole, x);
  }
  const autograd::NoGrad scope;
  return start(x, form).take();
}

Dims gather_numbers(ProcessGroup& group, const char* op, DimsView own) {
  const auto count = static_cast<std::size_t>(group.size());
  // Shared with the operation, as an interrupt may end the wait before it.
  struct Numbers {
    std::vector<std::int64_t> own;
    std::vector<std::int64_t> all;
  };
  const auto numbers = std::make_shared<Numbers>();
  numbers->own.assign(own.begin(), own.end());
  numbers->all.resize(own.size() * count);
  const std::vector<std::size_t> bytes(count, own.size() * sizeof(std::int64_t));
  const auto call = [&] { return str("its ", own.size(), " sizes"); };
  group
      .start(op, call,
             [numbers, bytes](Backend& backend, Milliseconds timeout) {
               backend.all_gather(numbers->own.data(), numbers->all.data(), bytes, timeout);
             })
      ->wait();
  return {numbers->all.begin(), numbers->all.end()};
}

}  // namespace lamella::distributed
