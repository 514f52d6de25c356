#!/usr/bin/env bash
# install_browser.sh: gets the Chromium that the tests marked `page` drive, from Debian's packages, where that is
# possible (root and apt-get). The tests themselves install nothing: without a Chromium they are skipped and say so.
set -euo pipefail

say() { printf 'browser: %s\n' "$*"; }

for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null 2>&1; then
    say "$name is there"
    exit 0
  fi
done
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  say "no Chromium, and it takes root and apt-get to install one: the tests of the pages will be skipped"
  exit 0
fi
say "installing Debian's chromium (a minute)"
export DEBIAN_FRONTEND=noninteractive
# The lists may be missing or old; those of one source that does not answer do not matter.
apt-get --quiet --quiet update || true
if ! apt-get --quiet --quiet --yes --no-install-recommends install chromium fonts-dejavu-core >/dev/null; then
  say "Debian's chromium could not be installed: the tests of the pages will be skipped"
fi
