"""`python -m deploy.site.notebook PAGE` prints a Markdown page as a Jupyter notebook that runs its Python and SQL."""

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

_CODE: Final = re.compile(r"^```(python|sql)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def notebook(page: str) -> dict[str, Any]:
    """Return the notebook (nbformat 4.4): a query becomes a call of `spark.sql`, whose result is `answer`."""
    cells: list[dict[str, Any]] = []
    # Between two matches of the pattern: text, language, code, text, ...
    text, *rest = _CODE.split(page)
    cells.append(_cell("markdown", text))
    for language, code, after in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        query = f'answer = spark.sql("""\n{code}""")\nanswer.show(truncate=False)'
        source = query if language == "sql" else code
        cells += [{**_cell("code", source), "outputs": [], "execution_count": None}, _cell("markdown", after)]
    shown = [each for each in cells if each["source"]]
    return {"nbformat": 4, "nbformat_minor": 4, "metadata": {"language_info": {"name": "python"}}, "cells": shown}


def _cell(kind: str, source: str) -> dict[str, Any]:
    return {"cell_type": kind, "metadata": {}, "source": source.strip()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(notebook(Path(sys.argv[1]).read_text("utf-8")), indent=1) + "\n")
