"""`python -m sandbox.demo` runs the demo."""

from __future__ import annotations

import sys

from sandbox.demo.run import main

if __name__ == "__main__":
    sys.exit(main())
