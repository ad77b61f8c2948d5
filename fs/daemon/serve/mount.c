/* SPDX-License-Identifier: MIT */
#include "fs/daemon/serve/mount.h"

struct mount *the_mount;
