#pragma once

#include "ATen/MoreFunctions.h"
