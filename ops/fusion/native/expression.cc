#include "ops/fusion/native/expression.h"

namespace lamella::fusion::native {

/// The innermost Steps of the thread.
static constinit thread_local Steps* innermost = nullptr;

Steps::Steps() : outer_(innermost) { innermost = this; }
Steps::~Steps() { innermost = outer_; }

const Step* make_step(const Step& step) { return &innermost->all_.emplace_back(step); }

const Step* make_step(Step::Kind kind, bool mask, const char* text, const Step* a, const Step* b, const Step* c) {
  return make_step({.kind = kind, .mask = mask, .text = text, .of = {a, b, c}});
}

}  // namespace lamella::fusion::native
