"""Gives Hadoop a user where the operating system has no name for the user id of this process."""

from __future__ import annotations

import os
import pwd
from typing import Any, Final

NAME: Final = "lagwarden"


def set_login_user(jvm: Any) -> None:
    """Log Hadoop in as `lagwarden` if the user id of this process has no account; `jvm` is PySpark's view of the JVM.

    Spark asks Hadoop for its user, and Hadoop asks the operating system, where a user id without an account is an
    error (`UnixLoginModule`). OpenShift runs each namespace with a user id of its own, which no image can know.
    """
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        user_group_information = jvm.org.apache.hadoop.security.UserGroupInformation
        user_group_information.setLoginUser(user_group_information.createRemoteUser(NAME))
