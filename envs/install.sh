#!/usr/bin/env bash
# Make the environment: envs/install.sh [FOLDER]   (default .venv)
# Every package is pinned and its hash verified. A finished environment leaves a stamp that
# holds the digest of the locks, so that make installs again when, and only when, a lock changed.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${1:-.venv}
python=${PYTHON:-python3}

"$python" - <<'CHECK' || exit 1
import sys
if sys.version_info < (3, 11):
    sys.exit(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}. Set PYTHON=/path/to/python3.11")
CHECK

[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
pip() { "$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-deps --require-hashes "$@"; }

echo "Installing the locked packages into $venv (about 2 GB, a few minutes) ..."
pip -r envs/lock.txt
if pip -r envs/torch-cpu.txt >"$venv/torch-cpu.log" 2>&1; then
    echo "torch: CPU build"
else
    echo "torch: PyPI's build, since pip finds no CPU build here (see $venv/torch-cpu.log)"
    pip -r envs/torch.txt
fi
# The package itself, editable, without touching what the lock installed.
echo "$PWD" >"$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/pe-audit.pth"
"$venv/bin/python" -c 'import numba, snakemake, torch'
cat envs/lock.txt envs/torch.txt envs/torch-cpu.txt | sha256sum >"$venv/installed"
echo "Environment ready."
