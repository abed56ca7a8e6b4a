#include "ops/program/run_program.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <unordered_map>

#include "engine/core/error.h"
#include "engine/core/modes.h"
#include "engine/core/shape.h"
#include "engine/graph/executor.h"
#include "engine/graph/graph.h"
#include "engine/registry/load.h"
#include "ops/fusion/fuse.h"
#include "ops/program/npy.h"

namespace lamella {
namespace {

using graph::Graph;
using graph::ValueId;

struct Arguments {
  std::filesystem::path to = ".";
  std::filesystem::path weights;
  std::unordered_map<std::string, std::filesystem::path> inputs;
};

std::string usage(const ExportedProgram& program) {
  std::string text = "usage: " + std::string(program.name);
  for (const std::string_view input : program.inputs) text += " " + std::string(input) + "=FILE.npy";
  return text + " [--to FOLDER] [--weights FOLDER] [--library FILE]...";
}

Arguments parse(const ExportedProgram& program, int argc, char** argv) {
  Arguments arguments;
  arguments.weights = std::filesystem::path(argv[0]).parent_path() / "weights";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--to" || argument == "--weights" || argument == "--library") {
      if (++i == argc) fail<ValueError>(argument, " wants a path\n", usage(program));
      if (argument == "--library") {
        registry::load_library(argv[i]);
      } else {
        (argument == "--to" ? arguments.to : arguments.weights) = argv[i];
      }
      continue;
    }
    const std::size_t equals = argument.find('=');
    const std::string name(argument.substr(0, equals));
    if (equals == std::string_view::npos || std::ranges::find(program.inputs, name) == program.inputs.end())
      fail<ValueError>("'", argument, "' is no input\n", usage(program));
    arguments.inputs[name] = argument.substr(equals + 1);
  }
  return arguments;
}

/// Reads a tensor that a value of the graph is to be. NPY knows no bfloat16: its bits are read as uint16.
Tensor read_value(const std::filesystem::path& path, bool bfloat16) {
  Tensor bits = read_npy(path);
  if (!bfloat16 || bits.dtype() != DType::UInt16) return bits;
  const Tensor x = empty(bits.shape(), DType::BFloat16);
  if (x.nbytes() > 0) std::memcpy(x.raw_data(), bits.raw_data(), x.nbytes());
  return x;
}

void run(const ExportedProgram& program, const Arguments& arguments) {
  const autograd::NoGrad no_grad;
  std::unordered_map<std::string, Tensor> weights;
  for (const auto& [name, file, bfloat16] : program.weights)
    weights.emplace(name, read_value(arguments.weights / file, bfloat16));
  const Graph graph = Graph::parse(program.text, weights);
  std::vector<ValueId> fetches;
  for (const ExportedProgram::File& output : program.outputs) {
    const auto id = graph.find(output.name);
    if (!id) fail<ValueError>("the program has no value '", output.name, "'");
    fetches.push_back(*id);
  }
  graph::Executor executor(fusion::fuse(graph, fetches), fetches, {.prune = true, .callers_tape = false});
  std::vector<Tensor> feeds;
  for (const ValueId id : executor.inputs()) {
    const std::string& name = graph.value(id).name;
    const auto given = arguments.inputs.find(name);
    if (given == arguments.inputs.end()) fail<ValueError>("the input '", name, "' is not given\n", usage(program));
    feeds.push_back(read_value(given->second, graph.value(id).type.dtype == DType::BFloat16));
  }
  graph::Executor::Failure failure;
  const std::vector<Tensor> results = executor.run(feeds, failure);
  std::filesystem::create_directories(arguments.to);
  for (std::size_t i = 0; i < results.size(); ++i) write_npy(arguments.to / program.outputs[i].file, results[i]);
}

}  // namespace

int run_program(const ExportedProgram& program, int argc, char** argv) {
  try {
    run(program, parse(program, argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << program.name << ": " << error.what() << "\n";
    return 1;
  }
}

}  // namespace lamella
