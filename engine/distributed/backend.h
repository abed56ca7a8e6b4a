#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/dtype.h"
#include "engine/distributed/reduce_op.h"
#include "engine/distributed/store.h"

namespace lamella::distributed {

/// A message on its way between two processes.
class Transfer {
 public:
  virtual ~Transfer() = default;
  /// Waits until the message has left its buffer, or is in it; throws if the time passes before.
  virtual void wait(Milliseconds timeout) = 0;
};

/// Describes this process's place in a group, and where it finds the others.
struct BackendOptions {
  int rank = 0;
  int size = 1;
  /// Address of a store of the backend's own, such as "file:///folder" or "redis://host:6379"; empty where `store` is
  /// given, or where the backend needs none.
  std::string store_address;
  std::shared_ptr<Store> store;
  /// Address to listen on, or name of the network interface; the backend's own choice is loopback.
  std::string address;
  std::string interface;
  /// Limit for connecting.
  Milliseconds timeout{};
};

/// Communication library over the memory of the host, or of a device: the calls of one process in one group. All
/// processes make the same calls in the same order, from one thread at a time, except for send() and receive(), which
/// may be called from any. Every call throws an exception with the library's own words if it fails or if the time
/// passes, and the group is not used after that.
class Backend {
 public:
  virtual ~Backend() = default;
  /// Replaces `data` by the elements of all processes joined.
  virtual void all_reduce(void* data, std::size_t count, DType dtype, ReduceOp op, Milliseconds timeout) = 0;
  /// Replaces `data` by the elements of all processes joined, on process `root` alone; others may be overwritten.
  virtual void reduce(void* data, std::size_t count, DType dtype, ReduceOp op, int root, Milliseconds timeout) = 0;
  /// Writes the blocks of all processes to `out`, one after the other; that of process i has bytes[i] bytes.
  virtual void all_gather(const void* in, void* out, std::span<const std::size_t> bytes, Milliseconds timeout) = 0;
  /// Sends the i-th block of `in`, of sent[i] bytes, to process i, and writes the blocks that come from the others to
  /// `out` in their order.
  virtual void all_to_all(const void* in, std::span<const std::size_t> sent, void* out,
                          std::span<const std::size_t> received, Milliseconds timeout) = 0;
  virtual void broadcast(void* data, std::size_t bytes, int root, Milliseconds timeout) = 0;
  virtual void barrier(Milliseconds timeout) = 0;
  /// Begin to send and to receive a message. The memory must last until the transfer has been waited for.
  virtual std::unique_ptr<Transfer> send(const void* data, std::size_t bytes, int to, std::uint32_t tag) = 0;
  virtual std::unique_ptr<Transfer> receive(void* data, std::size_t bytes, int source, std::uint32_t tag) = 0;
  /// Returns a group of some of the processes, given by their ranks, in which they are numbered in this order; null on
  /// a process that is not among them. All processes of this group call it together.
  virtual std::unique_ptr<Backend> subset(std::span<const int> ranks, Milliseconds timeout) = 0;
  /// Returns the point that the calling thread's work on the device has reached, after which an operation is to begin;
  /// null where the memory is the host's.
  virtual std::shared_ptr<void> point() { return nullptr; }
  /// Lets the next call begin after a point that another thread's work has reached.
  virtual void follow(const std::shared_ptr<void>&) {}
  /// True if all_reduce() and reduce() join numbers of a dtype by an operation as ReduceOp says.
  virtual bool joins(DType dtype, ReduceOp op) const { return reduction_for(op, dtype) != nullptr; }
  /// Makes calls that wait now, on any thread, and all later ones fail, here and soon on the other processes.
  virtual void abort() noexcept = 0;
};

/// Makes a backend, which connects to the other processes.
using BackendFactory = std::unique_ptr<Backend> (*)(const BackendOptions& options);

/// Adds a backend under a name, or replaces it.
void register_backend(const std::string& name, BackendFactory factory);
/// Returns the factory of a backend; null if none has been registered under the name.
BackendFactory find_backend(std::string_view name);

/// Returns the backend of a group of one process. Messages that it sends go to itself.
std::unique_ptr<Backend> solo_backend();

}  // namespace lamella::distributed
