#!/usr/bin/env bash
# install_browser.sh: installs the Chromium that the tests marked `page` use, from Debian's packages, where that is
# possible (root and apt-get). The tests themselves install nothing: without a Chromium they are skipped with a reason.
set -euo pipefail

say() { printf 'browser: %s\n' "$*"; }

for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null 2>&1; then
    say "$name is installed"
    exit 0
  fi
done
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  say "no Chromium, and installing one needs root and apt-get: the tests of the pages will be skipped"
  exit 0
fi
say "installing Debian's chromium (a minute)"
export DEBIAN_FRONTEND=noninteractive
# The package lists may be missing or old; a source that does not answer is ignored.
apt-get --quiet --quiet update || true
if ! apt-get --quiet --quiet --yes --no-install-recommends install chromium fonts-dejavu-core >/dev/null; then
  say "Debian's chromium could not be installed: the tests of the pages will be skipped"
fi
