#pragma once

#include <complex>

// Thrust's complex numbers are those of C++.
namespace thrust {
using namespace std;
}  // namespace thrust
