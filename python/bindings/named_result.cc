#include "python/bindings/named_result.h"

#include <structseq.h>

#include <deque>
#include <string>

#include "python/bindings/errors.h"
#include "python/bindings/py_ref.h"
#include "python/bindings/tensor_object.h"

namespace lamella::python {

PyTypeObject* named_result_type(const char* op, std::span<const char* const> fields) {
  // The type refers to the names and descriptions, so that they are never freed.
  static auto* names = new std::deque<std::string>;
  static auto* descriptions = new std::deque<std::vector<PyStructSequence_Field>>;
  auto& description = descriptions->emplace_back();
  for (const char* field : fields) description.push_back({field, nullptr});
  description.push_back({nullptr, nullptr});
  PyStructSequence_Desc desc{names->emplace_back(std::string("lamella.") + op + "_result").c_str(), nullptr,
                             description.data(), static_cast<int>(fields.size())};
  return reinterpret_cast<PyTypeObject*>(checked(reinterpret_cast<PyObject*>(PyStructSequence_NewType(&desc))));
}

PyObject* named_result(PyTypeObject* type, std::vector<Tensor> tensors) {
  PyRef result = PyRef::adopt(checked(PyStructSequence_New(type)));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    PyStructSequence_SetItem(result.get(), static_cast<Py_ssize_t>(i), checked(wrap(std::move(tensors[i]))));
  }
  return result.release();
}

}  // namespace lamella::python
