#include "engine/core/privateuse1.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <string>

#include "engine/core/error.h"

namespace lamella {
namespace {

std::mutex mutex;
/// Never freed: messages and devices use the name until the process ends.
std::atomic<const std::string*> given{nullptr};

constexpr std::array<std::string_view, 5> kTaken{"cpu", "cuda", "gpu", "meta", "privateuse1"};

bool is_name(std::string_view text) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !text.empty() && is_letter(text[0]) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace

void rename_privateuse1_backend(std::string_view name) {
  if (!is_name(name)) {
    fail<ValueError>("[rename_privateuse1_backend] '", name,
                     "' is no name for a kind of device: it has lower-case letters, digits and '_', a letter first");
  }
  if (std::ranges::find(kTaken, name) != kTaken.end()) {
    fail<ValueError>("[rename_privateuse1_backend] '", name, "' is the name of another kind of device");
  }
  const std::lock_guard lock(mutex);
  const std::string* const before = given.load(std::memory_order_relaxed);
  if (!before) {
    given.store(new std::string(name), std::memory_order_release);
  } else if (*before != name) {
    fail<RuntimeError>("[rename_privateuse1_backend] the devices that an extension brings are called '", *before,
                       "' in this process, and cannot become '", name, "': a process has one such kind of device");
  }
}

std::string_view privateuse1_backend_name() noexcept {
  const std::string* const name = given.load(std::memory_order_acquire);
  return name ? std::string_view(*name) : std::string_view("privateuse1");
}

bool is_privateuse1_renamed() noexcept { return given.load(std::memory_order_acquire) != nullptr; }

namespace detail {
thread_local constinit int current_privateuse1 = 0;
}  // namespace detail

}  // namespace lamella
