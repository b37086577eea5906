"""What studies that end in rows have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from fullpipe._util.display import Outcome

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Tabled"]


class Tabled(Outcome):
    """An outcome with rows."""

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """The rows."""

    @property
    def table(self) -> pa.Table:
        """The rows as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_pylist(self.rows())
