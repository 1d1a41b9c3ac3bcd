"""Reading a recording: the logs that Suspectra's recorder writes."""

from suspectra.evidence.recording.source import RecordingSource

__all__ = ["RecordingSource"]
