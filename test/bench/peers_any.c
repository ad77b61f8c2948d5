/* SPDX-License-Identifier: MIT */
#define PEER(name) peer_##name##_any
#include "test/bench/peers_copy.h"
