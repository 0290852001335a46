#!/bin/sh
# The first process of the deep lab's Proxmox host: started in namespaces of its own (mount, pid, net, uts, ipc, cgroup),
# it makes the root, the network and the services of the host, says `up`, and reaps whatever is orphaned there.
# With it everything of the lab ends: processes, containers, mounts and links are in its namespaces alone.
# $1 an empty folder; $2 what is laid over the root; $3 folders that nobody there must see, separated by colons; the rest:
# the guests' ids.
set -eu
work=$1 files=$2 masked=$3
shift 3

mount --make-rprivate /
mount -t tmpfs -o mode=755 fleetops-deep "$work"
mkdir "$work/mask" "$work/top" "$work/base" "$work/scratch" "$work/root"
python3 -I -S -c '
import os, sys
top, masked = sys.argv[1], sys.argv[2].split(":")
for one in masked:
    os.makedirs(top + one, exist_ok=True)
    os.setxattr(top + one, "trusted.overlay.opaque", b"y")
' "$work/mask" "$masked"
# What every root here lies above: the files of this machine without anybody'"'"'s own.
mount -t overlay -o ro,lowerdir="$work/mask:/" base "$work/base"
mount -t overlay -o lowerdir="$work/mask:/",upperdir="$work/top",workdir="$work/scratch" root "$work/root"
root=$work/root
cp -a "$files/." "$root/"
mkdir -p "$root/run/netns" "$root/run/sshd" "$root/run/qemu-server" "$root/run/lock/qemu-server" "$root/tmp"
chmod 1777 "$root/tmp"

mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=755 dev "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm"
mknod -m 666 "$root/dev/null" c 1 3
mknod -m 666 "$root/dev/zero" c 1 5
mknod -m 666 "$root/dev/full" c 1 7
mknod -m 666 "$root/dev/random" c 1 8
mknod -m 666 "$root/dev/urandom" c 1 9
mknod -m 666 "$root/dev/tty" c 5 0
mknod -m 666 "$root/dev/fuse" c 10 229
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
: > "$root/dev/nvidia0"
: > "$root/dev/nvidia1"

mount -t tmpfs -o mode=755 cgroup "$root/sys/fs/cgroup"
grep -v '^0:' /proc/self/cgroup | cut -d: -f2 | while read -r controllers; do
    name=${controllers#name=}
    mkdir "$root/sys/fs/cgroup/$name"
    mount -t cgroup -o "$controllers" cgroup "$root/sys/fs/cgroup/$name"
done

mkdir "$root/run/base" "$root/run/nodes"
mount --move "$work/base" "$root/run/base"
mount -t tmpfs -o mode=755 nodes "$root/run/nodes"
mkdir "$root/run/outside"
cd "$root"
pivot_root . run/outside
umount -l /run/outside
cd /

hostname pve-01
ip link set lo up
ip link add vmbr0 type bridge
ip address add 10.99.0.1/24 dev vmbr0
ip link set vmbr0 up
join() {  # join NAME ADDRESS: a network of its own, on the host's bridge, without a default route
    ip netns add "$1"
    ip link add "v$1" type veth peer name eth0 netns "$1"
    ip link set "v$1" master vmbr0 up
    ip -n "$1" link set lo up
    ip -n "$1" address add "$2/24" dev eth0
    ip -n "$1" link set eth0 up
}
join operator 10.99.0.2
for each in "$@"; do
    join "n$each" "10.99.0.$each"
done
mkdir -p /var/lib/lxcfs
lxcfs --pidfile=/run/lxcfs.pid /var/lib/lxcfs > /run/lxcfs.log 2>&1 &
/usr/sbin/sshd -D -E /run/sshd.log &
echo up
while :; do wait; sleep 1; done
