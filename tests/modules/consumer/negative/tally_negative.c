// SPDX-License-Identifier: GPL-2.0
/* Uses tally without importing its namespace, unless IMPORT is defined. */
#include <linux/module.h>
#include <tally/tally.h>

static int __init negative_init(void)
{
	tally_event_release(NULL);
	return 0;
}

static void __exit negative_exit(void)
{
}

module_init(negative_init);
module_exit(negative_exit);
#ifdef IMPORT
MODULE_IMPORT_NS(TALLY);
#endif
MODULE_AUTHOR("The tally developers");
MODULE_DESCRIPTION("Must not build without the namespace TALLY");
MODULE_LICENSE("GPL");
