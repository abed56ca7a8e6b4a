#include "python/bindings/layer_type.h"
#include "python/bindings/capture.h"

#include <algorithm>
#include <vector>

#include "engine/autograd/recording/recorder.h"
#include "engine/autograd/trace/departure.h"
#include "python/bindings/checkpoint.h"
#include "python/bindings/containers.h"
#include "python/bindings/context_type.h"
#include "python/bindings/errors.h"
#include "python/bindings/form.h"
#include "python/bindings/layer_call.h"
#include "python/bindings/layer_info.h"
#include "python/bindings/layer_node.h"
#include "python/bindings/layer_outputs.h"
#include "python/bindings/method.h"
#include "python/bindings/tensor_object.h"
#include "python/bindings/vmap.h"

namespace lamella::python {
namespace {

/// Tensors of a call, argument by argument in the order of forward's signature.
class Inputs {
 public:
  /// Reads `info` before anything that may run Python code.
  Inputs(const Call& call, const LayerInfo& info) {
    if (call.named() != 0) [[unlikely]]
      sort_keywords(call, info);
    for (std::size_t i = 0; i < call.size(); ++i) add(argument(call, i));
  }

  /// Returns argument i in the order of the signature.
  PyObject* argument(const Call& call, std::size_t i) const {
    const auto positional = static_cast<std::size_t>(call.count);
    return i < positional ? call.args[i] : call.args[positional + order_[i - positional]];
  }
  /// Returns the keywords in the order of the signature.
  PyRef sorted_keywords(const Call& call) const {
    if (order_.empty()) return {};
    return tuple_from(order_, [&](std::size_t place) {
      return Py_NewRef(PyTuple_GET_ITEM(call.keywords, static_cast<Py_ssize_t>(place)));
    });
  }

  SmallVector<const Tensor*, 4> tensors;
  SmallVector<ArgumentInfo, 4> arguments;
  std::unique_ptr<std::vector<Form>> forms;

 private:
  void sort_keywords(const Call& call, const LayerInfo& info) {
    std::vector<std::size_t> rank;
    for (std::size_t i = 0; i < call.named(); ++i) {
      const char* name = checked(PyUnicode_AsUTF8(PyTuple_GET_ITEM(call.keywords, static_cast<Py_ssize_t>(i))));
      rank.push_back(static_cast<std::size_t>(std::ranges::find(info.names, name) - info.names.begin()));
      order_.push_back(i);
    }
    // Names missing in the signature go to its **kwargs: they come last, in the order of the call.
    std::ranges::stable_sort(order_, {}, [&](std::size_t i) { return rank[i]; });
  }

  void add(PyObject* value) {
    ArgumentInfo info;
    info.first = static_cast<std::uint32_t>(tensors.size());
    if (is_tensor(value)) {
      tensors.push_back(&tensor_of(value));
    } else if (is_container(value)) [[unlikely]] {
      add_container(value, info);
    }
    info.count = static_cast<std::uint32_t>(tensors.size()) - info.first;
    info.has_tensors = info.count != 0;
    arguments.push_back(info);
  }

  void add_container(PyObject* value, ArgumentInfo& info) {
    if (!forms) forms = std::make_unique<std::vector<Form>>();
    forms->resize(arguments.size() + 1);
    const std::size_t before = found_.objects.size();
    found_.find(value, &forms->back());
    for (std::size_t i = before; i < found_.objects.size(); ++i) tensors.push_back(&tensor_of(found_.objects[i].get()));
    info.container = found_.objects.size() != before;
  }

  /// Position in the call of each keyword, in the order of the signature.
  std::vector<std::size_t> order_;
  TensorFinder found_;
};

/// A class and owned references to its functions, as the class may change while they run.
struct Layer {
  PyTypeObject* type;
  PyRef forward;
  PyRef setup_context;
  const autograd::Dialect& dialect;

  Layer(PyTypeObject* type, const LayerInfo& info)
      : type(type),
        forward(PyRef::share(info.forward)),
        setup_context(PyRef::share(info.setup_context)),
        dialect(*info.dialect) {}
};

/// Calls forward, and setup_context if the class defines it.
PyRef run_forward(const Layer& layer, PyObject* context, const Call& call, const Inputs& inputs) {
  if (layer.setup_context) {
    PyRef result = PyRef::adopt(checked(
        PyObject_Vectorcall(layer.forward.get(), call.args, static_cast<std::size_t>(call.count), call.keywords)));
    const PyRef values = tuple_from(std::views::iota(std::size_t{0}, call.size()),
                                    [&](std::size_t i) { return Py_NewRef(inputs.argument(call, i)); });
    PyObject* args[] = {context, values.get(), result.get()};
    Py_DECREF(checked(PyObject_Vectorcall(layer.setup_context.get(), args, 3, nullptr)));
    return result;
  }
  SmallVector<PyObject*, 10> args;
  args.push_back(nullptr);  // scratch space that a vectorcall may use
  args.push_back(context);
  for (std::size_t i = 0; i < call.size(); ++i) args.push_back(call.args[i]);
  const std::size_t count = (static_cast<std::size_t>(call.count) + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET;
  return PyRef::adopt(checked(PyObject_Vectorcall(layer.forward.get(), args.data() + 1, count, call.keywords)));
}

/// True if forward set a number on ctx that is not one of the call's arguments.
bool keeps_numbers(PyObject* context, const Call& call) {
  PyObject* const attributes = reinterpret_cast<ContextObject*>(context)->attributes;
  if (!attributes || !PyDict_Check(attributes)) return false;
  Py_ssize_t at = 0;
  PyObject* value = nullptr;
  while (PyDict_Next(attributes, &at, nullptr, &value)) {
    if (!PyFloat_Check(value) && !PyComplex_Check(value)) continue;
    const std::span<PyObject* const> arguments(call.args, call.size());
    if (std::ranges::find(arguments, value) == arguments.end()) return true;
  }
  return false;
}

/// `kind`: the type of what forward returned.
void check_outputs(std::span<Tensor* const> outputs, const Layer& layer, const PyTypeObject* kind) {
  if (!outputs.empty()) return;
  const bool is_array = std::string_view(kind->tp_name) == "numpy.ndarray";
  fail<ValueError>("[", layer.type->tp_name, "] forward returned no tensor, but ", kind->tp_name,
                   is_array ? ": make a tensor of it by lamella.asarray()" : "");
}

/// Records a call, or computes its tangents. `duals` is null if no input has a tangent; a call that is not recorded has
/// some.
PyObject* apply_recorded(const Layer& layer, const Call& call, Inputs& inputs, autograd::DualCall* duals = nullptr) {
  const bool recording = !duals || autograd::should_record(inputs.tensors);
  const PyRef context = PyRef::adopt(new_context(nullptr));
  auto* raw = new PyLayerNode(layer.type, context.get(), layer.dialect);
  const Ref<Node> node = Ref<Node>::adopt(raw);
  reinterpret_cast<ContextObject*>(context.get())->context = &raw->ctx;
  // The edges are connected first: forward may read needs_input_grad, and may change the inputs in place.
  autograd::connect_inputs(*node, inputs.tensors);
  if (duals) [[unlikely]]
    duals->connect_inputs(*node);
  raw->ctx.created_at = current_source_line();
  raw->ctx.arguments.assign(inputs.arguments.begin(), inputs.arguments.end());
  for (const Tensor* x : inputs.tensors) raw->ctx.input_metas.emplace_back(*x);
  raw->forms = std::move(inputs.forms);
  if (raw->forms) raw->forms->resize(inputs.arguments.size());
  raw->keywords = inputs.sorted_keywords(call);

  PyRef result;
  {
    const autograd::ForwardScope scope(true);
    result = run_forward(layer, context.get(), call, inputs);
    raw->escaped = autograd::modes().escaped;
    if (raw->escaped) raw->keeps_numbers = keeps_numbers(context.get(), call);
  }
  const PyTypeObject* const kind = Py_TYPE(result.get());
  LayerOutputs outputs(std::move(result));
  const std::span<Tensor* const> tensors = outputs.tensors();
  check_outputs(tensors, layer, kind);
  for (const Tensor* y : tensors) raw->ctx.output_metas.emplace_back(*y);
  if (duals) [[unlikely]] {
    duals->connect_outputs(node, raw->ctx, recording, inputs.tensors, tensors, layer.dialect);
    duals->finish(raw, &raw->ctx, tensors,
                  [&](const TensorList& tangents) { return raw->tangents(*duals, tensors, tangents); });
  } else {
    autograd::connect_outputs(node, raw->ctx, inputs.tensors, tensors, layer.dialect);
  }
  return outputs.finish().release();
}

PyObject* apply_unrecorded(const Layer& layer, const Call& call, const Inputs& inputs) {
  Context ctx;
  ctx.arguments.assign(inputs.arguments.begin(), inputs.arguments.end());
  autograd::note_departed_inputs(ctx, inputs.tensors);
  struct Detach {
    PyRef context;
    ~Detach() { detach_context(context.get()); }
  } const held{PyRef::adopt(new_context(&ctx))};
  PyRef result;
  {
    const autograd::ForwardScope scope(false);
    result = run_forward(layer, held.context.get(), call, inputs);
  }
  const PyTypeObject* const kind = Py_TYPE(result.get());
  LayerOutputs outputs(std::move(result));
  const std::span<Tensor* const> tensors = outputs.tensors();
  check_outputs(tensors, layer, kind);
  autograd::finish_unrecorded(ctx, inputs.tensors, tensors, layer.dialect);
  if (autograd::is_tracing()) [[unlikely]] {
    for (const Tensor* y : tensors) autograd::note_departure(layer.type->tp_name, inputs.tensors, *y);
  }
  return outputs.finish().release();
}

/// Makes a call under vmap for a layer that defines its own rule.
PyObject* apply_rule(const Layer& layer, const PyRef& function, const Call& call, const Inputs& inputs,
                     const autograd::VmapRule& rule) {
  const PyRef positional = PyRef::adopt(checked(PyTuple_New(call.count)));
  for (Py_ssize_t i = 0; i < call.count; ++i) PyTuple_SET_ITEM(positional.get(), i, Py_NewRef(call.args[i]));
  const PyRef named = PyRef::adopt(checked(PyDict_New()));
  const PyRef names = inputs.sorted_keywords(call);
  for (std::size_t i = 0; i < call.named(); ++i) {
    checked(PyDict_SetItem(named.get(), PyTuple_GET_ITEM(names.get(), static_cast<Py_ssize_t>(i)),
                           inputs.argument(call, static_cast<std::size_t>(call.count) + i)));
  }
  return call_vmap_rule(reinterpret_cast<PyObject*>(layer.type), function.get(), rule, positional.get(), named.get());
}

/// Makes a call that forward mode, a checkpoint, vmap or the like intercepts.
[[gnu::noinline]] PyObject* apply_intercepted(const Layer& layer, const Call& call, Inputs& inputs) {
  const auto compute = [&] {
    if (autograd::DualCall duals(inputs.tensors); duals) return apply_recorded(layer, call, inputs, &duals);
    return autograd::should_record(inputs.tensors) ? apply_recorded(layer, call, inputs)
                                                   : apply_unrecorded(layer, call, inputs);
  };
  if (autograd::modes().interceptors & autograd::Modes::kSelective) {
    return select_layer_call(layer.type->tp_name, inputs.tensors, [&] { return PyRef::adopt(compute()); }).release();
  }
  return compute();
}

[[gnu::always_inline]] inline PyObject* apply_call(PyTypeObject* type, const LayerInfo& info, const Call& call) {
  const Layer layer(type, info);
  Inputs inputs(call, info);
  if (info.vmap) [[unlikely]] {
    if (const auto rule = autograd::VmapRule::of(inputs.tensors))
      return apply_rule(layer, PyRef::share(info.vmap), call, inputs, *rule);
  }
  if (autograd::modes().interceptors) [[unlikely]]
    return apply_intercepted(layer, call, inputs);
  return autograd::should_record(inputs.tensors) ? apply_recorded(layer, call, inputs)
                                                 : apply_unrecorded(layer, call, inputs);
}

/// Fills in the defaults before the call: setup_context gets every argument of forward.
[[gnu::noinline]] PyObject* apply_bound(PyTypeObject* type, const LayerInfo& info, const Call& call) {
  const BoundCall bound(call, info);
  return apply_call(type, info, bound.call());
}

PyObject* apply(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    auto* type = reinterpret_cast<PyTypeObject*>(self);
    const Call call{args, count, keywords};
    const LayerInfo& info = layer_info(type);
    if (info.setup_context && BoundCall::changes(call, info)) [[unlikely]]
      return apply_bound(type, info, call);
    return apply_call(type, info, call);
  });
}

PyObject* undefined_forward(PyObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_NotImplementedError, "[PyLayer] the layer defines no forward");
  return nullptr;
}

PyObject* undefined_backward(PyObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_NotImplementedError, "[PyLayer] the layer defines no backward");
  return nullptr;
}

PyObject* undefined_jvp(PyObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_NotImplementedError, "[PyLayer] the layer defines no jvp");
  return nullptr;
}

int init(PyObject* layer, PyObject* args, PyObject* keywords) {
  return guarded([&] {
    if (PyTuple_GET_SIZE(args) > 0 || (keywords && PyDict_GET_SIZE(keywords) > 0)) {
      const char* const name = Py_TYPE(layer)->tp_name;
      fail<TypeError>("[", name, "] a layer is called by its apply: ", name, ".apply(...)");
    }
    return 0;
  });
}

PyMethodDef methods[] = {
    {"apply", as_c_function(apply), METH_CLASS | METH_FASTCALL | METH_KEYWORDS,
     "apply($type, /, *args, **kwargs)\n--\n\n"
     "Runs forward on the arguments and records the call where a tensor among them wants a gradient."},
    {"forward", as_c_function(undefined_forward), METH_STATIC | METH_VARARGS | METH_KEYWORDS,
     "forward(ctx, *args, **kwargs)\n--\n\nComputes the layer. A subclass defines it."},
    {"backward", as_c_function(undefined_backward), METH_STATIC | METH_VARARGS | METH_KEYWORDS,
     "backward(ctx, *grads)\n--\n\nThe gradients of the inputs, given those of the outputs. A subclass defines it."},
    {"jvp", as_c_function(undefined_jvp), METH_STATIC | METH_VARARGS | METH_KEYWORDS,
     "jvp(ctx, *tangents)\n--\n\nThe tangents of the outputs, given one for each argument of forward: None for what is "
     "no tensor, zeros for a\n"
     "tensor without one (None after ctx.set_materialize_grads(False)). A subclass may define it; otherwise forward "
     "mode "
     "is\n"
     "derived from backward."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyTypeObject* make_layer_type() {
  add_capture_point(methods[0], "layer");
  static PyType_Slot slots[] = {
      {Py_tp_methods, methods},
      {Py_tp_init, reinterpret_cast<void*>(init)},
      {Py_tp_doc, const_cast<char*>(
                      "Base of a layer with a gradient of its own: a subclass defines static forward(ctx, ...) and "
                      "backward(ctx, *grads)\n"
                      "and is called by its apply.\n\n"
                      "forward runs with recording off and may keep tensors by ctx.save_for_backward. backward gets "
                      "one gradient for each\n"
                      "tensor that forward returned and returns one for each tensor argument, or for each argument.")},
      {0, nullptr},
  };
  return layer_base = new_type<PyObject>("lamella.PyLayer", slots, Py_TPFLAGS_BASETYPE);
}

}  // namespace lamella::python
