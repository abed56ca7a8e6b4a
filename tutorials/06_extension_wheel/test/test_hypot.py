"""Uses the installed package."""

import custom_ops

import lamella as lm

x = lm.tensor([3.0, 5.0], stop_gradient=False)
y = lm.tensor([4.0, 12.0], stop_gradient=False)
z = custom_ops.hypot(x, y)
print(z.tolist())

z.sum().backward()
print([round(value, 4) for value in x.grad.tolist()], [round(value, 4) for value in y.grad.tolist()])

# Calls the operator by its name, and on tensors without data.
operator = lm.ops.custom_ops.hypot
print(operator.schema)
print(operator(lm.empty([2, 7], device="meta"), lm.empty([2, 7], device="meta")).shape)

try:
    custom_ops.hypot(x, lm.ones([3]))
except ValueError as error:
    print(error)
