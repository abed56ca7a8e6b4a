#pragma once

#include <cstdint>
#include <mutex>

namespace lamella {

/// Where a generator stands: the stream's key and the next counter.
struct GeneratorState {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;

  friend bool operator==(const GeneratorState&, const GeneratorState&) = default;
};

/// A source of random numbers: hands out ranges of Philox counters; kernels make the numbers from them. Thread-safe.
class Generator {
 public:
  explicit Generator(std::uint64_t seed = kDefaultSeed) noexcept : state_{seed, 0} {}

  /// Starts the stream of `seed` from its beginning.
  void seed(std::uint64_t seed);
  GeneratorState state() const;
  void set_state(GeneratorState state);
  /// Takes `blocks` counters (four 32-bit words each) and returns the state before.
  GeneratorState reserve(std::uint64_t blocks);

  static constexpr std::uint64_t kDefaultSeed = 67280421310721u;

 private:
  mutable std::mutex mutex_;
  GeneratorState state_;
};

/// The generator that operators use where none is given; inside a RandomReplay, that scope's own.
Generator& default_generator();

}  // namespace lamella
