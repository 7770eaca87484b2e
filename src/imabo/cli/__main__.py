"""``python -m imabo.cli``."""

from imabo.cli.entry import main

if __name__ == "__main__":
    raise SystemExit(main())
