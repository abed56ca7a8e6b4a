#include "ops/user_op/register.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <string_view>

#include "engine/core/error.h"
#include "engine/registry/library.h"
#include "ops/user_op/call.h"
#include "ops/user_op/recorded.h"
#include "ops/user_op/schema.h"
#include "ops/user_op/table.h"

namespace lamella::user_op::detail {
namespace {

/// The function that StaticLibrary's function, which takes no data, calls.
thread_local const std::function<void(Library&)>* filling = nullptr;

template <class T>
void drop(std::vector<std::shared_ptr<const T>>& all, const T* one) {
  std::erase_if(all, [one](const auto& each) { return each.get() == one; });
}

void check_names(const OpDef& def) {
  std::set<std::string_view> seen;
  const auto check = [&](const std::string& name, const char* what) {
    if (!seen.insert(name).second) {
      fail<ValueError>("[", def.name, "] ", what, " '", name, "' has the name of another argument (", str(def.place),
                       ")");
    }
  };
  for (const ArgDef& arg : def.inputs) check(arg.name, "input");
  for (const ArgDef& arg : def.outputs) check(arg.name, "output");
  for (const AttrDef& attr : def.attrs) check(attr.name, "attribute");
  for (const auto* args : {&def.inputs, &def.outputs}) {
    for (const ArgDef& arg : *args) {
      if (arg.count < 1) {
        fail<ValueError>("[", def.name, "] '", arg.name, "' is to be ", arg.count, " tensors (", str(def.place), ")");
      }
    }
  }
}

void run_on_device(const void* entry_of, const registry::CallContext&, const registry::Arg* args,
                   registry::Value* results) {
  Entry& entry = *static_cast<Entry*>(const_cast<void*>(entry_of));
  const auto def = entry.def();
  const std::span given(args, argument_count(*def));
  const Device device = device_of(given);
  Call call = read_call(entry, given, device);
  call.infer();
  call.modify();
  store_results(*def, call.outputs, compute(entry, call, device), results);
}

void run_on_meta(const void* entry_of, const registry::CallContext&, const registry::Arg* args,
                 registry::Value* results) {
  Entry& entry = *static_cast<Entry*>(const_cast<void*>(entry_of));
  const auto def = entry.def();
  Call call = read_call(entry, {args, argument_count(*def)}, kMeta);
  call.infer();
  call.modify();
  std::vector<lamella::Tensor> outputs;
  outputs.reserve(call.output_descs.size());
  for (const TensorDesc& desc : call.output_descs) {
    outputs.push_back(empty(desc.shape().dim_vec(), to_dtype(desc.data_type(), call.where()), kMeta));
  }
  store_results(*def, call.outputs, std::move(outputs), results);
}

/// Defines the operator and its kernels for the CPU, CUDA, meta tensors and autograd, which find everything else in
/// `entry`.
void define_in_registry(Library& m, const OpDef& def, Entry& entry) {
  const registry::Place place(def.place.file, def.place.line);
  m.define(schema_of(def).str(), place);
  const auto add = [&](DispatchKey key, registry::KernelFunction::Call call) {
    m.implement(def.name, key, registry::KernelFunction::boxed(call, &entry, nullptr), place);
  };
  add(DispatchKey::CPU, run_on_device);
  add(DispatchKey::CUDA, run_on_device);
  add(DispatchKey::Meta, run_on_meta);
  add(DispatchKey::Autograd, run_recorded);
}

}  // namespace

struct Registration::State {
  /// Removes the registration from the table.
  std::function<void()> undo;
  std::unique_ptr<registry::StaticLibrary> library;

  /// Runs `fill` as part of loading a library, so that its errors are reported as that library's.
  void add(const registry::AbiStamp& stamp, const std::function<void(Library&)>& fill) {
    const auto* const before = std::exchange(filling, &fill);
    library = std::make_unique<registry::StaticLibrary>(
        Library::Kind::Fragment, kNamespace, DispatchKey::Undefined, [](Library& m) { (*filling)(m); }, stamp);
    filling = before;
  }
};

Registration::Registration(OpDef given, const registry::AbiStamp& stamp) : state_(new State) {
  state_->add(stamp, [&](Library& m) {
    for (AttrDef& attr : given.attrs) {
      if (!attr.has_default) continue;
      attr.default_value = convert(std::move(attr.default_value), attr.type,
                                   "[" + given.name + "] the default of attribute '" + attr.name + "'");
    }
    check_names(given);
    const auto def = std::make_shared<const OpDef>(std::move(given));
    Entry& named = entry(def->name);
    define_in_registry(m, *def, named);
    {
      const std::lock_guard lock(named.mutex);
      named.defs.push_back(def);
    }
    state_->undo = [&named, raw = def.get()] {
      const std::lock_guard lock(named.mutex);
      drop(named.defs, raw);
    };
  });
}

Registration::Registration(KernelDef given, const registry::AbiStamp& stamp) : state_(new State) {
  state_->add(stamp, [&](Library&) {
    const auto def = std::make_shared<const KernelDef>(std::move(given));
    Entry& named = entry(def->op);
    const std::lock_guard lock(named.mutex);
    named.kernels.push_back(def);
    state_->undo = [&named, raw = def.get()] {
      const std::lock_guard inner(named.mutex);
      named.states.erase(raw);
      drop(named.kernels, raw);
    };
  });
}

Registration::Registration(GradDef given, const registry::AbiStamp& stamp) : state_(new State) {
  state_->add(stamp, [&](Library&) {
    const auto def = std::make_shared<const GradDef>(std::move(given));
    if (!def->make && !def->make_older) {
      fail<ValueError>("[", def->op, "] REGISTER_USER_OP_GRAD has no SetBackwardOpConfGenFn (", str(def->place), ")");
    }
    Entry& named = entry(def->op);
    const std::lock_guard lock(named.mutex);
    if (!named.grads.empty() && str(named.grads.front()->place) != str(def->place)) {
      fail<RuntimeError>("[", def->op, "] has a gradient from ", str(named.grads.front()->place),
                         ", and gets another at ", str(def->place));
    }
    named.grads.push_back(def);
    state_->undo = [&named, raw = def.get()] {
      const std::lock_guard inner(named.mutex);
      drop(named.grads, raw);
    };
  });
}

Registration::Registration(Registration&&) noexcept = default;
Registration::~Registration() {
  if (state_ && state_->undo) state_->undo();
}

}  // namespace lamella::user_op::detail
