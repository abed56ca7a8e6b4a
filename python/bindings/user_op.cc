#include "python/bindings/user_op.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/registry/abi.h"
#include "engine/registry/pending.h"
#include "ops/user_op/call.h"
#include "ops/user_op/register.h"
#include "ops/user_op/schema.h"
#include "python/bindings/containers.h"
#include "python/bindings/convert.h"
#include "python/bindings/dtype_type.h"
#include "python/bindings/errors.h"
#include "python/bindings/gil.h"
#include "python/bindings/method.h"
#include "python/bindings/py_ref.h"
#include "python/bindings/registry_values.h"
#include "python/bindings/signature.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

using user_op::ArgDef;
using user_op::AttrValue;
using user_op::DimVector;
using user_op::Shape;
using user_op::TensorDesc;
using user_op::Use;

std::string text_of(PyObject* object, const Argument& argument) { return std::string(read_text(object, argument)); }

PyRef text(const std::string& value) {
  return PyRef::adopt(
      checked(PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "backslashreplace")));
}

/// Calls f with each item of a dict whose keys are strings.
template <class F>
void for_each_item(PyObject* dict, const Argument& argument, F&& f) {
  if (!PyDict_Check(dict)) argument.wrong_type("a dict", dict);
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) f(text_of(key, argument), value);
}

/// Returns the items of a list or tuple.
std::vector<PyObject*> items(PyObject* object, const Argument& argument) {
  if (!PyList_Check(object) && !PyTuple_Check(object)) argument.wrong_type("a list or tuple", object);
  PyObject** first = PySequence_Fast_ITEMS(object);
  return std::vector<PyObject*>(first, first + PySequence_Fast_GET_SIZE(object));
}

AttrValue read_attribute(PyObject* object, const Argument& argument);

/// Reads a list of values of one kind, that of its first item.
AttrValue read_attribute_list(PyObject* object, const Argument& argument) {
  std::vector<AttrValue> values;
  for (PyObject* item : items(object, argument)) values.push_back(read_attribute(item, argument));
  if (values.empty()) return std::vector<std::int64_t>();
  const auto all = [&]<class T>(std::type_identity<T>) {
    for (const AttrValue& value : values) {
      if (!std::holds_alternative<T>(value)) return false;
    }
    return true;
  };
  const auto list = [&]<class T>(std::type_identity<T>) {
    std::vector<T> list;
    for (const AttrValue& value : values) list.push_back(std::get<T>(value));
    return list;
  };
  if (all(std::type_identity<std::int64_t>{})) return list(std::type_identity<std::int64_t>{});
  if (all(std::type_identity<std::string>{})) return list(std::type_identity<std::string>{});
  if (all(std::type_identity<user_op::DataType>{})) return list(std::type_identity<user_op::DataType>{});
  std::vector<float> numbers;
  std::vector<Shape> shapes;
  for (const AttrValue& value : values) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) numbers.push_back(static_cast<float>(*integer));
    if (const auto* number = std::get_if<double>(&value)) numbers.push_back(static_cast<float>(*number));
    if (const auto* shape = std::get_if<std::vector<std::int64_t>>(&value)) shapes.emplace_back(DimVector(*shape));
  }
  if (numbers.size() == values.size()) return numbers;
  if (shapes.size() == values.size()) return shapes;
  argument.wrong_type("lists of values of one kind", object);
}

AttrValue read_attribute(PyObject* object, const Argument& argument) {
  if (PyBool_Check(object)) return AttrValue(std::in_place_type<bool>, object == Py_True);
  if (PyUnicode_Check(object)) return text_of(object, argument);
  if (PyFloat_Check(object)) return PyFloat_AS_DOUBLE(object);
  if (const auto integer = as_index(object, argument)) return *integer;
  if (PyList_Check(object) || PyTuple_Check(object)) return read_attribute_list(object, argument);
  Scalar scalar = 0;
  if (as_scalar(object, scalar)) {
    if (scalar.kind() == Scalar::Kind::Bool) return AttrValue(std::in_place_type<bool>, scalar.to<bool>());
    if (scalar.kind() == Scalar::Kind::Float) return scalar.to<double>();
  }
  DType dtype = DType::Float32;
  if (as_dtype(object, dtype)) return user_op::detail::to_data_type(dtype);
  argument.wrong_type("a bool, an int, a float, a string, a dtype, or a list of these", object);
}

/// Reads the arguments op, name, inputs, outputs and attrs.
Use read_use(const Signature& signature, const std::array<PyObject*, 5>& values) {
  Use use;
  use.op_type_name = text_of(values[0], {signature, 0});
  use.op_name = text_of(values[1], {signature, 1});
  for_each_item(values[2], {signature, 2}, [&](const std::string& name, PyObject* tensors) {
    use.inputs[name] = read_tensors(tensors, {signature, 2});
  });
  for_each_item(values[3], {signature, 3}, [&](const std::string& name, PyObject* count) {
    const std::int64_t wanted = read_int(count, {signature, 3});
    if (wanted < 0 || wanted > 1 << 20)
      Argument{signature, 3}.wrong_value(str("expected 0 to 2**20 outputs, got ", wanted));
    use.outputs[name] = static_cast<std::int32_t>(wanted);
  });
  for_each_item(values[4], {signature, 4}, [&](const std::string& name, PyObject* value) {
    use.attrs.insert_or_assign(name, read_attribute(value, {signature, 4}));
  });
  return use;
}

PyRef wrap_list(const std::vector<Tensor>& tensors) {
  return list_from(tensors, [](const Tensor& x) { return wrap(x); });
}

PyObject* call(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("user_op", "op, name, inputs, outputs, attrs");
    const auto values = signature.bound<5>(args, count, keywords);
    const user_op::Results results = user_op::call(read_use(signature, values));
    PyRef list = PyRef::adopt(checked(PyList_New(0)));
    for (const auto& [name, tensors] : results) {
      const PyRef wrapped = wrap_list(tensors);
      const PyRef pair = PyRef::adopt(checked(PyTuple_Pack(2, text(name).get(), wrapped.get())));
      checked(PyList_Append(list.get(), pair.get()));
    }
    return list.release();
  });
}

PyObject* sbp(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("sbp_signatures", "op, name, inputs, outputs, attrs");
    const auto values = signature.bound<5>(args, count, keywords);
    PyRef list = PyRef::adopt(checked(PyList_New(0)));
    for (const auto& ways : user_op::sbp_signatures(read_use(signature, values))) {
      const PyRef dict = PyRef::adopt(checked(PyDict_New()));
      for (const auto& [arg, sbp] : ways) {
        const PyRef key = PyRef::adopt(checked(Py_BuildValue("(si)", arg.name().c_str(), int{arg.index()})));
        checked(PyDict_SetItem(dict.get(), key.get(), text(sbp.ToString()).get()));
      }
      checked(PyList_Append(list.get(), dict.get()));
    }
    return list.release();
  });
}

/// Returns a list of (shape, dtype).
PyRef wrap_descs(const std::vector<TensorDesc>& descs) {
  PyRef list = PyRef::adopt(checked(PyList_New(0)));
  for (const TensorDesc& desc : descs) {
    const PyRef shape = tuple_of_ints(desc.shape().dim_vec());
    const PyRef dtype =
        PyRef::adopt(checked(dtype_object(user_op::detail::to_dtype(desc.data_type(), "a tensor of an operator"))));
    const PyRef pair = PyRef::adopt(checked(PyTuple_Pack(2, shape.get(), dtype.get())));
    checked(PyList_Append(list.get(), pair.get()));
  }
  return list;
}

PyObject* describe(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("user_op", "op, name, inputs, outputs, attrs");
    const auto values = signature.bound<5>(args, count, keywords);
    PyRef list = PyRef::adopt(checked(PyList_New(0)));
    for (const auto& [name, descs] : user_op::describe(read_use(signature, values))) {
      const PyRef described = wrap_descs(descs);
      const PyRef dynamic = list_from(descs, [](const TensorDesc& desc) {
        return PyRef::adopt(PyBool_FromLong(static_cast<long>(desc.is_dynamic())));
      });
      const PyRef row = PyRef::adopt(checked(PyTuple_Pack(3, text(name).get(), described.get(), dynamic.get())));
      checked(PyList_Append(list.get(), row.get()));
    }
    return list.release();
  });
}

PyObject* drop_states(PyObject*, PyObject* prefix) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("user_op", "prefix");
    user_op::drop_states(text_of(prefix, {signature, 0}));
    Py_RETURN_NONE;
  });
}

/// Makes a kernel of a Python function, which takes tensors and the outputs' shapes and dtypes and returns tensors.
user_op::detail::HostKernel host_kernel(SharedObject function) {
  return [function = std::move(function)](const std::vector<Tensor>& inputs, const std::vector<TensorDesc>& outputs) {
    const GilHold gil;
    static const Signature signature("user_op", "kernel");
    std::vector<Tensor> detached;
    for (const Tensor& x : inputs) detached.push_back(make_alias(x));
    const PyRef given = wrap_list(detached);
    const PyRef wanted = wrap_descs(outputs);
    const PyRef result =
        PyRef::adopt(checked(PyObject_CallFunctionObjArgs(function.get(), given.get(), wanted.get(), nullptr)));
    return read_tensors(result.get(), {signature, 0});
  };
}

PyObject* set_kernel(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("set_kernel", "op, kernel");
    const auto values = signature.bound<2>(args, count, keywords);
    if (values[1] != Py_None && !PyCallable_Check(values[1])) {
      Argument{signature, 1}.wrong_type("a function or None", values[1]);
    }
    user_op::set_host_kernel(text_of(values[0], {signature, 0}),
                             values[1] == Py_None ? nullptr : host_kernel(share_object(values[1])));
    Py_RETURN_NONE;
  });
}

/// Makes operators of a Python function, which takes a name, inputs, counts of outputs and attributes as dicts, and
/// returns pairs of a name and tensors, or None for an operator that it does not know.
user_op::HostOperators host_operators(SharedObject function) {
  return [function = std::move(function)](const Use& use) -> std::optional<user_op::Results> {
    const GilHold gil;
    static const Signature signature("user_op", "results");
    const Argument argument{signature, 0};
    const PyRef inputs = PyRef::adopt(checked(PyDict_New()));
    for (const auto& [name, tensors] : use.inputs) {
      checked(PyDict_SetItem(inputs.get(), text(name).get(), wrap_list(tensors).get()));
    }
    const PyRef outputs = PyRef::adopt(checked(PyDict_New()));
    for (const auto& [name, wanted] : use.outputs) {
      checked(PyDict_SetItem(outputs.get(), text(name).get(), PyRef::adopt(checked(PyLong_FromLong(wanted))).get()));
    }
    const PyRef attrs = PyRef::adopt(checked(PyDict_New()));
    for (const auto& [name, value] : use.attrs) {
      checked(PyDict_SetItem(attrs.get(), text(name).get(), value_to_python(user_op::detail::to_value(value)).get()));
    }
    const PyRef result = PyRef::adopt(checked(PyObject_CallFunctionObjArgs(
        function.get(), text(use.op_type_name).get(), inputs.get(), outputs.get(), attrs.get(), nullptr)));
    if (result.get() == Py_None) return std::nullopt;
    user_op::Results results;
    for (PyObject* row : items(result.get(), argument)) {
      const std::vector<PyObject*> pair = items(row, argument);
      if (pair.size() != 2) argument.wrong_type("pairs of a name and tensors", row);
      results.emplace_back(text_of(pair[0], argument), read_tensors(pair[1], argument));
    }
    return results;
  };
}

PyObject* set_operators(PyObject*, PyObject* function) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("set_operators", "function");
    if (function != Py_None && !PyCallable_Check(function)) {
      Argument{signature, 0}.wrong_type("a function or None", function);
    }
    user_op::set_host_operators(function == Py_None ? nullptr : host_operators(share_object(function)));
    Py_RETURN_NONE;
  });
}

// --- Operators defined in Python -------------------------------------------------------------------------------------

/// Makes an inference function of a Python function, which takes a list of the inputs' shapes and dtypes and returns
/// those of the outputs.
std::function<user_op::Maybe<void>(user_op::InferContext*)> host_infer(SharedObject function) {
  return [function = std::move(function)](user_op::InferContext* ctx) {
    const GilHold gil;
    static const Signature signature("user_op", "infer");
    const Argument argument{signature, 0};
    std::vector<TensorDesc> inputs;
    for (const auto& [name, index] : ctx->inputs()) inputs.push_back(ctx->InputTensorDesc(name, index));
    const PyRef given = wrap_descs(inputs);
    const PyRef result = PyRef::adopt(checked(PyObject_CallOneArg(function.get(), given.get())));
    const std::vector<PyObject*> pairs = items(result.get(), argument);
    if (pairs.size() != ctx->outputs().size()) {
      argument.wrong_value(str("expected (shape, dtype) for ", ctx->outputs().size(), " outputs, got ", pairs.size()));
    }
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      const std::vector<PyObject*> pair = items(pairs[k], argument);
      if (pair.size() != 2) argument.wrong_type("(shape, dtype) for each output", pairs[k]);
      const auto& [name, index] = ctx->outputs()[k];
      const Dims shape = read_dims(pair[0], argument);
      *ctx->OutputShape(name, index) = Shape(DimVector(shape.begin(), shape.end()));
      *ctx->OutputDType(name, index) = user_op::detail::to_data_type(read_dtype(pair[1], argument));
    }
    return user_op::Maybe<void>::Ok();
  };
}

/// Makes a gradient that is computed by the one operator `backward`: it takes the arguments `saved` and the outputs'
/// gradients, named "d" and the output's name, and returns the gradients of all inputs.
std::function<user_op::Maybe<void>(user_op::BackwardOpConfContext*)> one_op_gradient(std::string backward,
                                                                                     std::vector<std::string> inputs,
                                                                                     std::vector<std::string> outputs,
                                                                                     std::vector<std::string> saved) {
  return [=](user_op::BackwardOpConfContext* ctx) {
    const std::string name = ctx->FwOp().op_name() + "_grad";
    ctx->DefineOp(name, [&](user_op::BackwardOpBuilder& builder) {
      builder.OpTypeName(backward);
      for (const std::string& each : saved) {
        const bool is_input = std::find(inputs.begin(), inputs.end(), each) != inputs.end();
        builder.InputBind(each, is_input ? ctx->FwOp().input(each, 0) : ctx->FwOp().output(each, 0));
      }
      for (const std::string& each : outputs) builder.InputBind("d" + each, ctx->FwOp().output_grad(each, 0));
      for (const std::string& each : inputs) builder.Output("d" + each);
      return builder.Build();
    });
    for (const std::string& each : inputs) {
      ctx->FwOp().InputGradBind(user_op::OpArg(each, 0), [&] { return ctx->GetOp(name).output("d" + each, 0); });
    }
    return user_op::Maybe<void>::Ok();
  };
}

std::vector<std::string> read_names(PyObject* object, const Argument& argument) {
  std::vector<std::string> names;
  for (PyObject* item : items(object, argument)) names.push_back(text_of(item, argument));
  return names;
}

/// Table of the registrations made by Python, by operator name. Never destroyed, as it holds Python functions.
std::map<std::string, std::vector<user_op::detail::Registration>>& python_made() {
  static auto* const all = new std::map<std::string, std::vector<user_op::detail::Registration>>;
  return *all;
}

PyObject* define(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("define", "op, inputs, outputs, infer, backward, saved, file, line");
    const auto values = signature.bound<8>(args, count, keywords);
    user_op::detail::OpDef def;
    def.name = text_of(values[0], {signature, 0});
    const std::vector<std::string> inputs = read_names(values[1], {signature, 1});
    const std::vector<std::string> outputs = read_names(values[2], {signature, 2});
    for (const std::string& name : inputs) def.inputs.push_back({.name = name});
    for (const std::string& name : outputs) def.outputs.push_back({.name = name});
    def.attrs.push_back({.name = "device_sub_tag",
                         .type = user_op::UserOpAttrType::kAtString,
                         .has_default = true,
                         .default_value = std::string("py")});
    def.infer = host_infer(share_object(values[3]));
    def.place = {text_of(values[6], {signature, 6}), static_cast<unsigned>(read_int(values[7], {signature, 7}))};

    const std::string name = def.name;
    const auto place = def.place;
    auto& made = python_made()[name];
    made.clear();  // drops the definition made before in Python
    made.emplace_back(std::move(def), registry::abi_stamp);
    if (values[4] != Py_None) {
      user_op::detail::GradDef grad;
      grad.op = name;
      grad.place = place;
      grad.make =
          one_op_gradient(text_of(values[4], {signature, 4}), inputs, outputs, read_names(values[5], {signature, 5}));
      made.emplace_back(std::move(grad), registry::abi_stamp);
    }
    registry::throw_pending_error();
    Py_RETURN_NONE;
  });
}

// --- Queries
// ----------------------------------------------------------------------------------------------------------

PyRef describe_args(const std::vector<ArgDef>& args) {
  PyRef list = PyRef::adopt(checked(PyList_New(0)));
  for (const ArgDef& arg : args) {
    const PyRef one = PyRef::adopt(
        checked(Py_BuildValue("{s:s,s:i,s:N,s:N}", "name", arg.name.c_str(), "count", int{arg.count}, "at_least",
                              PyBool_FromLong(arg.at_least), "optional", PyBool_FromLong(arg.optional))));
    checked(PyList_Append(list.get(), one.get()));
  }
  return list;
}

PyObject* info(PyObject*, PyObject* op) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("info", "op");
    auto& entry = user_op::detail::defined_entry(text_of(op, {signature, 0}));
    const auto def = entry.def();
    const PyRef attrs = PyRef::adopt(checked(PyDict_New()));
    for (const auto& attr : def->attrs) {
      checked(PyDict_SetItemString(attrs.get(), attr.name.c_str(), text(AttrTypeName(attr.type)).get()));
    }
    const PyRef kernels = PyRef::adopt(checked(PyList_New(0)));
    {
      const std::lock_guard lock(entry.mutex);
      for (const auto& kernel : entry.kernels) {
        std::string conditions;
        for (const auto& hob : kernel->conditions) conditions += (conditions.empty() ? "" : " & ") + hob.text();
        const PyRef pair = PyRef::adopt(checked(PyTuple_Pack(2, text(conditions.empty() ? "always" : conditions).get(),
                                                             text(user_op::detail::str(kernel->place)).get())));
        checked(PyList_Append(kernels.get(), pair.get()));
      }
    }
    return checked(Py_BuildValue(
        "{s:s,s:s,s:N,s:N,s:O,s:O,s:N}", "name", def->name.c_str(), "place", user_op::detail::str(def->place).c_str(),
        "inputs", describe_args(def->inputs).release(), "outputs", describe_args(def->outputs).release(), "attrs",
        attrs.get(), "kernels", kernels.get(), "has_gradient", PyBool_FromLong(entry.grad() != nullptr)));
  });
}

}  // namespace

PyMethodDef* user_op_functions() {
  static PyMethodDef functions[] = {
      {"_user_op_call", as_c_function(call), METH_FASTCALL | METH_KEYWORDS,
       "_user_op_call(op, name, inputs, outputs, attrs)\n--\n\nCalls an operator by name: its outputs, by name."},
      {"_user_op_sbp", as_c_function(sbp), METH_FASTCALL | METH_KEYWORDS,
       "_user_op_sbp(op, name, inputs, outputs, attrs)\n--\n\nThe ways to split an operator over devices."},
      {"_user_op_describe", as_c_function(describe), METH_FASTCALL | METH_KEYWORDS,
       "_user_op_describe(op, name, inputs, outputs, attrs)\n--\n\nThe shapes and dtypes of a call's outputs."},
      {"_user_op_drop_states", as_c_function(drop_states), METH_O,
       "_user_op_drop_states(prefix, /)\n--\n\nDrops the states of kernels, by the beginning of their names."},
      {"_user_op_set_kernel", as_c_function(set_kernel), METH_FASTCALL | METH_KEYWORDS,
       "_user_op_set_kernel(op, kernel)\n--\n\nHas a Python function compute an operator; None takes it back."},
      {"_user_op_set_operators", as_c_function(set_operators), METH_O,
       "_user_op_set_operators(function, /)\n--\n\nHas a Python function compute operators that no library defines; "
       "None "
       "takes it back."},
      {"_user_op_define", as_c_function(define), METH_FASTCALL | METH_KEYWORDS,
       "_user_op_define(op, inputs, outputs, infer, backward, saved, file, line)\n--\n\nDefines an operator that is "
       "computed in Python."},
      {"_user_op_info", as_c_function(info), METH_O, "_user_op_info(op, /)\n--\n\nReturns what an operator declares."},
      {nullptr, nullptr, 0, nullptr},
  };
  return functions;
}

}  // namespace lamella::python
