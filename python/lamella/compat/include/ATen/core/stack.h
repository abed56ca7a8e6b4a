#pragma once

#include "ATen/core/boxing.h"
