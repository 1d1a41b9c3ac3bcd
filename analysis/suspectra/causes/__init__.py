"""The causes of a failure: a search that narrows them down by altering states of the failing run."""
