"""The commands about failure groups: which is shown, which tests belong together, which apart."""

from __future__ import annotations

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from suspectra.base.english import many
from suspectra_server.features.commands.arguments import are_names, is_count
from suspectra_server.features.commands.finder import Finder
from suspectra_server.features.commands.registry import Handlers
from suspectra_server.safe_text import plain
from suspectra_server.session.folder import Folder
from suspectra_server.session.session import Session
from suspectra_server.state.group import Group

_NO_GROUP = "No recorded test fails, so there is no failure group."
MAX_CHOICES = 8  # that the server asks about: some clients make each a button


class GroupCommands:
    """Choosing, merging and splitting failure groups."""

    def __init__(self, session: Session, find: Finder):
        self._session = session
        self._find = find

    def handlers(self) -> Handlers:
        """By their names."""
        return {
            "selectGroup": self.select_group,
            "mergeGroups": self.merge_groups,
            "splitGroup": self.split_group,
            "resetGroups": self.reset_groups,
        }

    async def select_group(self, uri: object = None, number: object = None) -> str | None:
        """Show the suspects of a group; without a number the user is asked."""
        folder = self._find.folder(uri)
        if folder is None:
            self._session.notify(_NO_GROUP)
            return None
        if number is None:
            found = await self._ask_for_group("Show the suspects of which failure group?", self._groups_of(folder))
        else:
            found = next(((f, one) for f, one in self._groups_of(folder) if one.number == _number(number)), None)
        if found is None:
            return None
        folder, group = found
        await folder.rankings.grouping.select(group.number)
        shown = folder.snapshot.ranking.group
        if shown is not None:
            self._session.notify(f"The suspects shown are those of {shown.heading}.")
        return shown.heading if shown else None

    async def merge_groups(self, uri: object = None, numbers: object = None) -> bool:
        """Make one group of several; without numbers the user is asked what to merge with the current one."""
        folder = self._find.folder(uri)
        if folder is None:
            self._session.notify(_NO_GROUP)
            return False
        ranking = folder.snapshot.ranking
        if numbers is None:
            others = [(folder, one) for one in ranking.groups if one != ranking.group]
            current = ranking.group
            chosen = await self._ask_for_group(f"Merge {current.heading if current else ''} with which group?", others)
            wanted = [group for group in (current, chosen and chosen[1]) if group]
        elif isinstance(numbers, list):
            known = {one.number: one for one in ranking.groups}
            wanted = [known[number] for number in map(_number, numbers) if number in known]
        else:
            raise JsonRpcInvalidParams("mergeGroups takes the URI of a folder and the numbers of groups")
        if len(wanted) < 2:
            return False
        await folder.rankings.grouping.merge(test for group in wanted for test in group.tests)
        self._count_groups(folder)
        return True

    async def split_group(self, uri: object = None, number: object = None, tests: object = None) -> bool:
        """Part tests from their group; without tests the user is asked for one."""
        folder = self._find.folder(uri)
        if folder is None:
            self._session.notify(_NO_GROUP)
            return False
        if tests is not None and not are_names(tests):
            raise JsonRpcInvalidParams("splitGroup takes the URI of a folder, the number of a group, names of tests")
        ranking = folder.snapshot.ranking
        group = ranking.group if number is None else None
        if number is not None:
            group = next((one for one in ranking.groups if one.number == _number(number)), None)
        whole = group.tests if group else () if ranking.groups else tuple(ranking.failing)
        if tests is None:
            tests = await self._ask_for_test(whole)
        leaving = set(tests) & set(whole)
        if not leaving or leaving == set(whole):
            return False
        # a test that executes nothing is in the group for its size alone: it says nothing of those that stay
        await folder.rankings.grouping.split(leaving, set(whole).difference(group.uncovered if group else ()) - leaving)
        self._count_groups(folder)
        return True

    async def reset_groups(self) -> bool:
        """Forget what was merged and split, in all folders."""
        changed = [await folder.rankings.grouping.reset() for folder in self._session.folders]
        text = "The failure groups are as they were found." if any(changed) else "No failure group was changed."
        self._session.notify(text)
        return any(changed)

    def _count_groups(self, folder: Folder) -> None:
        groups = many(len(folder.snapshot.ranking.groups) or 1, "failure group")
        self._session.notify(f"The failing tests are now in {groups}.")

    def _groups_of(self, folder: Folder) -> list[tuple[Folder, Group]]:
        return [(folder, group) for group in folder.snapshot.ranking.groups]

    async def _ask_for_group(self, question: str, choices: list[tuple[Folder, Group]]) -> tuple[Folder, Group] | None:
        """Let the user choose a group, where the client has nothing of its own for it."""
        if not choices:
            self._session.answer("All failing tests probably share a fault: there is one failure group.")
            return None
        titles = {f"{one.heading} (group {one.number})": (folder, one) for folder, one in choices[:MAX_CHOICES]}
        return titles.get(await self._choice(question, list(titles)) or "")

    async def _ask_for_test(self, tests: tuple[str, ...]) -> list[str]:
        if len(tests) < 2:
            self._session.answer("A group of one test can't be split.")
            return []
        titles = {plain(test): test for test in tests[:MAX_CHOICES]}
        chosen = await self._choice("Which test does not share the fault of the others?", list(titles))
        return [titles[chosen]] if chosen in titles else []

    async def _choice(self, question: str, titles: list[str]) -> str | None:
        request = lsp.ShowMessageRequestParams(
            lsp.MessageType.Info, plain(question), [lsp.MessageActionItem(title) for title in titles]
        )
        answer = await self._session.window_show_message_request_async(request)
        return answer.title if answer else None


def _number(given: object) -> int:
    if not is_count(given):
        raise JsonRpcInvalidParams("the number of a failure group is a whole number")
    return given
