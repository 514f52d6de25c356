#!/usr/bin/env bash
# install.sh VENV: creates the virtual environment that all targets of the Makefile use, from hashed requirements.
# Repeatable: the stamp VENV/.installed is written last, so that an interrupted run continues where pip stopped.
set -euo pipefail

venv=${1:?usage: install.sh VENV}
python=${PYTHON:-python3.11}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
requirements=$root/requirements/dev.txt
stamp=$venv/.installed

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

command -v "$python" >/dev/null 2>&1 || fail "no $python found: install Python 3.11 with its venv module, or give its path: make setup PYTHON=/path/to/python3.11"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || fail "$python does not run or is older than 3.11: give another one with PYTHON="
"$python" -c 'import ensurepip' 2>/dev/null || fail "$python has no ensurepip: install its venv package (Debian: python3.11-venv)"
java=${JAVA_HOME:+$JAVA_HOME/bin/java}
command -v "${java:-java}" >/dev/null 2>&1 || fail "no ${java:-java} found: install a Java 17 runtime (Debian: openjdk-17-jre-headless) or set JAVA_HOME"

# The inputs of the environment: unchanged ones mean that it is up to date.
wanted=$(cat "$requirements" "$root/pyproject.toml" "${BASH_SOURCE[0]}" | sha256sum)
if [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
  touch "$stamp"
  say "$venv is up to date"
  exit 0
fi
rm -f "$stamp"

# An incomplete environment of a killed run is created again; a working one keeps its packages.
"$venv/bin/python" -m pip --version >/dev/null 2>&1 || { say "creating $venv with $("$python" --version)"; "$python" -m venv --clear "$venv"; }

count=$(grep -c '^[a-zA-Z0-9].*==' "$requirements")
say "installing $count pinned packages, each checked by its hash (pyspark alone is 450 MB and takes a minute)"
log=$venv/install.log
pip=("$venv/bin/python" -m pip --disable-pip-version-check --no-input)

# One line per package on the terminal, the full output in the log.
show='
/^Collecting /                       { n++; name = $2; sub(/\[.*|[=<>].*/, "", name); printf "  %3d/%d %s\n", n, count, name; fflush() }
/^Requirement already satisfied: /   { n++ }
/^ *Downloading .*\([0-9.]+ MB\)/    { size = $0; sub(/.*\(/, "", size); sub(/ MB\).*/, "", size); if (size + 0 > 20) { printf "          downloading %s MB\n", size; fflush() } }
/^ *Building wheel for .*: started/   { printf "          building %s\n", $4; fflush() }
/^Installing collected packages/     { print "  installing all of them"; fflush() }
'
"${pip[@]}" install --progress-bar off --require-hashes -r "$requirements" 2>&1 | tee "$log" | awk -v count="$count" "$show" \
  || fail "pip failed: $(grep -E '^ERROR|Could not|Connection|timed out' "$log" | tail -1) (check the network; full output: $log)"

say "installing lagwarden itself, editable"
"${pip[@]}" install --quiet --no-deps --no-build-isolation -e "$root" >>"$log" 2>&1 || fail "lagwarden could not be installed: $(grep -E '^ *(ERROR|[A-Za-z]*Error)' "$log" | tail -1) (full output: $log)"

printf '%s\n' "$wanted" >"$stamp"
say "$venv is ready"
