"""type and object as what they are: compared, matched, and given to libraries."""

import numpy as np


class Layer:
    pass


def program(jit):
    @jit
    def compared(x):
        kinds = [type(Layer) is type, type(object()) is object, object is type(object()), type(x) is type]
        matched = 0
        match Layer:
            case type():
                matched += 1
        match x:
            case object():
                matched += 2
        boxes = np.empty(2, dtype=object)
        return [x if kind else -x for kind in kinds], matched, len(boxes)

    signs, matched, length = compared(1.0)
    return {"signs": [float(s) for s in signs], "matched": int(matched), "length": int(length)}
