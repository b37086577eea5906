"""Measurements of real networks: readers that turn files of other tools into Arrow tables of one schema.

>>> from fullpipe.measurements import read          # doctest: +SKIP
>>> read("upload.flent.gz").samples                 # doctest: +SKIP
"""

from fullpipe.measurements.joining import join
from fullpipe.measurements.reading import detect, read
from fullpipe.measurements.schema import FORMATS, TABLES, Measurement, schema

__all__ = ["FORMATS", "TABLES", "Measurement", "detect", "join", "read", "schema"]
