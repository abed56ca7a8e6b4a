#include "ops/user_op/recorded.h"

#include <algorithm>
#include <set>

#include "engine/autograd/graph/running_pass.h"
#include "engine/autograd/layers/function.h"
#include "engine/core/error.h"
#include "engine/registry/dispatcher.h"
#include "ops/arrange/arrange.h"
#include "ops/shape/join.h"
#include "ops/user_op/call.h"
#include "ops/user_op/gradient.h"
#include "ops/user_op/schema.h"

namespace lamella::user_op::detail {
namespace {

using Tensors = std::vector<lamella::Tensor>;
using Blobs = std::map<std::string, lamella::Tensor>;

/// The part of a gradient that backward needs: data only, so that it outlives the library.
struct GradientPlan {
  std::string op;
  /// True if the operator has no gradient.
  bool missing = false;
  std::vector<std::shared_ptr<const UserOpConf>> ops;
  /// Names of the inputs' arguments, whether each needs a gradient, and the blobs of the gradients, empty for none.
  std::vector<std::string> inputs;
  std::vector<bool> needs;
  std::vector<std::string> bound;
  /// The saved blobs, and the names of the outputs' gradients, in order.
  std::vector<std::string> saved;
  std::vector<std::string> grads;

  const UserOpConf* producer(const std::string& blob) const {
    for (const auto& op : ops) {
      for (const auto& [name, blobs] : op->outputs) {
        if (std::ranges::find(blobs, blob) != blobs.end()) return op.get();
      }
    }
    return nullptr;
  }
};

/// Computes blobs of a gradient, each operator at most once.
class Evaluation {
 public:
  Evaluation(const GradientPlan& plan, Blobs known) : plan_(plan), known_(std::move(known)) {}

  const lamella::Tensor& blob(const std::string& name) {
    const auto found = known_.find(name);
    if (found != known_.end()) return found->second;
    const UserOpConf* const op = plan_.producer(name);
    if (!op) fail<ValueError>("[", plan_.op, "] the gradient uses '", name, "', which nothing in it computes");
    if (!running_.insert(op).second) {
      fail<ValueError>("[", plan_.op, "] the operator '", op->op_name, "' of the gradient needs its own result");
    }
    std::map<std::string, Tensors> inputs;
    for (const auto& [arg, blobs] : op->inputs) {
      for (const std::string& each : blobs) inputs[arg].push_back(blob(each));
    }
    if (op->op_type_name.find("::") == std::string::npos) {
      run(*op, std::move(inputs));
    } else {
      run_registered(*op, inputs);
    }
    running_.erase(op);
    return known_.at(name);
  }

 private:
  void run(const UserOpConf& op, std::map<std::string, Tensors> inputs) {
    Use use{.op_type_name = op.op_type_name,
            .op_name = op.op_name,
            .inputs = std::move(inputs),
            .outputs = {},
            .attrs = op.attrs};
    for (const auto& [arg, blobs] : op.outputs) use.outputs[arg] = static_cast<std::int32_t>(blobs.size());
    for (auto& [arg, tensors] : call(use)) {
      const auto named = op.outputs.find(arg);
      if (named != op.outputs.end()) keep(op, named->second, tensors);
    }
  }

  /// Calls a registered operator of another dialect.
  void run_registered(const UserOpConf& op, const std::map<std::string, Tensors>& inputs) {
    const auto handle = Dispatcher::singleton().find_schema_or_throw(op.op_type_name);
    const Schema& schema = handle.schema();
    std::vector<registry::Value> args;
    std::size_t used = 0;
    for (const auto& argument : schema.arguments) {
      const auto input = inputs.find(argument.name);
      const auto attr = op.attrs.find(argument.name);
      used += (input != inputs.end()) + (attr != op.attrs.end());
      if (input != inputs.end()) {
        args.push_back(argument.type.list ? registry::Value(input->second) : registry::Value(input->second.front()));
      } else if (attr != op.attrs.end()) {
        args.push_back(to_value(attr->second));
      } else if (argument.default_value) {
        args.push_back(*argument.default_value);
      } else {
        fail<ValueError>("[", plan_.op, "] the gradient does not give ", op.op_type_name, " its argument '",
                         argument.name, "'; its schema is ", schema.str());
      }
    }
    if (used != inputs.size() + op.attrs.size()) {
      fail<ValueError>("[", plan_.op, "] the gradient gives ", op.op_type_name,
                       " arguments that it does not have; its schema is ", schema.str());
    }
    Tensors results;
    for (const registry::Value& value : handle.call_boxed(args)) {
      if (value.is_tensor()) {
        results.push_back(value.tensor());
      } else if (value.kind() == registry::Value::Kind::Tensors) {
        results.insert(results.end(), value.tensors().begin(), value.tensors().end());
      }
    }
    if (op.outputs.size() != 1) {
      fail<ValueError>("[", plan_.op, "] the gradient takes the results of ", op.op_type_name,
                       " under one name, with the number of them");
    }
    keep(op, op.outputs.begin()->second, results);
  }

  void keep(const UserOpConf& op, const std::vector<std::string>& blobs, const Tensors& tensors) {
    if (tensors.size() != blobs.size()) {
      fail<ValueError>("[", plan_.op, "] the gradient takes ", blobs.size(),
                       blobs.size() == 1 ? " result of '" : " results of '", op.op_name, "' (", op.op_type_name,
                       "), which gave ", tensors.size(), "; Output() takes the number of all of them");
    }
    for (std::size_t i = 0; i < blobs.size(); ++i) known_.insert_or_assign(blobs[i], tensors[i]);
  }

  const GradientPlan& plan_;
  Blobs known_;
  std::set<const UserOpConf*> running_;
};

/// Collects the blobs from which the bound ones are computed, as far as they exist before the gradient is computed.
void collect_leaves(const GradientPlan& plan, const std::string& blob, std::set<std::string>& seen,
                    std::vector<std::string>& leaves) {
  if (blob.empty() || !seen.insert(blob).second) return;
  const UserOpConf* const op = plan.producer(blob);
  if (!op) {
    leaves.push_back(blob);
    return;
  }
  for (const auto& [arg, blobs] : op->inputs) {
    for (const std::string& each : blobs) collect_leaves(plan, each, seen, leaves);
  }
}

/// Calls the author's function that describes the gradient.
void describe_gradient(const GradDef& def, GradientGraph& graph) {
  const std::string where = graph.call.where() + " the gradient:";
  run_authors(where, [&] {
    BackwardOpConfContext ctx(graph);
    const Maybe<void> described =
        def.make ? def.make(&ctx) : def.make_older(graph.fw, [&](const UserOpConfWrapper& op) { graph.add(op); });
    if (!described.IsOk()) described.error().Throw(where);
  });
}

/// A call in the form that the layer below takes.
struct Site {
  Entry& entry;
  const registry::CallContext& context;
  std::span<const registry::Arg> args;
};

std::vector<lamella::Tensor> flatten(const std::vector<registry::Value>& results) {
  std::vector<lamella::Tensor> tensors;
  for (const registry::Value& value : results) {
    if (value.is_tensor()) {
      tensors.push_back(value.tensor());
    } else if (!value.is_none()) {
      tensors.insert(tensors.end(), value.tensors().begin(), value.tensors().end());
    }
  }
  return tensors;
}

/// The arguments with their tensors replaced.
class Substituted {
 public:
  Substituted(std::span<const registry::Arg> args, const TensorList& tensors) : args_(args.begin(), args.end()) {
    std::size_t next = 0;
    tensors_.reserve(args.size());
    for (registry::Arg& arg : args_) {
      if (arg.is_none() || !arg.holds_tensors()) continue;
      tensors_.emplace_back(tensors.begin() + next, tensors.begin() + next + arg.size);
      next += arg.size;
      arg.tensors = tensors_.back().data();
    }
  }
  std::span<const registry::Arg> args() const { return args_; }

 private:
  std::vector<registry::Arg> args_;
  std::vector<Tensors> tensors_;
};

/// The autograd layer of the operators of this dialect.
struct UserOpLayer : Function<UserOpLayer> {
  static constexpr const char* name = "user_op";
  static std::string name_of(const Context& ctx) { return static_cast<const Entry*>(ctx.tag)->name; }

  static Tensors forward(Context& ctx, const TensorList& inputs, const Site* site) {
    ctx.tag = &site->entry;
    const Substituted given(site->args, inputs);
    std::vector<registry::Value> results(site->context.schema.results.size());
    {
      const ExcludeDispatchKeys below(kAutogradKeys);
      site->context.op.redispatch(site->context.remaining & kAfterAutogradKeys, given.args().data(), results.data());
    }
    Tensors outputs = flatten(results);
    if (ctx.recording()) {
      const auto def = site->entry.def();
      if (def->no_grad) {
        for (const lamella::Tensor& y : outputs) ctx.mark_non_differentiable(y);
      } else {
        plan(ctx, inputs, given.args(), site->entry, outputs);
      }
    }
    return outputs;
  }

  static TensorList backward(Context& ctx, const TensorList& grads) {
    const GradientPlan& plan = ctx.state<GradientPlan>();
    if (plan.missing) {
      fail<NotImplementedError>("[", plan.op, "] has no gradient: REGISTER_USER_OP_GRAD(\"", plan.op,
                                "\") gives it one");
    }
    Blobs known;
    const TensorList saved = ctx.saved_tensors();
    for (std::size_t i = 0; i < plan.saved.size(); ++i) known.emplace(plan.saved[i], saved[i]);
    for (std::size_t i = 0; i < plan.grads.size(); ++i) known.emplace(plan.grads[i], grads[i]);
    Evaluation evaluation(plan, std::move(known));
    TensorList results(plan.bound.size());
    for (std::size_t i = 0; i < plan.bound.size(); ++i) {
      if (!autograd::is_needed(ctx.node()->edges()[i])) continue;
      if (plan.bound[i].empty()) {
        if (!plan.needs[i]) continue;
        fail<RuntimeError>("[", plan.op, "] the gradient function gives no gradient of input '", plan.inputs[i],
                           "', which needs one: bind it with InputGradBind or BindGradTensorWithOpInput, or say with "
                           "SetInputArgModifyFn that it has none (set_requires_grad(false))");
      }
      results[i] = evaluation.blob(plan.bound[i]);
      if (!results[i].defined()) continue;
      if (!is_floating(results[i].dtype()) && !is_complex(results[i].dtype())) {
        fail<TypeError>("[", plan.op, "] the gradient of input '", plan.inputs[i], "' is ", results[i].dtype(),
                        ", expected a floating dtype: a cast from it would lose what is behind the point");
      }
    }
    return results;
  }

  /// Maps one example after the other, because kernels read raw memory.
  static Tensors vmap(const autograd::VmapInfo& info, const TensorList& inputs, const Site* site) {
    if (info.batch_size == 0) {
      fail<ValueError>("[", site->entry.name, "] vmap over an axis of size 0: the outputs' shapes are unknown");
    }
    std::vector<Tensors> examples;
    for (std::int64_t k = 0; k < info.batch_size; ++k) {
      TensorList shown;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        shown.push_back(info.mapped[i] ? unstack(inputs[i])[static_cast<std::size_t>(k)] : inputs[i]);
      }
      const Substituted given(site->args, shown);
      std::vector<registry::Value> results(site->context.schema.results.size());
      site->context.op.call(given.args().data(), results.data());
      examples.push_back(flatten(results));
    }
    Tensors stacked;
    for (std::size_t j = 0; j < examples.front().size(); ++j) {
      Tensors column;
      for (const Tensors& example : examples) column.push_back(example[j]);
      stacked.push_back(stack(column, 0));
    }
    return stacked;
  }

 private:
  /// Stores the plan of the gradient and saves the tensors that it needs.
  static void plan(Context& ctx, const TensorList& inputs, std::span<const registry::Arg> args, Entry& entry,
                   const Tensors& outputs) {
    GradientPlan& plan = ctx.state<GradientPlan>();
    plan.op = entry.name;
    Call call = read_call(entry, args, device_of(args));
    call.modify();
    std::vector<bool> needs;
    needs.reserve(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      needs.push_back(static_cast<bool>(ctx.node()->edges()[i]) && call.input_modifiers[i].requires_grad());
    }
    std::size_t constants = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const bool constant = std::ranges::find(needs, true) == needs.end();
      if (!constant && call.output_modifiers[i].requires_grad()) continue;
      ctx.mark_non_differentiable(outputs[i]);
      ++constants;
    }
    if (constants == outputs.size()) return;
    const auto def = entry.grad();
    if (!def) {
      plan.missing = true;
      return;
    }
    for (const lamella::Tensor& y : outputs) {
      call.output_descs.emplace_back(Shape(DimVector(y.shape().begin(), y.shape().end())), to_data_type(y.dtype()));
    }
    plan.needs = needs;
    GradientGraph graph(call, std::move(needs));
    describe_gradient(*def, graph);

    for (const auto& [name, op] : graph.built) plan.ops.push_back(op.conf());
    plan.bound = graph.bound;
    for (const auto& [name, index] : call.inputs) plan.inputs.push_back(name);
    for (const auto& [name, index] : call.outputs) {
      plan.grads.push_back(graph.grads.at(name)[static_cast<std::size_t>(index)]);
    }
    std::vector<std::string> leaves;
    std::set<std::string> seen(plan.grads.begin(), plan.grads.end());
    for (const std::string& blob : plan.bound) collect_leaves(plan, blob, seen, leaves);
    Tensors saved;
    const auto save = [&](const std::string& blob, const lamella::Tensor& x) {
      if (std::erase(leaves, blob) == 0) return;
      plan.saved.push_back(blob);
      saved.push_back(x);
    };
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      save(call.conf.input(call.inputs[i].first, call.inputs[i].second), inputs[i]);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      save(call.conf.output(call.outputs[i].first, call.outputs[i].second), outputs[i]);
    }
    if (!leaves.empty()) {
      fail<ValueError>(call.where(), " the gradient uses '", leaves.front(), "', which nothing in it computes");
    }
    ctx.save_for_backward(saved);
  }
};

}  // namespace

void run_recorded(const void* entry, const registry::CallContext& context, const registry::Arg* args,
                  registry::Value* results) {
  Entry& named = *static_cast<Entry*>(const_cast<void*>(entry));
  const auto def = named.def();
  const Site site{named, context, {args, argument_count(*def)}};
  TensorList inputs;
  for (const registry::Arg& arg : site.args) {
    if (arg.is_none()) continue;
    for (const lamella::Tensor& x : arg.tensor_span()) inputs.push_back(x);
  }
  if (inputs.empty() || def->outputs.empty()) {  // nothing to record
    const ExcludeDispatchKeys below(kAutogradKeys);
    context.op.redispatch(context.remaining & kAfterAutogradKeys, args, results);
    return;
  }
  store_results(*def, outputs_of(*def, site.args), UserOpLayer::apply(inputs, &site), results);
}

}  // namespace lamella::user_op::detail
