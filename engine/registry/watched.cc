#include "engine/registry/watched.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "engine/autograd/graph/place.h"
#include "engine/autograd/layers/function.h"
#include "engine/core/error.h"
#include "engine/core/host.h"

namespace lamella::registry {
namespace {

// Note [Kernels that are followed]
// A kernel for a device without one for Autograd may be made of differentiable operators, or compute on memory. It runs
// with recording on: what it computes by operators is on the tape then, and the user differentiates through it. What
// comes out without a place on the tape gets a node whose backward throws an error. A kernel that does both, so that
// the tape holds a part of what it computed, cannot be told from the first kind; the user is warned once. Kernels in
// Python whose author is told that they are not followed are marked by set_for_recording(), which has another meaning
// for kernels for Autograd only.

/// Tensors that a kernel gave without a place on the tape although it ran with recording on.
struct Unfollowed {
  /// For each result whether it, or a part of it, is such a tensor.
  std::vector<bool> results;
  std::vector<Tensor> written;
};

struct Watching {
  const Call& call;
  const Record& record;
  DispatchKeySet remaining;
  /// Null where the kernel has not run yet.
  const Unfollowed* unfollowed = nullptr;

  bool gives(std::size_t k) const { return !unfollowed || unfollowed->results[k]; }
};

/// The tensors of the results, followed by written arguments that are not among them; and for each result its value, or
/// its number of tensors.
using Outcome = std::pair<std::vector<Tensor>, std::vector<Value>>;

/// A device's kernel as a layer without a gradient: forward mode, checkpoints and traces treat it as usual, and its
/// backward throws an error that says what to register.
struct Unregistered : Function<Unregistered> {
  static std::string name_of(const Context& ctx) { return static_cast<const OperatorEntry*>(ctx.tag)->full_name; }

  static Outcome forward(Context& ctx, const std::vector<Tensor>&, const Watching* watching) {
    const Call& call = watching->call;
    ctx.tag = &call.entry;
    if (!watching->unfollowed) call.run(watching->record, watching->remaining, true);
    Outcome outcome;
    for (std::size_t k = 0; k < call.plan.schema.results.size(); ++k) {
      if (!watching->gives(k)) {
        outcome.second.emplace_back();
        continue;
      }
      const std::span<const Tensor> tensors = call.results[k].view().tensor_span();
      outcome.first.insert(outcome.first.end(), tensors.begin(), tensors.end());
      const bool holds_tensors = call.plan.schema.results[k].type.base == Type::Base::Tensor;
      outcome.second.push_back(holds_tensors ? Value(static_cast<std::int64_t>(tensors.size())) : call.results[k]);
      call.results[k] = Value();  // the handles that forward returns must be the only ones
    }
    const auto mark = [&](const Tensor& x) {
      if (watching->unfollowed) mark_written(x, call.entry.full_name.c_str());
      ctx.mark_dirty(x);
      if (std::ranges::none_of(outcome.first, [&](const Tensor& y) { return y.same(x); })) outcome.first.push_back(x);
    };
    if (watching->unfollowed) {
      std::ranges::for_each(watching->unfollowed->written, mark);
      return outcome;
    }
    for (const std::uint8_t i : call.plan.written) {
      for (const Tensor& x : call.args[i].tensor_span()) {
        if (x.defined()) mark(x);
      }
    }
    return outcome;
  }

  [[noreturn]] static TensorList backward(Context& ctx, const TensorList&) {
    const auto& entry = *static_cast<const OperatorEntry*>(ctx.tag);
    fail<NotImplementedError>(
        "[", entry.full_name, "] no gradient is registered for ", entry.full_name, "; register one with impl(\"",
        entry.name.substr(entry.name.rfind(':') + 1),
        "\", Autograd, ...) in C++ or register_autograd(...) in Python, or register the kernel for "
        "CompositeImplicitAutograd where it is made of differentiable operators only");
  }
};

/// Says that gradients of an operator are those of what its kernel calls.
void warn_once(OperatorEntry& entry) {
  if (entry.was_followed.exchange(true, std::memory_order_relaxed) || !host_hooks().warn) return;
  host_hooks().warn("[" + entry.full_name +
                    "] no kernel for Autograd is registered, and its gradient is that of the operators that its kernel "
                    "calls; it is wrong where the kernel also computes on memory. Register one for Autograd, or the "
                    "kernel for CompositeImplicitAutograd where it only calls operators");
}

/// Runs the kernel with recording on; see Note [Kernels that are followed].
Unfollowed run_followed(const Call& call, const Record& record, DispatchKeySet remaining) {
  std::vector<std::pair<Tensor, Edge>> written;
  for (const std::uint8_t i : call.plan.written) {
    for (const Tensor& x : call.args[i].tensor_span()) {
      if (x.defined()) written.emplace_back(x, autograd::gradient_edge(x));
    }
  }
  call.prepare_writes();
  call.run(record, remaining, false);

  Unfollowed unfollowed;
  bool followed = false;
  for (const auto& [x, before] : written) {
    const Edge after = autograd::gradient_edge(x);
    if (after.node == before.node && after.input_nr == before.input_nr) {
      unfollowed.written.push_back(x);
    } else {
      followed = true;
    }
  }
  for (std::size_t k = 0; k < call.plan.schema.results.size(); ++k) {
    bool left = false;
    bool recorded = false;
    for (const Tensor& y : call.results[k].view().tensor_span()) {
      if (!y.defined()) continue;
      const auto is_y = [&](const Tensor& x) { return x.same(y); };
      const bool is_written = std::ranges::any_of(written, is_y, &std::pair<Tensor, Edge>::first);
      left |= is_written ? std::ranges::any_of(unfollowed.written, is_y) : !autograd::wants_gradient(y);
      recorded |= !is_written && autograd::wants_gradient(y);
    }
    // A list that is on the tape in part stays as it is.
    unfollowed.results.push_back(left && !recorded);
    followed |= recorded;
  }
  if (followed) warn_once(call.entry);
  return unfollowed;
}

}  // namespace

void call_watched(const Call& call, const Record& record, DispatchKeySet remaining) {
  std::vector<Tensor> inputs;
  for (const std::uint8_t i : call.plan.tensor_arguments) {
    for (const Tensor& x : call.args[i].tensor_span()) {
      if (x.defined()) inputs.push_back(x);
    }
  }
  const Schema& schema = call.plan.schema;
  if (!call.plan.gives_tensors && call.plan.written.empty()) return call.run(record, remaining, true);

  for (const std::uint8_t i : call.plan.written) {
    for (const Tensor& x : call.args[i].tensor_span()) {
      // Refuses a leaf that requires a gradient before the kernel writes to it.
      if (x.defined()) autograd::records_in_place(call.entry.full_name.c_str(), x, Tensor());
    }
  }

  Unfollowed unfollowed;
  Watching watching{call, record, remaining};
  if (!(autograd::modes().interceptors & kWatchingModes) && !record.function.is_for_recording()) {
    unfollowed = run_followed(call, record, remaining);
    if (unfollowed.written.empty() && std::ranges::none_of(unfollowed.results, std::identity())) return;
    watching.unfollowed = &unfollowed;
  }
  const Watching* const pointer = &watching;
  Outcome outcome = Unregistered::apply(inputs, pointer);
  auto next = outcome.first.begin();
  for (std::size_t k = 0; k < schema.results.size(); ++k) {
    Value& value = outcome.second[k];
    if (!watching.gives(k)) continue;
    if (schema.results[k].type.base != Type::Base::Tensor) {
      call.results[k] = std::move(value);
    } else if (schema.results[k].type.list) {
      const auto end = next + value.integer();
      call.results[k] = std::vector<Tensor>(next, end);
      next = end;
    } else if (value.integer() != 0) {
      call.results[k] = std::move(*next++);
    }
  }
}

}  // namespace lamella::registry
