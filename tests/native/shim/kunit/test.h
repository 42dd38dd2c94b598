/* SPDX-License-Identifier: GPL-2.0 */
/* As much of KUnit as the tests use. kunit.c runs them. */
#ifndef TALLY_NATIVE_KUNIT_H
#define TALLY_NATIVE_KUNIT_H

#include <setjmp.h>

#define KUNIT_PARAM_DESC_SIZE	128

/**
 * struct kunit - a case that runs, with one of its parameters
 * @param_value: the parameter
 * @priv: for the suite
 * @failed: an expectation was not met
 * @skipped: why the case was skipped; NULL if it was not
 * @end: where the case goes that cannot go on
 * @memory: memory to be freed after the case
 */
struct kunit {
	const void *param_value;
	void *priv;
	bool failed;
	const char *skipped;
	jmp_buf end;
	struct shim_memory *memory;
};

struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
	const void *(*generate_params)(const void *last, char *desc);
};

struct kunit_suite {
	const char *name;
	int (*suite_init)(struct kunit_suite *suite);
	void (*suite_exit)(struct kunit_suite *suite);
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case *test_cases;
	struct kunit_suite *next;
};

void shim_register(struct kunit_suite *suite);
void *kunit_kzalloc(struct kunit *test, size_t size, int flags);
__printf(3, 4) void shim_failed(const char *file, int line, const char *format, ...);
__printf(1, 2) void shim_note(const char *format, ...);
void shim_fail(struct kunit *test, bool ends);
/* snprintf() that knows the kernel's "%*pE" */
int shim_snprintf(char *buf, size_t size, const char *format, ...);
#define snprintf	shim_snprintf

#define KUNIT_CASE(fn)			{ .run_case = fn, .name = #fn }
#define KUNIT_CASE_PARAM(fn, params)						\
	{ .run_case = fn, .name = #fn, .generate_params = params }
#define KUNIT_ARRAY_PARAM(name, array, describe)				\
	static const void *name##_gen_params(const void *last, char *desc)	\
	{									\
		typeof(&(array)[0]) next = last ? (typeof(next))last + 1 : (array); \
										\
		if (next >= (array) + ARRAY_SIZE(array))			\
			return NULL;						\
		describe(next, desc);						\
		return next;							\
	}
#define kunit_test_suite(suite)							\
	__attribute__((constructor)) static void register_##suite(void)		\
	{									\
		shim_register(&suite);						\
	}									\
	struct kunit_suite
#define kunit_test_suites(suite)						\
	__attribute__((constructor)) static void register_suite(void)		\
	{									\
		shim_register(suite);						\
	}									\
	struct kunit_suite

#define kunit_info(test, ...)		shim_note(__VA_ARGS__)
#define kunit_skip(test, reason)						\
	do {									\
		(test)->skipped = (reason);					\
		longjmp((test)->end, 1);					\
	} while (0)

/* Without a message, the format is empty. */
#define SHIM_FAIL(test, ends, text, ...)					\
	do {									\
		shim_failed(__FILE__, __LINE__, "%s", text);			\
		shim_note("" __VA_ARGS__);					\
		shim_fail(test, ends);						\
	} while (0)
#define SHIM_COMPARE(test, ends, a, op, b, ...)					\
	do {									\
		typeof(a) a_ = (a);						\
		typeof(b) b_ = (b);						\
										\
		if (a_ op b_)							\
			break;							\
		shim_failed(__FILE__, __LINE__, "%s " #op " %s: %lld (%#llx), %lld (%#llx)", \
			    #a, #b, (long long)a_, (long long)a_, (long long)b_,	\
			    (long long)b_);					\
		shim_note("" __VA_ARGS__);					\
		shim_fail(test, ends);						\
	} while (0)
#define SHIM_TRUE(test, ends, condition, ...)					\
	do {									\
		if (!(condition))						\
			SHIM_FAIL(test, ends, #condition, __VA_ARGS__);		\
	} while (0)

#define KUNIT_FAIL(test, ...)			SHIM_FAIL(test, false, "", __VA_ARGS__)
#define KUNIT_EXPECT_EQ(test, a, b)		SHIM_COMPARE(test, false, a, ==, b)
#define KUNIT_EXPECT_NE(test, a, b)		SHIM_COMPARE(test, false, a, !=, b)
#define KUNIT_EXPECT_LT(test, a, b)		SHIM_COMPARE(test, false, a, <, b)
#define KUNIT_EXPECT_LE(test, a, b)		SHIM_COMPARE(test, false, a, <=, b)
#define KUNIT_EXPECT_GT(test, a, b)		SHIM_COMPARE(test, false, a, >, b)
#define KUNIT_EXPECT_GE(test, a, b)		SHIM_COMPARE(test, false, a, >=, b)
#define KUNIT_EXPECT_EQ_MSG(test, a, b, ...)	SHIM_COMPARE(test, false, a, ==, b, __VA_ARGS__)
#define KUNIT_EXPECT_LT_MSG(test, a, b, ...)	SHIM_COMPARE(test, false, a, <, b, __VA_ARGS__)
#define KUNIT_EXPECT_GE_MSG(test, a, b, ...)	SHIM_COMPARE(test, false, a, >=, b, __VA_ARGS__)
#define KUNIT_EXPECT_PTR_EQ(test, a, b)		SHIM_COMPARE(test, false, a, ==, b)
#define KUNIT_EXPECT_PTR_NE(test, a, b)		SHIM_COMPARE(test, false, a, !=, b)
#define KUNIT_EXPECT_PTR_EQ_MSG(test, a, b, ...) SHIM_COMPARE(test, false, a, ==, b, __VA_ARGS__)
#define KUNIT_EXPECT_TRUE(test, x)		SHIM_TRUE(test, false, x)
#define KUNIT_EXPECT_FALSE(test, x)		SHIM_TRUE(test, false, !(x))
#define KUNIT_EXPECT_TRUE_MSG(test, x, ...)	SHIM_TRUE(test, false, x, __VA_ARGS__)
#define KUNIT_EXPECT_FALSE_MSG(test, x, ...)	SHIM_TRUE(test, false, !(x), __VA_ARGS__)
#define KUNIT_EXPECT_NULL(test, x)		SHIM_TRUE(test, false, !(x))
#define KUNIT_EXPECT_NOT_NULL(test, x)		SHIM_TRUE(test, false, x)
#define KUNIT_EXPECT_NOT_NULL_MSG(test, x, ...)	SHIM_TRUE(test, false, x, __VA_ARGS__)
#define KUNIT_EXPECT_STREQ(test, a, b)						\
	do {									\
		const char *a_ = (a), *b_ = (b);				\
										\
		SHIM_TRUE(test, false, a_ && b_ && !strcmp(a_, b_),		\
			  "%s is '%s', not '%s'", #a, a_, b_);			\
	} while (0)
#define KUNIT_ASSERT_EQ(test, a, b)		SHIM_COMPARE(test, true, a, ==, b)
#define KUNIT_ASSERT_EQ_MSG(test, a, b, ...)	SHIM_COMPARE(test, true, a, ==, b, __VA_ARGS__)
#define KUNIT_ASSERT_LE(test, a, b)		SHIM_COMPARE(test, true, a, <=, b)
#define KUNIT_ASSERT_PTR_NE(test, a, b)		SHIM_COMPARE(test, true, a, !=, b)
#define KUNIT_ASSERT_NOT_NULL(test, x)		SHIM_TRUE(test, true, x)
#define KUNIT_ASSERT_FALSE(test, x)		SHIM_TRUE(test, true, !(x))
#define KUNIT_ASSERT_FALSE_MSG(test, x, ...)	SHIM_TRUE(test, true, !(x), __VA_ARGS__)

#endif /* TALLY_NATIVE_KUNIT_H */
