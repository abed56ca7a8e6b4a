// The backend of Gloo: collectives over TCP between processes of one or several machines.

#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/reduce.h>
#include <gloo/transport/unbound_buffer.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/dtype.h"
#include "engine/core/error.h"
#include "ops/distributed/gloo/connect.h"

namespace lamella::distributed::gloo {
namespace {

using ContextRef = std::shared_ptr<::gloo::Context>;
using DeviceRef = std::shared_ptr<::gloo::transport::Device>;

/// Calls f(size_t) with a type of `bytes` bytes: Gloo's options take the size of an element from its type.
template <class F>
void with_item_size(std::size_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    case 8:
      return f(std::uint64_t{});
    default: {
      struct Wide {
        std::uint64_t parts[2];
      };
      return f(Wide{});
    }
  }
}

class Message final : public Transfer {
 public:
  Message(std::unique_ptr<::gloo::transport::UnboundBuffer> buffer, bool sends)
      : buffer_(std::move(buffer)), sends_(sends) {}
  void wait(Milliseconds timeout) override {
    const bool done = sends_ ? buffer_->waitSend(timeout) : buffer_->waitRecv(timeout);
    if (!done) fail<RuntimeError>("the message was given up");
  }

 private:
  std::unique_ptr<::gloo::transport::UnboundBuffer> buffer_;
  bool sends_;
};

class Gloo final : public Backend {
 public:
  Gloo(DeviceRef device, ContextRef context) : device_(std::move(device)), context_(std::move(context)) {}

  void all_reduce(void* data, std::size_t count, DType dtype, ReduceOp op, Milliseconds timeout) override {
    if (count == 0) return;
    ::gloo::AllreduceOptions options(context_);
    with_item_size(item_size(dtype), [&]<class T>(T) { options.setOutput(static_cast<T*>(data), count); });
    options.setReduceFunction(reduction_for(op, dtype));
    prepare(options, timeout);
    ::gloo::allreduce(options);
  }

  void reduce(void* data, std::size_t count, DType dtype, ReduceOp op, int root, Milliseconds timeout) override {
    if (count == 0) return;
    ::gloo::ReduceOptions options(context_);
    with_item_size(item_size(dtype), [&]<class T>(T) { options.setOutput(static_cast<T*>(data), count); });
    options.setReduceFunction(reduction_for(op, dtype));
    options.setRoot(root);
    prepare(options, timeout);
    ::gloo::reduce(options);
  }

  void all_gather(const void* in, void* out, std::span<const std::size_t> bytes, Milliseconds timeout) override {
    std::size_t total = 0;
    for (const std::size_t each : bytes) total += each;
    if (total == 0) return;
    ::gloo::AllgathervOptions options(context_);
    options.setInput(static_cast<char*>(const_cast<void*>(in)), bytes[static_cast<std::size_t>(context_->rank)]);
    options.setOutput(static_cast<char*>(out), std::vector<std::size_t>(bytes.begin(), bytes.end()));
    prepare(options, timeout);
    ::gloo::allgatherv(options);
  }

  void all_to_all(const void* in, std::span<const std::size_t> sent, void* out, std::span<const std::size_t> received,
                  Milliseconds timeout) override {
    ::gloo::AlltoallvOptions options(context_);
    options.setInput(static_cast<char*>(const_cast<void*>(in)), std::vector<std::int64_t>(sent.begin(), sent.end()));
    options.setOutput(static_cast<char*>(out), std::vector<std::int64_t>(received.begin(), received.end()));
    prepare(options, timeout);
    ::gloo::alltoallv(options);
  }

  void broadcast(void* data, std::size_t bytes, int root, Milliseconds timeout) override {
    if (bytes == 0) return;
    ::gloo::BroadcastOptions options(context_);
    options.setOutput(static_cast<char*>(data), bytes);
    options.setRoot(root);
    prepare(options, timeout);
    ::gloo::broadcast(options);
  }

  void barrier(Milliseconds timeout) override {
    ::gloo::BarrierOptions options(context_);
    prepare(options, timeout);
    ::gloo::barrier(options);
  }

  std::unique_ptr<Transfer> send(const void* data, std::size_t bytes, int to, std::uint32_t tag) override {
    auto buffer = context_->createUnboundBuffer(const_cast<void*>(data), bytes);
    buffer->send(to, slot_of(tag));
    return std::make_unique<Message>(std::move(buffer), true);
  }

  std::unique_ptr<Transfer> receive(void* data, std::size_t bytes, int source, std::uint32_t tag) override {
    auto buffer = context_->createUnboundBuffer(data, bytes);
    buffer->recv(source, slot_of(tag));
    return std::make_unique<Message>(std::move(buffer), false);
  }

  std::unique_ptr<Backend> subset(std::span<const int> ranks, Milliseconds timeout) override {
    int own = -1;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] == context_->rank) own = static_cast<int>(i);
    }
    // The addresses go around among all processes of this group, also those that have none.
    const auto everywhere = [&](const std::string& text) { return exchange(text, timeout); };
    if (own < 0) {
      everywhere("");
      return nullptr;
    }
    const auto among_members = [&](const std::string& text) {
      const std::vector<std::string> all = everywhere(text);
      std::vector<std::string> members;
      for (const int rank : ranks) members.push_back(all[static_cast<std::size_t>(rank)]);
      return members;
    };
    return std::make_unique<Gloo>(device_,
                                  connect(device_, own, static_cast<int>(ranks.size()), timeout, among_members));
  }

  void abort() noexcept override {
    try {
      // Gloo tells all operations of a context when one of them runs out of time: this one does at once.
      char nothing = 0;
      const auto buffer = context_->createUnboundBuffer(&nothing, 1);
      buffer->recv(context_->rank == 0 ? 1 : 0, slot_of(~std::uint32_t{0}));
      buffer->waitRecv(Milliseconds(1));
    } catch (const std::exception&) {  // as it should
    }
    try {
      context_->closeConnections();
    } catch (const std::exception&) {  // they are closed already
    }
  }

 private:
  /// Slots of messages begin with a byte that no collective of Gloo uses.
  static std::uint64_t slot_of(std::uint32_t tag) { return (std::uint64_t{0x7F} << 56) | tag; }

  template <class Options>
  void prepare(Options& options, Milliseconds timeout) {
    options.setTag(tag_++);
    options.setTimeout(timeout);
  }

  /// Returns the texts of all processes.
  std::vector<std::string> exchange(const std::string& text, Milliseconds timeout) {
    const auto count = static_cast<std::size_t>(context_->size);
    std::vector<std::uint64_t> lengths(count);
    const std::uint64_t length = text.size();
    all_gather(&length, lengths.data(), std::vector<std::size_t>(count, sizeof length), timeout);
    const std::vector<std::size_t> bytes(lengths.begin(), lengths.end());
    std::size_t total = 0;
    for (const std::size_t each : bytes) total += each;
    std::string all(total, '\0');
    all_gather(text.data(), all.data(), bytes, timeout);
    std::vector<std::string> texts;
    std::size_t at = 0;
    for (const std::size_t each : bytes) {
      texts.push_back(all.substr(at, each));
      at += each;
    }
    return texts;
  }

  DeviceRef device_;
  ContextRef context_;
  std::uint32_t tag_ = 0;
};

std::unique_ptr<Backend> make(const BackendOptions& options) {
  DeviceRef device = make_device(options);
  ContextRef context = connect(device, options.rank, options.size, options.timeout, exchange_by_store(options));
  auto backend = std::make_unique<Gloo>(std::move(device), std::move(context));
  try {
    backend->barrier(options.timeout);  // after it nobody reads the store any more
  } catch (const std::exception& cause) {
    fail<RuntimeError>("a process has ended while they connect, or does not answer: ", cause.what());
  }
  if (options.rank == 0) remove_store(options.store_address);
  return backend;
}

}  // namespace
}  // namespace lamella::distributed::gloo

extern "C" lamella::distributed::BackendFactory lamella_distributed_backend() {
  return lamella::distributed::gloo::make;
}
