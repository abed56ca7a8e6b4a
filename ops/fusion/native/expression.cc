#include "ops/fusion/native/expression.h"

#include <mutex>

namespace lamella::fusion::native {

/// Held by the thread whose Steps are the current ones.
static constinit std::mutex taken;
static constinit Steps* current = nullptr;

Steps::Steps() {
  taken.lock();
  current = this;
}
Steps::~Steps() { taken.unlock(); }

const Step* make_step(const Step& step) { return &current->all_.emplace_back(step); }

const Step* make_step(Step::Kind kind, bool mask, const char* text, const Step* a, const Step* b, const Step* c) {
  return make_step({.kind = kind, .mask = mask, .text = text, .of = {a, b, c}});
}

}  // namespace lamella::fusion::native
