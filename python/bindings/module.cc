// Initializes the module lamella._C.

#include <Python.h>

#include "engine/core/memory_limit.h"
#include "python/bindings/autocast.h"
#include "python/bindings/autograd.h"
#include "python/bindings/capture.h"
#include "python/bindings/checkpoint.h"
#include "python/bindings/context_type.h"
#include "python/bindings/copies.h"
#include "python/bindings/create.h"
#include "python/bindings/cuda_graphs.h"
#include "python/bindings/devices.h"
#include "python/bindings/distributed.h"
#include "python/bindings/dtype_functions.h"
#include "python/bindings/dtype_type.h"
#include "python/bindings/errors.h"
#include "python/bindings/extension_api.h"
#include "python/bindings/generator_type.h"
#include "python/bindings/graph.h"
#include "python/bindings/hooks.h"
#include "python/bindings/host.h"
#include "python/bindings/inspect.h"
#include "python/bindings/layer_slots.h"
#include "python/bindings/layer_type.h"
#include "python/bindings/method.h"
#include "python/bindings/native_programs.h"
#include "python/bindings/node_type.h"
#include "python/bindings/operator_list.h"
#include "python/bindings/operators.h"
#include "python/bindings/optimizer.h"
#include "python/bindings/profile.h"
#include "python/bindings/py_ref.h"
#include "python/bindings/registry_operator.h"
#include "python/bindings/replay.h"
#include "python/bindings/runtime.h"
#include "python/bindings/saved_hooks.h"
#include "python/bindings/source_kernels.h"
#include "python/bindings/streams.h"
#include "python/bindings/tensor_type.h"
#include "python/bindings/transforms.h"
#include "python/bindings/user_op.h"
#include "python/bindings/vmap.h"

namespace lamella::python {
namespace {

void fill(PyObject* module) {
  install_host_hooks();
  stretch_stack();
  checked(PyModule_AddType(module, make_dtype_type()));
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const PyRef dtype = PyRef::adopt(dtype_object(static_cast<DType>(i)));
    checked(PyModule_AddObjectRef(module, std::string(kDTypeNames[i]).c_str(), dtype.get()));
  }
  auto* tensor = reinterpret_cast<PyObject*>(make_tensor_type());
  // numpy leaves arithmetic of an array with a tensor to the tensor, as its priority is higher.
  const PyRef priority = PyRef::adopt(checked(PyLong_FromLong(1000)));
  checked(PyObject_SetAttrString(tensor, "__array_priority__", priority.get()));
  checked(PyModule_AddObjectRef(module, "Tensor", tensor));
  checked(PyModule_AddType(module, make_node_type()));
  checked(PyModule_AddType(module, make_generator_type()));
  checked(PyModule_AddType(module, make_hook_handle_type()));
  checked(PyModule_AddType(module, make_context_type()));
  checked(PyModule_AddType(module, make_layer_type()));
  add_grad_modes(module);
  add_stop_recomputation(module);
  checked(PyModule_AddFunctions(module, saved_hooks_functions()));
  checked(PyModule_AddFunctions(module, checkpoint_functions()));
  checked(PyModule_AddFunctions(module, copy_functions()));

  static std::vector<PyMethodDef> operators = operator_functions();
  operators.push_back({nullptr, nullptr, 0, nullptr});
  add_capture_points(operators, false);
  checked(PyModule_AddFunctions(module, operators.data()));
  for (const char* name : {"asarray", "tensor"}) add_capture_point(method_named(creation_functions(), name), name);
  checked(PyModule_AddFunctions(module, creation_functions()));
  checked(PyModule_AddFunctions(module, dtype_functions()));
  for (const char* name : {"grad", "backward"}) add_capture_point(method_named(autograd_functions(), name), name);
  checked(PyModule_AddFunctions(module, autograd_functions()));
  checked(PyModule_AddFunctions(module, transform_functions()));
  checked(PyModule_AddFunctions(module, hook_functions()));
  checked(PyModule_AddFunctions(module, inspect_functions()));
  checked(PyModule_AddFunctions(module, forward_ad_functions()));
  checked(PyModule_AddFunctions(module, runtime_functions()));
  checked(PyModule_AddFunctions(module, device_functions()));
  checked(PyModule_AddFunctions(module, graph_capture_functions()));
  checked(PyModule_AddFunctions(module, source_kernel_functions()));
  checked(PyModule_AddFunctions(module, stream_functions()));
  checked(PyModule_AddFunctions(module, autocast_functions()));
  checked(PyModule_AddFunctions(module, random_functions()));
  checked(PyModule_AddFunctions(module, vmap_functions()));
  checked(PyModule_AddFunctions(module, user_op_functions()));
  checked(PyModule_AddFunctions(module, optimizer_functions()));
  checked(PyModule_AddFunctions(module, layer_slot_functions()));
  static PyMethodDef listing[] = {
      {"operators", operator_list, METH_NOARGS, "operators()\n--\n\nDescribes each operator, as a list of dicts."},
      {nullptr, nullptr, 0, nullptr},
  };
  checked(PyModule_AddFunctions(module, listing));
  checked(PyModule_AddStringConstant(module, "__version__", LAMELLA_VERSION));
  checked(PyModule_AddType(module, make_operator_type()));
  checked(PyModule_AddFunctions(module, registry_functions()));
  checked(PyModule_AddFunctions(module, registration_functions()));
  checked(PyModule_AddFunctions(module, capture_functions()));
  checked(PyModule_AddFunctions(module, profile_functions()));
  checked(PyModule_AddType(module, make_graph_type()));
  checked(PyModule_AddType(module, make_replay_type()));
  checked(PyModule_AddFunctions(module, native_program_functions()));
  add_distributed(module);
  add_extension_api(module);
}

/// Returns the module: that of an earlier import, if there was one, as its types exist once.
PyObject* create(PyObject* spec, PyModuleDef*) {
  static PyObject* module = nullptr;
  if (module) return Py_NewRef(module);
  return guarded([&]() -> PyObject* {
    const PyRef name = PyRef::adopt(checked(PyObject_GetAttrString(spec, "name")));
    PyRef created = PyRef::adopt(checked(PyModule_NewObject(name.get())));
    fill(created.get());
    module = Py_NewRef(created.get());
    return created.release();
  });
}

}  // namespace
}  // namespace lamella::python

/// Entry point that Python looks up. It runs for each interpreter, which imports that keep a module's contents do not.
PyMODINIT_FUNC PyInit__C() {
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError,
                    "[lamella] cannot be imported in a subinterpreter: its types and threads belong to the main "
                    "interpreter; use threads of that one, or processes (multiprocessing)");
    return nullptr;
  }
  static PyModuleDef_Slot slots[] = {
      {Py_mod_create, reinterpret_cast<void*>(lamella::python::create)},
      {0, nullptr},
  };
  static PyModuleDef definition{.m_base = PyModuleDef_HEAD_INIT,
                                .m_name = "_C",
                                .m_doc = "Lamella's engine and operators, for the package lamella.",
                                .m_size = 0,
                                .m_methods = nullptr,
                                .m_slots = slots,
                                .m_traverse = nullptr,
                                .m_clear = nullptr,
                                .m_free = nullptr};
  return PyModuleDef_Init(&definition);
}
