# systemd itself as the first process of namespaces of its own, over this machine's programs: $1 a folder, $2 and $3 cgroups
# of version 1 (systemd's hierarchy, memory), the rest folders to be seen in it. What it writes stays in memory; it ends when this script is killed.
set -e
for folder in "$2" "$3"; do
    mkdir -p "$folder"
    echo $$ > "$folder/cgroup.procs"
done
base=$1
shift 3
exec unshare --pid --mount --uts --ipc --net --cgroup --fork --kill-child=KILL --propagation private sh -ec '
    base=$1 root=$1/root
    shift
    mount -t tmpfs tmpfs "$base"
    mkdir "$base/upper" "$base/work" "$root"
    mount -t overlay overlay -o "lowerdir=/,upperdir=$base/upper,workdir=$base/work" "$root"
    mount -t proc proc "$root/proc"
    mount --bind "$root/proc/sys" "$root/proc/sys"
    mount -o remount,bind,ro "$root/proc/sys"
    for name in run tmp dev sys; do mount -t tmpfs tmpfs "$root/$name"; done
    for name in null zero full random urandom tty; do
        : > "$root/dev/$name"
        mount --bind "/dev/$name" "$root/dev/$name"
    done
    mkdir -p "$root/dev/shm" "$root/dev/pts" "$root/sys/fs/cgroup" "$root/tmp/old"
    mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
    mkdir "$root/sys/fs/cgroup/systemd" "$root/sys/fs/cgroup/memory"
    mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
    mount -t cgroup -o memory cgroup "$root/sys/fs/cgroup/memory"
    for folder; do
        mkdir -p "$root$folder"
        mount --bind "$folder" "$root$folder"
    done
    units=$root/etc/systemd/system
    rm -rf "$units"
    mkdir -p "$units"
    printf "[Unit]\nDescription=nothing but the bus\nWants=dbus.socket\n" > "$units/default.target"
    for name in systemd-journald.socket systemd-journald-dev-log.socket systemd-journald-audit.socket \
        systemd-journald.service systemd-journal-flush.service systemd-udevd.service systemd-udevd-control.socket \
        systemd-udevd-kernel.socket systemd-logind.service systemd-networkd.service dev-hugepages.mount \
        dev-mqueue.mount sys-kernel-debug.mount systemd-tmpfiles-setup.service systemd-sysusers.service; do
        ln -s /dev/null "$units/$name"
    done
    cd "$root"
    pivot_root . tmp/old
    umount -l /tmp/old
    exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=null --show-status=0
' sh "$base" "$@" > "$base/said" 2>&1
