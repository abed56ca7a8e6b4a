#include "engine/autograd/graph/running_pass.h"

#include <utility>

#include "engine/core/error.h"

namespace lamella::autograd {
namespace {

std::atomic<std::uint64_t> next_pass{1};

RunningPass& running_pass(const char* op) {
  RunningPass* const pass = RunningPass::current();
  if (!pass) fail<RuntimeError>("[", op, "] there is no backward pass on this thread");
  return *pass;
}

}  // namespace

[[gnu::tls_model("initial-exec")]] thread_local constinit RunningPass* RunningPass::current_ = nullptr;

RunningPass::RunningPass() : id_(next_pass.fetch_add(1, std::memory_order_relaxed)) {}

bool is_in_pass() noexcept { return RunningPass::current() != nullptr; }

bool is_needed(const Edge& edge) noexcept {
  const RunningPass* const pass = RunningPass::current();
  return edge && (!pass || pass->needs(edge.node.get()));
}

std::uint64_t current_pass_id() noexcept {
  const RunningPass* const pass = RunningPass::current();
  return pass ? pass->id() : 0;
}

bool pass_is_for_all_leaves() noexcept {
  const RunningPass* const pass = RunningPass::current();
  return pass && pass->is_for_all_leaves();
}

OutsidePass::OutsidePass() noexcept : pass_(RunningPass::exchange_current(nullptr)) {}
OutsidePass::~OutsidePass() { RunningPass::exchange_current(pass_); }

void queue_callback(std::function<void()> callback) {
  running_pass("queue_callback").callbacks().push_back(std::move(callback));
}

std::any& pass_data(const void* key) { return running_pass("pass_data").data(key); }

}  // namespace lamella::autograd
