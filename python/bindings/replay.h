#pragma once

#include <Python.h>

// Note [Replays]
// lamella.compile observes calls of a function, and makes a graph of the operators that one of them ran. A replay is
// that graph together with everything that the call's course depended on: the arguments (dtypes, shapes and flags of
// tensors, values of all else), the state that its Python code read, and the modes of the thread. Where all of it is as
// it was, the graph gives what the function would, and none of its Python code runs.

namespace lamella::python {

/// Makes the type of replays, which lamella.compile wraps.
PyTypeObject* make_replay_type();

}  // namespace lamella::python
