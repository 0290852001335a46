#!/bin/sh
# What many operators run on a GPU node, and what `fleetops sweep` is measured against: a health script that grew over
# the years. It reads about the same things, and does so as such scripts do: a process or two for each number, and
# some for each process that it looks at.
host=$(hostname)
now=$(date '+%Y-%m-%d %H:%M:%S')
kernel=$(uname -r)
boot=$(cat /proc/sys/kernel/random/boot_id)
machine=$(cat /etc/machine-id 2>/dev/null)
up=$(cut -d. -f1 /proc/uptime)
load=$(awk '{print $1}' /proc/loadavg)
cores=$(grep -c '^processor' /proc/cpuinfo)
echo "host $host at $now kernel $kernel boot $boot machine $machine up ${up}s load $load cores $cores"

total=$(awk '/^MemTotal:/ {print $2}' /proc/meminfo)
available=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
shared=$(awk '/^Shmem:/ {print $2}' /proc/meminfo)
swap_total=$(awk '/^SwapTotal:/ {print $2}' /proc/meminfo)
swap_free=$(awk '/^SwapFree:/ {print $2}' /proc/meminfo)
percent=$((100 - available * 100 / total))
echo "memory $percent% used, $available of $total kB available, $shared shared"
echo "swap $((swap_total - swap_free)) kB used"
if [ "$percent" -gt 95 ]; then
  echo "CRITICAL: memory"
fi
oom=$(grep '^oom_kill ' /proc/vmstat | cut -d' ' -f2)
echo "oom kills ${oom:-0}"

for folder in / /tmp /dev/shm; do
  used=$(df -P "$folder" 2>/dev/null | awk 'NR == 2 {print $5}')
  inodes=$(df -Pi "$folder" 2>/dev/null | awk 'NR == 2 {print $5}')
  echo "disk $folder ${used:-?} used, ${inodes:-?} of its inodes"
  case $used in
    9[0-9]% | 100%) echo "CRITICAL: disk $folder" ;;
  esac
done
echo "file systems read only: $(grep '^/dev/' /proc/mounts | grep -c ' ro,')"

zombies=$(ps -eo stat= | grep -c '^Z')
waiting=$(ps -eo stat= | grep -c '^D')
echo "processes $(ps -e | wc -l), zombies $zombies, in D $waiting"
if [ "$zombies" -gt 0 ]; then
  ps -eo pid=,ppid=,stat=,comm= | grep ' Z' | head -5
fi

for pid in $(ps -eo pid=,args= | grep -E 'sglang|vllm' | grep -v grep | awk '{print $1}' | head -8); do
  state=$(awk '/^State:/ {print $2}' "/proc/$pid/status" 2>/dev/null)
  rss=$(awk '/^VmRSS:/ {print $2}' "/proc/$pid/status" 2>/dev/null)
  devices=$(ls -l "/proc/$pid/fd" 2>/dev/null | grep -c '/dev/nvidia')
  echo "engine $pid state ${state:-?} rss ${rss:-0} kB devices $devices"
done

if command -v nvidia-smi >/dev/null 2>&1; then
  gpus=$(nvidia-smi -L | wc -l)
  used=$(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | sort -n | tail -1)
  hot=$(nvidia-smi --query-gpu=temperature.gpu --format=csv,noheader | sort -n | tail -1)
  echo "gpus $gpus, memory used at most $used MiB, $hot C at most"
else
  echo "gpus: no nvidia-smi"
fi
xids=$(dmesg 2>/dev/null | grep -c 'NVRM: Xid')
errors=$(dmesg 2>/dev/null | grep -ciE 'hardware error|i/o error|segfault')
echo "kernel log: $xids Xids, $errors errors"

ports=$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk '$4 == "0A"' | wc -l)
served=$(awk '$4 == "0A" {print $2}' /proc/net/tcp | grep -c ':7530$')
echo "ports listening $ports, 30000 $served"
segments=$(ls /dev/shm 2>/dev/null | wc -l)
sysv=$(wc -l </proc/sysvipc/shm)
echo "shared memory: $segments files, $sysv lines of segments"
failed=$(systemctl --failed --no-legend 2>/dev/null | wc -l)
files=$(awk '{print $1}' /proc/sys/fs/file-nr)
echo "units failed $failed, open files $files"
echo "sshd processes $(ps -eo comm= | grep -c '^sshd')"
echo "probe complete"
