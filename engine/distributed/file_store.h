#pragma once

#include <filesystem>
#include <string>

#include "engine/distributed/store.h"

namespace lamella::distributed {

/// Store of files in a folder that all processes see, one for each key. A value may be set again.
class FileStore : public Store {
 public:
  /// Makes the folder where it is missing. Throws RuntimeError if that fails.
  explicit FileStore(std::filesystem::path folder);

  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key, Milliseconds timeout) override;

 private:
  std::filesystem::path folder_;
};

}  // namespace lamella::distributed
