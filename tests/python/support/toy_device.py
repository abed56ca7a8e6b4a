"""A device whose memory is the host's under other addresses, and whose functions fail when they are told to."""

# Memory of the host's, handed out under other addresses: nobody but the backend may use them as they are.
BACKEND = r"""
#include <lamella/device.h>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

using lamella::registry::KernelFunction;

static std::map<std::string, bool> broken;  // what is to fail
static constexpr std::uintptr_t kAway = std::uintptr_t{1} << 60;
static char* real(const void* p) { return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(p) ^ kAway); }

struct Toy : lamella::DeviceBackend {
  static void may_fail(const char* what) {
    if (broken[what]) throw std::runtime_error(std::string("the toy's ") + what + " failed");
  }
  int device_count() const noexcept override { return COUNT; }
  void* allocate(int, std::size_t bytes) override {
    may_fail("allocate");
    if (broken["memory"]) return nullptr;
    return real(std::malloc(bytes));
  }
  void deallocate(int, void* p) noexcept override { std::free(real(p)); }
  void copy_from_host(int, void* to, const void* from, std::size_t n, void*) override {
    may_fail("copy_from_host");
    std::memcpy(real(to), from, n);
  }
  void copy_to_host(int, void* to, const void* from, std::size_t n, void*) override {
    may_fail("copy_to_host");
    std::memcpy(to, real(from), n);
  }
  void copy_on_device(int, void* to, const void* from, std::size_t n, void*) override {
    may_fail("copy_on_device");
    std::memcpy(real(to), real(from), n);
  }
  void synchronize(int) override { may_fail("synchronize"); }
  void shutdown() noexcept override { if (std::getenv("TOY_TELLS")) std::puts("shut down"); }
};

LAMELLA_LIBRARY(NAME, m) {
  lamella::register_device_backend(LAMELLA_TEXT(NAME), std::make_unique<Toy>());
  m.def("breaks(str what, bool value) -> ()",
        [](std::string_view what, bool value) { broken[std::string(what)] = value; });
}
"""
