#include "python/bindings/extension_api.h"

#include "lamella/abi.h"
#include "python/bindings/errors.h"
#include "python/bindings/py_ref.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {
namespace {

PyObject* wrap_for_extension(const Tensor& x) { return wrap(x); }

bool unwrap_for_extension(PyObject* object, Tensor& x) {
  if (!is_tensor(object) || !as_object(object)->tensor.defined()) return false;
  x = as_object(object)->tensor;
  return true;
}

ExtensionApi api{kAbiVersion, wrap_for_extension, unwrap_for_extension, set_python_error};

}  // namespace

void add_extension_api(PyObject* module) {
  const PyRef capsule = PyRef::adopt(checked(PyCapsule_New(&api, kAbiCapsule, nullptr)));
  checked(PyModule_AddObjectRef(module, "_extension_api", capsule.get()));
}

}  // namespace lamella::python
