#pragma once

#include "ATen/AccumulateType.h"
#include "ATen/Dispatch.h"
#include "ATen/Functions.h"
#include "ATen/MoreFunctions.h"
#include "ATen/OpMathType.h"
#include "ATen/OutFunctions.h"
#include "ATen/TensorIndexing.h"
#include "ATen/core/LegacyTypeDispatch.h"
#include "c10/core/DeviceGuard.h"
#include "c10/core/WrapDimMinimal.h"
#include "c10/util/StringUtil.h"
