#pragma once

// Registering operators:
//
//     LAMELLA_LIBRARY(my_ops, m) {
//       m.def("scale(Tensor x, float factor=2.0) -> Tensor");
//     }
//     LAMELLA_LIBRARY_IMPL(my_ops, CPU, m) {
//       m.impl("scale", [](const lamella::Tensor& x, double factor) { ... });
//     }
//
// Such an operator is called in C++ by
//
//     static const auto op = lamella::Dispatcher::singleton()
//         .find_schema_or_throw("my_ops::scale").typed<Tensor(const Tensor&, double)>();
//     Tensor y = op.call(x, 3.0);
//
// and in Python by `lm.ops.my_ops.scale(x, factor=3.0)`.

#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

#include "engine/registry/abi.h"
#include "engine/registry/dispatcher.h"
#include "engine/registry/kernel.h"
#include "engine/registry/key.h"
#include "engine/registry/schema.h"

namespace lamella {

/// Definitions and kernels of operators of one namespace. The registrations last as long as this object.
class Library {
 public:
  using Kernel = registry::KernelFunction;
  using Where = std::source_location;

  enum class Kind {
    /// Owns its namespace: a second library of the same name at another place is an error.
    Def,
    /// Adds operators to a namespace that may belong to another library.
    Fragment,
    /// Registers kernels for one key, of its own operators or others. The namespace "_" is for fallbacks.
    Impl,
  };

  /// Throws ValueError for an invalid name, RuntimeError if a Def library of that namespace exists at another place.
  Library(Kind kind, std::string ns, DispatchKey key = DispatchKey::Undefined, Where where = Where::current());
  Library(Kind kind, std::string ns, DispatchKey key, registry::Place place);
  Library(Library&&) noexcept;
  Library& operator=(Library&&) = delete;
  ~Library();

  /// Defines an operator by its schema: "name(Tensor x) -> Tensor". Throws ValueError for an invalid schema;
  /// RuntimeError that names both places if the operator exists with another one.
  Library& def(std::string_view schema, Where where = Where::current()) { return define(schema, where); }
  /// Defines an operator with one kernel for all devices, composed of other operators (CompositeImplicitAutograd).
  /// `schema` may be just a name: the schema is then that of the function, with arguments _0, _1, ...
  template <class F>
    requires(!std::is_convertible_v<F, Where>)
  Library& def(std::string_view schema, F&& kernel, Where where = Where::current()) {
    return define(schema, Kernel(std::forward<F>(kernel)), DispatchKey::CompositeImplicitAutograd, where);
  }
  /// Defines an operator with a kernel for the given key.
  template <class F>
  Library& def(std::string_view schema, DispatchKey key, F&& kernel, Where where = Where::current()) {
    return define(schema, Kernel(std::forward<F>(kernel)), key, where);
  }

  /// Registers a kernel of "name" or "name.overload" for the library's key; for CompositeImplicitAutograd if it has
  /// none. The operator may be defined later. Throws TypeError that names the argument and both types if the function
  /// does not fit the schema; RuntimeError that names both places if the key has another kernel.
  template <class F>
    requires(!std::is_convertible_v<F, DispatchKey>)
  Library& impl(std::string_view name, F&& kernel, Where where = Where::current()) {
    return implement(name, default_key(), Kernel(std::forward<F>(kernel)), where);
  }
  template <class F>
  Library& impl(std::string_view name, DispatchKey key, F&& kernel, Where where = Where::current()) {
    return implement(name, key, Kernel(std::forward<F>(kernel)), where);
  }

  /// Registers the kernel for the library's key of every operator without one of its own; only in the namespace "_".
  Library& fallback(Kernel kernel, Where where = Where::current()) { return set_fallback(std::move(kernel), where); }
  /// Sets the text that help() shows for an operator of this library.
  Library& doc(std::string_view name, std::string_view text);

  Kind kind() const noexcept;
  const std::string& ns() const noexcept;
  DispatchKey key() const noexcept;
  /// Removes everything that was registered through this library.
  void reset() noexcept;

  // Variants for front ends, which pass the places themselves.
  Library& define(std::string_view schema, registry::Place place);
  Library& define(std::string_view schema, Kernel kernel, DispatchKey key, registry::Place place);
  Library& implement(std::string_view name, DispatchKey key, Kernel kernel, registry::Place place);
  Library& set_fallback(Kernel kernel, registry::Place place);
  DispatchKey default_key() const noexcept;
  /// Returns a number that is unique among the libraries of the process.
  std::uint64_t id() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

namespace registry {

/// A library that exists while the shared object that it stands in is loaded (defined in load.cc).
///
/// Exceptions of `fill` do not leave the constructor: load_library() throws them, or, if the library was loaded in
/// another way, the first lookup that fails; what was registered before is removed.
class StaticLibrary {
 public:
  StaticLibrary(Library::Kind kind, const char* ns, DispatchKey key, void (*fill)(Library&), const AbiStamp& stamp,
                std::source_location where = std::source_location::current()) noexcept;
  ~StaticLibrary();
  StaticLibrary(const StaticLibrary&) = delete;
  StaticLibrary& operator=(const StaticLibrary&) = delete;

 private:
  void* registration_ = nullptr;
};

}  // namespace registry
}  // namespace lamella

#define LAMELLA_JOIN_(a, b) a##b
#define LAMELLA_JOIN(a, b) LAMELLA_JOIN_(a, b)
#define LAMELLA_STATIC_LIBRARY_(kind, ns, key, m, id)                                                             \
  static void LAMELLA_JOIN(lamella_fill_library_, id)(::lamella::Library & m);                                    \
  static const ::lamella::registry::StaticLibrary LAMELLA_JOIN(lamella_library_, id)(                             \
      ::lamella::Library::Kind::kind, #ns, ::lamella::DispatchKey::key, &LAMELLA_JOIN(lamella_fill_library_, id), \
      ::lamella::registry::abi_stamp);                                                                            \
  static void LAMELLA_JOIN(lamella_fill_library_, id)([[maybe_unused]] ::lamella::Library & m)

/// Defines operators of the namespace `ns`, which this library owns: `LAMELLA_LIBRARY(my_ops, m) { m.def(...); }`.
#define LAMELLA_LIBRARY(ns, m) LAMELLA_STATIC_LIBRARY_(Def, ns, Undefined, m, __COUNTER__)
/// Adds operators to the namespace `ns`.
#define LAMELLA_LIBRARY_FRAGMENT(ns, m) LAMELLA_STATIC_LIBRARY_(Fragment, ns, Undefined, m, __COUNTER__)
/// Registers kernels for `key`, a DispatchKey, of operators of the namespace `ns`.
#define LAMELLA_LIBRARY_IMPL(ns, key, m) LAMELLA_STATIC_LIBRARY_(Impl, ns, key, m, __COUNTER__)
