"""Reading a recording: the logs that Suspectra's own recorder keeps."""

from suspectra.evidence.recording.source import RecordingSource

__all__ = ["RecordingSource"]
