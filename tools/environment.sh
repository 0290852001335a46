#!/bin/sh
# Makes the virtual environment FOLDER with a Python of 3.11 or newer; one that is there and has a pip is kept.
#
#   tools/environment.sh FOLDER        PYTHON=/path/to/python3.12 chooses the interpreter
#
# Debian and its kin ship Python without `ensurepip`; there the machine's own pip (22.3 or newer knows --python)
# puts one into the environment.
set -eu

folder=${1:?usage: tools/environment.sh FOLDER}
new_enough='import sys; sys.exit(sys.version_info < (3, 11))'

find_python() {
    for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python; do
        if command -v "$candidate" >/dev/null 2>&1 && "$candidate" -c "$new_enough" 2>/dev/null; then
            "$candidate" -c 'import sys; print(sys.executable)'
            return 0
        fi
        if [ "$candidate" = "${PYTHON:-}" ]; then
            echo "error: PYTHON=$candidate is no Python of 3.11 or newer" >&2
            return 1
        fi
    done
    echo "error: no Python of 3.11 or newer on PATH (python3 is $(python3 --version 2>&1 || true))" >&2
    echo "hint: install one, or name it: make PYTHON=/path/to/python3.11 ..." >&2
    return 1
}

python=$(find_python)
if "$folder/bin/python" -c "$new_enough" 2>/dev/null && "$folder/bin/python" -m pip --version >/dev/null 2>&1; then
    exit 0
fi

echo "making $folder with $python ($("$python" --version 2>&1))" >&2
if ! "$python" -c 'import venv' 2>/dev/null; then
    echo "error: $python has no venv module, so no environment can be made" >&2
    echo "hint: on Debian or Ubuntu: apt-get install python3-venv" >&2
    exit 1
fi
if "$python" -c 'import ensurepip' 2>/dev/null; then
    "$python" -m venv --clear "$folder"
elif "$python" -m pip --python "$python" --version >/dev/null 2>&1; then
    "$python" -m venv --clear --without-pip "$folder"
    "$python" -m pip --python "$folder/bin/python" install --quiet --disable-pip-version-check pip
else
    echo "error: $python has neither ensurepip nor a pip of 22.3 or newer, so nothing can be installed" >&2
    echo "hint: on Debian or Ubuntu: apt-get install python3-venv" >&2
    exit 1
fi
