#!/usr/bin/env bash
# install.sh VENV [PART]: creates the virtual environment that all targets of the Makefile use, from hashed requirements:
# requirements/PART.txt. `dev` is all, `demo` and `build` are parts of it.
# The Python is that of the variable PYTHON, else the first on PATH that fits. A Java comes with the requirements.
# Repeatable: the stamp VENV/.installed-PART is written last, so that an interrupted run continues where pip stopped.
set -euo pipefail

venv=${1:?usage: install.sh VENV [PART]}
part=${2:-dev}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
requirements=$root/requirements/$part.txt
all=$venv/.installed-dev

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# What is wrong with a Python; nothing if it fits. The hashes of the requirements are those of 3.11 to 3.13.
fault() {
  command -v "$1" >/dev/null 2>&1 || { echo "is not there"; return; }
  "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' >/dev/null 2>&1 \
    || { echo "does not run or is not Python 3.11, 3.12 or 3.13"; return; }
  "$1" -c 'import ensurepip, venv' >/dev/null 2>&1 || echo "has no ensurepip (Debian: the package python3-venv)"
}

if [ -n "${PYTHON:-}" ]; then
  python=$PYTHON
  found=$(fault "$python")
  [ -z "$found" ] || fail "$python $found: give another one with PYTHON="
else
  python='' without_venv=''
  for candidate in python3.11 python3.12 python3.13 python3 python; do
    case $(fault "$candidate") in
      '') python=$candidate; break ;;
      *ensurepip*) without_venv=${without_venv:-$candidate} ;;
    esac
  done
  [ -n "$python" ] || [ -z "$without_venv" ] || fail "$without_venv $(fault "$without_venv")"
  [ -n "$python" ] || fail "no Python 3.11, 3.12 or 3.13 found: install one with its venv module, or give its path: make setup PYTHON=/path/to/python3"
fi

# The inputs of the environment: unchanged ones mean that it is up to date. All packages include those of each part.
inputs() { cat "$root/requirements/$1.txt" "$root/pyproject.toml" "${BASH_SOURCE[0]}" | sha256sum; }
wanted=$(inputs "$part")
stamp=$venv/.installed-$part
[ "$part" = dev ] || [ "$(cat "$all" 2>/dev/null)" != "$(inputs dev)" ] || printf '%s\n' "$wanted" >"$stamp"
if [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
  touch "$stamp"
  say "$venv is up to date"
  exit 0
fi
rm -f "$stamp"

# An incomplete environment of a killed run is created again; a working one keeps its packages.
"$venv/bin/python" -m pip --version >/dev/null 2>&1 || { say "creating $venv with $("$python" --version)"; "$python" -m venv --clear "$venv"; }

count=$(grep -c '^[a-zA-Z0-9].*==' "$requirements")
size=$(grep -q '^pyspark==' "$requirements" && echo ' (pyspark alone is 450 MB and takes a minute)' || true)
say "installing $count pinned packages, each checked by its hash$size"
log=$venv/install.log
pip=("$venv/bin/python" -m pip --disable-pip-version-check --no-input)

# The pinned pip comes first. Before 23.3, pip took the newest release where a package asks for another one with an extra,
# such as pytest-cov for coverage[toml], and then refused it, because the requirements have no hash of it.
awk '/^[a-zA-Z0-9]/ { is_pip = /^pip==/ } is_pip' "$requirements" >"$venv/pip.txt"
[ ! -s "$venv/pip.txt" ] || "${pip[@]}" install --quiet --require-hashes -r "$venv/pip.txt" >"$log" 2>&1 \
  || fail "pip failed: $(grep -E '^ERROR|Could not|Connection|timed out' "$log" | tail -1) (check the network; full output: $log)"

# One line per package on the terminal, the full output in the log.
show='
/^Collecting /                       { n++; name = $2; sub(/\[.*|[=<>].*/, "", name); printf "  %3d/%d %s\n", n, count, name; fflush() }
/^Requirement already satisfied: /   { n++ }
/^ *Downloading .*\([0-9.]+ MB\)/    { size = $0; sub(/.*\(/, "", size); sub(/ MB\).*/, "", size); if (size + 0 > 20) { printf "          downloading %s MB\n", size; fflush() } }
/^ *Building wheel for .*: started/   { printf "          building %s\n", $4; fflush() }
/^Installing collected packages/     { print "  installing all of them"; fflush() }
'
"${pip[@]}" install --progress-bar off --require-hashes -r "$requirements" 2>&1 | tee -a "$log" | awk -v count="$count" "$show" \
  || fail "pip failed: $(grep -E '^ERROR|Could not|Connection|timed out' "$log" | tail -1) (check the network; full output: $log)"

if [ "$part" != build ]; then
  say "installing lagwarden itself, editable"
  "${pip[@]}" install --quiet --no-deps --no-build-isolation -e "$root" >>"$log" 2>&1 || fail "lagwarden could not be installed: $(grep -E '^ *(ERROR|[A-Za-z]*Error)' "$log" | tail -1) (full output: $log)"
fi

printf '%s\n' "$wanted" >"$stamp"
say "$venv is ready"
