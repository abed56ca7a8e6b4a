import lamella as lm


def sigmoid(x):
    op = lm.user_op.user_op_builder("sigmoid").Op("t_sigmoid_forward").Input("x", [x]).Output("y").Build()
    return op.InferAndTryRun().SoleOutputBlob()
