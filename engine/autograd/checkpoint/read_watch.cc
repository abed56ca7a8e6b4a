#include "engine/autograd/checkpoint/read_watch.h"

#include <new>
#include <utility>

#include "engine/autograd/graph/running_pass.h"
#include "engine/core/error.h"
#include "engine/core/modes.h"
#include "engine/core/thread_state.h"

namespace lamella::autograd {
namespace {

bool set_selective(bool on) noexcept {
  auto& bits = modes().interceptors;
  const bool before = (bits & Modes::kSelective) != 0;
  bits = static_cast<std::uint8_t>(on ? bits | Modes::kSelective : bits & ~Modes::kSelective);
  return before;
}

}  // namespace

ReadWatch::ReadWatch(std::shared_ptr<ReadLog> log, bool repeats)
    : log_(std::move(log)), repeats_(repeats), pass_(current_pass_id()) {}

void ReadWatch::begin_call(std::string_view op, std::span<const Tensor* const> inputs, const std::vector<bool>& reads) {
  if (current_pass_id() != pass_) return;
  const std::lock_guard lock(log_->mutex_);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = *inputs[i];
    if (!x.defined() || !x->storage) continue;
    const ReadLog::Read now{x->storage, x.version()};
    if (!repeats_) {
      log_->reads_.push_back(now);
      inputs_.emplace_back(x, now.version);
      continue;
    }
    if (next_ >= log_->reads_.size()) return;
    const ReadLog::Read& first = log_->reads_[next_++];
    if (first.memory != now.memory || first.version == now.version || log_->written_.contains(now.memory) ||
        !reads[i]) {
      continue;
    }
    fail<RuntimeError>("[checkpoint] input ", i, " of ", op, " (", describe(x), "), which the function reads, was ",
                       describe_last_write(x),
                       " after the call: backward would compute with other values. Write into a copy instead "
                       "(clone()), or call backward before");
  }
}

void ReadWatch::end_call() noexcept {
  for (const auto& [x, version] : inputs_) {
    if (x.version() != version) note_write(*x->storage);
  }
  inputs_.clear();
}

void ReadWatch::note_write(const Storage& memory) noexcept {
  if (repeats_) return;
  const std::lock_guard lock(log_->mutex_);
  try {
    log_->written_.insert(&memory);
  } catch (const std::bad_alloc&) {
    log_->reads_.clear();  // compares nothing, rather than refuse something that is right
  }
}

void note_read(std::string_view op, const Tensor& x) {
  const auto watch = thread_state().access_watch;
  if (!watch) return;
  const Tensor* const inputs[] = {&x};
  watch->begin_call(op, inputs, {true});
  watch->end_call();
}

WatchReads::WatchReads(std::shared_ptr<AccessWatch> watch)
    : before_(std::exchange(thread_state().access_watch, std::move(watch))), mode_before_(set_selective(true)) {}

WatchReads::~WatchReads() {
  thread_state().access_watch = std::move(before_);
  set_selective(mode_before_);
}

}  // namespace lamella::autograd
