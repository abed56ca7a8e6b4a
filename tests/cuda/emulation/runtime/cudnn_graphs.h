#pragma once

#include <map>
#include <vector>

#include "tests/cuda/emulation/runtime/cudnn_descriptors.h"

// Graphs of maps, products and reductions on the emulation's cuDNN: attention and its gradients.

namespace lamella::cuda::cudnn {

/// Returns the attributes of the operations of graphs and of their settings; nothing for other kinds.
std::vector<Field> graph_fields(Kind kind);

bool is_graph_operation(Kind kind);

/// Says what is wrong with the sizes of an operation.
Status checked_operation(const Descriptor& operation);

/// True for graphs that the library has an engine for: attention in 16 bits.
bool is_attention(const std::vector<Descriptor*>& operations);

/// Runs the operations one by one on whole tensors, in float32, on a stream. `data` are the tensors in memory and the
/// host's numbers, which are read at once.
Status execute_graph(const std::vector<Descriptor*>& operations, const std::map<std::int64_t, void*>& data,
                     void* workspace, std::size_t workspace_size, cudaStream_t stream);

}  // namespace lamella::cuda::cudnn
