#pragma once

#include <optional>
#include <string>

namespace lamella::fusion::native {

/// A folder of compiled kernels, each in a shared library whose name is a hash of its key: the text that decides what
/// is in it. A library ends with its key and a checksum, so that one that is cut off, damaged or of another key is
/// not loaded.
class Cache {
 public:
  /// Takes the folder's path, "" for that of the environment: $LAMELLA_CACHE, else $XDG_CACHE_HOME/lamella, else
  /// ~/.cache/lamella.
  explicit Cache(const std::string& folder);

  const std::string& folder() const { return folder_; }

  /// Creates the folder; returns why it cannot be used, or "". It has to be the user's own, and writable to nobody
  /// else.
  std::string prepare() const;

  enum class Found { Nothing, Damaged, Whole };
  /// Looks for the library of that name and key.
  Found find(const std::string& name, const std::string& key) const;
  std::string path(const std::string& name) const { return folder_ + "/" + name + ".so"; }
  void remove(const std::string& name) const;

  /// Creates an empty file for a compiler to write to; returns its path, or nothing.
  std::optional<std::string> temporary() const;
  /// Adds a compiled library under a name, in one step; false if that fails, which leaves nothing behind.
  bool add(const std::string& name, const std::string& key, const std::string& compiled) const;

 private:
  std::string folder_;
};

/// Returns 32 hexadecimal digits of a hash.
std::string hash_of(const std::string& text);

/// Returns the contents of a file of the user's own that nobody else can write to.
std::optional<std::string> read_own_file(const std::string& path);

}  // namespace lamella::fusion::native
