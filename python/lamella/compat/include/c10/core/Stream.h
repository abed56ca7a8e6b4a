#pragma once

#include "c10/core/DeviceGuard.h"
