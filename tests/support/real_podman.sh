# A host of its own with nothing but Podman's containers: namespaces of mounts and processes over this machine's programs.
# What it writes stays in memory; it ends when this script is killed.
set -e
exec unshare --mount --pid --fork --kill-child=KILL --propagation private sh -ec '
    mount -t proc proc /proc
    # crun refuses a second hierarchy beside those of version 1; without it, it takes the machine for one of version 1.
    [ ! -d /sys/fs/cgroup/unified ] || umount /sys/fs/cgroup/unified 2>/dev/null || true
    mkdir -p /var/lib/containers /etc/containers
    for folder in /run /tmp /opt /var/lib/containers /etc/containers; do mount -t tmpfs tmpfs "$folder"; done
    mkdir /run/empty
    printf "[storage]\ndriver = \"vfs\"\nrunroot = \"/run/containers/storage\"\ngraphroot = \"/var/lib/containers/storage\"\n" \
        > /etc/containers/storage.conf
    files=$(awk "/^Max open files/ { print \$5 }" /proc/self/limits)
    tasks=$(awk "/^Max processes/ { print \$4 }" /proc/self/limits)
    [ "$files" != unlimited ] || files=1024
    [ "$tasks" != unlimited ] || tasks=1024
    printf "[containers]\ncgroups = \"disabled\"\nnetns = \"host\"\nlog_driver = \"k8s-file\"\ndefault_ulimits = [\"nofile=%s:%s\", \"nproc=%s:%s\"]\n[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"none\"\n" \
        "$files" "$files" "$tasks" "$tasks" > /etc/containers/containers.conf
    printf "{\"default\": [{\"type\": \"insecureAcceptAnything\"}]}" > /etc/containers/policy.json
    tar -C /run/empty -c . | podman import --quiet - lab/bare:1 > /run/said 2>&1
    : > /run/up
    while :; do sleep 1 & wait $!; done
'
