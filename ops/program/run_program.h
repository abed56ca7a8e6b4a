#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

namespace lamella {

/// A graph that lamella.graph.Graph.save_cpp() has written as a C++ program.
struct ExportedProgram {
  /// Name of a value, and of its file.
  struct File {
    std::string_view name;
    std::string_view file;
    /// True if the elements of the file, which are uint16, are the bits of bfloat16 numbers.
    bool bfloat16 = false;
  };

  std::string_view name;
  /// The graph's text form.
  std::string_view text;
  /// The captured tensors, beside the program.
  std::vector<File> weights;
  std::vector<std::string_view> inputs;
  /// The results, and the files that a run writes.
  std::vector<File> outputs;
};

/// Implements main() of an exported program: `program INPUT=FILE... [--to FOLDER] [--weights FOLDER] [--library FILE]`
/// reads each input from a file in numpy's format NPY, runs the graph, and writes each result to such a file. Libraries
/// bring operators of their own. Prints what is wrong and returns 1 where something is, and has then written nothing.
int run_program(const ExportedProgram& program, int argc, char** argv);

}  // namespace lamella
