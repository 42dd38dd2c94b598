// SPDX-License-Identifier: GPL-2.0
/* The namespace of an import is a token, and a string from 6.13 on (cdd30ebb1b9f). */
#include <linux/module.h>
#include "probes/try.h"

TRY(MODULE_IMPORT_NS(TALLY), MODULE_INFO(probe, "TALLY"), MODULE_INFO(probe, TALLY));
