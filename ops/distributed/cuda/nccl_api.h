#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "engine/core/error.h"

// The part of NCCL's C interface in use, declared here so that builds need none of its files. It is the same in every
// version from 2.14 on, which has communicators whose calls do not block.

namespace lamella::nccl {

enum class Result : int {
  Success = 0,
  UnhandledCudaError = 1,
  SystemError = 2,
  InternalError = 3,
  InvalidArgument = 4,
  InvalidUsage = 5,
  RemoteError = 6,
  InProgress = 7,
};
enum class Type : int { Int8 = 0, UInt8, Int32, UInt32, Int64, UInt64, Float16, Float32, Float64, BFloat16 };
enum class Op : int { Sum = 0, Product, Max, Min };

struct UniqueId {
  char bytes[128];
};
struct Communicator;  // NCCL's own

/// Settings of a communicator, as of version 2.14; NCCL takes its own for those that are newer.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  /// 0 for calls that return Result::InProgress where they would wait.
  int blocking = 0;
};

/// The functions in use, which bear NCCL's names there.
struct Api {
  Result (*get_version)(int* version);
  Result (*get_unique_id)(UniqueId* id);
  Result (*init)(Communicator** made, int size, UniqueId id, int rank, Config* config);
  Result (*abort)(Communicator* communicator);
  Result (*get_async_error)(Communicator* communicator, Result* error);
  const char* (*error_string)(Result result);
  Result (*group_start)();
  Result (*group_end)();
  Result (*all_reduce)(const void* in, void* out, std::size_t count, Type type, Op op, Communicator* communicator,
                       cudaStream_t stream);
  Result (*reduce)(const void* in, void* out, std::size_t count, Type type, Op op, int root, Communicator* communicator,
                   cudaStream_t stream);
  Result (*broadcast)(const void* in, void* out, std::size_t count, Type type, int root, Communicator* communicator,
                      cudaStream_t stream);
  Result (*all_gather)(const void* in, void* out, std::size_t count, Type type, Communicator* communicator,
                       cudaStream_t stream);
  Result (*send)(const void* data, std::size_t count, Type type, int to, Communicator* communicator,
                 cudaStream_t stream);
  Result (*receive)(void* data, std::size_t count, Type type, int source, Communicator* communicator,
                    cudaStream_t stream);
};

/// Returns the functions, loading the library with the first call: the file of LAMELLA_NCCL_LIBRARY, the system's
/// libnccl.so.2, or the file `library`, in this order. Throws RuntimeError if it is not there or is too old.
const Api& api(const std::string& library);

}  // namespace lamella::nccl
