"""Who is seen first."""


def urgent(patient):
    return patient["pain"] >= 8 or patient["fever"] >= 40


def frail(patient):
    return patient["age"] < 2 or patient["age"] > 80


def level(patient):
    if urgent(patient) or frail(patient):
        return 0
    if urgent(patient):
        return 1
    if frail(patient) or patient["waiting"] > 120:
        return 2
    return 3


def queue(patients):
    return sorted(patients, key=lambda patient: (level(patient), -patient["waiting"]))


def names(patients):
    return [patient["name"] for patient in queue(patients)]
