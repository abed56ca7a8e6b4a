#pragma once

#include <lamella/device.h>

#include "simulator.h"

/// The stream that work on a tensor's device goes to.
sim::Stream& current_stream(const lamella::Tensor& x);
