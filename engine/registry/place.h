#pragma once

#include <source_location>
#include <string>
#include <utility>

namespace lamella::registry {

/// Line of a source file where something was registered.
struct Place {
  std::string file;
  unsigned line = 0;

  Place() = default;
  Place(std::string file, unsigned line) : file(std::move(file)), line(line) {}
  Place(const std::source_location& where) : file(where.file_name()), line(where.line()) {}
  /// Returns "csrc/ops.cpp:12"; "unknown" where the file is not known.
  std::string str() const { return file.empty() ? "unknown" : file + ":" + std::to_string(line); }
  friend bool operator==(const Place&, const Place&) = default;
};

}  // namespace lamella::registry
