"""Loads the operator, checks its gradient and trains with it."""

import lamella as lm

lm.ops.load_library("softsign.so")


def softsign(x: lm.Tensor) -> lm.Tensor:
    use = lm.user_op.user_op_builder("softsign").Op("softsign").Input("x", [x]).Output("y").Build()
    return use.InferAndTryRun().SoleOutputBlob()


print(softsign(lm.tensor([-3.0, 0.0, 1.0])).tolist())

x = lm.tensor([-1.5, 0.25, 2.0], dtype=lm.float64, stop_gradient=False)
assert lm.autograd.gradcheck(softsign, [x])

w = lm.tensor([4.0, -4.0], stop_gradient=False)
target = lm.tensor([0.5, -0.25])
optimizer = lm.optim.SGD([w], lr=2.0)
for _ in range(500):
    loss = ((softsign(w) - target) ** 2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print([round(value, 3) for value in softsign(w).tolist()])

try:
    softsign(lm.tensor([1, 2]))
except NotImplementedError as error:
    print(error)
