"""Namespaces and the private root (tiers T1 and T3).

Covered: own user, network (no interface), IPC, UTS and mount namespace for the zygote, and for each job an own pid
and mount namespace; the file system is a fresh tmpfs holding read-only binds of the toolchain and the interpreter,
nothing else: no home, no run folder, no /sys. When root, the real identity is given up for a private uid first.
Not covered: kernel bugs.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

from kernellab.sandbox import libc

SYSTEM_TREES = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
SCRATCH = "/scratch"
PROCESSOR = "/proc/cpuinfo"  # where gcc finds what -march=native means on aarch64; x86-64 asks the processor itself

_MOUNT_SETATTR = 442
_AT_RECURSIVE, _AT_FDCWD = 0x8000, -100
_RDONLY_NOSUID_NODEV = 1 | 2 | 4
_PRIVATE_UIDS = range(61_184, 65_000)


def toolchain_trees(extra: tuple[str, ...] = (), modules: Iterable[str] = ()) -> list[str]:
    """What a confined process may read: system libraries, compilers, this interpreter and the packages it needs.

    Of sys.path only folders of packages and those that hold one of `modules`: `python -m` puts the current folder
    there, with whatever lies in it. Never the home folder or one above it.
    """
    home = os.path.realpath(os.path.expanduser("~"))
    packages = [p for p in sys.path if os.path.isabs(p) and _holds_packages(p, {"kernellab", *modules})]
    wanted = [*SYSTEM_TREES, *SYSTEM_FILES, sys.base_prefix, sys.prefix, *packages, *extra]
    trees: list[str] = []
    for path in (p for w in wanted for p in (w, os.path.realpath(w))):
        covered = any(_within(path, tree) for tree in trees)
        if os.path.exists(path) and not covered and not (_within(home, os.path.realpath(path)) and home != "/"):
            trees.append(path)
    return trees


def _within(path: str, tree: str) -> bool:
    return path == tree or path.startswith(tree.rstrip("/") + "/")


def _holds_packages(folder: str, modules: Iterable[str]) -> bool:
    if os.path.basename(folder) in ("site-packages", "dist-packages"):
        return True
    tops = [os.path.join(folder, m.partition(".")[0]) for m in modules]
    return any(os.path.isfile(t + ".py") or os.path.isfile(os.path.join(t, "__init__.py")) for t in tops)


def private_uid() -> int:
    """A user id that owns nothing and nobody else is likely to use; differs between runs."""
    return _PRIVATE_UIDS[int.from_bytes(os.urandom(4), "little") % len(_PRIVATE_UIDS)]


def enter(trees: list[str], self_exe: str) -> None:
    """Move this process into its namespaces and its private root."""
    proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY)
    rest = libc.CLONE_NEWUSER | libc.CLONE_NEWNET | libc.CLONE_NEWIPC | libc.CLONE_NEWUTS
    if os.getuid() == 0:
        libc.unshare(libc.CLONE_NEWNS)
        _private_root(trees, self_exe)
        drop_to_private_uid()
        uid, gid = os.getuid(), os.getgid()
        libc.unshare(rest)
        _map_ids(proc, uid, gid)
    else:
        uid, gid = os.getuid(), os.getgid()
        libc.unshare(rest | libc.CLONE_NEWNS)
        _map_ids(proc, uid, gid)
        _private_root(trees, self_exe)
    os.close(proc)


def drop_to_private_uid() -> None:
    """Give up root for good; dumpable again, or the id maps could not be written."""
    uid = private_uid()
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    libc.prctl(libc.PR_SET_DUMPABLE, 1)


def leave_mounts() -> None:
    """In a job, after its pid namespace exists: own mounts from here on."""
    libc.unshare(libc.CLONE_NEWNS | libc.CLONE_NEWIPC)


def mount_scratch(scratch_bytes: int) -> None:
    """A job's own size-limited scratch."""
    options = f"size={scratch_bytes},mode=700,nr_inodes=4096"
    libc.mount("tmpfs", SCRATCH, "tmpfs", libc.MS_NOSUID | libc.MS_NODEV, options)


def freeze_scratch() -> None:
    """A job that only computes writes no files."""
    libc.mount("none", SCRATCH, "", libc.MS_REMOUNT | libc.MS_BIND | libc.MS_RDONLY | libc.MS_NOSUID | libc.MS_NODEV)


def _map_ids(proc: int, uid: int, gid: int) -> None:
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        fd = os.open(f"self/{name}", os.O_WRONLY, dir_fd=proc)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)


def _private_root(trees: list[str], self_exe: str) -> None:
    libc.mount("none", "/", "", libc.MS_REC | libc.MS_PRIVATE)
    root = "/tmp" if os.path.isdir("/tmp") else "/var/tmp"
    # The new root is staged on a tmpfs over a folder that every machine has, seen by this namespace alone. What lies
    # below that folder is then reached through descriptors opened before.
    told = Path(PROCESSOR).read_bytes() if os.uname().machine == "aarch64" else b""
    sources = [(path, os.open(path, os.O_PATH | os.O_NOFOLLOW)) for path in (*trees, *DEVICES) if os.path.lexists(path)]
    libc.mount("tmpfs", root, "tmpfs", libc.MS_NOSUID, "size=1m,mode=755")
    for path, fd in sources:
        _bind(path, fd, root)
        os.close(fd)
    for folder in (SCRATCH, "/proc/self"):
        os.makedirs(root + folder, exist_ok=True)
    Path(root + PROCESSOR).write_bytes(told)
    if self_exe:
        os.symlink(self_exe, root + "/proc/self/exe")
    os.chdir(root)
    libc.syscall("pivot_root", {"x86_64": 155, "aarch64": 41}[os.uname().machine], b".", b".")
    libc.umount(".")
    os.chdir("/")
    _read_only("/", recursive=False)  # or jobs of an ordinary user could leave each other messages there


def _bind(path: str, fd: int, root: str) -> None:
    target = root + path
    os.makedirs(os.path.dirname(target), mode=0o755, exist_ok=True)
    source = f"/proc/self/fd/{fd}"
    if stat.S_ISLNK(os.fstat(fd).st_mode):
        if not os.path.lexists(target):
            os.symlink(os.readlink("", dir_fd=fd), target)
        return
    if os.path.isdir(source):
        os.makedirs(target, mode=0o755, exist_ok=True)
    else:
        open(target, "w").close()
    libc.mount(source, target, "", libc.MS_BIND | libc.MS_REC)
    if not path.startswith("/dev/"):
        _read_only(target)


def _read_only(target: str, recursive: bool = True) -> None:
    attributes = ctypes.create_string_buffer(struct.pack("=QQQQ", _RDONLY_NOSUID_NODEV, 0, 0, 0), 32)
    try:
        libc.syscall("mount_setattr", _MOUNT_SETATTR, _AT_FDCWD, target.encode(), _AT_RECURSIVE if recursive else 0,
                     attributes, 32)  # fmt: skip
    except OSError as err:
        if err.errno != errno.ENOSYS:
            raise
        kept = os.statvfs(target).f_flag & (libc.MS_NOSUID | libc.MS_NODEV | 8)  # locked flags must be repeated
        libc.mount("none", target, "", libc.MS_REMOUNT | libc.MS_BIND | libc.MS_RDONLY | kept)
