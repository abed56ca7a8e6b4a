#pragma once

#include <Python.h>

#include <memory>

#include "engine/runtime/generator.h"
#include "python/bindings/signature.h"

namespace lamella::python {

/// Python object of a generator. It owns its generator, or refers to a default one, which nobody owns; set when the
/// object is made, and never changed.
struct GeneratorObject {
  PyObject_HEAD std::shared_ptr<Generator> generator;
};

/// lamella.Generator; set when the module is loaded.
extern PyTypeObject* generator_type;

/// Returns the generator of an object that is a lamella.Generator.
inline Generator& generator_of(PyObject* self) { return *reinterpret_cast<GeneratorObject*>(self)->generator; }

/// Returns the generator of a lamella.Generator, or null for None; TypeError for anything else. It lives as long as the
/// object.
Generator* read_generator(PyObject* object, const Argument& argument);

}  // namespace lamella::python
