#include "ops/distributed/gloo/connect.h"

#include <gloo/config.h>
#include <gloo/transport/address.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "engine/core/error.h"
#include "engine/distributed/file_store.h"
#if GLOO_USE_REDIS && __has_include(<hiredis/hiredis.h>)
#define LAMELLA_GLOO_REDIS 1
#define HIREDIS_NESTED_INCLUDE
#include <gloo/rendezvous/redis_store.h>
#endif

namespace lamella::distributed::gloo {
namespace {

constexpr std::string_view kFile = "file://";
constexpr std::string_view kRedis = "redis://";

#ifdef LAMELLA_GLOO_REDIS
/// Redis. Gloo's waits count whole seconds, so that a limit is kept here.
class RedisStore : public Store {
 public:
  RedisStore(const std::string& host, int port) : store_(host, port) {}
  void set(const std::string& key, const std::string& value) override {
    store_.set(key, std::vector<char>(value.begin(), value.end()));
  }
  std::string get(const std::string& key, Milliseconds timeout) override {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!store_.check({key})) {
      if (std::chrono::steady_clock::now() > deadline) fail<RuntimeError>("nobody has set ", key);
      std::this_thread::sleep_for(Milliseconds(5));
    }
    const std::vector<char> value = store_.get(key);
    return {value.begin(), value.end()};
  }

 private:
  ::gloo::rendezvous::RedisStore store_;
};
#endif

std::unique_ptr<Store> open_store(const std::string& address) {
  if (address.starts_with(kFile)) return std::make_unique<FileStore>(address.substr(kFile.size()));
#ifdef LAMELLA_GLOO_REDIS
  if (address.starts_with(kRedis)) {
    const std::string place = address.substr(kRedis.size());
    const std::size_t colon = place.rfind(':');
    constexpr int kRedisPort = 6379;
    const int port =
        colon == std::string::npos ? kRedisPort : static_cast<int>(std::strtol(place.c_str() + colon + 1, nullptr, 10));
    return std::make_unique<RedisStore>(place.substr(0, colon), port);
  }
#endif
  fail<RuntimeError>("cannot find the other processes by '", address, "': expected file:///folder",
#ifdef LAMELLA_GLOO_REDIS
                     " or redis://host:port",
#endif
                     "");
}

/// A context whose connections are set up here: Gloo's own set-up wants a store for each, which groups of a part of the
/// processes have no need of.
class Connected : public ::gloo::Context {
 public:
  Connected(const std::shared_ptr<::gloo::transport::Device>& device, int rank, int size, Milliseconds timeout)
      : Context(rank, size) {
    // Gloo waits for a connection five times as long as it is told.
    constexpr int kFactor = 5;
    setTimeout(timeout);
    device_ = device;
    transportContext_ = device->createContext(rank, size);
    transportContext_->setTimeout(std::max(timeout / kFactor, Milliseconds(1)));
  }

  void connect(const Exchange& exchange) {
    // The addresses of this process's end points, one for each of the others, and their sizes in front.
    std::string own;
    for (int i = 0; i < size; ++i) {
      std::vector<char> address;
      if (i != rank) {
        auto& pair = transportContext_->createPair(i);
        pair->setLocalRank(0);
        address = pair->address().bytes();
      }
      own += std::to_string(address.size()) + ":" + std::string(address.begin(), address.end());
    }
    const std::vector<std::string> all = exchange(own);
    for (int i = 0; i < size; ++i) {
      if (i == rank) continue;
      const std::vector<char> address = part(all[static_cast<std::size_t>(i)], rank);
      try {
        transportContext_->getPair(i)->connect(address);
      } catch (const std::exception& cause) {
        fail<RuntimeError>("rank ", i, " of ", size,
                           " has ended while the processes connect, or does not answer: ", cause.what());
      }
    }
    transportContext_->setTimeout(getTimeout());
  }

 private:
  /// Returns the address number `index` of a text made as above.
  static std::vector<char> part(const std::string& text, int index) {
    std::size_t at = 0;
    for (int i = 0;; ++i) {
      const std::size_t colon = text.find(':', at);
      if (colon == std::string::npos) fail<RuntimeError>("what another process says of its addresses cannot be read");
      const std::size_t length = std::strtoul(text.c_str() + at, nullptr, 10);
      if (length > text.size() - colon - 1) fail<RuntimeError>("another process's address is cut off");
      if (i == index) {
        const auto begin = text.begin() + static_cast<std::ptrdiff_t>(colon) + 1;
        return {begin, begin + static_cast<std::ptrdiff_t>(length)};
      }
      at = colon + 1 + length;
    }
  }
};

/// Exchange of the processes' texts through a store, which may hold those of processes that have met there before, or
/// have ended before they met: a process goes on when all of them have read the same texts, its own among them.
class Meeting {
 public:
  Meeting(const BackendOptions& options, std::shared_ptr<Store> store)
      : options_(options),
        store_(std::move(store)),
        deadline_(Clock::now() + options.timeout),
        texts_(static_cast<std::size_t>(options.size)) {}

  std::vector<std::string> exchange(const std::string& own) {
    // Differs from what another process of this rank has left.
    const std::string mark = std::to_string(std::random_device()()) + "-";
    store_->set(key_of(options_.rank), mark + own);
    texts_[static_cast<std::size_t>(options_.rank)] = mark + own;
    std::string told;
    for (;;) {
      std::vector<int> missing;
      for (int i = 0; i < options_.size; ++i) {
        if (i != options_.rank && !read(key_of(i), texts_[static_cast<std::size_t>(i)])) missing.push_back(i);
      }
      if (missing.empty()) {
        const std::string seen = marks();
        if (told != seen) store_->set(seen_key_of(options_.rank), seen);
        told = seen;
        for (int i = 0; i < options_.size; ++i) {
          std::string other;
          if (i != options_.rank && (!read(seen_key_of(i), other) || other != seen)) missing.push_back(i);
        }
        if (missing.empty()) break;
      }
      if (Clock::now() >= deadline_) give_up(missing);
      std::this_thread::sleep_for(Milliseconds(20));
    }
    for (std::string& text : texts_) text.erase(0, text.find('-') + 1);
    return std::move(texts_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static std::string key_of(int rank) { return "addresses-" + std::to_string(rank); }
  static std::string seen_key_of(int rank) { return "seen-" + std::to_string(rank); }

  /// Reads the value of a key, waiting for it until the deadline; returns false where there is none.
  bool read(const std::string& key, std::string& value) {
    // Rounded up: a wait that ends before the deadline would pass for another failure.
    const auto left = std::chrono::ceil<Milliseconds>(deadline_ - Clock::now());
    try {
      value = store_->get(key, std::max(left, Milliseconds(1)));
    } catch (const std::exception&) {
      if (Clock::now() < deadline_) throw;
      value.clear();
    }
    return !value.empty();
  }

  /// Returns the marks of the texts that were read.
  std::string marks() const {
    std::string all;
    for (const std::string& text : texts_) all += text.substr(0, text.find('-') + 1);
    return all;
  }

  /// Takes this process's text back, so that later ones do not read it; the last one leaves nothing in a folder.
  [[noreturn]] void give_up(const std::vector<int>& missing) {
    if (options_.store_address.starts_with(kFile)) {
      store_->set(key_of(options_.rank), "");
      bool is_last = true;
      std::string text;
      for (int i = 0; i < options_.size && is_last; ++i) is_last = !read(key_of(i), text);
      if (is_last) remove_store(options_.store_address);
    }
    std::string ranks;
    for (const int rank : missing) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
    fail<RuntimeError>("these of ", options_.size, " processes have not come within ",
                       static_cast<double>(options_.timeout.count()) / 1000.0, " s: rank ", ranks);
  }

  const BackendOptions& options_;
  std::shared_ptr<Store> store_;
  Clock::time_point deadline_;
  std::vector<std::string> texts_;
};

}  // namespace

void remove_store(const std::string& address) noexcept {
  if (!address.starts_with(kFile)) return;
  std::error_code ignored;
  std::filesystem::remove_all(address.substr(kFile.size()), ignored);
}

std::shared_ptr<::gloo::transport::Device> make_device(const BackendOptions& options) {
  ::gloo::transport::tcp::attr attributes;
  if (!options.interface.empty()) {
    attributes.iface = options.interface;
  } else {
    attributes.hostname = options.address.empty() ? "127.0.0.1" : options.address;
  }
  return ::gloo::transport::tcp::CreateDevice(attributes);
}

Exchange exchange_by_store(const BackendOptions& options) {
  return [options](const std::string& own) {
    return Meeting(options, options.store ? options.store : open_store(options.store_address)).exchange(own);
  };
}

std::shared_ptr<::gloo::Context> connect(const std::shared_ptr<::gloo::transport::Device>& device, int rank, int size,
                                         Milliseconds timeout, const Exchange& exchange) {
  auto context = std::make_shared<Connected>(device, rank, size, timeout);
  context->connect(exchange);
  return context;
}

}  // namespace lamella::distributed::gloo
