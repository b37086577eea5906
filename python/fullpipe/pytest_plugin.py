"""Plugin of pytest: ``pytest --fullpipe suite.toml`` makes a test of each check in a suite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fullpipe.experiments.check import Checked, Checks

__all__ = ["CheckFailed", "CheckItem", "SuiteFile", "pytest_addoption", "pytest_collection_modifyitems"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options ``--fullpipe`` and ``--fullpipe-baseline``."""
    group = parser.getgroup("fullpipe", "congestion control checks")
    group.addoption("--fullpipe", action="append", default=[], metavar="SUITE.toml", help="run the checks of a suite")
    group.addoption("--fullpipe-baseline", metavar="FILE", help="baseline file of the suites")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Adds a test for each check, before other plugins deselect tests."""
    for given in session.config.getoption("--fullpipe"):
        path = Path(session.config.invocation_params.dir, given)
        suite = SuiteFile.from_parent(session, path=path)
        items.extend(suite.collect())


class SuiteFile(pytest.File):
    """A suite of checks."""

    _checks: Checks | None = None

    def collect(self) -> Iterator[CheckItem]:
        """Makes a test for each check.

        Raises:
            pytest.UsageError: The suite is wrong.
        """
        from fullpipe.errors import FullpipeError
        from fullpipe.experiments.check import Suite

        try:
            self.suite = Suite.load(self.path)
        except FullpipeError as error:
            raise pytest.UsageError(str(error)) from None
        for check in self.suite.checks:
            yield CheckItem.from_parent(self, name=check.id)

    def checked(self, name: str) -> Checked:
        """Verdict of a check. The first call runs the whole suite."""
        if self._checks is None:
            from fullpipe.experiments.check import check

            self._checks = check(self.suite, baseline=self.config.getoption("--fullpipe-baseline"))
        return next(each for each in self._checks.checks if each.id == name)


class CheckFailed(Exception):
    """A check is worse."""


class CheckItem(pytest.Item):
    """Test of a check."""

    parent: SuiteFile

    def runtest(self) -> None:
        """Fails where the check is worse, and skips where it is inconclusive.

        Raises:
            CheckFailed: The check is worse.
        """
        checked = self.parent.checked(self.name)
        if checked.verdict == "worse":
            raise CheckFailed(checked.line())
        if checked.verdict == "inconclusive":
            pytest.skip(f"inconclusive: {checked.line()}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The failure in one line, where a check failed or its input is wrong."""
        from fullpipe.errors import FullpipeError

        if isinstance(excinfo.value, CheckFailed | FullpipeError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Place and name of the test in reports."""
        return self.path, None, f"check {self.name}"
