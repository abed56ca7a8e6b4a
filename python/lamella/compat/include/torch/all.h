#pragma once

#include <iostream>

#include "ATen/ATen.h"
#include "torch/csrc/autograd/custom_function.h"
#include "torch/library.h"
#include "torch/types.h"
