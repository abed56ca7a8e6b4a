#pragma once

#include <string>
#include <vector>

namespace lamella {

/// A library of others that is loaded with the first call that needs it, rather than with Lamella, and stays loaded.
class SharedLibrary {
 public:
  /// Where a library is looked for.
  struct Place {
    /// Opens error messages: "[matmul] products on a CUDA device need cuBLAS".
    std::string needed;
    /// Names or paths, of which the first that loads is taken; empty ones are passed over.
    std::vector<std::string> files;
    /// Variable of the environment that, if it is set, names the file in place of these.
    const char* variable = nullptr;
  };

  /// Throws RuntimeError, with the loader's reason for each file, if none of them loads.
  explicit SharedLibrary(const Place& place);

  /// Sets `function` to the library's function of that name. Throws RuntimeError if it has none.
  template <class F>
  void find(const char* name, F& function) const {
    function = reinterpret_cast<F>(address_of(name));
  }

 private:
  void* address_of(const char* name) const;

  std::string needed_;
  std::string file_;
  void* library_ = nullptr;
};

}  // namespace lamella
