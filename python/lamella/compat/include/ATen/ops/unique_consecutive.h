#pragma once

#include "ATen/SearchFunctions.h"
