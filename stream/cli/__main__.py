"""`python -m stream.cli`: the same as `lagwarden`."""

import sys

from stream.cli.app import main

sys.exit(main())
