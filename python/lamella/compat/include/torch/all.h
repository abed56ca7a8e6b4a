#pragma once

#include <iostream>

#include "ATen/ATen.h"
#include "ATen/Parallel.h"
#include "c10/util/irange.h"
#include "torch/csrc/autograd/custom_function.h"
#include "torch/library.h"
#include "torch/types.h"
