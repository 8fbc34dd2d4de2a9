# tools/python/tests/test_examples.py - every example of the pages runs, block after block, as in a notebook.
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGES = ["tools/python/README.md", "tools/guide/how-to/exchange-forget-sets.md"]


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page, tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)
    assert blocks
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "notebook"}
    for number, block in enumerate(blocks):
        exec(compile(block, f"{page}, block {number + 1}", "exec"), names)  # noqa: S102
