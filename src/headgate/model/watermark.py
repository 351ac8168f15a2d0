"""Watermarks: how far a live stream has certainly come.

The watermark of a stream is its greatest seen time less its lateness *at the end of the previous epoch*: the one place
where the cut into epochs matters (semantics.md, section 1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headgate.model.instant import END_OF_TIME, START_OF_TIME, Instant
from headgate.model.schema import StreamSchema


@dataclass(frozen=True, slots=True)
class Watermark:
    """The watermark of one stream, advanced epoch by epoch."""

    value: Instant = START_OF_TIME
    seen: Instant = START_OF_TIME
    heard_at: Instant = START_OF_TIME
    """Processing time of the last epoch that brought an element; before there is any, of the first epoch."""

    def begin_epoch(self, processing_time: Instant) -> Watermark:
        """An epoch begins: from the first one on, a stream that never sent anything is waited for."""
        return replace(self, heard_at=processing_time) if self.heard_at == START_OF_TIME else self

    def observe(self, time: Instant, processing_time: Instant) -> Watermark:
        """An element of this time was seen in the running epoch."""
        return replace(self, seen=max(self.seen, time), heard_at=max(self.heard_at, processing_time))

    def end_epoch(self, stream: StreamSchema) -> Watermark:
        """The watermark that the next epoch works with."""
        if self.seen == START_OF_TIME:
            return self
        return replace(self, value=max(self.value, self.seen - stream.lateness))

    def finish(self) -> Watermark:
        """The input is at its end."""
        return replace(self, value=END_OF_TIME, seen=END_OF_TIME)

    def idle(self, stream: StreamSchema, processing_time: Instant) -> bool:
        """Whether the stream has been silent for so long that it holds the others back no more.

        A stream that never sent anything is silent since the first epoch.
        """
        return (
            stream.idle_timeout is not None
            and self.heard_at != START_OF_TIME
            and processing_time - self.heard_at >= stream.idle_timeout
        )
