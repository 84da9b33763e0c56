"""The verdict: what the run on the dataset reached in each task, against that task's sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import msgspec

from audits.multitask.criteria import Criteria
from audits.multitask.sources import SourceState
from audits.paper.judgement import Verdict


class TaskResult(msgspec.Struct, frozen=True):
    """One task.

    Attributes:
        task: Its name.
        verdict: INCOMPLETE if it was not judged.
        why: Why it was not; "" if it was.
        sources: Final return of each seed of the sources; empty without them.
        offline: Final mean return of each seed of the run on the dataset; likewise.
        bar: The least mean that passes; None without sources.
    """

    task: str
    verdict: Verdict
    why: str
    sources: list[float]
    offline: list[float]
    bar: float | None

    @property
    def reached(self) -> float | None:
        """The offline mean as a share of the sources'; None if the task was not judged."""
        if self.verdict is Verdict.INCOMPLETE:
            return None
        return fmean(self.offline) / fmean(self.sources)


class Judgement(msgspec.Struct, frozen=True):
    """All tasks.

    Attributes:
        verdict: Of them.
        judged: Tasks that were judged.
        judged_needed: Tasks that must be.
        passed: Tasks that pass.
        needed: Tasks that must pass, of those that were judged.
        tasks: Every task of the protocol.
    """

    verdict: Verdict
    judged: int
    judged_needed: int
    passed: int
    needed: int
    tasks: list[TaskResult]


def judge(
    sources: Sequence[SourceState],
    offline: Mapping[str, Sequence[float | None]],
    why_not: str,
    rules: Criteria,
) -> Judgement:
    """Judges the tasks.

    Args:
        sources: Of every task, in their order.
        offline: Final mean return of each seed of the run on the dataset, by task.
        why_not: Why that run can not be judged; "" if it can.
        rules: The criterion.
    """
    tasks = [_task(state, list(offline.get(state.run, ())), why_not, rules) for state in sources]
    judged = [task for task in tasks if task.verdict is not Verdict.INCOMPLETE]
    passed = sum(task.verdict is Verdict.PASS for task in judged)
    least, needed = rules.judged_needed(len(tasks)), rules.passing_needed(len(judged))
    verdict = Verdict.INCOMPLETE
    if judged and len(judged) >= least:
        verdict = Verdict.PASS if passed >= needed else Verdict.FAIL
    return Judgement(verdict, len(judged), least, passed, needed, tasks)


def _task(
    state: SourceState, offline: Sequence[float | None], why_not: str, rules: Criteria
) -> TaskResult:
    returns = [] if state.record is None else state.record.returns
    reached = [value for value in offline if value is not None]
    bar = rules.fraction * fmean(returns) if returns else None
    if state.record is None or bar is None:
        why = f"no source ({state.why})"
    elif why_not:
        why = why_not
    elif state.record.mean < rules.floor:
        why = f"its sources reached less than {rules.floor:g}: they have not learned"
    elif not reached or len(reached) < len(offline):
        why = "the last evaluation is not finite"
    else:
        verdict = Verdict.PASS if fmean(reached) >= bar else Verdict.FAIL
        return TaskResult(state.run, verdict, "", returns, reached, bar)
    return TaskResult(state.run, Verdict.INCOMPLETE, why, returns, reached, bar)
