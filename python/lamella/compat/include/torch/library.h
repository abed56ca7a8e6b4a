#pragma once

// Implements TORCH_LIBRARY and its relatives on the registry of operators (engine/registry/library.h).

#include <functional>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "ATen/core/boxing.h"
#include "ATen/core/dispatch/Dispatcher.h"
#include "engine/registry/library.h"
#include "torch/types.h"

namespace at {
/// Tag of an operator for PyTorch's compiler. Accepted; nothing here reads it.
enum class Tag {
  core,
  pt2_compliant_tag,
  needs_fixed_stride_order,
  flexible_layout,
  nondeterministic_seeded,
  pointwise
};
}  // namespace at

namespace torch {

using c10::DispatchKey;

/// A function whose address is known when it is compiled: TORCH_FN(f).
template <auto Function>
struct CompileTimeFunction {};

/// A kernel to be registered, perhaps for a key of its own.
class CppFunction {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, CppFunction>)
  CppFunction(F&& f) : kernel_(std::forward<F>(f)) {}
  template <auto Function>
  CppFunction(CompileTimeFunction<Function>) : kernel_(Function) {}
  CppFunction(lamella::registry::KernelFunction kernel) : kernel_(std::move(kernel)) {}

  /// Makes a kernel that sees its arguments on a stack, for any schema.
  template <auto Function>
  static CppFunction makeFromBoxedFunction() {
    return CppFunction(lamella::registry::KernelFunction::boxed(&at::detail::call_on_stack<Function>));
  }
  /// Makes a kernel that skips its key.
  static CppFunction makeFallthrough() { return CppFunction(lamella::registry::KernelFunction::fallthrough()); }

  lamella::registry::KernelFunction take() { return std::move(kernel_); }
  DispatchKey key = DispatchKey::Undefined;

 private:
  lamella::registry::KernelFunction kernel_;
};

/// Kernel with the key that it is for.
template <class F>
CppFunction dispatch(DispatchKey key, F&& f) {
  CppFunction made(std::forward<F>(f));
  made.key = key;
  return made;
}
template <class F>
CppFunction dispatch(c10::DeviceType type, F&& f) {
  return dispatch(lamella::backend_key(c10::Device(type).native().type), std::forward<F>(f));
}
template <class F>
CppFunction dispatch(const char* key, F&& f) {
  return dispatch(lamella::parse_dispatch_key(key), std::forward<F>(f));
}

/// Registers operators and kernels of one namespace: what TORCH_LIBRARY hands to its body.
class Library {
  using Where = std::source_location;

 public:
  explicit Library(lamella::Library& library) : library_(library) {}

  /// Defines an operator by its schema.
  Library& def(const std::string& schema, std::initializer_list<at::Tag> = {}, Where where = Where::current()) {
    library_.def(schema, where);
    return *this;
  }
  /// Defines an operator and its kernel: for all devices, or for the key that dispatch() gave it. The schema may be a
  /// name alone, and is then the function's.
  template <class F>
    requires(!std::is_convertible_v<F, std::initializer_list<at::Tag>> && !std::is_convertible_v<F, Where>)
  Library& def(const std::string& schema, F&& f, std::initializer_list<at::Tag> = {}, Where where = Where::current()) {
    CppFunction kernel(std::forward<F>(f));
    const DispatchKey key = kernel.key == DispatchKey::Undefined ? DispatchKey::CompositeImplicitAutograd : kernel.key;
    library_.define(schema, kernel.take(), key, where);
    return *this;
  }
  /// Gives an operator a kernel for the library's key, or for the one that dispatch() gave it.
  template <class F>
  Library& impl(const std::string& name, F&& f, Where where = Where::current()) {
    CppFunction kernel(std::forward<F>(f));
    const DispatchKey key = kernel.key == DispatchKey::Undefined ? library_.default_key() : kernel.key;
    library_.implement(name, key, kernel.take(), where);
    return *this;
  }
  template <class F>
  Library& impl(const std::string& name, DispatchKey key, F&& f, Where where = Where::current()) {
    return impl(name, dispatch(key, std::forward<F>(f)), where);
  }
  template <class F>
  Library& impl_UNBOXED(const std::string& name, F&& f, Where where = Where::current()) {
    return impl(name, std::forward<F>(f), where);
  }
  /// The kernel of every operator that has none for the library's key: TORCH_LIBRARY_IMPL(_, key, m).
  Library& fallback(CppFunction kernel, Where where = Where::current()) {
    library_.set_fallback(kernel.take(), where);
    return *this;
  }
  /// Where kernels in Python stand. Accepted: here they are found wherever they were registered.
  void set_python_module(const char*, const char* = "") {}

 private:
  lamella::Library& library_;
};

namespace detail {
/// Fills the library that a RegisterOperators makes on this thread.
inline thread_local const std::function<void(lamella::Library&)>* filling = nullptr;
}  // namespace detail

/// Registers operators that name their namespace themselves: the older form of TORCH_LIBRARY, kept in a static object.
class RegisterOperators {
 public:
  RegisterOperators() = default;
  template <class F>
  RegisterOperators(const std::string& schema, F&& f, std::source_location where = std::source_location::current()) {
    add(schema, std::forward<F>(f), where);
  }
  template <class F>
  RegisterOperators&& op(const std::string& schema, F&& f,
                         std::source_location where = std::source_location::current()) && {
    add(schema, std::forward<F>(f), where);
    return std::move(*this);
  }

 private:
  template <class F>
  void add(const std::string& schema, F&& f, std::source_location where) {
    const std::size_t end = schema.find("::");
    const std::function<void(lamella::Library&)> fill = [&](lamella::Library& library) {
      if (end == std::string::npos) {
        lamella::fail<lamella::ValueError>("[RegisterOperators] '", schema, "' names no namespace: ns::name");
      }
      Library(library).def(schema.substr(end + 2), std::forward<F>(f), {}, where);
    };
    const auto* const before = std::exchange(detail::filling, &fill);
    libraries_.push_back(std::make_unique<lamella::registry::StaticLibrary>(
        lamella::Library::Kind::Fragment, schema.substr(0, end).c_str(), DispatchKey::Undefined,
        [](lamella::Library& library) { (*detail::filling)(library); }, lamella::registry::abi_stamp, where));
    detail::filling = before;
  }
  std::vector<std::unique_ptr<lamella::registry::StaticLibrary>> libraries_;
};

}  // namespace torch

/// Names and schemas that a build may leave out there.
#define TORCH_SELECTIVE_NAME(name) name
#define TORCH_SELECTIVE_SCHEMA(schema) schema
#define TORCH_FN(function) \
  ::torch::CompileTimeFunction<&function> {}
#define TORCH_LIBRARY_(macro, id, m, ...)                                  \
  static void LAMELLA_JOIN(torch_fill_library_, id)(::torch::Library & m); \
  macro(__VA_ARGS__, lamella_library) {                                    \
    ::torch::Library library(lamella_library);                             \
    LAMELLA_JOIN(torch_fill_library_, id)(library);                        \
  }                                                                        \
  static void LAMELLA_JOIN(torch_fill_library_, id)([[maybe_unused]] ::torch::Library & m)

/// Defines operators of the namespace `ns`, which this library owns.
#define TORCH_LIBRARY(ns, m) TORCH_LIBRARY_(LAMELLA_LIBRARY, __COUNTER__, m, ns)
/// Adds operators to the namespace `ns`.
#define TORCH_LIBRARY_FRAGMENT(ns, m) TORCH_LIBRARY_(LAMELLA_LIBRARY_FRAGMENT, __COUNTER__, m, ns)
/// Gives operators of the namespace `ns` kernels for `key`.
#define TORCH_LIBRARY_IMPL(ns, key, m) TORCH_LIBRARY_(LAMELLA_LIBRARY_IMPL, __COUNTER__, m, ns, key)
