#!/bin/sh
# nvidia-smi over a report that lies in /run/deep: a folder that the host shares with its containers, as they share the
# driver, and of a VM its own. While `held` is there, the GPUs' memory stays taken; a reset gives it back once nothing
# runs on them any more: in a guest never.
held=/run/deep/held
in_use() { ! command -v pct > /dev/null || [ "$(pct status 174)" = 'status: running' ]; }
case "$*" in
'-q -x') if [ -e $held ]; then cat /run/deep/held.xml; else cat /run/deep/idle.xml; fi ;;
'-pm '*) echo 'All done.' ;;
'--gpu-reset -i '*)
    echo "$(date +%s.%N) $*" >> /run/deep/resets
    if [ -e $held ] && in_use; then
        printf 'The following GPUs could not be reset:\n'
        printf '  GPU %s: In use by another client\n' $(echo "$3" | tr , ' ')
        printf '\n%s\n' '1 device is currently being used by one or more other processes (e.g., Fabric Manager, CUDA application).'
        exit 255
    fi
    rm -f $held
    printf 'GPU %s was successfully reset.\n' $(echo "$3" | tr , ' ')
    echo 'All done.'
    ;;
*) echo "Invalid combination of input arguments: $*" >&2; exit 2 ;;
esac
