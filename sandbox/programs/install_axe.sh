#!/usr/bin/env bash
# install_axe.sh: gets axe-core, with which tests marked `page` check the accessibility of the pages, from the configured
# npm registry. The tests themselves install nothing: without axe-core they are skipped with a reason.
set -euo pipefail

version=4.14.1
cache=${LAGWARDEN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lagwarden}/axe-core

say() { printf 'axe: %s\n' "$*"; }

if grep -q "\"version\": \"$version\"" "$cache/package/package.json" 2>/dev/null; then
  say "axe-core $version is there"
  exit 0
fi
if ! command -v npm >/dev/null 2>&1; then
  say "no npm: the accessibility of the pages will not be checked by axe-core"
  exit 0
fi
mkdir -p "$cache"
cd "$cache"
if npm pack --silent "axe-core@$version" >/dev/null && tar xzf "axe-core-$version.tgz"; then
  rm -f "axe-core-$version.tgz"
  say "axe-core $version is in $cache"
else
  say "axe-core could not be downloaded: the accessibility of the pages will not be checked by it"
fi
