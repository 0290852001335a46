#!/bin/sh
# nvidia-smi over a report that lies in a folder which the host shares with its containers, as they share the driver.
# While /run/deep/held exists, the GPU's memory stays taken; a reset gives it back once the container is stopped.
held=/run/deep/held
case "$*" in
'-q -x') if [ -e $held ]; then cat /run/deep/held.xml; else cat /run/deep/idle.xml; fi ;;
'-pm '*) echo 'All done.' ;;
'--gpu-reset -i '*)
    echo "$(date +%s.%N) $*" >> /run/deep/resets
    if [ -e $held ] && [ "$(pct status 174)" = 'status: running' ]; then
        printf 'The following GPUs could not be reset:\n  GPU 00000000:1A:00.0: In use by another client\n\n'
        echo '1 device is currently being used by one or more other processes (e.g., Fabric Manager, CUDA application).'
        exit 255
    fi
    rm -f $held
    printf 'GPU 00000000:%s:00.0 was successfully reset.\n' 1A 1B
    echo 'All done.'
    ;;
*) echo "Invalid combination of input arguments: $*" >&2; exit 2 ;;
esac
