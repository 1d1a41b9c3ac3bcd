"""A tree of folders as nested dicts, files are None."""


def walk(tree, path=""):
    found = []
    for name, inner in sorted(tree.items()):
        own = f"{path}/{name}" if path else name
        if inner is None:
            found.append(own)
        elif inner:
            found.append(walk(inner, own))
    return found


def add(tree, path):
    *folders, name = path.split("/")
    for folder in folders:
        tree = tree.setdefault(folder, {})
    tree[name] = None


def from_paths(paths):
    tree = {}
    for path in paths:
        add(tree, path)
    return tree


def depth(tree):
    return 1 + max((depth(inner) for inner in tree.values() if inner), default=0)
