#pragma once

#include <chrono>
#include <string>

namespace lamella::distributed {

using Milliseconds = std::chrono::milliseconds;

/// Table of texts by name that all processes of a group see, through which they find one another while they connect.
class Store {
 public:
  virtual ~Store() = default;
  virtual void set(const std::string& key, const std::string& value) = 0;
  /// Returns the value of a key, waiting until a process has set it; throws if the time passes before.
  virtual std::string get(const std::string& key, Milliseconds timeout) = 0;
};

}  // namespace lamella::distributed
