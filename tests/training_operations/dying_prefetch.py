"""In the side environment: what happens when a thread that assembles batches dies."""

import embodied
import numpy as np

from reference_harness.dreamerv3.agent import replaced
from reference_harness.dreamerv3.training import hooks


def batches_of_a_dying_thread(batches, waiting):
    """Takes batches from a source that raises after some; asks for more, or only looks.

    Returns:
        How many came, and the name, the words and the cause of what was raised then.
    """

    def source():
        yield from range(batches)
        raise KeyError("the replay has lost a chunk")

    kept = hooks.Hooks(built=lambda: None, after_rows=lambda: None)
    came = []
    with replaced((hooks, "_LOOK", 0.1), (embodied, "Prefetch", kept._prefetch_class())):
        stream = iter(embodied.Prefetch(source))
        try:
            while True:
                if waiting or len(came) < batches:
                    came.append(next(stream))
                else:
                    kept.check_threads()
        except hooks.PrefetchDiedError as error:
            texts = [type(error).__name__, str(error), repr(error.__cause__)]
    raised = np.frombuffer("\n".join(texts).encode(), np.uint8)
    return {"came": np.asarray(came, np.int64), "raised": raised}


OPERATIONS = {"batches_of_a_dying_thread": batches_of_a_dying_thread}
