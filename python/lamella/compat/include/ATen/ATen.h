#pragma once

#include "ATen/Dispatch.h"
#include "ATen/Functions.h"
#include "ATen/MoreFunctions.h"
#include "ATen/core/LegacyTypeDispatch.h"
#include "c10/core/DeviceGuard.h"
