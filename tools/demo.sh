#!/bin/sh
# `make demo`: the incident, on a small fleet of real processes on this machine, and its recovery.
# Leaves nothing running, and nothing outside the working tree and one temporary folder, which it removes.
#
#   tools/demo.sh PATH/TO/fleetops
set -eu

fleetops=${1:?usage: tools/demo.sh PATH/TO/fleetops}
unset FLEETOPS_INVENTORY FLEETOPS_STATE
FLEETOPS_LAB=$(mktemp -u "${TMPDIR:-/tmp}/fleetops-demo-XXXXXX")
FLEETOPS_CACHE=${FLEETOPS_CACHE:-$PWD/.demo}
export FLEETOPS_LAB FLEETOPS_CACHE

finish() {
    status=$?
    trap - EXIT
    "$fleetops" lab down >/dev/null || status=4
    if [ "$status" -ne 0 ]; then
        echo "the demo ended with status $status" >&2
    fi
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

say() { printf '\n\033[1m%s\033[0m\n' "$*" | if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then cat; else sed 's/\x1b\[[0-9]*m//g'; fi; }

# As it would be typed: what a shell would take apart stands in quotes.
typed() {
    for word in "$@"; do
        case $word in
            *[!A-Za-z0-9_./@=,:+-]*) printf " '%s'" "$word" ;;
            *) printf ' %s' "$word" ;;
        esac
    done
}

# show STATUS WORDS...: runs `fleetops WORDS...` and ends the demo if it says anything else than STATUS.
show() {
    expected=$1
    shift
    printf '\n$ fleetops%s\n\n' "$(typed "$@")"
    status=0
    "$fleetops" "$@" || status=$?
    if [ "$status" -ne "$expected" ]; then
        echo "fleetops $1 ended with $status where $expected was expected" >&2
        return 1
    fi
}

say "A small fleet: real processes behind real SSH on loopback, with simulated GPUs."
show 0 lab up

say "On node-174 somebody launches SGLang by hand with --hicache-size 300, believing it to be 300 GB in all."
show 0 lab break node-174 per-rank-trap

say "What holds the memory, and why do the dead ranks not go away?"
show 1 probe --lab node-174

say "What did the number mean? The engine's own source on every node knows."
show 0 grep-source --lab 'Allocating.*host memory\|hicache_size' --limit 6

say "The smallest remedy that works, then a launch at a size that fits."
show 0 recover --lab node-174 --yes

say "And now?"
show 0 probe --lab node-174
