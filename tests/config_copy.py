"""The committed configuration without the developer's own config/local.toml."""

from __future__ import annotations

import shutil
from pathlib import Path

from runtime.config import REPO_ROOT


def copy_config(into: Path) -> Path:
    """Copies config/*.toml; returns the folder for FARHAND_CONFIG_DIR."""
    folder = into / "config"
    folder.mkdir()
    for file in (REPO_ROOT / "config").glob("*.toml"):
        if file.name != "local.toml":
            shutil.copy(file, folder)
    return folder
