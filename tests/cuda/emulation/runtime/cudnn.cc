// cuDNN on the emulation: descriptors that check what they are given, and convolutions by plain loops; graphs of more
// than one operation are cudnn_graphs.cc's. Of the algorithms that its heuristics propose, those with a note compute
// what the note warns of, so that one that is taken shows.

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <type_traits>
#include <vector>

#include "engine/core/half.h"
#include "engine/runtime/cuda/cudnn_api.h"
#include "tests/cuda/emulation/runtime/cudnn_descriptors.h"
#include "tests/cuda/emulation/runtime/cudnn_graphs.h"
#include "tests/cuda/emulation/runtime/matrices.h"
#include "tests/cuda/emulation/runtime/settings.h"

namespace lamella::cuda::cudnn {

namespace {

using Sizes = std::vector<std::int64_t>;

constexpr std::size_t kWorkspace = 384;

std::size_t size_of(Type type) {
  switch (type) {
    case Type::Int64:
    case Type::Double:
    case Type::Pointer:
    case Type::Handle:
    case Type::Descriptor:
      return 8;
    case Type::Bool:
      return 1;
    default:
      return 4;
  }
}

using enum Attribute;

std::vector<Field> fields_of(Kind kind) {
  switch (kind) {
    case Kind::Tensor:
      return {{TensorDataType, Type::DataType},   {TensorDimensions, Type::Int64},
              {TensorStrides, Type::Int64},       {TensorUniqueId, Type::Int64},
              {TensorByteAlignment, Type::Int64}, {TensorIsVirtual, Type::Bool, true},
              {TensorIsByValue, Type::Bool, true}};
    case Kind::Convolution:
      return {{ConvolutionComputeType, Type::DataType}, {Attribute::ConvolutionMode, Type::ConvolutionMode},
              {ConvolutionSpatialAxes, Type::Int64},    {ConvolutionPrePaddings, Type::Int64},
              {ConvolutionPostPaddings, Type::Int64},   {ConvolutionStrides, Type::Int64},
              {ConvolutionDilations, Type::Int64}};
    case Kind::Graph:
      return {{GraphHandle, Type::Handle}, {GraphOperations, Type::Descriptor}};
    case Kind::Heuristics:
      return {{HeuristicsGraph, Type::Descriptor}, {HeuristicsMode, Type::HeuristicMode}};
    case Kind::Plan:
      return {{PlanHandle, Type::Handle}, {PlanEngineConfig, Type::Descriptor}};
    case Kind::VariantPack:
      return {{VariantPackUniqueIds, Type::Int64},
              {VariantPackDataPointers, Type::Pointer},
              {VariantPackWorkspace, Type::Pointer}};
    case Kind::Forward:
    case Kind::BackwardData:
    case Kind::BackwardFilter: {
      const int first = kind == Kind::Forward ? 700 : kind == Kind::BackwardData ? 706 : 712;
      std::vector<Field> fields;
      for (int i = 0; i < 6; ++i) {
        fields.push_back({static_cast<Attribute>(first + i), i < 2 ? Type::Float : Type::Descriptor});
      }
      return fields;
    }
    case Kind::Engine:
    case Kind::EngineConfig:
    case Kind::KnobChoice:
      return {};  // filled by the library
    default:
      return graph_fields(kind);
  }
}

/// An engine: its notes, and the memory that it needs.
struct Engine {
  std::vector<Note> notes;
  std::size_t workspace;
  std::int64_t slices = 1;
};
/// As cuDNN's heuristics do, these propose many that round float32 before the best that does not. The last one has no
/// note either, but takes two launches.
const std::vector<Engine>& engines() {
  static const std::vector<Engine> all = [] {
    std::vector<Engine> found{{{Note::Winograd}, 0}, {{Note::TensorCore, Note::Nondeterministic}, 0}};
    found.push_back({{Note::TensorCore}, 0, 7});
    found.insert(found.end(), 30, {{Note::TensorCore}, 0});
    found.insert(found.end(), 2, {{}, kWorkspace});
    return found;
  }();
  return all;
}

struct Image {
  DataType type;
  Sizes dims;
  Sizes strides;
  std::int64_t alignment;
  std::int64_t id;

  bool is_packed() const {
    std::int64_t expected = 1;
    for (std::size_t i = dims.size(); i-- > 0; expected *= dims[i]) {
      if (strides[i] != expected) return false;
    }
    return true;
  }
};

Image image(const Descriptor& tensor) {
  return {value<DataType>(tensor, TensorDataType), values<std::int64_t>(tensor, TensorDimensions),
          values<std::int64_t>(tensor, TensorStrides), value<std::int64_t>(tensor, TensorByteAlignment),
          value<std::int64_t>(tensor, TensorUniqueId)};
}

/// An operation of a graph, as its descriptors describe it.
struct Problem {
  Kind kind;
  Image x, w, y;
  Sizes before, after, strides, dilations;
};

Problem problem_of(const Descriptor& operation) {
  const bool is_forward = operation.kind == Kind::Forward;
  const bool is_data = operation.kind == Kind::BackwardData;
  const auto part = [&](Attribute forward, Attribute data, Attribute filter) -> const Descriptor& {
    return *value<Descriptor*>(operation, is_forward ? forward : is_data ? data : filter);
  };
  const Descriptor& convolution = part(ForwardConvolution, BackwardDataConvolution, BackwardFilterConvolution);
  return {operation.kind,
          image(part(ForwardX, BackwardDataDx, BackwardFilterX)),
          image(part(ForwardW, BackwardDataW, BackwardFilterDw)),
          image(part(ForwardY, BackwardDataDy, BackwardFilterDy)),
          values<std::int64_t>(convolution, ConvolutionPrePaddings),
          values<std::int64_t>(convolution, ConvolutionPostPaddings),
          values<std::int64_t>(convolution, ConvolutionStrides),
          values<std::int64_t>(convolution, ConvolutionDilations)};
}

/// Says what is wrong with the numbers of a finalized descriptor, as far as it can tell alone.
Status checked(const Descriptor& made) {
  if (made.kind == Kind::Tensor) {
    const auto dims = values<std::int64_t>(made, TensorDimensions);
    const auto strides = values<std::int64_t>(made, TensorStrides);
    if (std::ranges::min(dims) < 1 || strides.size() != dims.size()) return Status::BadParameter;
    return dims.size() == 4 || dims.size() == 5 ? Status::Success : Status::NotSupported;
  }
  if (made.kind == Kind::Convolution) {
    const auto axes = static_cast<std::size_t>(value<std::int64_t>(made, ConvolutionSpatialAxes));
    for (const Attribute name :
         {ConvolutionPrePaddings, ConvolutionPostPaddings, ConvolutionStrides, ConvolutionDilations}) {
      const auto list = values<std::int64_t>(made, name);
      const std::int64_t least = name == ConvolutionStrides || name == ConvolutionDilations ? 1 : 0;
      if (list.size() != axes || std::ranges::min(list) < least) return Status::BadParameter;
    }
    return Status::Success;
  }
  if (made.kind == Kind::Forward || made.kind == Kind::BackwardData || made.kind == Kind::BackwardFilter) {
    const Problem problem = problem_of(made);
    const auto& [kind, x, w, y, before, after, strides, dilations] = problem;
    bool fits = x.dims.size() == w.dims.size() && w.dims.size() == y.dims.size() && x.dims.size() == strides.size() + 2;
    fits = fits && x.dims[0] == y.dims[0] && w.dims[0] == y.dims[1] && x.dims[1] % w.dims[1] == 0;
    fits = fits && x.type == w.type && w.type == y.type && x.is_packed() && w.is_packed() && y.is_packed();
    for (std::size_t i = 0; fits && i < strides.size(); ++i) {
      const std::int64_t reach = dilations[i] * (w.dims[i + 2] - 1) + 1;
      fits = y.dims[i + 2] == (x.dims[i + 2] + before[i] + after[i] - reach) / strides[i] + 1;
    }
    return fits ? Status::Success : Status::BadParameter;
  }
  if (is_graph_operation(made.kind)) return checked_operation(made);
  return Status::Success;
}

/// The five sizes of a plane-wise tensor, of which images lack the depth.
std::array<std::int64_t, 5> five(const Sizes& dims) {
  if (dims.size() == 5) return {dims[0], dims[1], dims[2], dims[3], dims[4]};
  return {dims[0], dims[1], 1, dims[2], dims[3]};
}
std::array<std::int64_t, 3> three(const Sizes& list, std::int64_t missing) {
  if (list.size() == 3) return {list[0], list[1], list[2]};
  return {missing, list[0], list[1]};
}

/// Adds all products of a convolution into sums in A; M is how a factor is read.
template <class T, class A, class M>
cudaError_t convolve(const Problem& problem, std::array<void*, 3> data, void* workspace, std::size_t workspace_size,
                     A factor, cudaStream_t stream) {
  const auto run = [=] {
    std::fill_n(static_cast<unsigned char*>(workspace), workspace_size, 0xA5);
    const auto xs = five(problem.x.dims);
    const auto ws = five(problem.w.dims);
    const auto ys = five(problem.y.dims);
    const auto before = three(problem.before, 0);
    const auto strides = three(problem.strides, 1);
    const auto dilations = three(problem.dilations, 1);
    const std::int64_t groups = xs[1] / ws[1];
    const Sizes& result = problem.kind == Kind::Forward        ? problem.y.dims
                          : problem.kind == Kind::BackwardData ? problem.x.dims
                                                               : problem.w.dims;
    std::int64_t count = 1;
    for (const std::int64_t size : result) count *= size;
    std::vector<A> sums(static_cast<std::size_t>(count), A{});
    const M* const x = static_cast<const M*>(data[0]);
    const M* const w = static_cast<const M*>(data[1]);
    const M* const y = static_cast<const M*>(data[2]);
    const std::int64_t outputs = ys[0] * ys[1] * ys[2] * ys[3] * ys[4];
    for (std::int64_t i = 0; i < outputs; ++i) {
      const std::int64_t at[] = {i / (ys[4] * ys[3]) % ys[2], i / ys[4] % ys[3], i % ys[4]};
      const std::int64_t o = i / (ys[4] * ys[3] * ys[2]) % ys[1];
      const std::int64_t n = i / (ys[4] * ys[3] * ys[2] * ys[1]);
      const std::int64_t first = o / (ys[1] / groups) * ws[1];
      for (std::int64_t k = 0; k < ws[1] * ws[2] * ws[3] * ws[4]; ++k) {
        const std::int64_t tap[] = {k / (ws[4] * ws[3]) % ws[2], k / ws[4] % ws[3], k % ws[4]};
        std::int64_t from = n * xs[1] + first + k / (ws[4] * ws[3] * ws[2]);
        bool is_inside = true;
        for (int axis = 0; axis < 3; ++axis) {
          const std::int64_t p = strides[axis] * at[axis] - before[axis] + dilations[axis] * tap[axis];
          is_inside = is_inside && p >= 0 && p < xs[axis + 2];
          from = from * xs[axis + 2] + p;
        }
        if (!is_inside) continue;
        const std::int64_t weight = o * ws[1] * ws[2] * ws[3] * ws[4] + k;
        if (problem.kind == Kind::Forward) sums[i] += static_cast<A>(x[from]) * static_cast<A>(w[weight]);
        if (problem.kind == Kind::BackwardData) sums[from] += static_cast<A>(w[weight]) * static_cast<A>(y[i]);
        if (problem.kind == Kind::BackwardFilter) sums[weight] += static_cast<A>(x[from]) * static_cast<A>(y[i]);
      }
    }
    T* const to = static_cast<T*>(data[problem.kind == Kind::Forward ? 2 : problem.kind == Kind::BackwardData ? 0 : 1]);
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(sums[i] * factor);
  };
  return emulation::launch({run, nullptr, dim3(1), dim3(1), 0}, stream);
}

Status execute(Context& context, const Descriptor& plan, const Descriptor& pack) {
  const Descriptor& config = *value<Descriptor*>(plan, PlanEngineConfig);
  const Engine& engine = engines().at(static_cast<std::size_t>(value<std::int64_t>(config, EngineConfigEngine)));
  const auto operations = values<Descriptor*>(config, GraphOperations);
  const auto ids = values<std::int64_t>(pack, VariantPackUniqueIds);
  const auto pointers = values<void*>(pack, VariantPackDataPointers);
  if (ids.size() != pointers.size()) return Status::BadParameter;
  void* const workspace = value<void*>(pack, VariantPackWorkspace);
  if (engine.workspace && !workspace) return Status::BadParameter;
  if (operations.size() > 1) {
    std::map<std::int64_t, void*> data;
    for (std::size_t i = 0; i < ids.size(); ++i) data[ids[i]] = pointers[i];
    return execute_graph(operations, data, workspace, engine.workspace, context.stream);
  }
  const Problem problem = problem_of(*operations.at(0));
  std::array<void*, 3> data{};
  const Image* const images[] = {&problem.x, &problem.w, &problem.y};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto found = std::ranges::find(ids, images[i]->id);
    if (found == ids.end()) return Status::BadParameter;
    data[i] = pointers[static_cast<std::size_t>(found - ids.begin())];
    if (reinterpret_cast<std::uintptr_t>(data[i]) % static_cast<std::uintptr_t>(images[i]->alignment) != 0) {
      return Status::BadParameter;
    }
  }
  // What an algorithm by transforms, or one that rounds a part of a sum to 16 bits, does to results, many times over.
  const auto has = [&](Note note) { return std::ranges::find(engine.notes, note) != engine.notes.end(); };
  const bool is_half = problem.x.type == DataType::Float16 || problem.x.type == DataType::BFloat16;
  const bool spoils = has(Note::Winograd) || has(Note::Nondeterministic) || (is_half && engine.slices > 1);
  const bool rounds = has(Note::TensorCore);
  if (&engine == &engines().back()) {
    if (emulation::launch({[] {}, nullptr, dim3(1), dim3(1), 0}, context.stream) != cudaSuccess) return Status::Failed;
  }
  const auto run = [&]<class T, class A, class M = T>() {
    return convolve<T, A, M>(problem, data, workspace, engine.workspace, spoils ? A{1.25} : A{1}, context.stream);
  };
  cudaError_t error = cudaSuccess;
  switch (problem.x.type) {
    case DataType::Float16:
      error = run.operator()<lamella::Half, float>();
      break;
    case DataType::BFloat16:
      error = run.operator()<lamella::BFloat16, float>();
      break;
    case DataType::Float64:
      error = run.operator()<double, double>();
      break;
    case DataType::Float32:
      error = rounds ? run.operator()<float, float, emulation::Tf32>() : run.operator()<float, float>();
      break;
    default:
      return Status::NotSupported;
  }
  return error == cudaSuccess ? Status::Success : Status::Failed;
}

/// Has a descriptor hold values, as the library does with those that it fills.
template <class T>
void fill(Descriptor& to, Attribute name, Type type, const std::vector<T>& list) {
  Values held{type, static_cast<std::int64_t>(list.size()), std::vector<char>(list.size() * sizeof(T))};
  std::memcpy(held.bytes.data(), list.data(), held.bytes.size());
  to.attributes[name] = std::move(held);
}

}  // namespace

extern "C" {

std::size_t cudnnGetVersion() { return 91900; }

const char* cudnnGetErrorString(Status status) {
  switch (status) {
    case Status::Success:
      return "CUDNN_STATUS_SUCCESS";
    case Status::BadParameter:
      return "CUDNN_STATUS_BAD_PARAM";
    case Status::NotFinalized:
      return "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED";
    case Status::NotSupported:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case Status::Failed:
      return "CUDNN_STATUS_EXECUTION_FAILED";
  }
  return "CUDNN_UNKNOWN_STATUS";
}

Status cudnnCreate(Context** made) {
  *made = new Context;
  return Status::Success;
}

Status cudnnSetStream(Context* context, cudaStream_t stream) {
  context->stream = stream;
  return Status::Success;
}

Status cudnnBackendCreateDescriptor(Kind kind, Descriptor** made) {
  *made = new Descriptor{kind, false, {}};
  return Status::Success;
}

Status cudnnBackendDestroyDescriptor(Descriptor* descriptor) {
  delete descriptor;
  return Status::Success;
}

Status cudnnBackendSetAttribute(Descriptor* descriptor, Attribute name, Type type, std::int64_t count,
                                const void* given) {
  if (!descriptor || descriptor->is_final || count < 1 || !given) return Status::BadParameter;
  const auto fields = fields_of(descriptor->kind);
  const auto field = std::ranges::find(fields, name, &Field::name);
  if (field == fields.end()) return Status::BadParameter;
  // Factors are as wide as the sums.
  if (type != field->type && !(field->type == Type::Float && type == Type::Double)) return Status::BadParameter;
  Values held{type, count, std::vector<char>(static_cast<std::size_t>(count) * size_of(type))};
  std::memcpy(held.bytes.data(), given, held.bytes.size());
  if (type == Type::Descriptor) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto* const other = static_cast<Descriptor* const*>(given)[i];
      if (!other || !other->is_final) return Status::NotFinalized;
    }
  }
  descriptor->attributes[name] = std::move(held);
  return Status::Success;
}

Status cudnnBackendFinalize(Descriptor* descriptor) {
  if (!descriptor || descriptor->is_final) return Status::BadParameter;
  for (const Field& field : fields_of(descriptor->kind)) {
    if (!field.is_optional && !descriptor->attributes.contains(field.name)) return Status::BadParameter;
  }
  if (const Status status = checked(*descriptor); status != Status::Success) return status;
  descriptor->is_final = true;
  return Status::Success;
}

Status cudnnBackendGetAttribute(Descriptor* descriptor, Attribute name, Type type, std::int64_t room,
                                std::int64_t* count, void* to) {
  if (!descriptor || (room < 1 && name != HeuristicsResults)) return Status::BadParameter;
  if (descriptor->kind == Kind::Heuristics && name == HeuristicsResults && type == Type::Descriptor) {
    if (!descriptor->is_final) return Status::NotFinalized;
    if (emulation::settings().refuse_cudnn) return Status::NotSupported;
    const auto operations = values<Descriptor*>(*value<Descriptor*>(*descriptor, HeuristicsGraph), GraphOperations);
    auto* const results = static_cast<Descriptor**>(to);
    const auto mode = value<cudnn::HeuristicMode>(*descriptor, HeuristicsMode);
    const auto all = static_cast<std::int64_t>(engines().size());
    // The last engine, which has no note, is among those to fall back on, and the one for attention.
    const bool is_graph = operations.size() > 1;
    if (is_graph && !is_attention(operations)) return Status::NotSupported;
    const std::int64_t first = is_graph || mode == cudnn::HeuristicMode::Fallback ? all - 1 : 0;
    const std::int64_t last = is_graph || mode == cudnn::HeuristicMode::Fallback ? all : all - 1;
    *count = last - first;
    if (room == 0) return Status::Success;
    *count = std::min(room, *count);
    for (std::int64_t i = 0; i < *count; ++i) {
      if (results[i]->kind != Kind::EngineConfig) return Status::BadParameter;
      fill<std::int64_t>(*results[i], EngineConfigEngine, Type::Int64, {first + i});
      fill<Descriptor*>(*results[i], GraphOperations, Type::Descriptor, operations);
      results[i]->is_final = true;
    }
    return Status::Success;
  }
  if (descriptor->kind == Kind::EngineConfig && name == EngineConfigEngine && type == Type::Descriptor) {
    auto* const engine = *static_cast<Descriptor**>(to);
    if (!descriptor->is_final || engine->kind != Kind::Engine) return Status::BadParameter;
    const auto index = static_cast<std::size_t>(value<std::int64_t>(*descriptor, EngineConfigEngine));
    fill<Note>(*engine, EngineNotes, Type::Note, engines()[index].notes);
    engine->is_final = true;
    *count = 1;
    return Status::Success;
  }
  if (descriptor->kind == Kind::EngineConfig && name == EngineConfigKnobs && type == Type::Descriptor) {
    auto* const choice = *static_cast<Descriptor**>(to);
    if (!descriptor->is_final || choice->kind != Kind::KnobChoice) return Status::BadParameter;
    const auto index = static_cast<std::size_t>(value<std::int64_t>(*descriptor, EngineConfigEngine));
    fill<Knob>(*choice, KnobChoiceKnob, Type::Knob, {Knob::Slices});
    fill<std::int64_t>(*choice, KnobChoiceValue, Type::Int64, {engines()[index].slices});
    choice->is_final = true;
    *count = 1;
    return Status::Success;
  }
  if (descriptor->kind == Kind::KnobChoice && name == KnobChoiceKnob && type == Type::Knob) {
    *static_cast<Knob*>(to) = value<Knob>(*descriptor, KnobChoiceKnob);
    *count = 1;
    return Status::Success;
  }
  if (descriptor->kind == Kind::KnobChoice && name == KnobChoiceValue && type == Type::Int64) {
    *static_cast<std::int64_t*>(to) = value<std::int64_t>(*descriptor, KnobChoiceValue);
    *count = 1;
    return Status::Success;
  }
  if (descriptor->kind == Kind::Engine && name == EngineNotes && type == Type::Note) {
    const auto notes = values<Note>(*descriptor, EngineNotes);
    *count = std::min(room, static_cast<std::int64_t>(notes.size()));
    std::memcpy(to, notes.data(), static_cast<std::size_t>(*count) * sizeof(Note));
    return Status::Success;
  }
  if (descriptor->kind == Kind::Plan && name == PlanWorkspaceSize && type == Type::Int64) {
    if (!descriptor->is_final) return Status::NotFinalized;
    const Descriptor& config = *value<Descriptor*>(*descriptor, PlanEngineConfig);
    const auto index = static_cast<std::size_t>(value<std::int64_t>(config, EngineConfigEngine));
    *static_cast<std::int64_t*>(to) = static_cast<std::int64_t>(engines()[index].workspace);
    *count = 1;
    return Status::Success;
  }
  return Status::BadParameter;
}

Status cudnnBackendExecute(Context* context, Descriptor* plan, Descriptor* pack) {
  if (!context || !plan || !pack || plan->kind != Kind::Plan || pack->kind != Kind::VariantPack) {
    return Status::BadParameter;
  }
  return plan->is_final && pack->is_final ? execute(*context, *plan, *pack) : Status::NotFinalized;
}

}  // extern "C"

}  // namespace lamella::cuda::cudnn
