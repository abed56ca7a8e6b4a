// Properties of lm.Tensor.

#include "engine/autograd/backward/hooks.h"
#include "engine/autograd/graph/place.h"
#include "ops/elementwise/complex.h"
#include "ops/shape/permute.h"
#include "python/bindings/containers.h"
#include "python/bindings/dtype_type.h"
#include "python/bindings/element_count.h"
#include "python/bindings/errors.h"
#include "python/bindings/node_type.h"
#include "python/bindings/tensor_object.h"
#include "python/bindings/tensor_slots.h"

namespace lamella::python {
namespace {

/// Getter of a property: wraps the result of `Read` for the tensor.
template <auto Read>
PyObject* get(PyObject* self, void*) {
  return guarded([&]() -> PyObject* { return Read(tensor_of(self)); });
}

bool read_flag(PyObject* value, const char* name) {
  if (!value) fail<TypeError>("[", name, "] cannot be deleted");
  if (value == Py_True) return true;
  if (value == Py_False) return false;
  fail<TypeError>("[", name, "] expected True or False, got ", type_name(value));
}

int set_stop_gradient(PyObject* self, PyObject* value, void*) {
  return guarded([&]() -> int {
    tensor_of(self).set_stop_gradient(read_flag(value, "stop_gradient"));
    return 0;
  });
}

int set_requires_grad(PyObject* self, PyObject* value, void*) {
  return guarded([&]() -> int {
    tensor_of(self).set_requires_grad(read_flag(value, "requires_grad"));
    return 0;
  });
}

int set_grad(PyObject* self, PyObject* value, void*) {
  return guarded([&]() -> int {
    Tensor grad;
    if (value && value != Py_None) {
      if (!is_tensor(value)) fail<TypeError>("[grad] expected a Tensor or None, got ", type_name(value));
      grad = tensor_of(value);
    }
    tensor_of(self).set_grad(std::move(grad));
    return 0;
  });
}

/// Implements `x.real = value` and `x.imag = value`: writes into the view that the attribute is. `x.imag += 1` assigns
/// that very view, whose values are in place already.
template <Tensor (*Part)(const Tensor&)>
int set_part(PyObject* self, PyObject* value, void* name) {
  return guarded([&]() -> int {
    const auto* const attribute = static_cast<const char*>(name);
    if (!value) fail<TypeError>("[", attribute, "] cannot be deleted");
    const Tensor& x = tensor_of(self);
    const Tensor part = Part(x);
    if (part->storage != x->storage)
      fail<TypeError>("[", attribute, "] a tensor of dtype ", x.dtype(),
                      " has no imaginary part to set; cast it to a complex dtype");
    return PyObject_SetItem(wrap_ref(part).get(), Py_Ellipsis, value);
  });
}

PyObject* number(std::int64_t value) { return checked(PyLong_FromLongLong(value)); }

std::int64_t output_nr(const Tensor& x) {
  const autograd::AutogradMeta* meta = autograd::get_meta(x);
  return meta && meta->grad_fn ? meta->output_nr : 0;
}

PyGetSetDef attributes[] = {
    {"shape", get<[](const Tensor& x) { return tuple_of_ints(x.shape()).release(); }>, nullptr,
     "The sizes of the axes, a tuple.", nullptr},
    {"strides", get<[](const Tensor& x) { return tuple_of_ints(x.strides()).release(); }>, nullptr,
     "For each axis, how many elements lie between one index and the next.", nullptr},
    {"ndim", get<[](const Tensor& x) { return number(static_cast<std::int64_t>(x.ndim())); }>, nullptr,
     "The number of axes.", nullptr},
    {"size", get<[](const Tensor& x) { return element_count(x.numel()); }>, nullptr, "The number of elements.",
     nullptr},
    {"itemsize", get<[](const Tensor& x) { return number(static_cast<std::int64_t>(item_size(x.dtype()))); }>, nullptr,
     "Bytes of one element.", nullptr},
    {"nbytes", get<[](const Tensor& x) { return number(static_cast<std::int64_t>(x.nbytes())); }>, nullptr,
     "Bytes of all elements.", nullptr},
    {"dtype", get<[](const Tensor& x) { return dtype_object(x.dtype()); }>, nullptr, "The type of the elements.",
     nullptr},
    {"device", get<[](const Tensor& x) { return checked(PyUnicode_FromString(x.device().str().c_str())); }>, nullptr,
     "Where the elements are: 'cpu', 'cuda:0', 'meta'.", nullptr},
    {"T", get<[](const Tensor& x) { return wrap(reverse_axes(x)); }>, nullptr, "A view with the axes in reverse order.",
     nullptr},
    {"mT", get<[](const Tensor& x) { return wrap(matrix_transpose(x)); }>, nullptr,
     "A view with the last two axes exchanged.", nullptr},
    {"mH", get<[](const Tensor& x) { return wrap(matrix_transpose(conj(x))); }>, nullptr,
     "The adjoint of the matrices in the last two axes: exchanged, and complex numbers conjugated.", nullptr},
    {"H", get<[](const Tensor& x) {
       if (x.ndim() != 2) fail<ValueError>("[H] needs a matrix, got shape ", x.shape(), "; mH takes stacks of them");
       return wrap(matrix_transpose(conj(x)));
     }>,
     nullptr, "The adjoint of a matrix.", nullptr},
    {"real", get<[](const Tensor& x) { return wrap(real(x)); }>, set_part<real>,
     "The real part, a view of complex x; real x itself. Values that are set are written into x.",
     const_cast<char*>("real")},
    {"imag", get<[](const Tensor& x) { return wrap(imag(x)); }>, set_part<imag>,
     "The imaginary part, a view of complex x, into which values that are set are written; new zeros for real x.",
     const_cast<char*>("imag")},
    {"stop_gradient", get<[](const Tensor& x) { return PyBool_FromLong(x.stop_gradient()); }>, set_stop_gradient,
     "True if the tensor wants no gradient: True for a new tensor, False for a parameter and what is computed from "
     "one.",
     nullptr},
    {"requires_grad", get<[](const Tensor& x) { return PyBool_FromLong(x.requires_grad()); }>, set_requires_grad,
     "The opposite of stop_gradient.", nullptr},
    {"is_leaf", get<[](const Tensor& x) { return PyBool_FromLong(x.is_leaf()); }>, nullptr,
     "True if the tensor is not the result of a recorded operation.", nullptr},
    {"grad", get<[](const Tensor& x) { return wrap(x.grad()); }>, set_grad,
     "The gradient that backward passes have added up; None where there is none. Setting it to None, or deleting it, "
     "drops it.",
     nullptr},
    {"grad_fn", get<[](const Tensor& x) { return wrap_node(x.grad_fn()); }>, nullptr,
     "The recorded operation that the tensor is the result of; None for a leaf.", nullptr},
    {"output_nr", get<[](const Tensor& x) { return number(output_nr(x)); }>, nullptr,
     "Which output of grad_fn's operation the tensor is; 0 for a leaf.", nullptr},
    {"retains_grad", get<[](const Tensor& x) { return PyBool_FromLong(autograd::retains_grad(x)); }>, nullptr,
     "True if retain_grad() was called for the tensor; False for a leaf.", nullptr},
    {"_base", get<[](const Tensor& x) {
       return wrap((x->flags & TensorImpl::kTracked) != 0 ? autograd::base_of(x) : Tensor());
     }>,
     nullptr, "The tensor whose memory a view shows that was made while recording was on; None for others.", nullptr},
    {"inplace_version", get<[](const Tensor& x) { return number(x.version()); }>, nullptr,
     "Counts the writes in place into the tensor's memory.", nullptr},
    {"_version", get<[](const Tensor& x) { return number(x.version()); }>, nullptr, "The same as inplace_version.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

PyGetSetDef* tensor_attributes() { return attributes; }

}  // namespace lamella::python
