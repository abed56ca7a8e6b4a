#pragma once

// Binds Lamella to Python extensions written with pybind11: tensors as arguments and results, and layers in one line.
//
//     #include <lamella/lamella.h>
//     #include <lamella/python.h>
//
//     PYBIND11_MODULE(my_layers, m) {
//       lamella::python::bind_function<MyTanh>(m, "my_tanh", "my_tanh(x): the hyperbolic tangent");
//       m.def("twice", [](const lamella::Tensor& x) { return 2 * x; });
//     }
//
// The types live in lamella._C and are reached through a table of functions, so an extension need not be built with the
// pybind11 that Lamella was built with. Importing an extension raises ImportError if the installed Lamella has another
// ABI version.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <exception>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "engine/autograd/layers/function.h"
#include "engine/core/tensor.h"
#include "lamella/abi.h"

namespace lamella::python {

inline const ExtensionApi& extension_api();

namespace detail {

inline const ExtensionApi& load_api() {
  pybind11::module_::import("lamella._C");
  const auto* api = static_cast<const ExtensionApi*>(PyCapsule_Import(kAbiCapsule, 0));
  if (!api) throw pybind11::error_already_set();
  if (api->abi_version != kAbiVersion) {
    PyErr_Format(PyExc_ImportError,
                 "this extension was built for ABI version %d of Lamella, the one installed has %d: build it again",
                 kAbiVersion, api->abi_version);
    throw pybind11::error_already_set();
  }
  // Translates Lamella's exceptions to the Python exceptions that they are named after, and sets Python exceptions that
  // a callback raised again.
  pybind11::register_local_exception_translator([](std::exception_ptr error) {
    if (!error) return;
    try {
      std::rethrow_exception(error);
    } catch (pybind11::builtin_exception&) {
      throw;  // translated by pybind11
    } catch (pybind11::error_already_set&) {
      throw;
    } catch (...) {
      extension_api().set_error();
    }
  });
  return *api;
}

}  // namespace detail

/// Returns the table of lamella._C. ImportError if Lamella is missing or has another ABI version.
inline const ExtensionApi& extension_api() {
  static const ExtensionApi* api =
      nullptr;  // not initialized by an import: that could wait for a thread that waits for this initializer
  if (!api) api = &detail::load_api();
  return *api;
}

namespace detail {

/// Has an extension's exceptions translated from the start, also in functions that take no tensor. Without Python, or
/// where Lamella cannot be imported, the first use of a tensor tells.
inline bool prepared_at_load() noexcept {
  if (!Py_IsInitialized() || !PyGILState_Check() || PyErr_Occurred()) return false;
  try {
    extension_api();
    return true;
  } catch (...) {
    PyErr_Clear();
    return false;
  }
}
[[maybe_unused]] static const bool prepared = prepared_at_load();

}  // namespace detail

/// Prepares the extension for tensors. Call it first in a PYBIND11_MODULE that binds no layer, so that a wrong ABI
/// version is found at import.
inline void init() { extension_api(); }

}  // namespace lamella::python

namespace pybind11::detail {

/// Converts tensors as arguments and results; None stands for an undefined tensor in results only.
template <>
class type_caster<lamella::Tensor> {
 public:
  PYBIND11_TYPE_CASTER(lamella::Tensor, const_name("lamella.Tensor"));

  bool load(handle source, bool) { return source && lamella::python::extension_api().unwrap(source.ptr(), value); }
  static handle cast(const lamella::Tensor& x, return_value_policy, handle) {
    PyObject* object = lamella::python::extension_api().wrap(x);
    if (!object) throw error_already_set();
    return object;
  }
};

}  // namespace pybind11::detail

namespace lamella::python {
namespace detail {

template <class F>
struct ForwardOf {
  static_assert(!std::is_same_v<F, F>,
                "a layer that is bound to Python has one `static R forward(Context&, ...)`: no template, no overloads");
};
template <class R, class... A>
struct ForwardOf<R (*)(Context&, A...)> {
  using Arguments = std::tuple<std::decay_t<A>...>;
  static constexpr std::size_t kCount = sizeof...(A);
};

/// Converts a layer's result to Python: a tensor, a tuple, a list, or for a plain struct the tuple of its fields.
template <class R>
pybind11::object to_python(R&& result) {
  using D = std::decay_t<R>;
  if constexpr (autograd::detail::kIsPlainStruct<D> && autograd::kHoldsTensors<D>) {
    return std::apply([](auto&... fields) { return pybind11::object(pybind11::make_tuple(to_python(fields)...)); },
                      autograd::detail::fields_of(result));
  } else {
    return pybind11::cast(std::forward<R>(result));
  }
}

/// Returns a caster's name without pybind11's marks: of "@argument@result@" the result.
inline std::string readable(std::string_view name) {
  std::string text;
  int mark = 0;
  for (const char c : name) {
    if (c == '@') {
      mark = (mark + 1) % 3;
    } else if (mark != 1) {
      text += c;
    }
  }
  return text;
}

/// Calls Layer::apply with arguments from Python.
template <class Layer>
PyObject* call_layer(PyObject* args, PyObject* keywords, const char* name) {
  using Forward = ForwardOf<decltype(&Layer::forward)>;
  constexpr std::size_t kCount = Forward::kCount;
  try {
    if (keywords && PyDict_GET_SIZE(keywords) != 0) fail<TypeError>("[", name, "] takes no keyword arguments");
    const auto given = static_cast<std::size_t>(PyTuple_GET_SIZE(args));
    if (given != kCount)
      fail<TypeError>("[", name, "] takes ", kCount, kCount == 1 ? " argument, " : " arguments, ", given,
                      " were given");
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      std::tuple<pybind11::detail::make_caster<std::tuple_element_t<I, typename Forward::Arguments>>...> casters;
      const auto load = [&](auto& caster, std::size_t i) {
        PyObject* object = PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i));
        if (caster.load(object, true)) return;
        if (PyErr_Occurred()) throw pybind11::error_already_set();
        fail<TypeError>("[", name, "] argument ", i, ": expected ", readable(std::decay_t<decltype(caster)>::name.text),
                        ", got ", Py_TYPE(object)->tp_name);
      };
      (load(std::get<I>(casters), I), ...);
      return to_python(Layer::apply(pybind11::detail::cast_op<std::tuple_element_t<I, typename Forward::Arguments>&>(
                           std::get<I>(casters))...))
          .release()
          .ptr();
    }(std::make_index_sequence<kCount>{});
  } catch (pybind11::error_already_set& error) {
    error.restore();
  } catch (pybind11::builtin_exception& error) {
    error.set_error();
  } catch (...) {
    extension_api().set_error();
  }
  return nullptr;
}

}  // namespace detail

/// Binds a C++ layer to Python: a class `name` in the module with a static method `apply`, as a PyLayer has it; calling
/// the class calls apply. Arguments are positional; tensors, numbers, strings, and lists, tuples and optionals of these
/// are converted.
template <class Layer>
void bind_function(pybind11::module_& module, const char* name, const char* doc = "") {
  extension_api();
  static const std::string short_name = name;
  static const std::string full_name = std::string(PyModule_GetName(module.ptr())) + "." + name;
  static PyMethodDef methods[] = {
      {"apply",
       reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(+[](PyObject*, PyObject* args, PyObject* keywords) {
         return detail::call_layer<Layer>(args, keywords, short_name.c_str());
       })),
       METH_STATIC | METH_VARARGS | METH_KEYWORDS,
       "Runs the layer and records the call where a tensor among the arguments wants a gradient."},
      {nullptr, nullptr, 0, nullptr},
  };
  PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(+[](PyTypeObject*, PyObject* args, PyObject* keywords) {
         return detail::call_layer<Layer>(args, keywords, short_name.c_str());
       })},
      {Py_tp_methods, methods},
      {Py_tp_doc, const_cast<char*>(doc)},
      {0, nullptr},
  };
  PyType_Spec spec{};
  spec.name = full_name.c_str();
  spec.basicsize = sizeof(PyObject);
  spec.flags = Py_TPFLAGS_DEFAULT;
  spec.slots = slots;
  const auto type = pybind11::reinterpret_steal<pybind11::object>(PyType_FromSpec(&spec));
  if (!type) throw pybind11::error_already_set();
  module.add_object(name, type);
}

}  // namespace lamella::python
