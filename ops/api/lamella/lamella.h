#pragma once

// Lamella's whole C++ interface: tensors, the tape, Function<T> and every operator.

#include "engine/autograd/backward/backward.h"
#include "engine/autograd/backward/hooks.h"
#include "engine/autograd/backward/multi_grad_hook.h"
#include "engine/autograd/checkpoint/checkpoint.h"
#include "engine/autograd/forward_mode/forward_ad.h"
#include "engine/autograd/graph/running_pass.h"
#include "engine/autograd/layers/function.h"
#include "engine/autograd/saved/saved_tensor_hooks.h"
#include "engine/core/allocator.h"
#include "engine/core/modes.h"
#include "engine/core/tensor.h"
#include "engine/runtime/fork_rng.h"
#include "engine/runtime/generator.h"
#include "engine/runtime/parallel.h"
#include "ops/index/index.h"
#include "ops/registration/all_ops.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/transforms/functional.h"
#include "ops/transforms/gradcheck.h"
#include "ops/transforms/vmap.h"
