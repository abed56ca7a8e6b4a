// Runs fused programs, compiled or block by block; see Note [Fused programs], Note [Native programs]
// and Note [Programs on devices].

#include <algorithm>
#include <cstring>
#include <memory>

#include "engine/autograd/vmap/vmap_rule.h"
#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "engine/runtime/parallel.h"
#include "ops/cpu/tables/loop.h"
#include "ops/fusion/native/native.h"
#include "ops/fusion/on_device.h"
#include "ops/fusion/outputs.h"
#include "ops/fusion/program.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/support/caches.h"
#include "ops/support/hidden.h"

namespace lamella::fusion {
namespace {

/// Bytes of all blocks that are worked on at a time: most of a first cache.
constexpr std::int64_t kBlocksBytes = 24 * 1024;
constexpr std::int64_t kLongestBlock = 4096;  // elements
constexpr std::int64_t kShortestBlock = 256;  // elements

/// Places of a program's registers in a run: which results share a block of scratch memory.
struct Plan {
  /// For each register, its block; -1 for inputs, constants and outputs, which have memory of their own.
  std::vector<int> block;
  int blocks = 0;

  Plan() = default;
  explicit Plan(const Program& program) : block(program.registers.size(), -1) {
    const std::size_t count = program.registers.size();
    std::vector<std::size_t> last_use(count, 0);
    std::vector<bool> own(count, false);
    for (const int output : program.outputs) {
      if (output >= 0) own[static_cast<std::size_t>(output)] = true;
    }
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      for (const int operand : program.instructions[i].operands) last_use[static_cast<std::size_t>(operand)] = i;
    }
    std::vector<int> free;
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      const Instruction& instruction = program.instructions[i];
      const auto result = static_cast<std::size_t>(instruction.result);
      if (!own[result]) {
        if (free.empty()) free.push_back(blocks++);
        block[result] = free.back();
        free.pop_back();
      }
      // A block is free for the next instruction: a kernel may write where it reads, but masks are narrower.
      SmallVector<int, 4> done;
      for (const int operand : instruction.operands) {
        const int used = block[static_cast<std::size_t>(operand)];
        if (used >= 0 && last_use[static_cast<std::size_t>(operand)] == i &&
            std::ranges::find(done, used) == done.end())
          done.push_back(used);
      }
      for (const int used : done) free.push_back(used);
    }
  }
};

const LoopKernel* kernel_row(const Instruction& instruction) {
  const cpu::ElementwiseTable& table = cpu_kernels().elementwise;
  return instruction.wrt < 0 ? table.forward[instruction.op->index]
                             : table.backward[instruction.op->index][instruction.wrt];
}

/// One run: where the elements of each register are.
class Run {
 public:
  Run(const Program& program, std::span<const Tensor> inputs) : program_(program), places_(program.registers.size()) {
    // Any tensor that is no single number has the shape of all.
    const Tensor* whole = &inputs.front();
    for (const Tensor& x : inputs) {
      if (x.ndim() > 0) whole = &x;
      if (x.dtype() != DType::Bool) dtype_ = x.dtype();
    }
    elements_ = whole->numel();
    for (const Scalar& value : program.constants) constants_.push_back(number_tensor(value, dtype_));
    place_inputs(inputs);
    place_outputs(whole->shape(), inputs);
    streams_ = outgrow_caches(bytes_touched(inputs));
    native::Variant variant{.dtype = dtype_, .single = {}};
    for (const Tensor& x : inputs) variant.single.push_back(x.ndim() == 0);
    kernel_ = native::find_kernel(program, std::move(variant), elements_);
    if (!kernel_) plan_blocks();
  }

  std::vector<Tensor> run() {
    const std::int64_t work = static_cast<std::int64_t>(program_.instructions.size());
    const HostRelease release(elements_ * work);
    if (kernel_) {
      run_compiled(work);
      return std::move(outputs_);
    }
    parallel_for(0, elements_, even_grain(elements_, work, length_),
                 [&](std::int64_t begin, std::int64_t end) { run_part(begin, end); });
    return std::move(outputs_);
  }

 private:
  struct Place {
    /// The first element; null for a register in scratch memory.
    char* data = nullptr;
    /// Bytes of an element, 0 for a single number.
    std::int64_t step = 0;
    bool is_output = false;
  };

  void place_inputs(std::span<const Tensor> inputs) {
    for (std::size_t r = 0; r < program_.registers.size(); ++r) {
      const Register& one = program_.registers[r];
      if (one.kind == Register::Kind::Result) continue;
      const auto index = static_cast<std::size_t>(one.index);
      const Tensor& x = one.kind == Register::Kind::Input ? inputs[index] : constants_[index];
      const bool single = x.ndim() == 0 && elements_ != 1;
      places_[r] = {x->data, single ? 0 : static_cast<std::int64_t>(item_size(x.dtype()))};
      if (one.kind == Register::Kind::Constant) places_[r].step = 0;
    }
  }

  void place_outputs(const Dims& shape, std::span<const Tensor> inputs) {
    Outputs made = make_outputs(program_, inputs, shape, dtype_, kCPU);
    for (std::size_t r = 0; r < places_.size(); ++r) {
      const Tensor& x = made.of_register[r];
      if (x.defined()) places_[r] = {x->data, static_cast<std::int64_t>(item_size(x.dtype())), true};
    }
    outputs_ = std::move(made.all);
  }

  /// Returns the bytes of all inputs and outputs.
  std::size_t bytes_touched(std::span<const Tensor> inputs) const {
    std::size_t bytes = 0;
    for (const Tensor& x : inputs) bytes += x.nbytes();
    for (const Place& place : places_) {
      if (place.is_output) bytes += static_cast<std::size_t>(elements_ * place.step);
    }
    return bytes;
  }

  void plan_blocks() {
    plan_ = Plan(program_);
    for (const Instruction& instruction : program_.instructions)
      kernels_.push_back(kernel_row(instruction)[static_cast<std::size_t>(dtype_)]);
    const auto item = static_cast<std::int64_t>(item_size(dtype_));
    length_ = std::clamp(kBlocksBytes / (item * std::max(1, plan_.blocks)), kShortestBlock, kLongestBlock) / 64 * 64;
  }

  /// Runs the compiled program: on whole registers in place, and on the elements after them in a copy of one register.
  void run_compiled(std::int64_t work) const {
    const cpu::VectorFunctionTable& functions = cpu_kernels().vectors;
    const auto* const addresses = dtype_ == DType::Float32 ? functions.float32 : functions.float64;
    const std::int64_t lanes = functions.bytes / static_cast<std::int64_t>(item_size(dtype_));
    std::vector<Place> in(static_cast<std::size_t>(program_.inputs) + constants_.size());
    for (std::size_t r = 0; r < places_.size(); ++r) {
      const Register& one = program_.registers[r];
      if (one.kind == Register::Kind::Result) continue;
      const int position = one.kind == Register::Kind::Constant ? program_.inputs + one.index : one.index;
      in[static_cast<std::size_t>(position)] = places_[r];
    }
    std::vector<Place> out;
    for (const int result : native::result_registers(program_))
      out.push_back(places_[static_cast<std::size_t>(result)]);
    const bool aligned = std::ranges::all_of(out, [&](const Place& to) {
      return reinterpret_cast<std::uintptr_t>(to.data) % static_cast<std::uintptr_t>(functions.bytes) == 0;
    });
    const int streams = streams_ && aligned ? 1 : 0;
    const auto moved = [](const std::vector<Place>& places, std::int64_t elements) {
      std::vector<char*> addresses_of;
      addresses_of.reserve(places.size());
      for (const Place& place : places) addresses_of.push_back(place.data + elements * place.step);
      return addresses_of;
    };
    const std::int64_t whole = elements_ / lanes * lanes;
    parallel_for(0, whole, even_grain(whole, work, kShortestBlock), [&](std::int64_t begin, std::int64_t end) {
      const std::vector<char*> from = moved(in, begin), to = moved(out, begin);
      kernel_(from.data(), to.data(), addresses, (end - begin) / lanes, streams);
    });
    const auto rest = static_cast<std::size_t>(elements_ - whole);
    if (rest == 0) return;
    std::vector<char*> from = moved(in, whole), to = moved(out, whole);
    const auto bytes = static_cast<std::size_t>(functions.bytes);
    std::vector<char> copies((from.size() + to.size()) * bytes);
    char* next = copies.data();
    for (std::size_t k = 0; k < from.size(); ++k, next += bytes) {
      if (in[k].step == 0) continue;
      std::memcpy(next, from[k], rest * static_cast<std::size_t>(in[k].step));
      from[k] = next;
    }
    std::vector<char*> own = to;
    for (char*& address : own) {
      address = next;
      next += bytes;
    }
    kernel_(from.data(), own.data(), addresses, 1, 0);
    for (std::size_t k = 0; k < to.size(); ++k)
      std::memcpy(to[k], own[k], rest * static_cast<std::size_t>(out[k].step));
  }

  /// Computes the elements from `begin` to `end` block by block, on one thread.
  void run_part(std::int64_t begin, std::int64_t end) const {
    const auto bytes = static_cast<std::size_t>(length_) * item_size(dtype_);
    const std::size_t all = bytes * static_cast<std::size_t>(plan_.blocks);
    const std::unique_ptr<char[], void (*)(char*)> scratch(
        static_cast<char*>(::operator new(std::max<std::size_t>(all, 1), std::align_val_t(64))),
        [](char* at) { ::operator delete(at, std::align_val_t(64)); });
    std::vector<Loop> loops(program_.instructions.size());
    std::vector<Step> steps(loops.size());
    for (std::size_t i = 0; i < loops.size(); ++i) {
      const Instruction& instruction = program_.instructions[i];
      const auto address = [&](int of, std::int64_t& step) -> char* {
        const auto r = static_cast<std::size_t>(of);
        if (places_[r].data) {
          step = places_[r].step;
          return places_[r].data + begin * step;
        }
        step = 0;
        return scratch.get() + bytes * static_cast<std::size_t>(plan_.block[r]);
      };
      Loop& loop = loops[i];
      loop.out = address(instruction.result, steps[i].out);
      loop.out_inner = 1;
      loop.operands = static_cast<int>(instruction.operands.size());
      loop.streams = streams_ && places_[static_cast<std::size_t>(instruction.result)].is_output;
      for (std::size_t k = 0; k < instruction.operands.size(); ++k) {
        const auto r = static_cast<std::size_t>(instruction.operands[k]);
        loop.in[k] = address(instruction.operands[k], steps[i].in[k]);
        loop.in_inner[k] = places_[r].data && places_[r].step == 0 ? 0 : 1;
        loop.in_outer[k] = 0;
        // A block that is read again should stay in the cache.
        if (places_[r].is_output) loops[writer(instruction.operands[k], i)].streams = false;
      }
    }
    for (std::int64_t at = begin; at < end; at += length_) {
      const std::int64_t count = std::min(length_, end - at);
      for (std::size_t i = 0; i < loops.size(); ++i) {
        Loop& loop = loops[i];
        loop.inner = count;
        kernels_[i](loop);
        loop.out += steps[i].out * count;
        for (int k = 0; k < loop.operands; ++k) loop.in[k] += steps[i].in[k] * count;
      }
    }
  }

  std::size_t writer(int result, std::size_t before) const {
    while (program_.instructions[--before].result != result) {
    }
    return before;
  }

  /// Bytes by which the places move on with each element.
  struct Step {
    std::int64_t out = 0;
    std::int64_t in[Loop::kMaxOperands] = {};
  };

  const Program& program_;
  /// The compiled program; null if it runs block by block, as planned.
  native::Kernel kernel_ = nullptr;
  Plan plan_;
  std::vector<Place> places_;
  std::vector<LoopKernel> kernels_;
  std::vector<Tensor> constants_;
  std::vector<Tensor> outputs_;
  DType dtype_ = DType::Float32;
  std::int64_t elements_ = 0;
  std::int64_t length_ = 0;
  bool streams_ = false;
};

}  // namespace

bool fits(const Program& program, std::span<const Tensor> inputs) {
  if (autograd::modes().interceptors) return false;
  if (inputs.empty() || (!inputs.front().device().is_cpu() && !inputs.front().device().is_cuda())) return false;
  const Tensor* whole = nullptr;
  DType dtype = DType::Bool;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = inputs[i];
    if (x.device() != inputs.front().device() || !x.is_contiguous() || is_batched(x)) return false;
    if (x.dtype() != DType::Bool) {
      if (dtype != DType::Bool && x.dtype() != dtype) return false;
      dtype = x.dtype();
    }
    if (x.ndim() == 0) continue;
    if (whole && x.shape() != whole->shape()) return false;
    whole = &x;
  }
  if (!whole || (dtype != DType::Float32 && dtype != DType::Float64)) return false;
  return std::ranges::all_of(program.registers, [&](const Register& one) {
    return one.kind != Register::Kind::Input ||
           one.mask == (inputs[static_cast<std::size_t>(one.index)].dtype() == DType::Bool);
  });
}

bool is_ready(const Program& program, std::span<const Tensor> inputs) {
  return inputs.front().device().is_cpu() || has_kernel(program, inputs);
}

std::vector<Tensor> run(const Program& program, std::span<const Tensor> inputs) {
  return inputs.front().device().is_cpu() ? Run(program, inputs).run() : run_on_device(program, inputs);
}

}  // namespace lamella::fusion
