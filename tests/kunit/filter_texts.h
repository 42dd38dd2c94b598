/* SPDX-License-Identifier: GPL-2.0 */
/* Texts of filters, for the fields of filter_event.h. */
#ifndef FILTER_TEXTS_H
#define FILTER_TEXTS_H

#include <linux/errno.h>

/* Texts that are accepted. */
struct good {
	const char *text;
};

static const struct good good[] = {
	{ "s8 == 1" }, { "s8 == -1" }, { "s8 == 0xff" }, { "s8 == 255" },
	{ "s8 < 0" }, { "s8 <= -1" }, { "s8 > 1" }, { "s8 >= 127" }, { "s8 & 0x80" },
	{ "s8 != 3" }, { "s8 == 257" },
	{ "u8 == 255" }, { "u8 > 127" }, { "u8 < 0x80" }, { "u8 == 256" },
	{ "u8 & 1" }, { "u8 & 256" }, { "u8 != 0" },
	{ "s16 < -1" }, { "s16 == -32768" }, { "s16 > 255" }, { "s16 & 0x8000" },
	{ "u16 >= 32768" }, { "u16 <= 0xff" }, { "u16 == 65535" },
	{ "s32 < 0" }, { "s32 == -1" }, { "s32 > 0x7ffffffe" }, { "s32 & 0x80000000" },
	{ "s32 == 4294967295" }, { "s32 != -1" },
	{ "u32 > 2147483647" }, { "u32 == 0xffffffff" }, { "u32 & 3" },
	{ "s64 < 0" }, { "s64 == -9223372036854775808" }, { "s64 >= 9223372036854775807" },
	{ "s64 <= -100" }, { "u64 > 0x7fffffffffffffff" },
	{ "u64 == 18446744073709551615" }, { "u64 & 0x8000000000000000" }, { "u64==010" },
	{ "pair == 1" }, { "pair < 100" }, { "odd == 1" }, { "odd != 1" },
	{ "numbers == 1" }, { "mask & 0x40" }, { "ptr == 0" }, { "ip > 5" },
	{ "name == sh" }, { "name == \"sh\"" }, { "name == 'sh'" },
	{ "name != \"sh\"" }, { "name == \"\"" }, { "name ~ \"\"" }, { "name ~ \"*\"" },
	{ "name ~ \"**\"" }, { "name ~ \"sh*\"" }, { "name ~ \"*sh\"" },
	{ "name ~ \"*sh*\"" }, { "name ~ \"!sh*\"" }, { "name ~ '!*a*'" },
	{ "name ~ \"a*b\"" }, { "name ~ \"?h*\"" }, { "name ~ \"[a-b]*\"" },
	{ "name ~ \"[!a-b]*\"" }, { "name ~ '[!a-b]'" }, { "name ~ 's[!x]*[!y]'" },

	{ "dyn ~ '*[!b]'" }, { "rel ~ 'a[!c][!d][!e]*'" }, { "ptr ~ 's[!x]*[!x]'" },
	{ "name ~ \"*[\"" }, { "name ~ \"[x\"" },
	{ "name ~ \"\\\\[x]\"" }, { "name ~ \"12*\"" }, { "name ~ \"aaaaaaaaaaaa\"" },
	{ "name ~ \"*a*a*a*a*\"" }, { "name ~ \"abc*cab\"" }, { "name == \"aaaaaaaaaaaaa\"" },
	{ "dyn == \"shell\"" }, { "dyn != \"shell\"" }, { "dyn ~ \"*ell\"" },
	{ "dyn ~ \"sh*\"" }, { "dyn ~ \"*h*\"" }, { "dyn ~ \"s?ell\"" }, { "dyn ~ \"!\"" },
	{ "dyn ~ \"*\"" }, { "dyn == \"\"" }, { "dyn ~ \"a[!b]b\"" }, { "dyn ~ \"x\\\\*\"" },
	{ "dyn.ustring == \"a\"" }, { "dyn ~ \"b*s*\"" },
	{ "rel == \"bash\"" }, { "rel ~ \"*as*\"" }, { "rel ~ \"*b\"" }, { "rel ~ \"k*0:?\"" },
	{ "rel != \"bash\"" }, { "rel ~ \"ab\\\\*\"" },
	{ "ptr == \"a.out\"" }, { "ptr ~ \"*.*\"" }, { "ptr ~ \"*t\"" }, { "ptr ~ \"a*\"" },
	{ "ptr != \"a.out\"" }, { "ptr ~ \"a.[o]ut\"" }, { "ptr.ustring == \"a\"" },
	{ "user == \"a\"" }, { "user.ustring != \"a\"" },
	{ "comm == \"a\"" }, { "COMM != \"a\"" }, { "comm ~ \"kunit*\"" },
	{ "comm ~ \"*try_catch*\"" }, { "comm ~ \"?unit*\"" },
	{ "CPU == 0" }, { "cpu >= 1" }, { "cpu & 1" }, { "common_cpu < 1" },
	{ "CPU != -1" }, { "cpu <= 4294967296" },
	{ "common_pid != 1" }, { "common_type & 1" }, { "common_flags == 0xff" },
	{ "common_preempt_count > 2" }, { "common_pid < 0" },
	{ "stacktrace == 1" }, { "STACKTRACE < 7" },
	{ "s32 == 1 && u32 > 5" }, { "s32 == 1 || u32 > 5" }, { "!s32 == 1" },
	{ "!!s32 == 1" }, { "!(s32 == 1)" }, { "! ( ! s32 == 1 )" },
	{ "!(s32 == 1 && u32 > 5)" }, { "!(s32 == 1 || u32 > 5)" },
	{ "s32 == 1 || u32 > 5 && u8 < 9" }, { "(s32 == 1 || u32 > 5) && u8 < 9" },
	{ "s8<0 && !(!u8&1 || (s16>1 && u16<9)) || s32==1 || u32>7 && !s64==5" },
	{ "(((s8<0)))||((u8&1)&&((s16>1)||(u16<9)&&!(s32==1)))" },
	{ "!(!(!(s8<0||u8&1)&&s16>1)||u16<9)&&(s32<0||s64<0)" },
	{ "s8<0||u8&1||s16>1||u16<9||s32==1||u32>7" },
	{ "s8<0&&u8&1||s16>1&&u16<9||s32==1&&u32>7" },
	{ "(s8<0||u8&1)&&(s16>1||u16<9)&&(s32==1||u32>7)" },
	{ "  u8\t==\n1  " }, { "u8==1&&name~'*'||dyn!=\"(&&\"" }, { "name == 'a\"b'" },
};

/* Texts that are refused, with their errno. */
struct refused {
	const char *text;
	int err;
};

static const struct refused refused[] = {
	{ "", -EINVAL },
	{ "  ", -EINVAL },
	{ "()", -EINVAL },
	{ "u8 == 1)", -EPERM },
	{ "(u8 == 1", -ENOENT },
	{ "((u8 == 1) && s8 == 1", -ENOENT },
	{ "name == \"a", -ESRCH },
	{ "name == 'a\"", -ESRCH },
	{ "frob == 1", -EINVAL },
	{ "u == 1", -EINVAL },
	{ "u88 == 1", -EINVAL },
	{ "== 1", -EPERM },
	{ "1 == u8", -EINVAL },
	{ "u8", -EINVAL },
	{ "u8 1", -EINVAL },
	{ "u8 = 1", -EINVAL },
	{ "u8 !~ 1", -EINVAL },
	{ "u8 === 1", -EINVAL },
	{ "u8 == ", -EINVAL },
	{ "u8 == a", -EINVAL },
	{ "u8 == +1", -EINVAL },
	{ "u8 == 1x", -EINVAL },
	{ "u8 == -1", -EINVAL },
	{ "s64 == 9223372036854775808", -EINVAL },
	{ "u64 == 18446744073709551616", -EINVAL },
	{ "u64 == 0x0000000000000000000001", -EINVAL },
	{ "u8 == 09", -EINVAL },
	{ "s8 == -", -EINVAL },
	{ "s8 == --1", -EINVAL },
	{ "u8 ~ 1", -EINVAL },
	{ "u8 == \"1\"", -EINVAL },
	{ "name == 1", -EINVAL },
	{ "comm == 1", -EINVAL },
	{ "name < \"a\"", -EINVAL },
	{ "name & 'a'", -EINVAL },
	{ "stacktrace == 'a'", -EINVAL },
	{ "cpu == 'a'", -EINVAL },
	{ "u8 == 1 &&", -EINVAL },
	{ "u8 == 1 || ", -EINVAL },
	{ "!", -EINVAL },
	{ "u8 == 1 && !", -EINVAL },
	{ "u8 == 1 || s8 == 1 &&", -EINVAL },
	{ "&& u8 == 1", -EPERM },
	{ "u8 == 1 && && s8 == 1", -EPERM },
	{ "u8 == 1 &&& s8 == 1", -EPERM },
	{ "u8 == 1 & s8 == 1", -EPERM },
	{ "u8 == 1 | s8 == 1", -EPERM },
	{ "u8 == 1 s8 == 1", -EPERM },
	{ "u8 == 1 !s8 == 1", -EPERM },
	{ "(u8 == 1) (s8 == 1)", -EPERM },
	{ "(u8 == 1) && ()", -EPERM },
	{ "(u8) == 1", -EINVAL },
	{ "u8 == 1.5", -EPERM },
	{ "u8.x == 1", -EINVAL },
	{ "u8 == 1 \xff", -EPERM },
};

/* Texts with operands of the kernel's filters that tally does not have: EINVAL. */
static const char *const left_out[] = {
	"pair == CPUS{1}", "u8 & CPUS{0}", "s32 != CPUS{0,1}", "cpu == CPUS{0}",
	"mask & CPUS{0-1}", "mask == CPUS{0}", "u8 == 1 || mask != CPUS{1}",
	"ip.function == schedule", "ip.function != schedule", "s64.function != vfs_read",
	"u8 == 1 && ip.function == schedule",
};

#endif /* FILTER_TEXTS_H */
