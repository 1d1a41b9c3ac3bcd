"""Suspectra: suspects from spectra.

The package is imported inside the user's own test process by the recorder, so importing it costs nothing:
the public names below are loaded on first use. It may be there before pytest is, which would warn that it comes too
late to rewrite asserts (PYTEST_DONT_REWRITE).

Examples
--------
>>> import suspectra
>>> "ochiai" in suspectra.technique_names()
True
"""

from suspectra_recorder import __version__ as __version__

TYPE_CHECKING = False  # typing may be a file of the program here
if TYPE_CHECKING:
    from suspectra.base.errors import Problem as Problem
    from suspectra.base.errors import SuspectraError as SuspectraError
    from suspectra.base.location import Location as Location
    from suspectra.evidence.evidence import Evidence as Evidence
    from suspectra.localizer import Localizer as Localizer
    from suspectra.report.ranked_report import RankedReport as RankedReport
    from suspectra.spectrum.elements import Elements as Elements
    from suspectra.spectrum.elements import Function as Function
    from suspectra.spectrum.spectrum import Spectrum as Spectrum
    from suspectra.techniques import make_technique as make_technique
    from suspectra.techniques import technique_names as technique_names

_PUBLIC = {
    "Elements": "suspectra.spectrum.elements",
    "Evidence": "suspectra.evidence.evidence",
    "Function": "suspectra.spectrum.elements",
    "Localizer": "suspectra.localizer",
    "Location": "suspectra.base.location",
    "Problem": "suspectra.base.errors",
    "RankedReport": "suspectra.report.ranked_report",
    "Spectrum": "suspectra.spectrum.spectrum",
    "SuspectraError": "suspectra.base.errors",
    "make_technique": "suspectra.techniques",
    "technique_names": "suspectra.techniques",
}
__all__ = sorted([*_PUBLIC, "__version__"])


if not TYPE_CHECKING:  # to a type checker there is no name beyond those above

    def __getattr__(name):
        if name in _PUBLIC:
            from importlib import import_module

            return getattr(import_module(_PUBLIC[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
