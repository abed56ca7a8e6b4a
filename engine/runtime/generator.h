#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "engine/core/device.h"

// Note [Random streams]
// A stream is a Philox key, the generator's 64-bit seed, and its numbers are those of the counters (n, 0, 0) for n = 0,
// 1, 2 ... below 2^64, where it starts again. A generator is a place in a stream: each draw takes the next range of
// counters at once and makes its elements from them by their position, so neither the number of threads nor the order
// in which they work changes a bit.
//
// Streams are split in the way of Claessen and Palka ("Splittable pseudorandom number generators using cryptographic
// hashing", 2013), with Philox as the keyed function, which its authors propose for it too (Salmon et al., 2011,
// section 2): the n-th fork of key k has the first two words of Philox(k, counter (n, kForkDomain, 0)) as its key. No
// draw has a counter with that third word, so what is drawn says nothing of the forks, and a fork neither takes numbers
// from its parent nor depends on how many it gave. Keys are 64 bits: among f streams, two are the same with probability
// f^2 / 2^65.

namespace lamella {

/// Where a generator stands: the stream's key, the next counter, and how many streams were forked off.
struct GeneratorState {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  std::uint64_t forks = 0;

  friend bool operator==(const GeneratorState&, const GeneratorState&) = default;
};

/// A source of random numbers for one device: hands out ranges of Philox counters; kernels make the numbers from them.
/// Thread-safe; what threads that share one draw depends on who comes first, so give each its own (fork) where results
/// are to be the same again. The device need not exist on this machine until numbers are drawn.
class Generator {
 public:
  static constexpr std::uint64_t kDefaultSeed = 67280421310721u;

  /// ValueError for the device meta, whose tensors have no numbers.
  explicit Generator(std::uint64_t seed = kDefaultSeed, Device device = kCPU);
  /// There is no copy by accident, which would give the same numbers twice: see clone() and fork(). The one moved from
  /// stays usable, where it stood.
  Generator(Generator&& other) noexcept : Generator(other.get_state(), other.device_) {}
  Generator& operator=(Generator&&) = delete;

  Device device() const noexcept { return device_; }
  /// Starts the stream of `seed` from its beginning, and its forks from the first.
  void manual_seed(std::uint64_t seed);
  /// Starts a stream whose seed comes from the operating system; returns that seed.
  std::uint64_t seed();
  /// The seed of the stream.
  std::uint64_t initial_seed() const { return get_state().seed; }
  GeneratorState get_state() const;
  void set_state(GeneratorState state);

  /// One that stands at the same place: it draws the same numbers.
  Generator clone() const { return {get_state(), device_}; }
  /// One with a stream of its own, statistically independent of this one's, of its other forks' and of their forks'.
  /// What this one draws does not change. See Note [Random streams].
  Generator fork();
  /// The next `count` forks. No others come between them.
  std::vector<Generator> split(std::size_t count);

  /// Takes `blocks` counters (four 32-bit words each) and returns the state before.
  GeneratorState reserve(std::uint64_t blocks);

 private:
  Generator(GeneratorState state, Device device) : device_(device), state_(state) {}

  Device device_;
  mutable std::mutex mutex_;
  GeneratorState state_;
};

/// The generator that operators use on a device where none is given (inside a RandomReplay, that scope's own); made on
/// first use, and there until the process ends. ValueError for meta, RuntimeError where this machine has no such
/// device.
Generator& default_generator(Device device = kCPU);

/// Starts the stream of `seed` on every device, those first used later included: what follows is the same from run to
/// run. Every device gets the same stream.
void seed(std::uint64_t seed);

/// ValueError that names both devices where `generator` is there and draws for another device than `device`. On meta
/// nothing is drawn, and any generator is accepted. `op` is for the message.
void check_generator(const char* op, const Generator* generator, Device device);

/// The state of a device's default generator.
struct DeviceRngState {
  Device device;
  GeneratorState state;

  friend bool operator==(const DeviceRngState&, const DeviceRngState&) = default;
};

/// The states of all default generators that have been used. The last entry, of the device meta, has the seed that a
/// device first used later starts from: so the states are those of all devices.
std::vector<DeviceRngState> rng_states();
/// The states of the default generators of some devices. Errors as of default_generator().
std::vector<DeviceRngState> rng_states(std::span<const Device> devices);
/// Puts default generators back to states that rng_states gave; with those of all devices, also the generators that
/// were first used since. RuntimeError where this machine lacks one of the devices; then nothing has changed.
void restore_rng_states(std::span<const DeviceRngState> states);

}  // namespace lamella
