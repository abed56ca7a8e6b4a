#include "engine/registry/call.h"

#include "engine/autograd/backward/lent.h"
#include "engine/autograd/graph/meta.h"
#include "engine/autograd/graph/place.h"
#include "engine/autograd/recording/recorder.h"
#include "engine/core/error.h"
#include "engine/core/modes.h"
#include "engine/registry/checks.h"
#include "engine/registry/handle.h"
#include "engine/registry/watched.h"

namespace lamella {

namespace registry {
namespace {

using detail::thread_dispatch;

/// Deepest nesting of kernels that call operators; beyond it the recursion is taken to be endless.
constexpr std::uint32_t kMaxDepth = 400;

/// Counts the active calls on this thread.
class Depth {
 public:
  explicit Depth(const OperatorEntry& entry) {
    if (thread_dispatch.depth >= kMaxDepth) [[unlikely]]
      refuse(entry);
    ++thread_dispatch.depth;
  }
  ~Depth() { --thread_dispatch.depth; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  [[noreturn, gnu::cold]] static void refuse(const OperatorEntry& entry) {
    fail<RuntimeError>("[", entry.full_name, "] ", kMaxDepth,
                       " calls of registered operators are under way, one within the other: a kernel calls itself. A "
                       "kernel for Autograd opens an AutoDispatchBelowAutograd before it calls its operator again");
  }
};

/// The dispatch requirements of a call's tensors.
struct Asked {
  Device device;
  bool any = false;
  /// True if an input may require a gradient.
  bool placed = false;
};

/// Returns the device of a call with tensors on several devices: 0-d tensors on the CPU may be combined with any.
[[gnu::cold, gnu::noinline]] Device common_device(const Call& call) {
  const Tensor* first = nullptr;
  const std::string* first_name = nullptr;
  bool number = false;
  for (const std::uint8_t i : call.plan.tensor_arguments) {
    for (const Tensor& x : call.args[i].tensor_span()) {
      if (!x.defined()) continue;
      const bool is_number = x.device().is_cpu() && x.ndim() == 0;
      if (!first || (number && !is_number)) {
        first = &x;
        first_name = &call.plan.schema.arguments[i].name;
        number = is_number;
      } else if (!is_number && x.device() != first->device()) {
        fail<RuntimeError>("[", call.entry.full_name, "] the tensors are on several devices: '", *first_name, "' on ",
                           first->device(), ", '", call.plan.schema.arguments[i].name, "' on ", x.device(),
                           "; move them to one");
      }
    }
  }
  return first ? first->device() : kCPU;
}

Asked ask(const Call& call) {
  Asked asked;
  bool mixed = false;
  for (const std::uint8_t i : call.plan.tensor_arguments) {
    const Arg& arg = call.args[i];
    if (!arg.holds_tensors()) continue;
    for (const Tensor *x = arg.tensors, *end = x + arg.size; x != end; ++x) {
      if (!x->defined()) continue;
      const TensorImpl& impl = *x->impl();
      if (!asked.any) {
        asked.device = impl.device;
        asked.any = true;
      } else {
        mixed |= impl.device != asked.device;
      }
      asked.placed |=
          autograd::peek_meta(*x) != nullptr || (impl.flags & (TensorImpl::kTracked | TensorImpl::kDerived));
    }
  }
  if (mixed) [[unlikely]]
    asked.device = common_device(call);
  if (!asked.any && call.plan.device_argument) {
    const Arg& arg = call.args[*call.plan.device_argument];
    if (arg.kind == Arg::Kind::Device) asked.device = arg.device;
  }
  return asked;
}

bool wants_gradient(const Call& call) {
  for (const std::uint8_t i : call.plan.tensor_arguments) {
    for (const Tensor& x : call.args[i].tensor_span()) {
      if (x.defined() && autograd::wants_gradient(x)) return true;
    }
  }
  return false;
}

/// Finishes the result of an unrecorded operator: views follow their base, and results computed within a forward are
/// marked as such.
[[gnu::cold, gnu::noinline]] void settle_unrecorded(const Call& call, const Tensor& y) {
  SmallVector<const Tensor*, 4> inputs;
  for (const std::uint8_t i : call.plan.tensor_arguments) {
    for (const Tensor& x : call.args[i].tensor_span()) {
      if (x.defined()) inputs.push_back(&x);
    }
  }
  autograd::track_result(inputs, y);
  autograd::note_shared_result(y);
  autograd::note_derived(inputs, y);
}

[[noreturn, gnu::cold]] void fail_missing(const OperatorEntry& entry, Device device) {
  std::string known;
  for (const KernelInfo& kernel : OperatorHandle(const_cast<OperatorEntry*>(&entry)).kernels()) {
    known += (known.empty() ? "" : ", ") + std::string(name(kernel.key));
  }
  const std::string_view key = name(backend_key(device.type));
  fail<NotImplementedError>("[", entry.full_name, "] there is no kernel for tensors on ", device, "; ",
                            known.empty() ? std::string("it has no kernel at all") : "it has kernels for " + known,
                            ". Register one with impl(\"", entry.name.substr(entry.name.rfind(':') + 1), "\", ", key,
                            ", ...)");
}

[[noreturn, gnu::cold]] void fail_gone(const OperatorEntry& entry) {
  fail<RuntimeError>("[", entry.full_name, "] the operator is not registered any more: its library was unloaded");
}

[[noreturn, gnu::cold]] void fail_result(const Call& call, const Record& record, std::uint8_t k) {
  const auto& result = call.plan.schema.results[k];
  const std::string what = "result " + std::to_string(k) + (result.name.empty() ? "" : " ('" + result.name + "')");
  const Arg given = call.results[k].view();
  if (given.kind != Arg::Kind::None && given.kind != Arg::Kind::Tensor) {
    fail<TypeError>("[", call.entry.full_name, "] the kernel for ", name(record.key), " gave ", describe(given.kind),
                    " as ", what, ", which is a Tensor in the schema");
  }
  fail<RuntimeError>("[", call.entry.full_name, "] the kernel for ", name(record.key), " left ", what,
                     " undefined; it has to return a tensor there");
}

const Plan& plan_of(const OperatorEntry& entry) {
  const Plan* const plan = entry.plan.load(std::memory_order_acquire);
  if (!plan) [[unlikely]]
    fail_gone(entry);
  return *plan;
}

const Record* kernel_for(const OperatorEntry& entry, DispatchKey key) {
  return entry.table[static_cast<std::size_t>(key)].load(std::memory_order_acquire);
}

/// Runs the device's own kernel, for a call that nothing observes.
void run_backend(const Call& call, Device device) {
  const Record* const record = kernel_for(call.entry, backend_key(device.type));
  if (!record) [[unlikely]]
    fail_missing(call.entry, device);
  call.run(*record, {}, record->key != DispatchKey::CompositeImplicitAutograd);
}

}  // namespace

void dispatch(const Call& call) {
  const Depth depth(call.entry);
  const Asked asked = ask(call);
  const DispatchKey above = autograd_key(asked.device.type);
  if (thread_dispatch.excluded.has(above)) return run_backend(call, asked.device);

  if (const Record* const record = kernel_for(call.entry, above)) {
    if (record->function.is_fallthrough()) return run_backend(call, asked.device);
    if (record->function.is_for_recording() && !autograd::modes().interceptors &&
        !(asked.placed && autograd::is_grad_enabled() && wants_gradient(call))) {
      return run_backend(call, asked.device);
    }
    return call.run(*record, kAfterAutogradKeys, false);
  }
  const Record* const record = kernel_for(call.entry, backend_key(asked.device.type));
  if (!record) [[unlikely]]
    fail_missing(call.entry, asked.device);
  if ((autograd::modes().interceptors & kWatchingModes) ||
      (asked.placed && autograd::is_grad_enabled() && wants_gradient(call))) [[unlikely]] {
    return call_watched(call, *record, {});
  }
  call.run(*record, {}, true);
}

void Call::prepare_writes() const {
  for (const std::uint8_t i : plan.written) {
    for (const Tensor& x : args[i].tensor_span()) {
      if (!x.defined() || !x->storage || !x->storage->has_mark(Storage::kReadOnly | Storage::kLent)) continue;
      if (x->storage->has_mark(Storage::kReadOnly)) {
        fail<RuntimeError>("[", entry.full_name, "] '", plan.schema.arguments[i].name,
                           "' is written to, and its memory is read-only; pass a copy (clone())");
      }
      autograd::end_loan(*x->storage);
    }
  }
}

void Call::run(const Record& record, DispatchKeySet remaining, bool marks_writes) const {
  const OperatorHandle handle(&entry);
  if (marks_writes && !plan.written.empty()) [[unlikely]]
    prepare_writes();
  record.function(CallContext{handle, plan.schema, remaining}, args, results);
  for (const std::uint8_t k : plan.tensor_results) {
    if (!results[k].is_tensor() || !results[k].tensor().defined()) [[unlikely]] {
      // Of several results some may be None: gradients that a mask leaves out.
      if (!results[k].is_none() || plan.tensor_results.size() == 1) fail_result(*this, record, k);
    }
  }
  if (alias_checks_enabled()) [[unlikely]]
    check_aliases(*this);
  if (!marks_writes) return;
  for (const std::uint8_t i : plan.written) {
    for (const Tensor& x : args[i].tensor_span()) {
      if (x.defined()) mark_written(x, entry.full_name.c_str());
    }
  }
  for (const std::uint8_t k : plan.tensor_results) {
    if (results[k].is_none()) continue;
    const Tensor& y = results[k].tensor();
    const bool view = (y->flags & (TensorImpl::kView | TensorImpl::kTracked)) == TensorImpl::kView;
    if (view || autograd::modes().in_forward) [[unlikely]]
      settle_unrecorded(*this, y);
  }
}

}  // namespace registry

namespace registry {
namespace {

/// Returns the device's own kernel, or the fallback; null if neither runs.
const Record* device_kernel_for(const OperatorEntry& entry, DeviceType type, bool with_fallback) noexcept {
  const Record* record = entry.device_kernels[static_cast<std::size_t>(type)].load(std::memory_order_acquire);
  if (!record && with_fallback) record = fallback_for(backend_key(type));
  return record && !record->function.is_fallthrough() ? record : nullptr;
}

}  // namespace
}  // namespace registry

using registry::Arg;
using registry::Call;
using registry::Value;

bool OperatorHandle::run_device_kernel(DeviceType type, bool with_fallback, const Arg* args, Value* results) const {
  const registry::Record* const record = registry::device_kernel_for(*entry_, type, with_fallback);
  if (!record) return false;
  const registry::Depth depth(*entry_);
  const AutoDispatchBelowAutograd below;
  const Call call{*entry_, registry::plan_of(*entry_), args, results};
  record->function(registry::CallContext{*this, call.plan.schema, {}}, args, results);
  for (const std::uint8_t k : call.plan.tensor_results) {
    if (!results[k].is_tensor() || !results[k].tensor().defined()) return false;
  }
  if (registry::alias_checks_enabled()) [[unlikely]]
    registry::check_aliases(call);
  return true;
}

void OperatorHandle::call(const Arg* args, Value* results) const {
  registry::dispatch(Call{*entry_, registry::plan_of(*entry_), args, results});
}

void OperatorHandle::redispatch(DispatchKeySet keys, const Arg* args, Value* results) const {
  const Call call{*entry_, registry::plan_of(*entry_), args, results};
  const registry::Depth depth(*entry_);
  const Device device = registry::ask(call).device;
  if (keys.has(autograd_key(device.type))) {
    const registry::Record* const record = registry::kernel_for(*entry_, autograd_key(device.type));
    if (record && !record->function.is_fallthrough()) return call.run(*record, keys & kAfterAutogradKeys, false);
  }
  if (!keys.has(backend_key(device.type))) {
    fail<RuntimeError>("[", entry_->full_name, "] redispatch was given no key for tensors on ", device);
  }
  registry::run_backend(call, device);
}

}  // namespace lamella
