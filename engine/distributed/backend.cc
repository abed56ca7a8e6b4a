#include "engine/distributed/backend.h"

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "engine/core/error.h"

namespace lamella::distributed {
namespace {

struct Backends {
  std::mutex mutex;
  std::map<std::string, BackendFactory, std::less<>> factories;
};
Backends& backends() {
  static auto* const all = new Backends;  // never destroyed: groups may outlive static destructors
  return *all;
}

void copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
}

class Done final : public Transfer {
 public:
  void wait(Milliseconds) override {}
};

class Solo final : public Backend {
 public:
  void all_reduce(void*, std::size_t, DType, ReduceOp, Milliseconds) override {}
  void reduce(void*, std::size_t, DType, ReduceOp, int, Milliseconds) override {}
  void all_gather(const void* in, void* out, std::span<const std::size_t> bytes, Milliseconds) override {
    copy(out, in, bytes[0]);
  }
  void all_to_all(const void* in, std::span<const std::size_t>, void* out, std::span<const std::size_t> received,
                  Milliseconds) override {
    copy(out, in, received[0]);
  }
  void broadcast(void*, std::size_t, int, Milliseconds) override {}
  void barrier(Milliseconds) override {}
  std::unique_ptr<Transfer> send(const void* data, std::size_t bytes, int, std::uint32_t tag) override {
    std::string message(bytes, '\0');
    copy(message.data(), data, bytes);
    const std::lock_guard lock(mutex_);
    messages_[tag].push_back(std::move(message));
    return std::make_unique<Done>();
  }
  std::unique_ptr<Transfer> receive(void* data, std::size_t bytes, int, std::uint32_t tag) override {
    const std::lock_guard lock(mutex_);
    std::deque<std::string>& waiting = messages_[tag];
    if (waiting.empty()) fail<RuntimeError>("nothing was sent to this process with tag ", tag);
    if (waiting.front().size() != bytes) {
      fail<RuntimeError>("the message has ", waiting.front().size(), " bytes, the tensor to receive it has ", bytes);
    }
    copy(data, waiting.front().data(), bytes);
    waiting.pop_front();
    return std::make_unique<Done>();
  }
  std::unique_ptr<Backend> subset(std::span<const int> ranks, Milliseconds) override {
    return ranks.empty() ? nullptr : solo_backend();
  }
  void abort() noexcept override {}

 private:
  std::mutex mutex_;
  std::map<std::uint32_t, std::deque<std::string>> messages_;
};

}  // namespace

void register_backend(const std::string& name, BackendFactory factory) {
  const std::lock_guard lock(backends().mutex);
  backends().factories[name] = factory;
}

BackendFactory find_backend(std::string_view name) {
  const std::lock_guard lock(backends().mutex);
  const auto found = backends().factories.find(name);
  return found == backends().factories.end() ? nullptr : found->second;
}

std::unique_ptr<Backend> solo_backend() { return std::make_unique<Solo>(); }

}  // namespace lamella::distributed
