#pragma once

// Header for operators in OneFlow's dialect, in namespace lamella::user_op: REGISTER_USER_OP, REGISTER_USER_KERNEL and
// REGISTER_USER_OP_GRAD.

#include "ops/user_op/register.h"
