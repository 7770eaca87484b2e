"""``python -m imabo_rag``."""

import sys

from imabo_rag.commands import main

if __name__ == "__main__":
    sys.exit(main())
