#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

namespace lamella {

/// A file descriptor that closes itself, without a message if it cannot.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

/// Writes all of a text; false if that fails.
bool write_all(int descriptor, const std::string& text);

/// True if a file or folder belongs to the user, and nobody else can write to it.
bool is_own(const struct stat& found);

/// Returns the contents of a file of the user's own that nobody else can write to; nothing for one above 16 MiB.
std::optional<std::string> read_own_file(const std::string& path);

}  // namespace lamella
