# Run a command with all of the disk read-only but one folder, without network, without a sight of other processes or devices:
#   unshare --user --map-root-user --net --mount --pid --fork --kill-child sh walls.sh FOLDER COMMAND ...
# Ends with 125 where the system does not allow it.
work=$1
shift
mount --make-rprivate / && mount --bind "$work" "$work" || exit 125
while read -r _ _ _ _ point flags _; do
    point=$(printf '%b' "$point") # a blank stands there as \040
    [ "$point" = "$work" ] && continue
    case ",$flags," in *,ro,*) continue ;; esac
    mount -o "remount,bind,ro,${flags#rw,}" "$point" 2>/dev/null || exit 125
done </proc/self/mountinfo
mount -t proc proc /proc 2>/dev/null || exit 125 # its own processes only
for point in sys sysrq-trigger irq bus fs; do # what can be set there is the whole system's
    [ ! -e "/proc/$point" ] || { mount -n --bind "/proc/$point" "/proc/$point" && mount -n -o remount,bind,ro "/proc/$point"; } || exit 125
done
dev=$work/.dev # no disk, no screen: who may write to a device is not kept from it by a disk that is read-only
mkdir "$dev" && mount -t tmpfs -o size=64k,mode=755 tmpfs "$dev" && mkdir "$dev/shm" || exit 125
for name in null zero full random urandom; do
    : >"$dev/$name" && mount --bind "/dev/$name" "$dev/$name" || exit 125
done
ln -s /proc/self/fd "$dev/fd" && mount -n --move "$dev" /dev && mount -o remount,bind,ro /dev && rmdir "$dev" || exit 125
ip link set lo up 2>/dev/null || exit 125 # a kernel is spoken to through the loopback address of this namespace
cd "$work" || exit 125
exec unshare --user --map-root-user --mount -- "$@" # one level deeper nobody can make the disk writable again
