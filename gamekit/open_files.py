"""The limit of open files of this process, which many connections reach: raised, or said."""

from __future__ import annotations

import errno
import resource

from gamekit.errors import MachineRefused

# More than any load needs. Some programs that inherit it walk through all that it allows.
_ENOUGH = 65_536


def out_of_files(error: OSError) -> bool:
    """Whether no connection could be made because of open files of this machine, not the server."""
    return error.errno in (errno.EMFILE, errno.ENFILE)


def raise_limit() -> bool:
    """Raise the soft limit as far as this process may; returns whether there is more room now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return True


def refusal(error: OSError) -> MachineRefused:
    """What to tell where there is no more room."""
    if error.errno == errno.ENFILE:
        return MachineRefused(
            "this machine has too many open files for another connection",
            mend="end what holds them, or raise fs.file-max (sysctl), or lower the concurrency",
        )
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MachineRefused(
        f"this process may have no more than {soft} open files, and needs one a connection",
        mend=f"raise the hard limit of {hard} (ulimit -Hn), then: ulimit -n NUMBER; or lower the"
        " concurrency",
    )


def refused(error: BaseException) -> MachineRefused | None:
    """What this machine refused, where that is what the error says."""
    if isinstance(error, OSError) and out_of_files(error):
        return refusal(error)
    return error if isinstance(error, MachineRefused) else None
