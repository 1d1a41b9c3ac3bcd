"""Does something again when it fails."""


class GaveUp(Exception):
    pass


def waits(first, factor, most):
    wait = first
    while True:
        yield min(wait, most)
        wait *= factor


def retry(work, times, sleep, catch=(OSError,)):
    failures = []
    for attempt, wait in zip(range(times), waits(1, 2, 8)):
        try:
            return work(attempt)
        except Exception as error:
            failures.append(error)
            if attempt + 1 < times:
                sleep(wait)
    raise GaveUp(f"{len(failures)} failures") from failures[-1]


def succeeds(work, times):
    try:
        retry(work, times, lambda wait: None)
    except GaveUp:
        return False
    return True
