#include "tests/cuda/emulation/runtime/cudnn_graphs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "engine/core/half.h"

namespace lamella::cuda::cudnn {
namespace {

using enum Attribute;
using Axes = std::array<std::int64_t, 4>;

/// A tensor of a graph, as its descriptor tells.
struct Operand {
  DataType type;
  Axes sizes;
  Axes strides;
  std::int64_t id;
  std::int64_t alignment;
  bool is_virtual;
  bool is_number;
};

Operand operand(const Descriptor& tensor) {
  Operand made{value<DataType>(tensor, TensorDataType),
               {},
               {},
               value<std::int64_t>(tensor, TensorUniqueId),
               value<std::int64_t>(tensor, TensorByteAlignment),
               value_or(tensor, TensorIsVirtual, false),
               value_or(tensor, TensorIsByValue, false)};
  std::ranges::copy(values<std::int64_t>(tensor, TensorDimensions), made.sizes.begin());
  std::ranges::copy(values<std::int64_t>(tensor, TensorStrides), made.strides.begin());
  return made;
}

/// The tensors that an operation reads, and the one that it writes.
struct Uses {
  std::vector<Operand> read;
  Operand written;
};

Uses uses_of(const Descriptor& operation) {
  static const std::map<Kind, std::pair<std::vector<Attribute>, Attribute>> names{
      {Kind::Pointwise, {{PointwiseX, PointwiseB, PointwiseT}, PointwiseY}},
      {Kind::Matmul, {{MatmulA, MatmulB}, MatmulC}},
      {Kind::Reduction, {{ReductionX}, ReductionY}},
      {Kind::Reshape, {{ReshapeX}, ReshapeY}}};
  const auto& [read, written] = names.at(operation.kind);
  Uses uses{{}, operand(*value<Descriptor*>(operation, written))};
  for (const Attribute name : read) {
    if (operation.attributes.contains(name)) uses.read.push_back(operand(*value<Descriptor*>(operation, name)));
  }
  return uses;
}

std::int64_t count_of(const Axes& sizes) { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }

Axes place(std::int64_t i, const Axes& sizes) {
  return {i / (sizes[3] * sizes[2] * sizes[1]), i / (sizes[3] * sizes[2]) % sizes[1], i / sizes[3] % sizes[2],
          i % sizes[3]};
}

/// The place in a tensor of fewer elements along some axes that serves a place: each serves those that follow.
Axes serving(Axes at, const Axes& sizes, const Axes& served) {
  for (std::size_t i = 0; i < 4; ++i) at[i] = at[i] * sizes[i] / served[i];
  return at;
}

std::size_t number(const Axes& at, const Axes& sizes) {
  return static_cast<std::size_t>(((at[0] * sizes[1] + at[1]) * sizes[2] + at[2]) * sizes[3] + at[3]);
}

/// The values of a tensor, one after another.
struct Held {
  Axes sizes{};
  std::vector<float> values;

  float at(const Axes& place, const Axes& served) const { return values[number(serving(place, sizes, served), sizes)]; }
};

float rounded(float x, DataType type) {
  if (type == DataType::Float16) return static_cast<float>(lamella::Half(x));
  if (type == DataType::BFloat16) return static_cast<float>(lamella::BFloat16(x));
  return x;
}

template <class T>
void each(const Operand& tensor, T* data, const std::function<void(std::size_t, T&)>& visit) {
  for (std::int64_t i = 0; i < count_of(tensor.sizes); ++i) {
    const Axes at = place(i, tensor.sizes);
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < 4; ++axis) offset += at[axis] * tensor.strides[axis];
    visit(static_cast<std::size_t>(i), data[offset]);
  }
}

Held read(const Operand& tensor, void* data) {
  Held held{tensor.sizes, std::vector<float>(static_cast<std::size_t>(count_of(tensor.sizes)))};
  const auto as = [&]<class T>() {
    each<T>(tensor, static_cast<T*>(data), [&](std::size_t i, T& x) { held.values[i] = static_cast<float>(x); });
  };
  if (tensor.type == DataType::Float16) as.operator()<lamella::Half>();
  if (tensor.type == DataType::BFloat16) as.operator()<lamella::BFloat16>();
  if (tensor.type == DataType::Float32) as.operator()<float>();
  return held;
}

void write(const Held& held, const Operand& tensor, void* data) {
  const auto as = [&]<class T>() {
    each<T>(tensor, static_cast<T*>(data), [&](std::size_t i, T& x) { x = static_cast<T>(held.values[i]); });
  };
  if (tensor.type == DataType::Float16) as.operator()<lamella::Half>();
  if (tensor.type == DataType::BFloat16) as.operator()<lamella::BFloat16>();
  if (tensor.type == DataType::Float32) as.operator()<float>();
}

/// An operation with its settings, independent of descriptors.
struct Step {
  Kind kind;
  int mode;
  std::int64_t axis;
  Uses uses;
};

Step step_of(const Descriptor& operation) {
  Step step{operation.kind, 0, 0, uses_of(operation)};
  if (operation.kind == Kind::Pointwise) {
    const Descriptor& setting = *value<Descriptor*>(operation, Attribute::PointwiseSetting);
    step.mode = static_cast<int>(value<cudnn::PointwiseMode>(setting, Attribute::PointwiseMode));
    step.axis = value_or<std::int64_t>(setting, PointwiseAxis, 0);
  }
  if (operation.kind == Kind::Reduction) {
    const Descriptor& setting = *value<Descriptor*>(operation, Attribute::ReductionSetting);
    step.mode = static_cast<int>(value<cudnn::ReductionMode>(setting, Attribute::ReductionMode));
  }
  return step;
}

float mapped(const Step& step, const std::vector<const Held*>& from, const Axes& at) {
  const auto value = [&](std::size_t i) { return from.at(i)->at(at, step.uses.written.sizes); };
  switch (static_cast<cudnn::PointwiseMode>(step.mode)) {
    case cudnn::PointwiseMode::Add:
      return value(0) + value(1);
    case cudnn::PointwiseMode::Subtract:
      return value(0) - value(1);
    case cudnn::PointwiseMode::Multiply:
      return value(0) * value(1);
    case cudnn::PointwiseMode::Divide:
      return value(0) / value(1);
    case cudnn::PointwiseMode::Exp:
      return std::exp(value(0));
    case cudnn::PointwiseMode::Log:
      return std::log(value(0));
    case cudnn::PointwiseMode::Identity:
      return value(0);
    case cudnn::PointwiseMode::GreaterEqual:
      return value(0) >= value(1) ? 1.0f : 0.0f;
    case cudnn::PointwiseMode::Index:
      return static_cast<float>(at[static_cast<std::size_t>(step.axis)]);
    case cudnn::PointwiseMode::Select:
      return value(2) != 0 ? value(0) : value(1);
  }
  return std::numeric_limits<float>::quiet_NaN();
}

void map_all(const Step& step, const std::vector<const Held*>& from, Held& to) {
  for (std::size_t i = 0; i < to.values.size(); ++i) {
    to.values[i] = mapped(step, from, place(static_cast<std::int64_t>(i), to.sizes));
  }
}

void multiply(const Held& a, const Held& b, Held& to) {
  const std::int64_t columns = to.sizes[3];
  for (std::size_t i = 0; i < to.values.size(); i += static_cast<std::size_t>(columns)) {
    const Axes at = place(static_cast<std::int64_t>(i), to.sizes);
    const auto row_of = [&](const Held& x, std::int64_t row) {
      return &x.values[number({at[0], at[1] * x.sizes[1] / to.sizes[1], row, 0}, x.sizes)];
    };
    for (std::int64_t k = 0; k < a.sizes[3]; ++k) {
      const float factor = row_of(a, at[2])[k];
      const float* const row = row_of(b, k);
      for (std::int64_t column = 0; column < columns; ++column) {
        to.values[i + static_cast<std::size_t>(column)] += factor * row[column];
      }
    }
  }
}

void reduce(const Step& step, const Held& from, Held& to) {
  const bool is_max = static_cast<cudnn::ReductionMode>(step.mode) == cudnn::ReductionMode::Max;
  std::ranges::fill(to.values, is_max ? -std::numeric_limits<float>::infinity() : 0.0f);
  for (std::size_t i = 0; i < from.values.size(); ++i) {
    const Axes at = serving(place(static_cast<std::int64_t>(i), from.sizes), to.sizes, from.sizes);
    float& sum = to.values[number(at, to.sizes)];
    sum = is_max ? std::max(sum, from.values[i]) : sum + from.values[i];
  }
}

void exchange(const Held& from, Held& to) {
  for (std::size_t i = 0; i < to.values.size(); ++i) {
    const Axes at = place(static_cast<std::int64_t>(i), to.sizes);
    to.values[i] = from.values[number({at[0], at[1], at[3], at[2]}, from.sizes)];
  }
}

bool broadcasts(const Axes& from, const Axes& to) {
  for (std::size_t i = 0; i < 4; ++i) {
    if (from[i] != to[i] && from[i] != 1) return false;
  }
  return true;
}

bool divides(std::int64_t part, std::int64_t whole) { return part > 0 && whole % part == 0; }

std::size_t operands_of(cudnn::PointwiseMode mode) {
  switch (mode) {
    case cudnn::PointwiseMode::Exp:
    case cudnn::PointwiseMode::Log:
    case cudnn::PointwiseMode::Identity:
    case cudnn::PointwiseMode::Index:
      return 1;
    case cudnn::PointwiseMode::Select:
      return 3;
    default:
      return 2;
  }
}

}  // namespace

std::vector<Field> graph_fields(Kind kind) {
  switch (kind) {
    case Kind::PointwiseSetting:
      return {{Attribute::PointwiseMode, Type::PointwiseMode},
              {PointwiseComputeType, Type::DataType},
              {PointwiseAxis, Type::Int64, true}};
    case Kind::Pointwise:
      return {{Attribute::PointwiseSetting, Type::Descriptor},
              {PointwiseX, Type::Descriptor},
              {PointwiseY, Type::Descriptor},
              {PointwiseB, Type::Descriptor, true},
              {PointwiseT, Type::Descriptor, true}};
    case Kind::MatmulSetting:
      return {{MatmulComputeType, Type::DataType}};
    case Kind::Matmul:
      return {{Attribute::MatmulSetting, Type::Descriptor},
              {MatmulA, Type::Descriptor},
              {MatmulB, Type::Descriptor},
              {MatmulC, Type::Descriptor}};
    case Kind::ReductionSetting:
      return {{Attribute::ReductionMode, Type::ReductionMode}, {ReductionComputeType, Type::DataType}};
    case Kind::Reduction:
      return {{Attribute::ReductionSetting, Type::Descriptor},
              {ReductionX, Type::Descriptor},
              {ReductionY, Type::Descriptor}};
    case Kind::Reshape:
      return {{ReshapeX, Type::Descriptor}, {ReshapeY, Type::Descriptor}};
    default:
      return {};
  }
}

bool is_graph_operation(Kind kind) {
  return kind == Kind::Pointwise || kind == Kind::Matmul || kind == Kind::Reduction || kind == Kind::Reshape;
}

Status checked_operation(const Descriptor& operation) {
  const Step step = step_of(operation);
  const Axes& to = step.uses.written.sizes;
  const Axes& first = step.uses.read.at(0).sizes;
  bool fits = true;
  if (step.kind == Kind::Pointwise) {
    fits = step.uses.read.size() == operands_of(static_cast<cudnn::PointwiseMode>(step.mode));
    for (const Operand& x : step.uses.read) fits = fits && broadcasts(x.sizes, to);
  } else if (step.kind == Kind::Matmul) {
    const Axes& second = step.uses.read.at(1).sizes;
    fits = first[0] == to[0] && second[0] == to[0] && divides(first[1], to[1]) && divides(second[1], to[1]) &&
           first[2] == to[2] && second[3] == to[3] && first[3] == second[2];
  } else if (step.kind == Kind::Reduction) {
    for (std::size_t i = 0; i < 4; ++i) fits = fits && divides(to[i], first[i]);
  } else {
    fits = to == Axes{first[0], first[1], first[3], first[2]};
  }
  return fits ? Status::Success : Status::BadParameter;
}

bool is_attention(const std::vector<Descriptor*>& operations) {
  std::size_t products = 0;
  std::map<std::int64_t, bool> is_written;
  for (const Descriptor* operation : operations) {
    if (!is_graph_operation(operation->kind)) return false;
    const Uses uses = uses_of(*operation);
    products += operation->kind == Kind::Matmul;
    for (const Operand& x : uses.read) {
      if (x.is_virtual && !is_written[x.id]) return false;
      // Tensors of 16 bits have heads of whole units of 16 bytes, and strides of such.
      if (x.is_virtual || x.is_number || x.type == DataType::Float32) continue;
      const std::size_t dense = x.strides[3] == 1 ? 3 : 2;
      if (x.strides[dense] != 1 || x.sizes[dense] % 8 != 0 || x.sizes[dense] > 256) return false;
      for (std::size_t i = 0; i < 4; ++i) {
        if (i != dense && x.strides[i] % 8 != 0) return false;
      }
    }
    is_written[uses.written.id] = true;
  }
  return products == 2 || products == 5;
}

Status execute_graph(const std::vector<Descriptor*>& operations, const std::map<std::int64_t, void*>& data,
                     void* workspace, std::size_t workspace_size, cudaStream_t stream) {
  std::vector<Step> steps;
  std::map<std::int64_t, Held> numbers;
  for (const Descriptor* operation : operations) {
    steps.push_back(step_of(*operation));
    std::vector<Operand> all = steps.back().uses.read;
    all.push_back(steps.back().uses.written);
    for (const Operand& x : all) {
      if (x.is_virtual) continue;
      const auto found = data.find(x.id);
      if (found == data.end() || !found->second) return Status::BadParameter;
      if (x.is_number) {
        numbers[x.id] = {x.sizes, {*static_cast<const float*>(found->second)}};
      } else if (reinterpret_cast<std::uintptr_t>(found->second) % static_cast<std::uintptr_t>(x.alignment) != 0) {
        return Status::BadParameter;
      }
    }
  }
  const auto run = [=] {
    std::fill_n(static_cast<unsigned char*>(workspace), workspace_size, 0xA5);
    std::map<std::int64_t, Held> held = numbers;
    for (const Step& step : steps) {
      std::vector<const Held*> from;
      for (const Operand& x : step.uses.read) {
        if (!held.contains(x.id)) held[x.id] = read(x, data.at(x.id));
        from.push_back(&held.at(x.id));
      }
      const Operand& written = step.uses.written;
      Held to{written.sizes, std::vector<float>(static_cast<std::size_t>(count_of(written.sizes)))};
      if (step.kind == Kind::Pointwise) map_all(step, from, to);
      if (step.kind == Kind::Matmul) multiply(*from[0], *from[1], to);
      if (step.kind == Kind::Reduction) reduce(step, *from[0], to);
      if (step.kind == Kind::Reshape) exchange(*from[0], to);
      for (float& x : to.values) x = rounded(x, written.type);
      if (!written.is_virtual) write(to, written, data.at(written.id));
      held[written.id] = std::move(to);
    }
  };
  const cudaError_t error = emulation::launch({run, nullptr, dim3(1), dim3(1), 0}, stream);
  return error == cudaSuccess ? Status::Success : Status::Failed;
}

}  // namespace lamella::cuda::cudnn
