#include "python/bindings/generator_type.h"

#include <memory>
#include <optional>
#include <string>

#include "python/bindings/convert.h"
#include "python/bindings/errors.h"
#include "python/bindings/generator_object.h"
#include "python/bindings/method.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {
namespace {

PyObject* wrap_generator(std::shared_ptr<Generator> generator) {
  auto* object = checked(PyObject_New(GeneratorObject, generator_type));
  new (&object->generator) std::shared_ptr<Generator>(std::move(generator));
  return reinterpret_cast<PyObject*>(object);
}

PyObject* wrap_new(Generator generator) { return wrap_generator(std::make_shared<Generator>(std::move(generator))); }

PyObject* number(std::uint64_t value) { return checked(PyLong_FromUnsignedLongLong(value)); }

PyObject* text(const std::string& value) {
  return checked(PyUnicode_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size())));
}

/// Reads an integer in [low, 2^64), with `low` 0, or -2^63 if `negative`, as its low 64 bits; nothing for an integer
/// outside. TypeError for other objects.
std::optional<std::uint64_t> read_bits(PyObject* object, bool negative, const char* expected,
                                       const Argument& argument) {
  if (PyBool_Check(object) || !PyIndex_Check(object)) argument.wrong_type(expected, object);
  const PyRef value = PyRef::adopt(checked(PyNumber_Index(object)));
  int overflow = 0;
  const long long small = PyLong_AsLongLongAndOverflow(value.get(), &overflow);
  if (small == -1 && PyErr_Occurred()) throw_python_error();
  if (overflow == 0) {
    if (small < 0 && !negative) return std::nullopt;
    return static_cast<std::uint64_t>(small);
  }
  const unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(value.get()) : 0;
  if (overflow < 0 || (large == ~0ull && PyErr_Occurred())) {
    PyErr_Clear();
    return std::nullopt;
  }
  return large;
}

std::uint64_t read_seed(PyObject* object, const Argument& argument) {
  const std::optional<std::uint64_t> seed = read_bits(object, true, "an int", argument);
  if (!seed) argument.wrong_value("expected a seed in [-2**63, 2**64), got an int outside");
  return *seed;
}

PyRef state_tuple(const GeneratorState& state) {
  return PyRef::adopt(checked(Py_BuildValue("(KKK)", static_cast<unsigned long long>(state.seed),
                                            static_cast<unsigned long long>(state.offset),
                                            static_cast<unsigned long long>(state.forks))));
}

/// Reads a state: (seed, offset, forks), or (seed, offset) as long as there were no forks; a list where a file format
/// has turned the tuple into one.
GeneratorState read_state(PyObject* object, const Argument& argument) {
  constexpr const char* kExpected = "what get_rng_state or get_state returned, a tuple of three ints";
  if (!PyTuple_Check(object) && !PyList_Check(object)) argument.wrong_type(kExpected, object);
  // The state is copied to a tuple first, as an item's __index__ may change a list.
  const PyRef items = PyRef::adopt(checked(PySequence_Tuple(object)));
  const Py_ssize_t count = PyTuple_GET_SIZE(items.get());
  if (count != 2 && count != 3) {
    argument.wrong_value(str("expected a state of three ints (seed, offset, forks), got ", count, " items"));
  }
  std::uint64_t words[3] = {};
  for (Py_ssize_t i = 0; i < count; ++i) {
    const auto word = read_bits(PyTuple_GET_ITEM(items.get(), i), false, kExpected, argument);
    if (!word) argument.wrong_value(str("expected item ", i, " of a state in [0, 2**64), got an int outside"));
    words[i] = *word;
  }
  return {words[0], words[1], words[2]};
}

/// Reads the device of a state; None is the CPU.
Device read_state_device(PyObject* object, const Argument& argument) {
  return read_optional<Device>(object, argument).value_or(kCPU);
}

// lamella.Generator
// ---------------------------------------------------------------------------------------------------------------------

PyObject* create(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("Generator", "device='cpu', seed=None");
    static const char* const names[] = {"device", "seed", nullptr};
    PyObject* device = signature.parameter(0).default_value;
    PyObject* seed = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:Generator", const_cast<char**>(names), &device, &seed)) {
      return nullptr;
    }
    const std::uint64_t start = seed == Py_None ? Generator::kDefaultSeed : read_seed(seed, {signature, 1});
    return wrap_new(Generator(start, read_device(device, {signature, 0})));
  });
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<GeneratorObject*>(self)->generator.~shared_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* repr(PyObject* self) {
  return guarded([&] {
    const Generator& generator = generator_of(self);
    const GeneratorState state = generator.get_state();
    return text(str("<lamella.Generator device='", generator.device(), "' seed=", state.seed, " offset=", state.offset,
                    " forks=", state.forks, ">"));
  });
}

PyObject* get_device(PyObject* self, void*) {
  return guarded([&] { return text(generator_of(self).device().str()); });
}

PyObject* manual_seed(PyObject* self, PyObject* value) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("Generator.manual_seed", "seed, /");
    generator_of(self).manual_seed(read_seed(value, {signature, 0}));
    return Py_NewRef(self);
  });
}

PyObject* seed_from_entropy(PyObject* self, PyObject*) {
  return guarded([&] { return number(generator_of(self).seed()); });
}

PyObject* initial_seed(PyObject* self, PyObject*) {
  return guarded([&] { return number(generator_of(self).initial_seed()); });
}

PyObject* get_state(PyObject* self, PyObject*) {
  return guarded([&] { return state_tuple(generator_of(self).get_state()).release(); });
}

PyObject* set_state(PyObject* self, PyObject* value) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("Generator.set_state", "state, /");
    generator_of(self).set_state(read_state(value, {signature, 0}));
    Py_RETURN_NONE;
  });
}

PyObject* clone(PyObject* self, PyObject*) {
  return guarded([&] { return wrap_new(generator_of(self).clone()); });
}

PyObject* fork(PyObject* self, PyObject*) {
  return guarded([&] { return wrap_new(generator_of(self).fork()); });
}

PyObject* split(PyObject* self, PyObject* value) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("Generator.split", "n, /");
    const std::int64_t count = read_int(value, {signature, 0});
    if (count < 0) Argument{signature, 0}.wrong_value(str("expected at least 0 streams, got ", count));
    // The list comes first: of a number that no memory holds it raises MemoryError.
    PyRef list = PyRef::adopt(checked(PyList_New(static_cast<Py_ssize_t>(count))));
    std::vector<Generator> parts = generator_of(self).split(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), wrap_new(std::move(parts[i])));
    }
    return list.release();
  });
}

PyObject* reduce(PyObject* self, PyObject*) {
  return guarded([&] {
    const Generator& generator = generator_of(self);
    return checked(Py_BuildValue("O(N)N", generator_type, text(generator.device().str()),
                                 state_tuple(generator.get_state()).release()));
  });
}

PyGetSetDef attributes[] = {
    {"device", get_device, nullptr, "The device that it draws numbers for, such as 'cpu'.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef methods[] = {
    {"manual_seed", manual_seed, METH_O,
     "manual_seed($self, seed, /)\n--\n\n"
     "Starts the stream of a seed in [-2**63, 2**64) from its beginning; returns the generator."},
    {"seed", seed_from_entropy, METH_NOARGS,
     "seed($self, /)\n--\n\nStarts a stream whose seed comes from the operating system; returns that seed."},
    {"initial_seed", initial_seed, METH_NOARGS,
     "initial_seed($self, /)\n--\n\nThe seed of the stream, in [0, 2**64); a fork has one that its parent gave it."},
    {"get_state", get_state, METH_NOARGS,
     "get_state($self, /)\n--\n\n"
     "Where it stands, for set_state: the ints (seed, offset, forks), the stream's seed, the counters taken from it\n"
     "(one gives four float32 numbers, or two others), and the streams forked off."},
    {"set_state", set_state, METH_O,
     "set_state($self, state, /)\n--\n\nGoes on from where get_state was called, on this or another generator."},
    {"clone", clone, METH_NOARGS, "clone($self, /)\n--\n\nA generator at the same place: it draws the same numbers."},
    {"fork", fork, METH_NOARGS,
     "fork($self, /)\n--\n\n"
     "A generator with a stream of its own, independent of this one's and of its other forks'. What this one draws\n"
     "does not change, and its n-th fork since it was seeded is always the same. The key of the new stream is made by\n"
     "Philox from this one's and n (Claessen and Palka, 2013, \"Splittable pseudorandom number generators using\n"
     "cryptographic hashing\")."},
    {"split", split, METH_O, "split($self, n, /)\n--\n\nA list of the next n forks: one for each thread, say."},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"__setstate__", set_state, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

// The default generators
// ---------------------------------------------------------------------------------------------------------------------

PyObject* default_generator_of(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&] {
    static const Signature signature("default_generator", "device='cpu'");
    PyObject* value = nullptr;
    signature.bind(args, count, keywords, &value);
    Generator& generator = default_generator(read_device(value, {signature, 0}));
    return wrap_generator(std::shared_ptr<Generator>(std::shared_ptr<void>(), &generator));
  });
}

PyObject* seed_all(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("seed", "n, /");
    seed(read_seed(value, {signature, 0}));
    Py_RETURN_NONE;
  });
}

PyObject* get_rng_state(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&] {
    static const Signature signature("get_rng_state", "device=None");
    PyObject* value = nullptr;
    signature.bind(args, count, keywords, &value);
    return state_tuple(default_generator(read_state_device(value, {signature, 0})).get_state()).release();
  });
}

PyObject* set_rng_state(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("set_rng_state", "state, /, device=None");
    const auto values = signature.bound<2>(args, count, keywords);
    const GeneratorState state = read_state(values[0], {signature, 0});
    default_generator(read_state_device(values[1], {signature, 1})).set_state(state);
    Py_RETURN_NONE;
  });
}

PyObject* states_dict(const std::vector<DeviceRngState>& states) {
  PyRef dict = PyRef::adopt(checked(PyDict_New()));
  for (const auto& [device, state] : states) {
    checked(PyDict_SetItemString(dict.get(), device.str().c_str(), state_tuple(state).get()));
  }
  return dict.release();
}

PyObject* get_rng_states(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("rng_states", "devices=None");
    PyObject* value = nullptr;
    signature.bind(args, count, keywords, &value);
    if (value == Py_None) return states_dict(rng_states());
    if (!PyTuple_Check(value) && !PyList_Check(value)) {
      Argument{signature, 0}.wrong_type("a list or tuple of devices, or None", value);
    }
    std::vector<Device> devices;
    devices.reserve(static_cast<std::size_t>(PySequence_Fast_GET_SIZE(value)));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
      devices.push_back(read_device(PySequence_Fast_GET_ITEM(value, i), {signature, 0}));
    }
    return states_dict(rng_states(devices));
  });
}

PyObject* restore_states(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    static const Signature signature("restore_rng_states", "states, /");
    if (!PyDict_Check(value)) Argument{signature, 0}.wrong_type("a dict, what rng_states returned", value);
    // The dict is copied first, as a state's __index__ may change it.
    const PyRef items = PyRef::adopt(checked(PyDict_Items(value)));
    std::vector<DeviceRngState> states;
    states.reserve(static_cast<std::size_t>(PyList_GET_SIZE(items.get())));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
      PyObject* item = PyList_GET_ITEM(items.get(), i);
      const Device device = read_device(PyTuple_GET_ITEM(item, 0), {signature, 0});
      states.push_back({device, read_state(PyTuple_GET_ITEM(item, 1), {signature, 0})});
    }
    restore_rng_states(states);
    Py_RETURN_NONE;
  });
}

PyMethodDef random_method_defs[] = {
    {"default_generator", as_c_function(default_generator_of), METH_FASTCALL | METH_KEYWORDS,
     "default_generator(device='cpu')\n--\n\n"
     "The generator that operators use on a device where none is given. ValueError for 'meta', RuntimeError where\n"
     "there is no such device."},
    {"seed", seed_all, METH_O,
     "seed(n, /)\n--\n\n"
     "Starts the random numbers of all devices anew: the same seed, in [-2**63, 2**64), gives the same numbers.\n"
     "Every device gets the same stream."},
    {"get_rng_state", as_c_function(get_rng_state), METH_FASTCALL | METH_KEYWORDS,
     "get_rng_state(device=None)\n--\n\n"
     "Where the random numbers of a device (the CPU where it is None) stand, for set_rng_state: ints, as of\n"
     "Generator.get_state."},
    {"set_rng_state", as_c_function(set_rng_state), METH_FASTCALL | METH_KEYWORDS,
     "set_rng_state(state, /, device=None)\n--\n\nGoes on with the random numbers of a device from a state."},
    {"rng_states", as_c_function(get_rng_states), METH_FASTCALL | METH_KEYWORDS,
     "rng_states(devices=None)\n--\n\n"
     "The states of the default generators, a dict by device, for restore_rng_states: of the devices given, or of all\n"
     "that were used. Of the others, 'meta' has the seed they start from."},
    {"restore_rng_states", restore_states, METH_O,
     "restore_rng_states(states, /)\n--\n\n"
     "Puts the default generators back to where they stood when rng_states was called. RuntimeError where a device of\n"
     "them is missing; then nothing changes."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyTypeObject* make_generator_type() {
  static PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(create)},
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_repr, reinterpret_cast<void*>(repr)},
      {Py_tp_getset, attributes},
      {Py_tp_methods, methods},
      {Py_tp_doc,
       const_cast<char*>(
           "Generator(device='cpu', seed=None)\n--\n\n"
           "A source of random numbers for one device, given to random operators as `generator`.\n\n"
           "Without a seed it starts from a fixed one; call seed() for one from the operating system. It can be\n"
           "pickled and copied, and shared by threads; what each of them draws is the same from run to run only where\n"
           "each has its own (see fork and split). ValueError for the device 'meta', where nothing is drawn.")},
      {0, nullptr},
  };
  return generator_type = new_type<GeneratorObject>("lamella.Generator", slots);
}

PyMethodDef* random_functions() { return random_method_defs; }

}  // namespace lamella::python
