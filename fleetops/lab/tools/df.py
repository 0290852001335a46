"""df: a host's disk is as large and as empty as its guest's configuration says, whatever the machine's own has left.

What lies in memory (tmpfs) is told as it is: /dev/shm, and a disk that a breakage has filled. A shell script, since every
sweep asks twice: it runs the machine's own df, which the search path has after this one.
"""

DISK_KB = 512 * 2**20
USED_KB = DISK_KB // 5
_INODES = 33_554_432
_INODES_USED = 1_258_291

SCRIPT = f"""\
#!/bin/sh
PATH=${{PATH#*:}}
told=$(df "$@")
status=$?
printf '%s\\n' "$told" | awk '
  NR == 1 {{ of_inodes = ($2 == "Inodes"); print; next }}
  NF < 6 || $1 == "tmpfs" || $1 == "shm" {{ print; next }}
  {{
    size = of_inodes ? {_INODES} : {DISK_KB}
    used = of_inodes ? {_INODES_USED} : {USED_KB}
    mount = $6
    for (at = 7; at <= NF; at++) mount = mount " " $at
    printf "%s %d %d %d %d%% %s\\n", $1, size, used, size - used, used * 100 / size, mount
  }}'
exit "$status"
"""
