"""What a release consists of, and its checks: `python -m deploy.release`.

Belongs here: every step of `.github/workflows/release.yml` that needs neither a registry nor a signature.
"""
