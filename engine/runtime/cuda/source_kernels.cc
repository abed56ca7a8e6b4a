// Registers the compiler of kernels for CUDA.

#include "engine/runtime/source_kernels.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "engine/runtime/cuda/check.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/driver.h"
#include "engine/runtime/cuda/nvrtc.h"
#include "engine/runtime/cuda/stream.h"
#include "engine/runtime/file_cache.h"

namespace lamella::cuda {
namespace {

/// Bytes of shared memory that a launch may have without asking.
constexpr unsigned kPlainShared = 48u << 10;

/// A kernel in a device's memory.
struct Loaded {
  DriverContext* context = nullptr;
  DriverFunction* function = nullptr;
  /// Bytes of shared memory that were asked for.
  std::atomic<unsigned> shared{kPlainShared};
};

int capability_of(Device device, const std::string& label) {
  int major = 0;
  int minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device.index), label);
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device.index), label);
  return 10 * major + minor;
}

/// Returns machine code from the folder of compiled kernels, or compiles it, and keeps it there where that is possible.
KernelImage image_of(int capability, const KernelSource& source, const std::string& key) {
  const FileCache cache(source.folder, ".cubin");
  const bool keeps = source.is_whole && cache.prepare().empty();
  const std::string name = hash_of(key);
  if (keeps) {
    std::string kept;
    const FileCache::Found found = cache.find(name, key, &kept);
    if (found == FileCache::Found::Whole) {
      const std::size_t end = kept.find('\0');
      return {.symbol = kept.substr(0, end), .bytes = kept.substr(end + 1)};
    }
    if (found == FileCache::Found::Damaged) cache.remove(name);
  }
  KernelImage image = compile(capability, source);
  if (keeps) cache.add(name, key, image.symbol + '\0' + image.bytes);
  return image;
}

class Compiler final : public KernelCompiler {
 public:
  void* load(Device device, const KernelSource& source) override {
    const int capability = capability_of(device, source.label);
    const std::string key = compiler_identity(capability, source) + "\n" + source.name + "\n" +
                            std::to_string(capability) + "\n" + source.text;
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Loaded>& kernel = kernels_[{device.index, key}];
    if (!kernel) kernel = load_image(device, image_of(capability, source, key), source.label);
    return kernel.get();
  }

  void launch(Device device, void* kernel, const char* label, const KernelLaunch& launch) override {
    auto& loaded = *static_cast<Loaded*>(kernel);
    const DeviceGuard guard(device);
    // CUDA 11's runtime makes a device's context current with the first call that needs it.
    check(driver().set_current_context(loaded.context), label);
    if (launch.shared > loaded.shared.load(std::memory_order_relaxed)) {
      check(driver().set_attribute(loaded.function, FunctionAttribute::MaxDynamicSharedBytes,
                                   static_cast<int>(launch.shared)),
            label);
      loaded.shared.store(launch.shared, std::memory_order_relaxed);
    }
    check(driver().launch(loaded.function, launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0],
                          launch.block[1], launch.block[2], launch.shared, current_stream(device), launch.arguments,
                          nullptr),
          label);
  }

 private:
  static std::unique_ptr<Loaded> load_image(Device device, const KernelImage& image, const std::string& label) {
    const DeviceGuard guard(device);
    auto loaded = std::make_unique<Loaded>();
    int number = 0;
    check(driver().device_get(&number, device.index), label);
    // Never released: the runtime holds it, too.
    check(driver().retain_primary_context(&loaded->context, number), label);
    check(driver().set_current_context(loaded->context), label);
    DriverModule* module = nullptr;
    check(driver().load_module(&module, image.bytes.data()), label);
    check(driver().get_function(&loaded->function, module, image.symbol.c_str()), label);
    return loaded;
  }

  std::mutex mutex_;
  std::map<std::pair<int, std::string>, std::unique_ptr<Loaded>> kernels_;  // by device and key
};

[[maybe_unused]] const bool kRegistered = [] {
  register_kernel_compiler(DeviceType::CUDA, std::make_unique<Compiler>());
  return true;
}();

}  // namespace
}  // namespace lamella::cuda
