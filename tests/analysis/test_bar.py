"""The bar that says on a terminal how much of the time is gone."""

import io
import time

from suspectra.output.time_bar import TimeBar

CLEAR = "\r\x1b[K"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def until(happened):
    deadline = time.monotonic() + 120
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_it_follows_the_clock_and_is_gone_at_the_end():
    out = Terminal()
    with TimeBar(out, 60) as bar:
        until(lambda: "] 0 of 60 s" in out.getvalue())
        bar.state = "12 candidates"
        until(lambda: "s, 12 candidates" in out.getvalue())
    assert out.getvalue().endswith(CLEAR)
    written = len(out.getvalue())
    time.sleep(0.5)
    assert len(out.getvalue()) == written


def test_lines_and_questions_are_not_drawn_over():
    out = Terminal()
    with TimeBar(out, 60) as bar:
        until(lambda: "of 60 s" in out.getvalue())
        with bar.aside():
            out.write("is that right?")
            time.sleep(0.5)
        assert f"{CLEAR}is that right?" in out.getvalue()
        assert out.getvalue().endswith("is that right?")
        until(lambda: not out.getvalue().endswith("is that right?"))


def test_the_time_of_the_user_does_not_count():
    out = Terminal()
    with TimeBar(out, 2.0) as bar:
        with bar.aside():
            time.sleep(1.2)
        seen = len(out.getvalue())
        until(lambda: "of 2 s" in out.getvalue()[seen:])
        assert "] 0 of 2 s" in out.getvalue()[seen:]


def test_where_there_is_no_terminal_nothing_is_written():
    out = io.StringIO()
    with TimeBar(out, 0) as bar, bar.aside():
        time.sleep(0.3)
    assert out.getvalue() == ""
