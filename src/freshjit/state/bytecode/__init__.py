"""Bytecode: what a code object shows of what its function does, on every supported CPython.

The only package that knows instructions by name. It says what stands in the code; what follows from that is
decided by who asks. Where CPythons differ (3.11 looks up methods by an instruction of its own, 3.13 loads two
variables at once), the answers do not.

Answers are about one code object by itself, unless they are said to include the code inside it: that of inner
functions, of lambdas and bodies of classes, before Python 3.12 also of comprehensions.
"""

from freshjit.state.bytecode.following import (
    Fate,
    Use,
    fates,
    is_only_called,
    uses,
)
from freshjit.state.bytecode.instructions import (
    code_inside,
    is_at_operator,
    name_read,
    operations,
    running,
    walk,
)
from freshjit.state.bytecode.names import (
    AttributeRead,
    attribute_reads,
    attributes_called_or_kept,
    attributes_deleted,
    attributes_of_objects,
    attributes_read,
    compares_identity,
    compares_with_is,
    global_names,
    handles_exceptions,
    imported_names,
    names,
    unasked_names,
    uses_of_variable,
)
from freshjit.state.bytecode.stores import (
    AttributeStore,
    attribute_stores,
    replaced_stores,
)

__all__ = [
    "AttributeRead",
    "AttributeStore",
    "Fate",
    "Use",
    "attribute_reads",
    "attribute_stores",
    "attributes_called_or_kept",
    "attributes_deleted",
    "attributes_of_objects",
    "attributes_read",
    "code_inside",
    "compares_identity",
    "compares_with_is",
    "fates",
    "global_names",
    "handles_exceptions",
    "imported_names",
    "is_at_operator",
    "is_only_called",
    "name_read",
    "names",
    "operations",
    "replaced_stores",
    "running",
    "unasked_names",
    "uses",
    "uses_of_variable",
    "walk",
]
