// Makes tensors from nested lists and tuples.

#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "ops/shape/join.h"
#include "python/bindings/convert.h"
#include "python/bindings/create.h"
#include "python/bindings/errors.h"
#include "python/bindings/numpy.h"
#include "python/bindings/py_ref.h"

namespace lamella::python {
namespace {

constexpr std::size_t kMaxDepth = 64;

/// Kinds of numbers; each includes the ones before it.
enum class Kind { Bool, Int, Float, Complex };

DType default_dtype(Kind kind) {
  switch (kind) {
    case Kind::Bool:
      return DType::Bool;
    case Kind::Int:
      return DType::Int64;
    case Kind::Float:
      return DType::Float32;
    default:
      return DType::Complex64;
  }
}

bool is_sequence(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }

std::optional<Kind> number_kind(PyObject* object) {
  if (PyFloat_Check(object)) return Kind::Float;
  if (PyBool_Check(object)) return Kind::Bool;
  if (PyLong_Check(object)) return Kind::Int;
  if (PyComplex_Check(object)) return Kind::Complex;
  return std::nullopt;
}

std::string place(const Dims& position) {
  std::string text;
  for (const std::int64_t i : position) text += "[" + std::to_string(i) + "]";
  return text.empty() ? "the number itself" : "item " + text;
}

/// Walks a nested list twice: for its shape and kind, then for its values. Methods of the items may change the lists in
/// between, so that sizes are compared at each step, and an item is held while it is read.
class Reader {
 public:
  explicit Reader(const char* op) : op_(op) {}

  /// Finds shape and kind; false if the first item that is no list is an array or a tensor, as numbers then do not make
  /// up the whole.
  bool scan(PyObject* object) {
    find_shape(object);
    return !arrays_ && check(object, 0);
  }
  const Dims& shape() const { return shape_; }
  Kind kind() const { return kind_.value_or(Kind::Float); }

  template <class T>
  T* fill(PyObject* object, std::size_t axis, T* to) {
    if (axis == shape_.size()) {
      *to = value<T>(object);
      return to + 1;
    }
    for (std::int64_t i = 0; i < shape_[axis]; ++i) {
      if (!is_sequence(object) || PySequence_Fast_GET_SIZE(object) != shape_[axis]) changed();
      const PyRef item = PyRef::share(PySequence_Fast_GET_ITEM(object, i));
      position_.push_back(i);
      to = fill(item.get(), axis + 1, to);
      position_.pop_back();
    }
    return to;
  }

 private:
  void find_shape(PyObject* object) {
    PyRef at = PyRef::share(object);
    while (is_sequence(at.get())) {
      const Py_ssize_t size = PySequence_Fast_GET_SIZE(at.get());
      shape_.push_back(size);
      if (shape_.size() > kMaxDepth)
        fail<ValueError>("[", op_, "] lists are nested deeper than ", kMaxDepth, " levels");
      if (size == 0) return;
      at = PyRef::share(PySequence_Fast_GET_ITEM(at.get(), 0));
    }
    arrays_ = !number_kind(at.get()) && !is_numpy_scalar(at.get()) && (is_tensor(at.get()) || is_numpy_array(at.get()));
  }

  bool check(PyObject* object, std::size_t axis) {
    if (axis < shape_.size()) {
      if (!is_sequence(object)) {
        fail<ValueError>("[", op_, "] ragged: ", place(position_), " is ", type_name(object), ", where a list of ",
                         shape_[axis], " items is expected");
      }
      const Py_ssize_t size = PySequence_Fast_GET_SIZE(object);
      if (size != shape_[axis]) {
        fail<ValueError>("[", op_, "] ragged: ", place(position_), " has ", size, " items, where ", shape_[axis],
                         " are expected");
      }
      for (Py_ssize_t i = 0; i < size; ++i) {
        position_.push_back(i);
        if (!check(PySequence_Fast_GET_ITEM(object, i), axis + 1)) return false;
        position_.pop_back();
      }
      return true;
    }
    std::optional<Kind> kind = number_kind(object);
    if (!kind && is_numpy_scalar(object)) kind = numpy_kind(object);
    if (!kind && is_tensor(object)) return false;
    if (!kind) {
      if (is_sequence(object)) {
        fail<ValueError>("[", op_, "] ragged: ", place(position_), " is a list, where a number is expected");
      }
      fail<TypeError>("[", op_, "] ", place(position_), " is ", type_name(object), ", not a number");
    }
    if (!kind_ || *kind > *kind_) kind_ = kind;
    return true;
  }

  static std::optional<Kind> numpy_kind(PyObject* object) {
    const std::string_view name = type_name(object);
    if (name.find("bool") != std::string_view::npos) return Kind::Bool;
    if (name.find("int") != std::string_view::npos) return Kind::Int;
    if (name.find("complex") != std::string_view::npos) return Kind::Complex;
    if (name.find("float") != std::string_view::npos) return Kind::Float;
    return std::nullopt;
  }

  template <class T>
  T value(PyObject* object) {
    if constexpr (std::is_same_v<T, bool>) {
      return checked(PyObject_IsTrue(object)) != 0;
    } else if constexpr (std::is_integral_v<T>) {
      if (PyFloat_Check(object) || !PyIndex_Check(object)) {
        const double real = PyFloat_AsDouble(object);
        if (real == -1.0 && PyErr_Occurred()) throw_python_error();
        // The bounds are powers of two or 0, hence exact. Comparisons with NaN are false.
        const double whole = std::trunc(real);
        constexpr auto kLowest = static_cast<double>(std::numeric_limits<T>::min());
        constexpr auto kBeyond = static_cast<double>(std::numeric_limits<T>::max() / 2 + 1) * 2;
        if (!(whole >= kLowest && whole < kBeyond)) too_large();
        return static_cast<T>(whole);
      }
      const PyRef number = PyRef::adopt(checked(PyNumber_Index(object)));
      if constexpr (std::is_same_v<T, std::uint64_t>) {
        const unsigned long long integer = PyLong_AsUnsignedLongLong(number.get());
        if (integer == static_cast<unsigned long long>(-1) && PyErr_Occurred()) overflow();
        return integer;
      } else {
        int overflowed = 0;
        const long long integer = PyLong_AsLongLongAndOverflow(number.get(), &overflowed);
        if (integer == -1 && PyErr_Occurred()) throw_python_error();
        if (overflowed || integer != static_cast<long long>(static_cast<T>(integer))) too_large();
        return static_cast<T>(integer);
      }
    } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
      const Py_complex z = PyComplex_AsCComplex(object);
      if (z.real == -1.0 && PyErr_Occurred()) throw_python_error();
      return T(static_cast<typename T::value_type>(z.real), static_cast<typename T::value_type>(z.imag));
    } else {
      const double real = PyFloat_AsDouble(object);
      if (real == -1.0 && PyErr_Occurred()) overflow();
      return T(static_cast<float>(real));
    }
  }

  /// Raises for an integer too large for a double, or a negative one for an unsigned dtype.
  [[noreturn]] void overflow() {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) throw_python_error();
    PyErr_Clear();
    too_large();
  }
  [[noreturn]] void too_large() { fail<ValueError>("[", op_, "] ", place(position_), " does not fit into the dtype"); }
  [[noreturn]] void changed() { fail<ValueError>("[", op_, "] a list was changed while it was read"); }

  const char* op_;
  Dims shape_;
  Dims position_;
  std::optional<Kind> kind_;
  bool arrays_ = false;
};

template <>
double Reader::value<double>(PyObject* object) {
  const double real = PyFloat_AsDouble(object);
  if (real == -1.0 && PyErr_Occurred()) overflow();
  return real;
}

Tensor read_values(Reader& reader, PyObject* object, DType dtype) {
  Tensor x = empty(reader.shape(), dtype);
  visit<AnyDType>(dtype, "asarray", [&]<class T> {
    if (x.numel() != 0) reader.fill(object, 0, x.data<T>());
  });
  return x;
}

/// Stacks a list of arrays or tensors.
Tensor stack_items(PyObject* sequence, const CreateOptions& options) {
  std::vector<Tensor> parts;
  CreateOptions part = options;
  part.copy = Copy::IfNeeded;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i) {
    const PyRef item = PyRef::share(PySequence_Fast_GET_ITEM(sequence, i));
    parts.push_back(create_tensor(item.get(), part));
    if (parts.back().shape() != parts.front().shape()) {
      fail<ValueError>("[", options.op, "] ragged: item [", i, "] has shape ", parts.back().shape(), ", item [0] has ",
                       parts.front().shape());
    }
  }
  return stack(parts, 0);
}

}  // namespace

std::optional<Tensor> tensor_from_number(PyObject* number, const CreateOptions& options) {
  const std::optional<Kind> kind = number_kind(number);
  // A numpy.float64 is a Python float as well, but one that has a dtype.
  if (!kind || PyObject_CheckBuffer(number)) return std::nullopt;
  Reader reader(options.op);
  return read_values(reader, number, options.dtype.value_or(default_dtype(*kind)));
}

Tensor tensor_from_sequence(PyObject* sequence, const CreateOptions& options) {
  Reader reader(options.op);
  if (!reader.scan(sequence)) return stack_items(sequence, options);
  return read_values(reader, sequence, options.dtype.value_or(default_dtype(reader.kind())));
}

}  // namespace lamella::python
