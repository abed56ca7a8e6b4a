#include "python/bindings/layer_node.h"

#include <algorithm>
#include <array>

#include "engine/autograd/backward/lent.h"
#include "engine/autograd/layers/gradient_counts.h"
#include "engine/autograd/layers/host_values.h"
#include "engine/autograd/layers/once.h"
#include "engine/core/modes.h"
#include "ops/movement/cast.h"
#include "ops/support/strided.h"
#include "python/bindings/context_object.h"
#include "python/bindings/errors.h"
#include "python/bindings/gil.h"
#include "python/bindings/layer_info.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

/// Raises a NotImplementedError that is also an OSError, as Paddle's programs expect; its class is made in
/// lamella.autograd.
[[noreturn]] void fail_no_backward(const LayerInfo& info) {
  const std::string message = str("[", info.layer->tp_name, "] the layer defines no backward");
  if (info.paddle) {
    const PyRef module = PyRef::adopt(checked(PyImport_ImportModule("lamella.autograd")));
    const PyRef type = PyRef::adopt(checked(PyObject_GetAttrString(module.get(), "NoBackwardError")));
    PyErr_SetString(type.get(), message.c_str());
    throw_python_error();
  }
  throw NotImplementedError(message);
}

/// Copies gradients whose elements share memory, so that backward may write into them, as into Paddle's.
void own_elements(TensorList& grads) {
  for (Tensor& grad : grads) {
    if (grad.defined() && has_repeated_elements(grad)) grad = clone(grad);
  }
}

/// True if a function written in Python needs more than `count` arguments.
bool wants_more(PyObject* function, std::size_t count) {
  if (!PyFunction_Check(function)) return false;
  const auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  PyObject* const defaults = PyFunction_GET_DEFAULTS(function);
  const Py_ssize_t optional = defaults && PyTuple_Check(defaults) ? PyTuple_GET_SIZE(defaults) : 0;
  return code->co_argcount - optional > static_cast<Py_ssize_t>(count);
}

/// Arguments of a call of backward or jvp: ctx and the gradients or tangents, which it owns.
class BackwardArguments {
 public:
  explicit BackwardArguments(PyObject* context) {
    values_.push_back(nullptr);  // scratch space that a vectorcall may use
    values_.push_back(context);
  }
  BackwardArguments(PyObject* context, TensorList& grads) : BackwardArguments(context) {
    for (Tensor& grad : grads) values_.push_back(checked(wrap(std::move(grad))));
  }
  void add(PyRef value) { values_.push_back(value.release()); }
  ~BackwardArguments() {
    for (std::size_t i = 2; i < values_.size(); ++i) Py_DECREF(values_[i]);
  }
  BackwardArguments(const BackwardArguments&) = delete;
  BackwardArguments& operator=(const BackwardArguments&) = delete;

  PyRef call(PyObject* function) {
    const std::size_t count = (values_.size() - 1) | PY_VECTORCALL_ARGUMENTS_OFFSET;
    return PyRef::adopt(checked(PyObject_Vectorcall(function, values_.data() + 1, count, nullptr)));
  }

 private:
  SmallVector<PyObject*, 6> values_;
};

}  // namespace

PyLayerNode::PyLayerNode(PyTypeObject* layer, PyObject* context, const autograd::Dialect& dialect)
    : ctx(this), layer_(layer), context_(context), dialect_(dialect) {
  Py_INCREF(layer);
  Py_INCREF(context);
}

PyLayerNode::~PyLayerNode() {
  if (!python_is_alive()) {
    forms.release();  // must be freed with the GIL held, as they hold Python objects
    keywords.release();
    return;
  }
  const GilHold gil;
  detach_context(context_);
  Py_DECREF(context_);
  Py_DECREF(layer_);
  forms.reset();
  keywords = PyRef();
}

std::string PyLayerNode::name() const { return layer_->tp_name; }

int PyLayerNode::visit(visitproc visit, void* arg) const {
  Py_VISIT(context_);
  Py_VISIT(layer_);
  return 0;
}

TensorList PyLayerNode::run(TensorList grads) {
  const GilHold gil;
  try {
    const LayerInfo& info = layer_info(layer_);
    if (!info.backward) fail_no_backward(info);
    const PyRef backward = PyRef::share(info.backward);
    const bool once = info.once_differentiable && autograd::is_grad_enabled();
    if (info.once_differentiable && autograd::duals_active()) autograd::refuse_once_dual(*this, grads);

    autograd::prepare_gradients(ctx, grads);
    if (info.paddle) own_elements(grads);
    const TensorList incoming = once ? grads : TensorList();
    const autograd::RecordedBackward recorded(*this);
    if (!once) {
      if (autograd::is_grad_enabled() || autograd::duals_active())
        return run_followed(std::move(grads), backward.get());
      autograd::lend_all(grads);
      BackwardArguments arguments(context_, grads);
      const PyRef result = arguments.call(backward.get());
      return gradients_from(result.get());
    }
    TensorList results;
    {
      const autograd::NoGrad scope;  // RecordedBackward has marked that user code runs
      for (Tensor& grad : grads) {
        if (grad.defined()) grad = grad.detach();
      }
      autograd::lend_all(grads);
      BackwardArguments arguments(context_, grads);
      const PyRef result = arguments.call(backward.get());
      results = gradients_from(result.get());
    }
    autograd::forbid_second_derivative(*this, incoming, results);
    return results;
  } catch (const PythonError& error) {
    error.restore();
    // An endless recursion passes through every layer on the stack, each of which would add the same note.
    if (ctx.created_at && !PyErr_ExceptionMatches(PyExc_RecursionError))
      add_note(str("in the backward of ", name(), ", whose apply was called at ", ctx.created_at.file, ":",
                   ctx.created_at.line));
    throw_python_error();
  }
}

TensorList PyLayerNode::run_followed(TensorList grads, PyObject* backward) {
  const TensorList given = grads;
  const autograd::FollowHost host(*this, ctx, given, escaped, keeps_numbers);
  autograd::lend_all(grads);
  BackwardArguments arguments(context_, grads);
  const PyRef result = arguments.call(backward);
  TensorList results = gradients_from(result.get());
  host.settle(results);
  return results;
}

TensorList PyLayerNode::tangents(autograd::DualCall& duals, std::span<Tensor* const> outputs,
                                 const TensorList& inputs) {
  const LayerInfo& info = layer_info(layer_);
  if (!info.jvp) {
    if (!info.backward) {
      fail<NotImplementedError>("[", info.layer->tp_name,
                                "] forward mode needs a jvp or a backward, and the layer defines neither");
    }
    if (info.once_differentiable) autograd::fail_no_jvp(*this);
    return duals.transpose(*this, outputs, inputs);
  }
  const PyRef jvp = PyRef::share(info.jvp);
  TensorList given = duals.prepare(ctx, inputs);
  std::vector<PyRef> values;
  for (std::size_t i = 0; i < ctx.arguments.size(); ++i) {
    const ArgumentInfo& argument = ctx.arguments[i];
    Tensor* next = given.data() + argument.first;
    if (argument.container && forms) {
      values.push_back(build_tangents((*forms)[i], next));
    } else {
      values.push_back(argument.has_tensors ? PyRef::adopt(checked(wrap(std::move(*next)))) : PyRef::share(Py_None));
    }
  }
  if (wants_more(jvp.get(), values.size() + 1)) {
    for (const auto& [at, value] : left_at_defaults()) {
      values.insert(values.begin() + static_cast<std::ptrdiff_t>(std::min(at, values.size())), PyRef::share(Py_None));
    }
  }
  BackwardArguments arguments(context_);
  for (PyRef& value : values) arguments.add(std::move(value));
  const autograd::FollowHost host(*this, ctx, inputs, escaped, keeps_numbers);
  const PyRef result = arguments.call(jvp.get());
  TensorList results = read_tangents(result.get());
  host.settle(results);
  return autograd::conform_tangents(*this, outputs, std::move(results));
}

TensorList PyLayerNode::read_tangents(PyObject* result) const {
  TensorList tangents;
  const auto read = [&](PyObject* item) {
    if (item == Py_None) {
      tangents.emplace_back();
    } else if (is_tensor(item)) {
      tangents.push_back(tensor_of(item));
    } else {
      fail<TypeError>("[", name(), "] jvp returned ", type_name(item), " (item ", tangents.size(),
                      "): expected a Tensor or None");
    }
  };
  if (PyTuple_Check(result) || PyList_Check(result)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i) read(PySequence_Fast_GET_ITEM(result, i));
  } else {
    read(result);
  }
  return tangents;
}

TensorList PyLayerNode::gradients_from(PyObject* result) {
  // Fast path: one tensor input and one gradient need no matching.
  if (ctx.arguments.size() == 1 && is_tensor(result) && !ctx.arguments[0].container && edges()[0]) {
    TensorList grads;
    grads.push_back(autograd::conform_gradient(*this, ctx, 0, tensor_of(result)));
    return grads;
  }
  const std::size_t count = ctx.arguments.size();
  if (!PyTuple_CheckExact(result) || static_cast<std::size_t>(PyTuple_GET_SIZE(result)) != count ||
      edges().size() != count || forms) {
    return sort_gradients(result);
  }
  // Fast path: one gradient for each argument, and every argument is a tensor.
  TensorList grads;
  for (std::size_t i = 0; i < count; ++i) {
    PyObject* item = PyTuple_GET_ITEM(result, static_cast<Py_ssize_t>(i));
    if (item == Py_None) {
      grads.emplace_back();
    } else if (!is_tensor(item) || (!edges()[i] && dialect_.strict_stop_gradient) || ctx.arguments[i].count != 1) {
      return sort_gradients(result);
    } else if (!edges()[i]) {
      grads.emplace_back();
    } else {
      grads.push_back(autograd::conform_gradient(*this, ctx, i, tensor_of(item)));
    }
  }
  return grads;
}

TensorList PyLayerNode::sort_gradients(PyObject* result) {
  std::vector<std::size_t> with_tensors;
  for (std::size_t i = 0; i < ctx.arguments.size(); ++i) {
    if (ctx.arguments[i].has_tensors) with_tensors.push_back(i);
  }
  // A single gradient may be returned without a tuple around it, even if it is a container for the only container
  // argument.
  std::vector<PyRef> items;
  const bool listed = PyTuple_Check(result) || PyList_Check(result);
  const bool lone_container = with_tensors.size() == 1 && ctx.arguments[with_tensors[0]].container;
  const auto size = listed ? static_cast<std::size_t>(PySequence_Fast_GET_SIZE(result)) : 0;
  bool unwrapped = !listed;
  if (listed && lone_container && size != 0) {
    PyObject* first = PySequence_Fast_GET_ITEM(result, 0);
    bool wrapped = size == 1 || size == ctx.arguments.size();
    const std::vector<Form>& parts = (*forms)[with_tensors[0]].parts;
    if (!wrapped && is_container(first) && (size != parts.size() || parts.front().parts.empty())) {
      wrapped = true;  // followed by None for the other arguments
      for (std::size_t i = 1; i < size; ++i)
        wrapped = wrapped && PySequence_Fast_GET_ITEM(result, static_cast<Py_ssize_t>(i)) == Py_None;
    }
    unwrapped = !wrapped || is_tensor(first);
  }
  if (unwrapped) {
    items.push_back(PyRef::share(result));
  } else {
    for (std::size_t i = 0; i < size; ++i)
      items.push_back(PyRef::share(PySequence_Fast_GET_ITEM(result, static_cast<Py_ssize_t>(i))));
  }

  if (items.size() != with_tensors.size() && items.size() > ctx.arguments.size()) drop_defaults(items);
  const std::vector<std::string> names = argument_names();
  SmallVector<bool, 4> given;
  for (const PyRef& item : items) given.push_back(item.get() != Py_None);
  // If the number of entries is wrong, their targets are unknown, and assign_gradients() reports the number alone.
  const auto targets = autograd::match_gradients(ctx.arguments, given);
  std::vector<autograd::GradientEntry> entries;
  for (std::size_t i = 0; i < items.size(); ++i) {
    PyObject* item = items[i].get();
    autograd::GradientEntry entry;
    const bool known = targets && i < targets->size();
    const std::size_t target = known ? (*targets)[i] : names.size();
    const std::string what = known ? names[target] : "item " + std::to_string(i);
    if (is_tensor(item)) {
      entry.tensors.push_back(tensor_of(item));
    } else if (item != Py_None) {
      entry.container = true;
      if (!is_container(item)) {
        fail<TypeError>("[", name(), "] backward returned ", type_name(item), " for ", what, " (item ", i,
                        "): expected a Tensor or None");
      }
      if (known && forms && ctx.arguments[target].container) {
        read_gradient((*forms)[target], item, name(), what, entry.tensors);
      } else {
        TensorFinder found;
        found.find(item, nullptr);
        for (const PyRef& object : found.objects) entry.tensors.push_back(tensor_of(object.get()));
      }
    }
    entries.push_back(std::move(entry));
  }
  return autograd::assign_gradients(*this, ctx, std::move(entries), dialect_, names);
}

std::vector<std::pair<std::size_t, PyRef>> PyLayerNode::left_at_defaults() const {
  const LayerInfo& info = layer_info(layer_);
  const std::size_t named = keywords ? static_cast<std::size_t>(PyTuple_GET_SIZE(keywords.get())) : 0;
  const std::size_t by_position = ctx.arguments.size() - named;
  const auto is_given = [&](std::size_t parameter) {
    if (parameter < info.positional && parameter < by_position) return true;
    for (std::size_t k = 0; k < named; ++k) {
      PyObject* const key = PyTuple_GET_ITEM(keywords.get(), static_cast<Py_ssize_t>(k));
      if (PyUnicode_CompareWithASCIIString(key, info.names[parameter].c_str()) == 0) return true;
    }
    return false;
  };
  const std::size_t rest = by_position > info.positional ? by_position - info.positional : 0;
  std::vector<std::pair<std::size_t, PyRef>> left;
  for (std::size_t i = 0; i < info.names.size(); ++i) {
    if (!is_given(i)) left.emplace_back(i < info.positional ? i : i + rest, default_of(info, i));
  }
  return left;
}

void PyLayerNode::drop_defaults(std::vector<PyRef>& items) const {
  const auto left = left_at_defaults();
  const auto is_none = [](const PyRef& item) { return item.get() == Py_None; };
  const std::size_t all = ctx.arguments.size() + left.size();
  if (left.empty() || items.size() < all) return;
  if (!std::all_of(items.begin() + static_cast<std::ptrdiff_t>(all), items.end(), is_none)) return;
  for (const auto& [at, value] : left) {
    // A gradient in the place of a number means that the user counted the arguments in another way: nothing is dropped.
    if (!is_none(items[at]) && !(value && (is_tensor(value.get()) || is_container(value.get())))) return;
  }
  for (std::size_t k = left.size(); k-- > 0;) items.erase(items.begin() + static_cast<std::ptrdiff_t>(left[k].first));
}

std::vector<std::string> PyLayerNode::argument_names() const {
  std::vector<std::string> names;
  const std::size_t count = ctx.arguments.size();
  const std::size_t named = keywords ? static_cast<std::size_t>(PyTuple_GET_SIZE(keywords.get())) : 0;
  const LayerInfo& info = layer_info(layer_);
  for (std::size_t i = 0; i + named < count; ++i) {
    if (i < info.positional) {
      names.push_back(info.names[i]);
    } else {
      const std::string rest = info.rest.empty() ? "args" : info.rest;
      names.push_back(rest + "[" + std::to_string(i - info.positional) + "]");
    }
  }
  for (std::size_t i = 0; i < named; ++i) {
    const char* text = PyUnicode_AsUTF8(PyTuple_GET_ITEM(keywords.get(), static_cast<Py_ssize_t>(i)));
    if (!text) PyErr_Clear();
    names.emplace_back(text ? text : "?");
  }
  return names;
}

}  // namespace lamella::python
