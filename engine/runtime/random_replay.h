#pragma once

#include "engine/runtime/generator.h"

// Note [Random numbers that are drawn again]
// A computation that is run again must draw the numbers that it drew before. Setting the default generator back for
// that would disturb every other thread that draws meanwhile, and they the computation. So it gets a generator of its
// own, which starts where the default one stood: nothing has to be put back afterwards. How many generators there are,
// and what their states are, is known here only.

namespace lamella {

namespace detail {
[[gnu::tls_model("initial-exec")]] extern thread_local Generator* replayed_generator;
}

/// Where the default generators of this thread stand.
class RandomState {
 public:
  static RandomState now() { return RandomState(default_generator().state()); }
  /// Puts them there.
  void restore() const { default_generator().set_state(state_); }

  friend bool operator==(const RandomState&, const RandomState&) = default;

 private:
  friend class RandomReplay;
  explicit RandomState(GeneratorState state) : state_(state) {}

  GeneratorState state_;
};

/// In this scope the default generators of this thread are others, which go on from `start`.
class RandomReplay {
 public:
  explicit RandomReplay(const RandomState& start) : before_(detail::replayed_generator) {
    generator_.set_state(start.state_);
    detail::replayed_generator = &generator_;
  }
  ~RandomReplay() { detail::replayed_generator = before_; }
  RandomReplay(const RandomReplay&) = delete;
  RandomReplay& operator=(const RandomReplay&) = delete;

 private:
  Generator generator_;
  Generator* before_;
};

}  // namespace lamella
