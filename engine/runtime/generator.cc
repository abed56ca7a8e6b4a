#include "engine/runtime/generator.h"

#include "engine/runtime/random_replay.h"

namespace lamella {

void Generator::seed(std::uint64_t seed) { set_state({seed, 0}); }

GeneratorState Generator::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void Generator::set_state(GeneratorState state) {
  const std::lock_guard lock(mutex_);
  state_ = state;
}

GeneratorState Generator::reserve(std::uint64_t blocks) {
  const std::lock_guard lock(mutex_);
  GeneratorState before = state_;
  state_.offset += blocks;
  return before;
}

Generator& default_generator() {
  if (Generator* replayed = detail::replayed_generator) [[unlikely]]
    return *replayed;
  static Generator generator;
  return generator;
}

}  // namespace lamella
