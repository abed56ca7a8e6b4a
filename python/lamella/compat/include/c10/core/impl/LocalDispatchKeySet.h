#pragma once

#include "ATen/core/LegacyTypeDispatch.h"
