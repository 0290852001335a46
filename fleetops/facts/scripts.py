"""Shell fragments that several facts share. They are constant; data reaches a script as `$1`, `$2`, ... only.

Written for POSIX `sh` with the tools that Debian always has (grep, find, xargs, timeout, tr, sed).
"""

PLAIN_TEXT = """\
LC_ALL=C
export LC_ALL
"""

ZOMBIE_TASKS = """\
zombie_tasks() {
  for status in $(grep -sl '^State:[[:space:]]*Z' /proc/[0-9]*/status); do
    for task in "${status%status}"task/[0-9]*; do
      if [ -d "$task" ]; then printf '%s\\n' "$task"; fi
    done
  done
}
"""
"""`zombie_tasks`: the thread folders of all zombies. A leader that is a zombie may have threads that live, and
only these show what it holds: /proc/PID/fd is empty (measured, as is that fuser and lsof miss it)."""

LINKS = (
    ZOMBIE_TASKS
    + """\
descriptor_folders() {
  printf '%s\\n' /proc/[0-9]*/fd
  zombie_tasks | sed 's|$|/fd|'
}
entries() {
  if find / -maxdepth 0 -lname x -printf '' 2>/dev/null; then
    xargs sh -c '
      pattern=$1
      shift
      find "$@" -lname "$pattern" -printf "%p %l\\0"' links "$1" | tr '\\n\\000' '\\037\\n'
  else
    xargs ls -l | awk '
      /^\\/proc\\/.*:$/ { folder = substr($0, 1, length($0) - 1) }
      / -> / {
        arrow = index($0, " -> ")
        count = split(substr($0, 1, arrow - 1), words, " ")
        print folder "/" words[count] " " substr($0, arrow + 4)
      }'
  fi
}
refused() {
  sed -n 's|.*\\(/proc/[0-9][0-9a-z/]*/fd\\).*ermission denied.*|\\1|p' | sort -u |
    while IFS= read -r folder; do
      if grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "${folder%fd}status"; then echo "$folder"; fi
    done
}
links() {
  {
    left=$(descriptor_folders | entries "$1" 2>&1 >&3 | refused)
    for pause in 0.02 0.1 0.3; do
      if [ -z "$left" ]; then break; fi
      sleep "$pause"
      left=$(printf '%s\\n' "$left" | entries "$1" 2>&1 >&3 | refused)
    done
    for folder in $left; do echo "$folder: Permission denied" >&2; done
  } 3>&1
}
"""
)
"""`links PATTERN`: one line `/proc/PID/fd/N TARGET` for each open descriptor whose target matches. Where find knows
no -printf (BusyBox), every descriptor comes and the parser chooses. Between joining a namespace or changing its user
and its next exec a process is closed even to root (ptrace_may_access: it is not dumpable): who is refused is asked
again for a moment, and only what stays closed is an error. A dead thread has no files, and Linux (seen on 6.18) closes
its folder to a user namespace's root: it is not asked again, its living threads have folders of their own."""

RETRIED = """\
retried() {
  printf '%s\\n' "$@" | xargs sh -c '
    pattern=$1
    shift
    timeout -k 1 3 grep -saH "$pattern" "$@"
    test $? -lt 124' retried "$pattern" && return
  printf '\\nretry\\n'
  printf '%s\\n' "$@" | xargs -n 1 sh -c '
    timeout -k 1 1 grep -saH "$1" "$2"
    if test $? -ge 124; then printf "\\nblocked %s\\n" "$2"; fi' retried "$pattern"
}
"""
"""`pattern=...; retried FILES`: the matching lines of files that may block for ever (what needs a process's memory
map waits for its lock, and a rank that hangs in the driver can hold that). All at once first; where that hangs, the
line `retry` and each file again with its own second; for one that blocks the line `blocked FILE`."""
