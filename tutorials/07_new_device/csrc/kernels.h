#pragma once

#include <lamella/device.h>

#include "simulator.h"

/// Returns the stream on which work on a tensor's device is queued.
sim::Stream& current_stream(const lamella::Tensor& x);
