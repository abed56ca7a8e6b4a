#include "engine/runtime/cuda/cudnn.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/core/error.h"
#include "engine/runtime/cuda/stream.h"
#include "engine/runtime/cuda/thread_handles.h"
#include "engine/runtime/cudnn_setting.h"
#include "engine/runtime/shared_library.h"

namespace lamella::cuda::cudnn {
namespace {

std::optional<Api> load() {
  try {
    const SharedLibrary library(
        {.needed = "[cudnn] cuDNN 9 is wanted", .files = {"libcudnn.so.9"}, .variable = "LAMELLA_CUDNN_LIBRARY"});
    Api found{};
    library.find("cudnnGetVersion", found.version);
    library.find("cudnnGetErrorString", found.error_string);
    library.find("cudnnCreate", found.create);
    library.find("cudnnSetStream", found.set_stream);
    library.find("cudnnBackendCreateDescriptor", found.create_descriptor);
    library.find("cudnnBackendDestroyDescriptor", found.destroy_descriptor);
    library.find("cudnnBackendSetAttribute", found.set_attribute);
    library.find("cudnnBackendGetAttribute", found.get_attribute);
    library.find("cudnnBackendFinalize", found.finalize);
    library.find("cudnnBackendExecute", found.execute);
    return found;
  } catch (const RuntimeError&) {
    // Everything that it computes, other kernels compute, too.
    return std::nullopt;
  }
}

/// True if a proposal has Note::SlicedSum.
bool has_sliced_sum(const Description& config, const char* op) {
  std::vector<Description> choices;
  std::vector<Descriptor*> descriptors;
  for (std::int64_t i = 0; i < kKnobs; ++i) {
    descriptors.push_back(choices.emplace_back(Kind::KnobChoice, op).get());
  }
  const std::int64_t count = config.get<Descriptor*>(Attribute::EngineConfigKnobs, descriptors);
  return std::any_of(choices.begin(), choices.begin() + std::min(count, kKnobs), [](const Description& choice) {
    Knob knob[1];
    std::int64_t value[1];
    choice.get<Knob>(Attribute::KnobChoiceKnob, knob);
    choice.get<std::int64_t>(Attribute::KnobChoiceValue, value);
    return knob[0] == Knob::Slices && value[0] > 1;
  });
}

/// Returns the plan of a proposal, without its parts, or nothing if it is refused, or if cuDNN has none after all.
std::optional<Plan> plan_of(Context* context, const Description& config, const PlanLimits& limits, const char* op) {
  try {
    Description engine(Kind::Engine, op);
    Descriptor* engines[] = {engine.get()};
    config.get<Descriptor*>(Attribute::EngineConfigEngine, engines);
    Note notes[kNotes];
    const std::int64_t count = engine.get<Note>(Attribute::EngineNotes, notes);
    const std::span has(notes, static_cast<std::size_t>(std::min(count, kNotes)));
    if (std::ranges::find_first_of(has, limits.refused) != has.end()) return std::nullopt;
    if (std::ranges::find(limits.refused, Note::SlicedSum) != limits.refused.end() && has_sliced_sum(config, op)) {
      return std::nullopt;
    }
    Description plan(Kind::Plan, op);
    plan.set(Attribute::PlanHandle, context).set(Attribute::PlanEngineConfig, config).finalize();
    std::int64_t workspace[1] = {0};
    plan.get<std::int64_t>(Attribute::PlanWorkspaceSize, workspace);
    if (workspace[0] > limits.workspace) return std::nullopt;
    return Plan{{}, std::move(plan), workspace[0]};
  } catch (const RuntimeError&) {
    return std::nullopt;
  }
}

/// Returns all that a mode of the heuristics proposes for a graph, the best first; nothing where it knows none. There
/// are dozens: of float32, those that may round come first.
std::vector<Description> proposals(const Description& graph, HeuristicMode mode, const char* op) {
  std::vector<Description> found;
  std::int64_t count = 0;
  try {
    Description heuristics(Kind::Heuristics, op);
    heuristics.set(Attribute::HeuristicsGraph, graph).set(Attribute::HeuristicsMode, mode).finalize();
    // Without room it says how many there may be.
    const auto most = heuristics.get<Descriptor*>(Attribute::HeuristicsResults, {});
    std::vector<Descriptor*> descriptors;
    for (std::int64_t i = 0; i < most; ++i) {
      descriptors.push_back(found.emplace_back(Kind::EngineConfig, op).get());
    }
    if (most > 0) count = heuristics.get<Descriptor*>(Attribute::HeuristicsResults, descriptors);
  } catch (const RuntimeError&) {
    count = 0;
  }
  found.erase(found.begin() + std::min(count, std::ssize(found)), found.end());
  return found;
}

[[maybe_unused]] const bool kRegistered = [] {
  register_cudnn([]() -> std::size_t { return api() ? api()->version() : 0; });
  return true;
}();

}  // namespace

const Api* api() {
  static const std::optional<Api> found = load();
  return found ? &*found : nullptr;
}

void check(Status status, std::string_view op) {
  if (status != Status::Success) fail<RuntimeError>("[", op, "] cuDNN: ", api()->error_string(status));
}

Context* context(Device device) {
  thread_local ThreadHandles<Context*> handles;
  Context* const found = handles.get(device, [] {
    Context* made = nullptr;
    check(api()->create(&made), "cudnn");
    return made;
  });
  check(api()->set_stream(found, current_stream(device)), "cudnn");
  return found;
}

Description::Description(Kind kind, const char* op) : op_(op) {
  check(api()->create_descriptor(kind, &descriptor_), op);
}

Description::Description(Description&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, nullptr)), op_(other.op_) {}

Description& Description::operator=(Description&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(op_, other.op_);
  return *this;
}

Description::~Description() {
  if (descriptor_) api()->destroy_descriptor(descriptor_);
}

void Description::set(Attribute name, Type type, std::int64_t count, const void* values) {
  check(api()->set_attribute(descriptor_, name, type, count, values), op_);
}

std::int64_t Description::get(Attribute name, Type type, std::int64_t room, void* values) const {
  std::int64_t count = 0;
  check(api()->get_attribute(descriptor_, name, type, room, &count, values), op_);
  return count;
}

Description& Description::finalize() {
  check(api()->finalize(descriptor_), op_);
  return *this;
}

Plan make_plan(Context* context, GraphParts graph, const PlanLimits& limits, const char* op) {
  auto& parts = graph.parts;
  Description whole(Kind::Graph, op);
  whole.set(Attribute::GraphHandle, context)
      .set(Attribute::GraphOperations, std::span<Descriptor* const>(graph.operations))
      .finalize();
  parts.push_back(std::move(whole));
  for (const HeuristicMode mode : {HeuristicMode::A, HeuristicMode::Fallback}) {
    for (Description& config : proposals(parts.back(), mode, op)) {
      if (auto plan = plan_of(context, config, limits, op)) {
        parts.push_back(std::move(config));
        plan->parts = std::move(parts);
        return std::move(*plan);
      }
    }
  }
  fail<RuntimeError>("[", op, "] cuDNN has no plan for this");
}

void execute(Context* context, const Plan& plan, std::span<const std::int64_t> ids, std::span<void* const> data,
             void* workspace, const char* op) {
  Description pack(Kind::VariantPack, op);
  pack.set(Attribute::VariantPackUniqueIds, ids)
      .set(Attribute::VariantPackDataPointers, data)
      .set(Attribute::VariantPackWorkspace, workspace)
      .finalize();
  check(api()->execute(context, plan.plan.get(), pack.get()), op);
}

}  // namespace lamella::cuda::cudnn
