#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/core/device.h"

// Note [Random numbers that are drawn again]
// A computation that is run again must draw the numbers that it drew before. Resetting the default generators for that
// would disturb every other thread that draws meanwhile, and be disturbed by them. So it gets generators of its own,
// which start from the earlier states; nothing has to be restored afterwards.

// Note [Random streams]
// A stream is a Philox key, the generator's 64-bit seed; its numbers are those of the counters (n, 0, 0) for n = 0, 1,
// 2 ... below 2^64, after which it repeats. A generator is a position in a stream: each draw reserves the next range of
// counters at once and computes its elements from them by position, so neither the number of threads nor the order in
// which they work changes a bit.
//
// Streams are split as by Claessen and Palka ("Splittable pseudorandom number generators using cryptographic hashing",
// 2013), with Philox as the keyed function, which its authors propose for it too (Salmon et al., 2011, section 2): the
// n-th fork of key k has the first two words of Philox(k, counter (n, kForkDomain, 0)) as its key. No draw has a
// counter with that third word, so draws reveal nothing of the forks, and a fork neither takes numbers from its parent
// nor depends on how many it drew. Keys have 64 bits: among f streams, two are equal with probability f^2 / 2^65.

namespace lamella {

/// The state of a generator: the stream's key, the next counter, and the number of streams forked off.
struct GeneratorState {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  std::uint64_t forks = 0;

  friend bool operator==(const GeneratorState&, const GeneratorState&) = default;
};

/// A source of random numbers for one device: it hands out ranges of Philox counters, from which kernels compute the
/// numbers. Thread-safe; if threads share one, the numbers of each depend on the order of their calls, so give each its
/// own (fork) for reproducible results. The device need not exist on this machine until numbers are drawn.
class Generator {
 public:
  static constexpr std::uint64_t kDefaultSeed = 67280421310721u;

  /// Throws ValueError for the device meta, whose tensors have no numbers.
  explicit Generator(std::uint64_t seed = kDefaultSeed, Device device = kCPU);
  /// Not copyable, because an accidental copy would give the same numbers twice: see clone() and fork(). A moved-from
  /// generator stays usable, at its position.
  Generator(Generator&& other) noexcept : Generator(other.get_state(), other.device_) {}
  Generator& operator=(Generator&&) = delete;

  Device device() const noexcept { return device_; }
  /// Restarts at the beginning of the stream of `seed`, and at its first fork.
  void manual_seed(std::uint64_t seed);
  /// Starts a stream whose seed comes from the operating system; returns that seed.
  std::uint64_t seed();
  /// Returns the seed of the stream.
  std::uint64_t initial_seed() const { return get_state().seed; }
  GeneratorState get_state() const;
  void set_state(GeneratorState state);

  /// Returns a generator at the same position, which draws the same numbers.
  Generator clone() const { return {get_state(), device_}; }
  /// Returns a generator with a stream of its own, statistically independent of this one's, its other forks' and their
  /// forks'. The numbers of this one do not change. See Note [Random streams].
  Generator fork();
  /// Returns the next `count` forks, without others in between.
  std::vector<Generator> split(std::size_t count);

  /// Reserves `blocks` counters (four 32-bit words each) and returns the state before.
  GeneratorState reserve(std::uint64_t blocks);

 private:
  Generator(GeneratorState state, Device device) : device_(device), state_(state) {}

  Device device_;
  mutable std::mutex mutex_;
  GeneratorState state_;
};

/// Returns the generator that operators use on a device if none is given (inside a RandomReplay, that scope's own);
/// created on first use, and alive until the process ends. Throws ValueError for meta, RuntimeError if this machine has
/// no such device.
Generator& default_generator(Device device = kCPU);

/// Restarts the stream of `seed` on every device, including those first used later, so that what follows is
/// reproducible. Every device gets the same stream.
void seed(std::uint64_t seed);

/// Throws ValueError that names both devices if `generator` is given and is for another device than `device`. On meta
/// nothing is drawn, and any generator is accepted. `op` is for the message.
void check_generator(const char* op, const Generator* generator, Device device);

/// The state of a device's default generator.
struct DeviceRngState {
  Device device;
  GeneratorState state;

  friend bool operator==(const DeviceRngState&, const DeviceRngState&) = default;
};

/// Returns the states of all default generators that have been used. The last entry, of the device meta, has the seed
/// for devices that are first used later, so that the states cover all devices.
std::vector<DeviceRngState> rng_states();
/// Returns the states of the default generators of some devices. Throws as default_generator() does.
std::vector<DeviceRngState> rng_states(std::span<const Device> devices);
/// Restores default generators to states that rng_states() returned; with those of all devices, also the generators
/// that were first used since. Throws RuntimeError if this machine lacks one of the devices; then nothing has changed.
void restore_rng_states(std::span<const DeviceRngState> states);

/// The states of the default generators.
class RandomState {
 public:
  static RandomState now() { return RandomState(rng_states()); }
  /// Restores the default generators to these states.
  void restore() const { restore_rng_states(states_); }

  friend bool operator==(const RandomState&, const RandomState&) = default;

 private:
  explicit RandomState(std::vector<DeviceRngState> states) : states_(std::move(states)) {}

  std::vector<DeviceRngState> states_;
};

/// Replaces the default generators of this thread in a scope by others, which go on from `start`.
class RandomReplay {
 public:
  explicit RandomReplay(const RandomState& start);
  ~RandomReplay();
  RandomReplay(const RandomReplay&) = delete;
  RandomReplay& operator=(const RandomReplay&) = delete;

 private:
  struct Generators;
  std::unique_ptr<Generators> generators_;
};

}  // namespace lamella
