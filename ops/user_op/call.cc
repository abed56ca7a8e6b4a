#include "ops/user_op/call.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "engine/core/error.h"
#include "engine/core/modes.h"
#include "engine/registry/dispatcher.h"
#include "ops/extension/extension.h"
#include "ops/movement/cast.h"
#include "ops/support/checks.h"
#include "ops/user_op/maybe.h"
#include "ops/user_op/schema.h"
#if LAMELLA_WITH_CUDA
#include "engine/runtime/cuda/check.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/stream.h"
#endif

namespace lamella::user_op {
namespace detail {
namespace {

thread_local const std::string* op_name = nullptr;

/// Sets the name of the use that is called, for its scope.
class NameScope {
 public:
  explicit NameScope(const std::string& name) : before_(std::exchange(op_name, &name)) {}
  ~NameScope() { op_name = before_; }
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

 private:
  const std::string* before_;
};

DeviceType device_type(Device device) { return device.is_cuda() ? DeviceType::kGPU : DeviceType::kCPU; }

/// Returns the conditions of kernels, one per line.
std::string list(const std::vector<std::shared_ptr<const KernelDef>>& kernels) {
  std::string text;
  for (const auto& kernel : kernels) {
    std::string conditions;
    for (const Hob& hob : kernel->conditions) conditions += (conditions.empty() ? "" : " & ") + hob.text();
    text += "\n  " + (conditions.empty() ? "always" : conditions) + "  (" + str(kernel->place) + ")";
  }
  return text;
}

bool same(const KernelDef& a, const KernelDef& b) {
  return list({std::make_shared<KernelDef>(a)}) == list({std::make_shared<KernelDef>(b)});
}

/// Returns a description of the call's tensors, for messages.
std::string situation(Call& call) {
  std::string text = DeviceTag(call.device);
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    text += (i == 0 ? " with " : ", ") + call.inputs[i].first + " " + DataTypeName(call.input_descs[i].data_type());
  }
  return text;
}

std::shared_ptr<const KernelDef> choose(Entry& entry, Call& call) {
  std::vector<std::shared_ptr<const KernelDef>> all;
  {
    const std::lock_guard lock(entry.mutex);
    all = entry.kernels;
  }
  const KernelRegContext ctx(call);
  std::vector<std::shared_ptr<const KernelDef>> matching;
  for (const auto& kernel : all) {
    bool fits = true;
    run_authors(call.where() + " a kernel's condition:", [&] {
      for (const Hob& hob : kernel->conditions) fits = fits && hob(ctx);
    });
    // A kernel appears twice if two copies of a library were loaded.
    const bool known = std::ranges::any_of(matching, [&](const auto& other) { return same(*other, *kernel); });
    if (fits && !known) matching.push_back(kernel);
  }
  if (matching.empty() && all.empty()) {
    const auto others = dangling_names();
    fail<NotImplementedError>(call.where(), " has no kernel: there is no REGISTER_USER_KERNEL(\"", entry.name, "\")",
                              others.empty() ? "" : "; there are kernels or gradients for names that no operator has: ",
                              others.empty() ? "" : quoted(others, std::identity()));
  }
  if (matching.empty()) {
    fail<NotImplementedError>(call.where(), " has no kernel for ", situation(call), "; those registered are for",
                              list(all));
  }
  int highest = matching.front()->priority;
  for (const auto& kernel : matching) highest = std::max(highest, kernel->priority);
  std::erase_if(matching, [&](const auto& kernel) { return kernel->priority < highest; });
  if (matching.size() > 1) {
    fail<RuntimeError>(call.where(), " has ", matching.size(), " kernels for ", situation(call),
                       ", of which only one may match:", list(matching));
  }
  return matching.front();
}

std::vector<lamella::Tensor> run_host_kernel(const HostKernel& kernel, Call& call, Device device) {
  if (!device.is_cpu()) {
    fail<NotImplementedError>(call.where(), " has a Python kernel, which runs on the CPU only; its inputs are on ",
                              device);
  }
  return kernel(call.tensors, call.output_descs);
}

/// Returns an output with the shape that the kernel left: a dynamic one may be smaller than the allocated shape.
lamella::Tensor settled(const lamella::Tensor& y, const Shape& shape, const std::string& name) {
  if (std::ranges::equal(shape.dim_vec(), y.shape())) return y;
  std::vector<std::int64_t> strides(shape.dim_vec().size());
  std::int64_t count = 1;
  for (std::size_t i = strides.size(); i-- > 0;) {
    const std::int64_t size = shape.dim_vec()[i];
    if (size < 0) fail<ValueError>("output '", name, "' was given the shape ", shape.ToString());
    strides[i] = count;
    count *= size;
  }
  if (count > y.numel()) {
    fail<ValueError>("output '", name, "' was given the shape ", shape.ToString(), ", which is more than the ",
                     y.numel(), " elements that the infer function gave it");
  }
  return clone(make_view(y, shape.dim_vec(), strides));
}

void run_kernel(Entry& entry, const KernelDef& def, Call& call, std::vector<lamella::Tensor>& outputs, Device device) {
  const std::string where = call.where() + " the kernel at " + str(def.place);
  if (!def.create) fail<RuntimeError>(where, " has no SetCreateFn");
  lamella::Tensor buffer;
  if (def.tmp_size) {
    std::size_t bytes = 0;
    InferContext ctx(call);
    run_authors(where + ": the size of its buffer:", [&] { bytes = def.tmp_size(&ctx); });
    buffer = empty({static_cast<std::int64_t>(bytes)}, DType::UInt8, device);
  }
  std::vector<Tensor>& memory = call.memory;
  memory.reserve(call.inputs.size() + outputs.size() + 1);
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    memory.emplace_back(call.inputs[i].first, call.input_descs[i], call.tensors[i].raw_data(), false);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    memory.emplace_back(call.outputs[i].first, call.output_descs[i], outputs[i].raw_data(), true);
  }
  if (buffer.defined()) {
    memory.emplace_back("tmp_buffer", TensorDesc(Shape{buffer.numel()}, DataType::kChar), buffer.raw_data(), true);
  }
#if LAMELLA_WITH_CUDA
  std::optional<cuda::DeviceGuard> guard;
  if (device.is_cuda()) {
    guard.emplace(device);
    call.device_ctx = DeviceCtx(cuda::current_stream(device));
  }
#endif
  run_authors(where, [&] {
    KernelCreateContext create_ctx(call);
    const auto kernel = def.create(&create_ctx);
    if (!kernel) fail<RuntimeError>(where, " the function of SetCreateFn returned null");
    const bool all_empty =
        std::ranges::all_of(outputs, [](const lamella::Tensor& y) { return y.numel() == 0; }) && !outputs.empty();
    if (all_empty && !kernel->AlwaysComputeWhenAllOutputsEmpty()) return;
    KernelComputeContext ctx(call);
    std::shared_ptr<OpKernelState> state;
    {
      const std::lock_guard lock(entry.mutex);
      const auto found = entry.states.find(&def);
      if (found != entry.states.end() && found->second.contains(call.conf.op_name())) {
        state = found->second.at(call.conf.op_name());
      }
    }
    if (!state) {
      state = kernel->CreateOpKernelState(&ctx);
      const std::lock_guard lock(entry.mutex);
      if (state) state = entry.states[&def].try_emplace(call.conf.op_name(), state).first->second;
    }
    const std::shared_ptr<OpKernelCache> cache = kernel->InitOpKernelCache(&ctx);
    {
      std::int64_t work = 0;
      for (const Tensor& each : memory) work += each.shape().elem_cnt();
      const HostRelease release(work);
      kernel->Compute(&ctx, state.get(), cache.get());
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].numel() > 0 && !memory[call.inputs.size() + i].written()) {
        fail<RuntimeError>(call.where(), " the kernel at ", str(def.place), " left output '", call.outputs[i].first,
                           "' unwritten: it never asked for its mut_dptr()");
      }
      outputs[i] = settled(outputs[i], memory[call.inputs.size() + i].shape(), call.outputs[i].first);
    }
  });
#if LAMELLA_WITH_CUDA
  if (device.is_cuda()) cuda::check_launch(call.def->name);
#endif
}

}  // namespace

const std::string& current_op_name() {
  static const std::string none;
  return op_name ? *op_name : none;
}

Device device_of(std::span<const registry::Arg> args) {
  for (const registry::Arg& arg : args) {
    for (const lamella::Tensor& x : arg.tensor_span()) {
      if (x.defined() && (!x.device().is_cpu() || x.ndim() > 0)) return x.device();
    }
  }
  return lamella::kCPU;
}

Call read_call(Entry& entry, std::span<const registry::Arg> args, Device device) {
  Call call(entry.def(), device_type(device));
  const OpDef& def = *call.def;
  std::size_t next = 0;
  for (const ArgDef& input : def.inputs) {
    const registry::Arg& arg = args[next++];
    call.add_inputs(input, arg.is_none() ? std::span<const lamella::Tensor>() : arg.tensor_span());
  }
  std::map<std::string, AttrValue> attrs;
  for (const AttrDef& attr : def.attrs) {
    attrs.emplace(attr.name, from_arg(args[next++], attr.type, call.where() + " attribute '" + attr.name + "'"));
  }
  for (const ArgDef& output : def.outputs) {
    call.add_outputs(output, is_counted(output) ? args[next++].integer : output.count);
  }
  call.finish(current_op_name(), std::move(attrs));
  return call;
}

std::vector<lamella::Tensor> compute(Entry& entry, Call& call, Device device) {
  const autograd::NoGrad scope;
  if (is_extension(device)) {
    // OneFlow's devices are CPUs and GPUs; for an extension's device the CPU kernel computes.
    require_fallback(call.def->name, device);
    std::vector<lamella::Tensor> outputs = compute(entry, call, lamella::kCPU);
    for (lamella::Tensor& y : outputs) y = moved(y, device);
    return outputs;
  }
  for (lamella::Tensor& x : call.tensors) x = contiguous(x.device() == device ? x : to_device(x, device));
  const auto found = call.conf.conf()->attrs.find("device_sub_tag");
  if (found != call.conf.conf()->attrs.end() && found->second == AttrValue(std::string("py"))) {
    std::shared_ptr<const HostKernel> host;
    {
      const std::lock_guard lock(entry.mutex);
      host = entry.host_kernel;
    }
    if (!host) {
      fail<NotImplementedError>(call.where(),
                                " is computed in Python (its device_sub_tag is \"py\"), and has no Python "
                                "kernel: custom_op_module(...).py_kernel() gives it one");
    }
    return run_host_kernel(*host, call, device);
  }
  const auto kernel = choose(entry, call);
  std::vector<lamella::Tensor> outputs;
  outputs.reserve(call.output_descs.size());
  for (const TensorDesc& desc : call.output_descs) {
    outputs.push_back(empty(desc.shape().dim_vec(), to_dtype(desc.data_type(), call.where()), device));
  }
  run_kernel(entry, *kernel, call, outputs, device);
  return outputs;
}

std::vector<std::pair<std::string, std::int32_t>> outputs_of(const OpDef& def, std::span<const registry::Arg> args) {
  std::vector<std::pair<std::string, std::int32_t>> names;
  std::size_t counted = def.inputs.size() + def.attrs.size();
  for (const ArgDef& output : def.outputs) {
    const std::int64_t count = is_counted(output) ? args[counted++].integer : output.count;
    for (std::int64_t i = 0; i < count; ++i) names.emplace_back(output.name, static_cast<std::int32_t>(i));
  }
  return names;
}

void store_results(const OpDef& def, const std::vector<std::pair<std::string, std::int32_t>>& names,
                   std::vector<lamella::Tensor> outputs, registry::Value* results) {
  std::size_t next = 0;
  for (std::size_t k = 0; k < def.outputs.size(); ++k) {
    const ArgDef& output = def.outputs[k];
    std::vector<lamella::Tensor> tensors;
    for (; next < outputs.size() && names[next].first == output.name; ++next) {
      tensors.push_back(std::move(outputs[next]));
    }
    if (!output.single()) {
      results[k] = std::move(tensors);
    } else if (!tensors.empty()) {
      results[k] = std::move(tensors.front());
    }
  }
}

}  // namespace detail

namespace {

using detail::quoted;

/// Throws ValueError for a name in `given` that is not declared.
template <class Given, class Declared>
void check_known(const std::string& where, const char* what, const Given& given, const Declared& declared) {
  for (const auto& [name, value] : given) {
    if (std::ranges::none_of(declared, [&](const auto& each) { return each.name == name; })) {
      fail<ValueError>(where, " has no ", what, " '", name, "': it has ",
                       quoted(declared, [](const auto& each) { return each.name; }));
    }
  }
}

void check_use(const Use& use, const detail::OpDef& def) {
  const std::string where = "[" + def.name + "]";
  check_known(where, "input", use.inputs, def.inputs);
  check_known(where, "output", use.outputs, def.outputs);
  check_known(where, "attribute", use.attrs, def.attrs);
}

AttrValue attr_of(const Use& use, const AttrDef& attr, const std::string& where) {
  const auto given = use.attrs.find(attr.name);
  if (given != use.attrs.end()) {
    return detail::convert(given->second, attr.type, where + " attribute '" + attr.name + "'");
  }
  if (!attr.has_default) {
    fail<ValueError>(where, " attribute '", attr.name, "' (", AttrTypeName(attr.type), ") has no value and no default");
  }
  return attr.default_value;
}

std::int64_t count_of(const Use& use, const ArgDef& output) {
  const auto given = use.outputs.find(output.name);
  if (given != use.outputs.end()) return given->second;
  return output.optional ? 0 : output.count;
}

std::span<const lamella::Tensor> inputs_of(const Use& use, const ArgDef& input) {
  const auto given = use.inputs.find(input.name);
  return given == use.inputs.end() ? std::span<const lamella::Tensor>() : std::span(given->second);
}

/// Returns the call of a use, of whose inputs shapes and types count.
detail::Call call_of(const Use& use, const std::shared_ptr<const detail::OpDef>& def) {
  check_use(use, *def);
  detail::Call call(def, DeviceType::kCPU);
  for (const ArgDef& input : def->inputs) call.add_inputs(input, inputs_of(use, input));
  for (const ArgDef& output : def->outputs) call.add_outputs(output, count_of(use, output));
  std::map<std::string, AttrValue> attrs;
  for (const AttrDef& attr : def->attrs) attrs.emplace(attr.name, attr_of(use, attr, call.where()));
  call.finish(use.op_name, std::move(attrs));
  return call;
}

/// The operators of the host language.
struct HostTable {
  std::mutex mutex;
  std::shared_ptr<const HostOperators> operators;

  std::shared_ptr<const HostOperators> get() {
    const std::lock_guard lock(mutex);
    return operators;
  }
};
HostTable& host_table() {
  static auto* const table = new HostTable;  // never destroyed: it may hold a Python function
  return *table;
}

}  // namespace

void set_host_operators(HostOperators operators) {
  HostTable& table = host_table();
  const std::lock_guard lock(table.mutex);
  table.operators = operators ? std::make_shared<const HostOperators>(std::move(operators)) : nullptr;
}

Results call(const Use& use) {
  detail::Entry* const found = detail::find_defined(use.op_type_name);
  if (!found) {
    const auto operators = host_table().get();
    if (std::optional<Results> results = operators ? (*operators)(use) : std::nullopt) return *std::move(results);
  }
  detail::Entry& entry = found ? *found : detail::defined_entry(use.op_type_name);
  const auto def = entry.def();
  const std::string where = "[" + def->name + "]";
  check_use(use, *def);
  std::vector<registry::Value> attrs;  // values that `args` refers to
  attrs.reserve(def->attrs.size());
  for (const AttrDef& attr : def->attrs) attrs.push_back(detail::to_value(attr_of(use, attr, where)));
  std::vector<registry::Arg> args;
  detail::Call checked(def, DeviceType::kCPU);
  for (const ArgDef& input : def->inputs) {
    const auto tensors = inputs_of(use, input);
    checked.add_inputs(input, tensors);
    if (tensors.empty()) {
      args.emplace_back();
    } else if (input.single()) {
      args.emplace_back(tensors.front());
    } else {
      args.emplace_back(tensors);
    }
  }
  for (const registry::Value& attr : attrs) args.push_back(attr.view());
  for (const ArgDef& output : def->outputs) {
    checked.add_outputs(output, count_of(use, output));
    if (detail::is_counted(output)) args.emplace_back(count_of(use, output));
  }
  std::vector<registry::Value> results(def->outputs.size());
  const auto op = Dispatcher::singleton().find_schema_or_throw(std::string(detail::kNamespace) + "::" + def->name);
  {
    const detail::NameScope scope(use.op_name);
    op.call(args.data(), results.data());
  }
  Results named;
  for (std::size_t k = 0; k < results.size(); ++k) {
    std::vector<lamella::Tensor> tensors;
    if (results[k].is_tensor()) {
      tensors.push_back(results[k].take_tensor());
    } else if (!results[k].is_none()) {
      const auto all = results[k].tensors();
      tensors.assign(all.begin(), all.end());
    }
    named.emplace_back(def->outputs[k].name, std::move(tensors));
  }
  return named;
}

std::vector<SbpSignature> sbp_signatures(const Use& use) {
  const auto def = detail::defined_entry(use.op_type_name).def();
  detail::Call call = call_of(use, def);
  SbpContext ctx(call);
  if (def->infer) call.infer();  // so that the outputs' axes are known
  if (def->sbp) {
    detail::run_authors(call.where() + " the SBP function:", [&] {
      const Maybe<void> listed = def->sbp(&ctx);
      if (!listed.IsOk()) listed.error().Throw(call.where() + " the SBP function:");
    });
  }
  ctx.NewBuilder().Broadcast(call.inputs).Broadcast(call.outputs).Build();
  return ctx.signatures();
}

Described describe(const Use& use) {
  const auto def = detail::defined_entry(use.op_type_name).def();
  detail::Call call = call_of(use, def);
  call.infer();
  call.modify();
  Described described;
  for (const ArgDef& output : def->outputs) described.emplace_back(output.name, std::vector<TensorDesc>());
  std::size_t next = 0;
  for (auto& [name, descs] : described) {
    for (; next < call.outputs.size() && call.outputs[next].first == name; ++next) {
      descs.push_back(call.output_descs[next]);
    }
  }
  return described;
}

void drop_states(const std::string& prefix) {
  for (detail::Entry* entry : detail::all_entries()) {
    std::vector<std::shared_ptr<OpKernelState>> dropped;  // the states' destructors run after the lock
    const std::lock_guard lock(entry->mutex);
    for (auto& [kernel, states] : entry->states) {
      std::erase_if(states, [&](const auto& each) {
        if (!each.first.starts_with(prefix)) return false;
        dropped.push_back(each.second);
        return true;
      });
    }
  }
}

void set_host_kernel(const std::string& op, detail::HostKernel kernel) {
  detail::Entry& entry = detail::entry(op);
  const std::lock_guard lock(entry.mutex);
  entry.host_kernel = kernel ? std::make_shared<const detail::HostKernel>(std::move(kernel)) : nullptr;
}

}  // namespace lamella::user_op
