#include "engine/registry/pending.h"

#include <exception>
#include <mutex>
#include <utility>
#include <vector>

namespace lamella::registry {
namespace {

/// Held for moments only, by those who hold the registry's lock too.
struct Notes {
  std::mutex mutex;
  std::vector<std::string> silent;
  std::exception_ptr pending;
};
Notes& notes() {
  static auto* const state = new Notes;
  return *state;
}

}  // namespace

void note_pending_error() noexcept {
  const std::lock_guard lock(notes().mutex);
  if (!notes().pending) notes().pending = std::current_exception();
}

std::exception_ptr pending_error() {
  const std::lock_guard lock(notes().mutex);
  return notes().pending;
}

std::string pending_error_text() {
  const std::exception_ptr error = pending_error();
  if (!error) return {};
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& pending) {
    return std::string("; a library that was loaded before could not register itself: ") + pending.what();
  } catch (...) {
    return "; a library that was loaded before could not register itself";
  }
}

void note_silent_library(const std::string& path) {
  const std::lock_guard lock(notes().mutex);
  notes().silent.push_back(path);
}

std::string silent_libraries_text() {
  const std::lock_guard lock(notes().mutex);
  std::string text;
  for (const std::string& path : notes().silent)
    text += (text.empty() ? "; loaded, but registering nothing: " : ", ") + path;
  return text;
}

void throw_pending_error() {
  std::exception_ptr error;
  {
    const std::lock_guard lock(notes().mutex);
    error = std::exchange(notes().pending, nullptr);
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace lamella::registry
