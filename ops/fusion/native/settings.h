#pragma once

#include <string>

namespace lamella::fusion::native {

enum class Mode {
  Off,
  Background,  ///< programs that are worth it are compiled while they run block by block
  Wait,        ///< every program is compiled before it runs
};

/// Settings of compilation. The first ones are those of the environment: LAMELLA_COMPILER is the
/// compiler's path or name, or "off".
struct Settings {
  Mode mode = Mode::Background;
  /// Path or name; "" for the first of c++, g++ and clang++ that is found.
  std::string compiler;
  /// Folder of compiled programs; "" for that of the environment (see FileCache).
  std::string cache;
  /// Time limit of the compiler.
  double seconds = 30;
};

}  // namespace lamella::fusion::native
