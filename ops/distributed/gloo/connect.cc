#include "ops/distributed/gloo/connect.h"

#include <gloo/config.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/address.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "engine/core/error.h"
#if GLOO_USE_REDIS && __has_include(<hiredis/hiredis.h>)
#define LAMELLA_GLOO_REDIS 1
#define HIREDIS_NESTED_INCLUDE
#include <gloo/rendezvous/redis_store.h>
#endif

namespace lamella::distributed::gloo {
namespace {

constexpr std::string_view kFile = "file://";
constexpr std::string_view kRedis = "redis://";

/// Makes Gloo's test for keys public, which does not wait.
struct FileStore : ::gloo::rendezvous::FileStore {
  using ::gloo::rendezvous::FileStore::check;
  using ::gloo::rendezvous::FileStore::FileStore;
};

/// Store of Gloo's own. Gloo's waits count whole seconds, so that a limit is kept here.
template <class Kept>
class GlooStore : public Store {
 public:
  template <class... Args>
  explicit GlooStore(Args&&... args) : store_(std::forward<Args>(args)...) {}
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
  Kept store_;
};

std::unique_ptr<Store> open_store(const std::string& address) {
  if (address.starts_with(kFile)) {
    const std::filesystem::path folder = address.substr(kFile.size());
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) fail<RuntimeError>("cannot make the folder ", folder.string(), ": ", error.message());
    return std::make_unique<GlooStore<FileStore>>(folder.string());
  }
#ifdef LAMELLA_GLOO_REDIS
  if (address.starts_with(kRedis)) {
    const std::string place = address.substr(kRedis.size());
    const std::size_t colon = place.rfind(':');
    constexpr int kRedisPort = 6379;
    const int port =
        colon == std::string::npos ? kRedisPort : static_cast<int>(std::strtol(place.c_str() + colon + 1, nullptr, 10));
    return std::make_unique<GlooStore<::gloo::rendezvous::RedisStore>>(place.substr(0, colon), port);
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
    setTimeout(timeout);
    device_ = device;
    transportContext_ = device->createContext(rank, size);
    transportContext_->setTimeout(timeout);
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
      transportContext_->getPair(i)->connect(part(all[static_cast<std::size_t>(i)], rank));
    }
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

}  // namespace

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
    const std::shared_ptr<Store> store = options.store ? options.store : open_store(options.store_address);
    const auto deadline = std::chrono::steady_clock::now() + options.timeout;
    const auto key_of = [](int rank) { return "addresses-" + std::to_string(rank); };
    store->set(key_of(options.rank), own);
    std::vector<std::string> all;
    std::string missing;
    for (int i = 0; i < options.size; ++i) {
      // Rounded up: a wait that ends before the deadline would pass for another failure.
      const auto left = std::chrono::ceil<Milliseconds>(deadline - std::chrono::steady_clock::now());
      try {
        all.push_back(store->get(key_of(i), std::max(left, Milliseconds(1))));
      } catch (const std::exception&) {
        if (std::chrono::steady_clock::now() < deadline) throw;
        missing += (missing.empty() ? "" : ", ") + std::to_string(i);
      }
    }
    if (!missing.empty()) {
      fail<RuntimeError>("these of ", options.size, " processes have not come within ",
                         static_cast<double>(options.timeout.count()) / 1000.0, " s: rank ", missing);
    }
    return all;
  };
}

void remove_store(const std::string& address) noexcept {
  if (!address.starts_with(kFile)) return;
  std::error_code ignored;
  std::filesystem::remove_all(address.substr(kFile.size()), ignored);
}

std::shared_ptr<::gloo::Context> connect(const std::shared_ptr<::gloo::transport::Device>& device, int rank, int size,
                                         Milliseconds timeout, const Exchange& exchange) {
  auto context = std::make_shared<Connected>(device, rank, size, timeout);
  context->connect(exchange);
  return context;
}

}  // namespace lamella::distributed::gloo
