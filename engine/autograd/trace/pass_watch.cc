#include "engine/autograd/trace/pass_watch.h"

#include <iostream>
#include <mutex>
#include <stdexcept>
#include <typeinfo>

#include "engine/autograd/graph/accumulate.h"
#include "engine/autograd/graph/meta.h"
#include "engine/autograd/graph/origin.h"
#include "engine/autograd/trace/departure.h"
#include "engine/autograd/trace/profile.h"
#include "engine/core/error.h"
#include "engine/core/modes.h"

namespace lamella::autograd {
namespace {

/// Throws the exception that is being handled again, with the note in its message, where its type is exactly E.
template <class E>
void throw_noted(const std::exception& error, const std::string& note) {
  if (typeid(error) == typeid(E)) throw E(error.what() + note);
}

[[noreturn]] void rethrow_with(const std::string& note) {
  if (host_hooks().annotate && host_hooks().annotate(note)) throw;
  try {
    throw;
  } catch (const std::exception& error) {
    const std::string more = "\n" + note;
    throw_noted<RuntimeError>(error, more);
    throw_noted<ValueError>(error, more);
    throw_noted<TypeError>(error, more);
    throw_noted<IndexError>(error, more);
    throw_noted<NotImplementedError>(error, more);
    throw_noted<OutOfMemoryError>(error, more);
    throw_noted<std::runtime_error>(error, more);
    throw_noted<std::logic_error>(error, more);
    throw_noted<std::invalid_argument>(error, more);
    throw_noted<std::out_of_range>(error, more);
    throw_noted<std::domain_error>(error, more);
  } catch (...) {
  }
  // Prints the note, which would be lost otherwise, as an exception of a user's type goes on as it is.
  std::cerr << note << '\n';
  throw;
}

std::string place_lines(const Node& node) {
  const auto origin = origin_of(node);
  const std::string place = origin ? long_place(*origin, "  ") : std::string();
  return place.empty() ? "  its call was not written down: hold the forward pass in detect_anomaly too\n" : place;
}

/// Returns the text without its last newline, as messages do not end in one.
std::string trimmed(std::string text) {
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

void set_missed(const Tensor& leaf, std::shared_ptr<const Missed> missed) {
  AutogradMeta& meta = make_meta(leaf);
  const std::lock_guard lock(meta.lock);
  if (!missed && !meta.extras) return;
  meta.make_extras().missed.swap(missed);  // the old one is freed after the lock
}

}  // namespace

std::unique_ptr<PassWatch> PassWatch::begin() {
  if (!is_tracing() && !active_profile()) [[likely]]
    return nullptr;
  return std::make_unique<PassWatch>(detected_anomaly());
}

PassWatch::PassWatch(std::shared_ptr<Anomaly> anomaly) : anomaly_(std::move(anomaly)), line_(user_line()) {}

PassWatch::~PassWatch() {
  for (auto& [node, entry] : missed_) {
    const auto* leaf = dynamic_cast<const AccumulateGrad*>(node);
    if (leaf && !reached_.contains(node)) set_missed(leaf->leaf(), entry.second);
  }
}

TensorList PassWatch::call(Node& node, TensorList grads, Run run) {
  const ProfileSpan span(ProfileEvent::Kind::Backward, active_profile() ? node.name() : std::string(), node.sequence());
  if (!tracing_) return run(&node, std::move(grads));
  if (const auto* leaf = dynamic_cast<const AccumulateGrad*>(&node)) {
    reached_.insert(leaf);
    set_missed(leaf->leaf(), nullptr);
  }
  const RunningNode running(node);
  TensorList results;
  if (anomaly_) {
    const TensorList incoming = grads;
    try {
      results = run(&node, std::move(grads));
    } catch (...) {
      rethrow_with(trimmed(str("raised in the backward of `", node.name(), "`, which was\n", place_lines(node))));
    }
    check(node, incoming, results);
  } else {
    results = run(&node, std::move(grads));
  }
  for (const Tensor& grad : results) note_gradient(node, grad);
  return results;
}

void PassWatch::check(const Node& node, const TensorList& incoming, const TensorList& results) const {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const NonFinite bad = count_bad(results[i], anomaly_->checks());
    if (bad.nan + bad.inf == 0) continue;
    std::string cause = "the gradient that arrived was finite: look at the values of the forward call";
    for (std::size_t k = 0; k < incoming.size(); ++k) {
      const NonFinite arrived = count_bad(incoming[k], anomaly_->checks());
      if (arrived.nan + arrived.inf == 0) continue;
      cause = str("the gradient of its output ", k, " arrived with ", describe_bad(arrived, incoming[k]),
                  ": look at what was given to backward, at hooks, and at sums of gradients that overflow");
      break;
    }
    fail<RuntimeError>("[", node.name(), "] backward gave ", describe_bad(bad, results[i]),
                       " in the gradient of its input ", i, "; ", cause, ". The operation was\n",
                       trimmed(place_lines(node)));
  }
}

void PassWatch::missed(const Node& node, std::size_t input) {
  if (!tracing_) return;
  const Ref<Node>& target = node.edges()[input].node;
  const auto known = missed_.find(&node);
  std::shared_ptr<const Missed> cause;
  if (known != missed_.end()) {
    cause = known->second.second;  // no gradient arrived at the node itself
  } else {
    const auto origin = origin_of(node);
    cause = std::make_shared<const Missed>(Missed{node.name(), origin ? short_place(*origin) : "", input, line_});
  }
  missed_.try_emplace(target.get(), target, std::move(cause));
}

}  // namespace lamella::autograd
