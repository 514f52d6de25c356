"""`python -m sandbox.demo` runs the demo."""

import os
import sys

from sandbox.demo.run import main

if __name__ == "__main__":
    code = main()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # The end of the interpreter would destroy clients of abandoned threads, and librdkafka may wait forever for one.
    os._exit(code)
