#pragma once

// Header of programs that lamella.graph.Graph.save_cpp() has written. See docs/graphs.md.

#include "ops/program/run_program.h"
