#include "ops/extension/host_fallback.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/error.h"
#include "engine/runtime/generator.h"
#include "ops/extension/extension.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

using registry::Arg;
using registry::Value;

/// A host generator that continues from the state of the device's generator, which it then advances.
class HostGenerator {
 public:
  explicit HostGenerator(Generator& device) : device_(device), host_(device.get_state().seed, kCPU) {
    host_.set_state(device.get_state());
  }
  ~HostGenerator() { device_.set_state(host_.get_state()); }
  HostGenerator(const HostGenerator&) = delete;
  HostGenerator& operator=(const HostGenerator&) = delete;
  Generator* get() noexcept { return &host_; }

 private:
  Generator& device_;
  Generator host_;
};

/// The arguments of a call, copied to host memory.
class HostArguments {
 public:
  explicit HostArguments(std::span<const Arg> given) : tensors_(given.size()) {
    args_.reserve(given.size());
    for (std::size_t i = 0; i < given.size(); ++i) {
      const Arg& arg = given[i];
      args_.push_back(arg);
      if (arg.holds_tensors()) {
        for (const Tensor& x : arg.tensor_span()) {
          if (x.defined() && is_extension(x.device()) && !device_) device_ = x.device();
          tensors_[i].push_back(x.defined() ? copy_of(x) : x);
        }
        args_[i] = arg.kind == Arg::Kind::Tensor ? Arg(tensors_[i][0]) : Arg(std::span<const Tensor>(tensors_[i]));
      } else if (arg.kind == Arg::Kind::Device && is_extension(arg.device)) {
        if (!device_) device_ = arg.device;
        args_[i] = kCPU;
      } else if (arg.kind == Arg::Kind::Generator && is_extension(arg.generator->device())) {
        args_[i] = generator_.emplace(*arg.generator).get();
      }
    }
  }

  const Arg* data() const noexcept { return args_.data(); }
  /// Returns the device for the results.
  Device device() const noexcept { return device_.value_or(kCPU); }
  const std::vector<Tensor>& tensors(std::size_t i) const { return tensors_[i]; }

 private:
  /// Copies x to the host; a tensor that is passed twice is copied once.
  Tensor copy_of(const Tensor& x) {
    for (const auto& [given, copy] : copies_) {
      if (given.same(x)) return copy;
    }
    return copies_.emplace_back(x, moved(x, kCPU)).second;
  }

  std::vector<Arg> args_;
  std::vector<std::vector<Tensor>> tensors_;
  std::vector<std::pair<Tensor, Tensor>> copies_;
  std::optional<Device> device_;
  std::optional<HostGenerator> generator_;
};

/// Returns the device argument whose host copy is the result y, or nothing if y is a new tensor.
std::optional<Tensor> argument_of(const Tensor& y, const HostArguments& host, std::span<const Arg> given,
                                  const std::string& op) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::vector<Tensor>& tensors = host.tensors(i);
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      if (!tensors[k].defined()) continue;
      if (y.same(tensors[k])) return given[i].tensors[k];
      if (y->storage && y->storage == tensors[k]->storage && y.numel() > 0) {
        fail<RuntimeError>(
            "[", op,
            "] returns a view of its argument, which the fallback to the host cannot return: the view would "
            "be of a copy. Register a kernel for the device");
      }
    }
  }
  return std::nullopt;
}

}  // namespace

void host_fallback(const registry::CallContext& context, std::span<const Arg> args, std::span<Value> results) {
  const Schema& schema = context.schema;
  const HostArguments host(args);
  {
    const AutoDispatchBelowAutograd below;
    context.op.call(host.data(), results.data());
  }
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!schema.arguments[i].is_written()) continue;
    for (std::size_t k = 0; k < host.tensors(i).size(); ++k) {
      const Tensor& to = args[i].tensors[k];
      if (to.defined() && !to.same(host.tensors(i)[k])) write_values(to, host.tensors(i)[k], "fallback");
    }
  }
  const auto back = [&](const Tensor& y) {
    if (!y.defined()) return y;
    if (const auto argument = argument_of(y, host, args, context.op.full_name())) return *argument;
    return moved(y, host.device());
  };
  for (Value& result : results) {
    if (result.is_tensor()) {
      result = back(result.tensor());
    } else if (result.kind() == Value::Kind::Tensors) {
      std::vector<Tensor> tensors;
      for (const Tensor& y : result.tensors()) tensors.push_back(back(y));
      result = std::move(tensors);
    }
  }
}

}  // namespace lamella
