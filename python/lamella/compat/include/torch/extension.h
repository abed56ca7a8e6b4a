#pragma once

// All that an extension in PyTorch's dialect includes at once.

#include "torch/all.h"
#include "torch/python.h"
