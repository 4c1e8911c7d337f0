"""Write the generated pages of docs/ that the command line prints; ``--check`` only says which are out of date."""

import sys
from pathlib import Path

from assay.cli.main import app
from assay.cli.pages import cli_markdown
from assay.domain.logs.documentation import markdown
from assay.domain.logs.table import DIALECTS
from assay.domain.profiles import profiles_markdown

DOCS = Path(__file__).parents[1] / "docs"


def main() -> int:
    """Write docs/profiles.md, docs/cli.md and docs/parsers.md, or check them."""
    pages = {"cli.md": cli_markdown(app), "profiles.md": profiles_markdown(), "parsers.md": markdown(DIALECTS)}
    stale = [name for name, text in pages.items() if (DOCS / name).read_text("utf-8") != text]
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"docs/{name} is out of date: make generate", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (DOCS / name).write_text(pages[name], "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
