"""The time that a search has."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class SearchTime:
    """Its end may be moved: starting the tests does not count, and some of it is kept for later."""

    end: float
    began: float = field(default_factory=time.monotonic)

    @property
    def is_up(self) -> bool:
        """Whether nothing may begin any more."""
        return time.monotonic() >= self.end

    @property
    def left(self) -> float:
        """Seconds until the end."""
        return self.end - time.monotonic()

    @property
    def share(self) -> float:
        """The share that is gone."""
        return (time.monotonic() - self.began) / (self.end - self.began)
