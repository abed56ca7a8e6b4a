#include "engine/registry/watched.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/autograd/layers/function.h"
#include "engine/core/error.h"

namespace lamella::registry {
namespace {

struct Watching {
  const Call& call;
  const Record& record;
  DispatchKeySet remaining;
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
    call.run(watching->record, watching->remaining, true);
    Outcome outcome;
    for (std::size_t k = 0; k < call.plan.schema.results.size(); ++k) {
      const std::span<const Tensor> tensors = call.results[k].view().tensor_span();
      outcome.first.insert(outcome.first.end(), tensors.begin(), tensors.end());
      const bool holds_tensors = call.plan.schema.results[k].type.base == Type::Base::Tensor;
      outcome.second.push_back(holds_tensors ? Value(static_cast<std::int64_t>(tensors.size())) : call.results[k]);
      call.results[k] = Value();  // the handles that forward returns must be the only ones
    }
    for (const std::uint8_t i : call.plan.written) {
      for (const Tensor& x : call.args[i].tensor_span()) {
        if (!x.defined()) continue;
        ctx.mark_dirty(x);
        if (std::ranges::none_of(outcome.first, [&](const Tensor& y) { return y.same(x); })) outcome.first.push_back(x);
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

  const Watching watching{call, record, remaining};
  const Watching* const pointer = &watching;
  Outcome outcome = Unregistered::apply(inputs, pointer);
  auto next = outcome.first.begin();
  for (std::size_t k = 0; k < schema.results.size(); ++k) {
    Value& value = outcome.second[k];
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
