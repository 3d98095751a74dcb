"""A copy of config/ that a test may write into."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.config import load
from runtime.errors import EXIT_CONFIG, ConfigError
from runtime.settings import Settings


class Folder:
    """A copy of config/ to write into."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text)

    def load(self, **env: str) -> Settings:
        return load({"FARHAND_CONFIG_DIR": str(self.path), **env})

    def refusal(self, **env: str) -> str:
        """The one line with which loading is refused."""
        with pytest.raises(ConfigError) as caught:
            self.load(**env)
        assert caught.value.exit_code == EXIT_CONFIG
        text = str(caught.value)
        assert "\n" not in text
        return text
