#pragma once

#include "torch/csrc/autograd/custom_function.h"
#include "torch/library.h"
