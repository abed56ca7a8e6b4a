#pragma once

#include <optional>
#include <string>

namespace lamella {

/// A folder of compiled kernels, each in a file whose name is a hash of its key: the text that decides what is in it. A
/// file ends with its key and a checksum, so that one that is cut off, damaged or of another key is not loaded.
class FileCache {
 public:
  /// Takes the folder's path, "" for that of the environment: $LAMELLA_CACHE, else $XDG_CACHE_HOME/lamella, else
  /// ~/.cache/lamella. Names of files end with `suffix`.
  FileCache(const std::string& folder, std::string suffix);

  const std::string& folder() const { return folder_; }

  /// Creates the folder; returns why it cannot be used, or "". It has to be the user's own, and writable to nobody
  /// else.
  std::string prepare() const;

  enum class Found { Nothing, Damaged, Whole };
  /// Looks for the file of that name and key; sets `compiled`, unless it is null, to what was added if it is whole.
  Found find(const std::string& name, const std::string& key, std::string* compiled = nullptr) const;
  std::string path(const std::string& name) const { return folder_ + "/" + name + suffix_; }
  void remove(const std::string& name) const;

  /// Creates an empty file for a compiler to write to; returns its path, or nothing.
  std::optional<std::string> temporary() const;
  /// Adds a compiled kernel under a name, in one step; false if that fails, which leaves nothing behind.
  bool add(const std::string& name, const std::string& key, const std::string& compiled) const;

 private:
  std::string folder_;
  std::string suffix_;
};

/// Returns 32 hexadecimal digits of a hash.
std::string hash_of(const std::string& text);

}  // namespace lamella
