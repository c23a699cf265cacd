"""What happens to the replies to a task after generation: lm-eval's filters see all replies of a task at once."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from lm_eval.api.filter import Filter

from halu_tasks.core.errors import JudgeError
from halu_tasks.core.items import Item, Reply
from halu_tasks.replies import embedded
from halu_tasks.replies.predictions import with_target
from halu_tasks.replies.reference import label_warnings
from halu_tasks.replies.scoring import (
    RequestInfo,
    outcome_of,
    score_replies,
    task_failure_warnings,
    task_reply_warnings,
)
from halu_tasks.tasks import Built

logger = logging.getLogger(__name__)


class Weight(NamedTuple):
    """What a model says of one choice.

    Attributes:
        loglikelihood: The log-likelihood of the choice.
        reply: The reply that is replayed; None for any other model.
    """

    loglikelihood: float
    reply: str | None


class Weighed(Filter):
    """Reads the log-likelihoods of choices."""

    def apply(self, resps: Iterable[Any], docs: list[dict[str, Any]]) -> list[Weight]:
        """Return the weights of all requests."""
        return [Weight(replies[0][0], doc.get(embedded.REPLY)) for replies, doc in zip(resps, docs, strict=True)]


class TakeFirst(Filter):
    """Keeps the first reply to each request."""

    def apply(self, resps: Iterable[Any], docs: list[dict[str, Any]]) -> list[Any]:
        """Return the first replies."""
        return [replies[0] for replies in resps]


class ScoreReplies(Filter):
    """Scores all replies to a task at once, so that a judge can be asked concurrently.

    The scores appear in the sample log as the filtered replies.

    Args:
        built: The task.
        items: Its items by id.
        keep_other_replies: Saves the replies to the run's other tasks and says where, as lm-eval writes no results
            if one task fails.
        request: How the model was asked, which is known once the requests were made.
    """

    def __init__(
        self,
        built: Built,
        items: Mapping[str, Item],
        keep_other_replies: Callable[[], list[str]],
        request: RequestInfo,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._built, self._items, self._keep_other_replies, self._request = built, items, keep_other_replies, request

    def apply(self, resps: Iterable[Any], docs: list[dict[str, Any]]) -> list[str]:
        """Return the scores as JSON: lm-eval copies what a filter returns and logs its `str()`.

        Raises:
            JudgeError: The judge failed too often; the message names the files with the replies.
        """
        replies = [
            (with_target(self._items[doc["id"]], doc["target"]), Reply(replies[0]))
            for replies, doc in zip(resps, docs, strict=True)
        ]
        try:
            scores = score_replies(self._built, replies)
        except JudgeError as error:
            others = ", ".join(self._keep_other_replies())
            raise JudgeError(f"{error}; replies to other tasks were kept: {others}" if others else str(error)) from None
        mode = self._built.options.scoring
        outcomes = Counter(
            outcome_of(reply.text, score, mode) for (_, reply), score in zip(replies, scores, strict=True)
        )
        built = self._built
        warnings = task_reply_warnings(built.task.name, outcomes, self._request)
        warnings += task_failure_warnings(built.task, mode, scores)
        warnings += label_warnings(built.task, built.reference, scores)
        for warning in warnings:
            logger.warning(warning)
        return [json.dumps(score.as_json(), ensure_ascii=False) for score in scores]
