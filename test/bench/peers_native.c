/* SPDX-License-Identifier: MIT */
#define PEER(name) peer_##name##_native
#include "test/bench/peers_copy.h"
