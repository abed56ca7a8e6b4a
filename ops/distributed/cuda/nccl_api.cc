#include "ops/distributed/cuda/nccl_api.h"

#include <mutex>
#include <optional>

#include "engine/runtime/shared_library.h"

namespace lamella::nccl {
namespace {

Api load(const std::string& path) {
  const SharedLibrary library({.needed = "NCCL 2.14 or newer is wanted (the system's, or PyPI's nvidia-nccl-cu13)",
                               .files = {"libnccl.so.2", path},
                               .variable = "LAMELLA_NCCL_LIBRARY"});
  Api found{};
  library.find("ncclGetVersion", found.get_version);
  library.find("ncclGetUniqueId", found.get_unique_id);
  library.find("ncclCommInitRankConfig", found.init);
  library.find("ncclCommAbort", found.abort);
  library.find("ncclCommGetAsyncError", found.get_async_error);
  library.find("ncclGetErrorString", found.error_string);
  library.find("ncclGroupStart", found.group_start);
  library.find("ncclGroupEnd", found.group_end);
  library.find("ncclAllReduce", found.all_reduce);
  library.find("ncclReduce", found.reduce);
  library.find("ncclBroadcast", found.broadcast);
  library.find("ncclAllGather", found.all_gather);
  library.find("ncclSend", found.send);
  library.find("ncclRecv", found.receive);
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
