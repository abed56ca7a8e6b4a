#include "engine/runtime/generator.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <random>
#include <utility>

#include "engine/core/error.h"
#include "engine/runtime/captured_draws.h"
#include "engine/runtime/device_query.h"
#include "engine/runtime/graphs.h"
#include "engine/runtime/philox.h"
#include "engine/runtime/random_lease.h"

namespace lamella {

struct CapturedDraws::Stream {
  GeneratorState start;
  Generator own;
  /// The default generators among which it stands in, for comparisons alone: they may be gone by the end.
  const void* among;
  Stream* before;
};

namespace {

/// The stream from which this thread draws while its work is captured.
thread_local constinit CapturedDraws::Stream* captured = nullptr;

/// Third word of the counters that give the keys of forks; draws have 0 there.
constexpr std::uint32_t kForkDomain = 1;

constexpr std::size_t kMaxIndex = std::numeric_limits<decltype(Device::index)>::max();

/// Returns the key of fork `n` of the stream `seed`.
std::uint64_t forked_seed(std::uint64_t seed, std::uint64_t n) {
  const Philox::Block words =
      Philox::rounds({static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n >> 32), kForkDomain, 0},
                     {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  return words[0] | std::uint64_t{words[1]} << 32;
}

/// The default generators, each created on first use.
class Defaults {
 public:
  Defaults() = default;
  ~Defaults() {
    for (Generator* generator : made_) delete generator;
  }
  Defaults(const Defaults&) = delete;
  Defaults& operator=(const Defaults&) = delete;

  Generator& of(Device device) {
    if (device.is_meta()) fail<ValueError>("[default_generator] tensors on meta have no data: no generator is theirs");
    if (device.index >= 0) {
      // Acquire, because the generator's state is written before its address.
      if (Generator* made = slot(device).load(std::memory_order_acquire)) [[likely]]
        return in_use(*made);
    }
    return in_use(make(device));
  }

  void seed(std::uint64_t seed) {
    refuse_captured("seed");
    const std::lock_guard lock(mutex_);
    seed_ = seed;
    for (Generator* generator : made_) generator->manual_seed(seed);
  }

  std::vector<DeviceRngState> states() {
    const std::lock_guard lock(mutex_);
    std::vector<DeviceRngState> states;
    states.reserve(made_.size() + 1);
    for (Generator* generator : made_) states.push_back({generator->device(), in_use(*generator).get_state()});
    states.push_back({kMeta, {.seed = seed_}});
    return states;
  }

  /// Returns states() and reserves their next `blocks` counters.
  std::vector<DeviceRngState> lend(std::uint64_t blocks) {
    const std::lock_guard lock(mutex_);
    std::vector<DeviceRngState> states;
    states.reserve(made_.size() + 1);
    for (Generator* generator : made_) states.push_back({generator->device(), in_use(*generator).reserve(blocks)});
    states.push_back({kMeta, {.seed = seed_}});
    return states;
  }

  /// Ends lend(): each generator moves on to its entry in `now` if nobody used it since. Those that were first used
  /// meanwhile are created.
  void take_back(std::span<const DeviceRngState> lent, std::uint64_t blocks, std::span<const DeviceRngState> now) {
    for (const auto& [device, state] : now) {
      const auto before = std::ranges::find(lent, device, &DeviceRngState::device);
      if (device.is_meta()) {
        const std::lock_guard lock(mutex_);
        if (seed_ == before->state.seed) seed_ = state.seed;
        continue;
      }
      Generator& generator = of(device);
      GeneratorState untouched = before != lent.end() ? before->state : GeneratorState{.seed = lent.back().state.seed};
      if (before != lent.end()) untouched.offset += blocks;
      if (generator.get_state() == untouched) generator.set_state(state);
    }
  }

  /// Restores states; the generators of all devices in `states` except meta must exist.
  void restore(std::span<const DeviceRngState> states) {
    refuse_captured("restore_rng_states");
    const std::lock_guard lock(mutex_);
    const auto start = std::ranges::find(states, kMeta, &DeviceRngState::device);
    if (start != states.end()) {
      seed_ = start->state.seed;
      for (Generator* generator : made_) {
        if (std::ranges::find(states, generator->device(), &DeviceRngState::device) == states.end()) {
          generator->manual_seed(seed_);
        }
      }
    }
    for (const auto& [device, state] : states) {
      if (!device.is_meta()) slot(device).load(std::memory_order_relaxed)->set_state(state);
    }
  }

 private:
  std::atomic<Generator*>& slot(Device device) {
    return slots_[static_cast<std::size_t>(device.type)][static_cast<std::size_t>(device.index)];
  }

  /// Returns the generator from which this thread draws for one of these.
  Generator& in_use(Generator& made) {
    return captured && captured->among == this && captured->own.device() == made.device() ? captured->own : made;
  }
  /// Throws RuntimeError if a thread that captures work would change where these are.
  void refuse_captured(const char* op) const {
    if (captured && captured->among == this) refuse_capture(op, "each run draws what comes next");
  }

  [[gnu::cold]] Generator& make(Device device) {
    const int count = device_count(device.type);
    if (device.index < 0 || device.index >= count) {
      fail<RuntimeError>("[default_generator] there is no device ", device, ": this process can use ", count,
                         " of its kind");
    }
    const std::lock_guard lock(mutex_);
    Generator* made = slot(device).load(std::memory_order_relaxed);
    if (!made) {
      auto fresh = std::make_unique<Generator>(seed_, device);
      made_.push_back(fresh.get());
      made = fresh.release();
      slot(device).store(made, std::memory_order_release);
    }
    return *made;
  }

  std::mutex mutex_;  // guards the seed and the creation; taken before a generator's own
  std::uint64_t seed_ = Generator::kDefaultSeed;
  std::vector<Generator*> made_;
  std::array<std::array<std::atomic<Generator*>, kMaxIndex + 1>, kDeviceTypeCount> slots_{};
};

/// The generators of the RandomReplay that this thread is in.
thread_local Defaults* replayed = nullptr;

Defaults& defaults() {
  if (replayed) [[unlikely]]
    return *replayed;
  static auto* const all = new Defaults;  // never freed: it may be used while the process ends
  return *all;
}

}  // namespace

Generator::Generator(std::uint64_t seed, Device device) : Generator(GeneratorState{.seed = seed}, device) {
  if (device.is_meta()) fail<ValueError>("[Generator] tensors on meta have no data: a generator is of another device");
}

void Generator::manual_seed(std::uint64_t seed) { set_state({.seed = seed}); }

std::uint64_t Generator::seed() {
  std::random_device entropy;
  const std::uint64_t high = entropy();
  const std::uint64_t seed = high << 32 | entropy();
  manual_seed(seed);
  return seed;
}

GeneratorState Generator::get_state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void Generator::set_state(GeneratorState state) {
  const std::lock_guard lock(mutex_);
  state_ = state;
}

GeneratorState Generator::reserve(std::uint64_t blocks) {
  const std::lock_guard lock(mutex_);
  const GeneratorState before = state_;
  state_.offset += blocks;
  return before;
}

Generator Generator::fork() {
  const std::lock_guard lock(mutex_);
  return {GeneratorState{.seed = forked_seed(state_.seed, state_.forks++)}, device_};
}

std::vector<Generator> Generator::split(std::size_t count) {
  std::vector<Generator> parts;
  parts.reserve(count);  // may throw, so it comes before any fork is counted
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < count; ++i) parts.emplace_back(forked_seed(state_.seed, state_.forks++), device_);
  return parts;
}

Generator& default_generator(Device device) { return defaults().of(device); }

void seed(std::uint64_t seed) { defaults().seed(seed); }

void check_generator(const char* op, const Generator* generator, Device device) {
  if (!generator || device.is_meta() || generator->device() == device) return;
  fail<ValueError>("[", op, "] generator: one of device ", generator->device(), " cannot draw numbers on ", device,
                   "; give one that was made for ", device);
}

std::vector<DeviceRngState> rng_states() { return defaults().states(); }

std::vector<DeviceRngState> rng_states(std::span<const Device> devices) {
  std::vector<DeviceRngState> states;
  states.reserve(devices.size());
  for (const Device device : devices) states.push_back({device, default_generator(device).get_state()});
  return states;
}

void restore_rng_states(std::span<const DeviceRngState> states) {
  // All errors occur here, before anything changes.
  for (const DeviceRngState& entry : states) {
    if (!entry.device.is_meta()) default_generator(entry.device);
  }
  defaults().restore(states);
}

namespace {

/// Makes this thread draw from `own` from now on; `start` sets the initial states of its generators.
template <class Start>
void draw_from(Defaults& own, Start&& start) {
  Defaults* const before = std::exchange(replayed, &own);
  try {
    start();
  } catch (...) {
    replayed = before;
    throw;
  }
}

}  // namespace

CapturedDraws::CapturedDraws(Device device) {
  Generator& usual = default_generator(device);
  stream_ = std::make_unique<Stream>(Stream{usual.get_state(), usual.clone(), &defaults(), captured});
  captured = stream_.get();
}

CapturedDraws::~CapturedDraws() { captured = stream_->before; }

GeneratorState CapturedDraws::start() const { return stream_->start; }

std::uint64_t CapturedDraws::drawn() const { return stream_->own.get_state().offset - stream_->start.offset; }

struct RandomReplay::Generators {
  Defaults own;
  Defaults* before = replayed;
};

RandomReplay::RandomReplay(const RandomState& start) : generators_(std::make_unique<Generators>()) {
  draw_from(generators_->own, [&] { start.restore(); });
}

RandomReplay::~RandomReplay() { replayed = generators_->before; }

struct RandomLease::Generators {
  /// More than a scope draws, and few enough for millions of leases.
  static constexpr std::uint64_t kBlocks = std::uint64_t{1} << 40;

  Defaults own;
  std::vector<DeviceRngState> lent;
};

RandomLease::RandomLease() {
  if (replayed) return;
  generators_ = std::make_unique<Generators>();
  generators_->lent = defaults().lend(Generators::kBlocks);
  draw_from(generators_->own, [&] { restore_rng_states(generators_->lent); });
}

RandomLease::~RandomLease() {
  if (!generators_) return;
  const std::vector<DeviceRngState> now = replayed->states();
  replayed = nullptr;
  defaults().take_back(generators_->lent, Generators::kBlocks, now);
}

}  // namespace lamella
