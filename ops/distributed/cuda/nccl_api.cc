#include "ops/distributed/cuda/nccl_api.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <optional>

namespace lamella::nccl {
namespace {

void* open(const std::string& library) {
  if (const char* const named = std::getenv("LAMELLA_NCCL_LIBRARY")) {
    if (void* const found = dlopen(named, RTLD_NOW | RTLD_LOCAL)) return found;
    fail<RuntimeError>("the NCCL that LAMELLA_NCCL_LIBRARY names does not load: ", dlerror());
  }
  if (void* const found = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL)) return found;
  std::string reason = dlerror();
  if (!library.empty()) {
    if (void* const found = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) return found;
    reason = dlerror();
  }
  fail<RuntimeError>("NCCL does not load (the system's, or PyPI's nvidia-nccl-cu13): ", reason);
}

template <class F>
void find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (!function) fail<RuntimeError>("NCCL is older than 2.14: ", dlerror());
}

Api load(const std::string& path) {
  void* const library = open(path);
  Api found{};
  find(library, "ncclGetVersion", found.get_version);
  find(library, "ncclGetUniqueId", found.get_unique_id);
  find(library, "ncclCommInitRankConfig", found.init);
  find(library, "ncclCommAbort", found.abort);
  find(library, "ncclCommGetAsyncError", found.get_async_error);
  find(library, "ncclGetErrorString", found.error_string);
  find(library, "ncclGroupStart", found.group_start);
  find(library, "ncclGroupEnd", found.group_end);
  find(library, "ncclAllReduce", found.all_reduce);
  find(library, "ncclReduce", found.reduce);
  find(library, "ncclBroadcast", found.broadcast);
  find(library, "ncclAllGather", found.all_gather);
  find(library, "ncclSend", found.send);
  find(library, "ncclRecv", found.receive);
  return found;
}

}  // namespace

const Api& api(const std::string& library) {
  static std::mutex mutex;
  static std::optional<Api> loaded;
  const std::lock_guard lock(mutex);
  if (!loaded) loaded = load(library);
  return *loaded;
}

}  // namespace lamella::nccl
