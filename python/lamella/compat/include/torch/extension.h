#pragma once

// Header that an extension in PyTorch's dialect includes.

#include "torch/all.h"
#include "torch/python.h"
