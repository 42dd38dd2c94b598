// SPDX-License-Identifier: GPL-2.0
/*
 * Runs KUnit suites in a program: those that its arguments name, or all. Each result is a
 * line of TAP; each parameter of a case has its own.
 */
#include <kunit/test.h>
#include "native.h"

struct shim_memory {
	struct shim_memory *next;

	u64 bytes[];
};

static struct kunit_suite *suites;
static unsigned int results, failures;

void shim_register(struct kunit_suite *suite)
{
	suite->next = suites;
	suites = suite;
}

void *kunit_kzalloc(struct kunit *test, size_t size, int flags)
{
	struct shim_memory *m = calloc(1, sizeof(*m) + size);

	m->next = test->memory;
	test->memory = m;
	return m->bytes;
}

static void print_note(const char *format, va_list args)
{
	char text[1024], *rest = text, *line;

	vsnprintf(text, sizeof(text), format, args);
	while ((line = strsep(&rest, "\n")))
		if (*line)
			printf("# %s\n", line);
}

void shim_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_note(format, args);
	va_end(args);
}

void shim_failed(const char *file, int line, const char *format, ...)
{
	va_list args;

	printf("# %s:%d: expected\n", file, line);
	va_start(args, format);
	print_note(format, args);
	va_end(args);
}

void shim_fail(struct kunit *test, bool ends)
{
	test->failed = true;
	if (ends)
		longjmp(test->end, 1);
}

#undef snprintf
int shim_snprintf(char *buf, size_t size, const char *format, ...)
{
	char *copy = strdup(format), *at;
	va_list args;
	int n;

	/* A length and a text: they are escaped when they are printed. */
	while ((at = strstr(copy, "%*pE")))
		memcpy(at, "%.*s", 4);
	va_start(args, format);
	n = vsnprintf(buf, size, copy, args);
	va_end(args);
	free(copy);
	return n;
}

/* Prints a name in which TAP sees no mark of its own. */
static void print_name(const char *name)
{
	for (; *name; name++) {
		if (*name == '#')
			printf("no. ");
		else if (*name >= ' ' && *name <= '~')
			putchar(*name);
		else
			printf("\\x%02x", (u8)*name);
	}
}

static void print_result(const struct kunit_suite *suite, const struct kunit_case *c,
			 const char *desc, const struct kunit *test)
{
	printf("%sok %u - %s.%s", test->failed ? "not " : "", ++results, suite->name, c->name);
	if (*desc) {
		putchar('.');
		print_name(desc);
	}
	if (test->skipped)
		printf(" # SKIP %s", test->skipped);
	putchar('\n');
	fflush(stdout);
	failures += test->failed;
}

static void run_one(struct kunit_suite *suite, struct kunit_case *c, const void *param,
		    const char *desc)
{
	struct kunit test = { .param_value = param };
	char name[128];
	struct shim_memory *m;

	snprintf(name, sizeof(name), "%s.%s", suite->name, c->name);
	test.skipped = native_skips(name);
	if (!test.skipped && !setjmp(test.end)) {
		if (suite->init)
			suite->init(&test);
		c->run_case(&test);
	}
	if (suite->exit)
		suite->exit(&test);
	while ((m = test.memory)) {
		test.memory = m->next;
		free(m);
	}
	print_result(suite, c, desc, &test);
}

static void run_case(struct kunit_suite *suite, struct kunit_case *c)
{
	char desc[KUNIT_PARAM_DESC_SIZE];
	const void *param = NULL;

	if (!c->generate_params) {
		run_one(suite, c, NULL, "");
		return;
	}
	while ((param = c->generate_params(param, desc)))
		run_one(suite, c, param, desc);
}

/* Prints how often a case was interrupted, if it was. */
static void print_passes(const struct kunit_suite *suite, const struct kunit_case *c, double start)
{
	u64 passes = native_passes();
	double seconds = native_seconds() - start;

	if (passes)
		printf("# %s.%s: %llu passes in %.2f s, %.0f a second\n", suite->name, c->name,
		       passes, seconds, passes / seconds);
}

static void run_suite(struct kunit_suite *suite)
{
	struct kunit_case *c;
	double start;

	if (suite->suite_init && suite->suite_init(suite)) {
		printf("not ok %u - %s: it does not begin\n", ++results, suite->name);
		failures++;
		return;
	}
	for (c = suite->test_cases; c->run_case; c++) {
		start = native_seconds();
		run_case(suite, c);
		print_passes(suite, c, start);
	}
	if (suite->suite_exit)
		suite->suite_exit(suite);
}

int main(int argc, char **argv)
{
	struct kunit_suite *suite;
	int i;

	for (suite = suites; suite; suite = suite->next) {
		for (i = 1; i < argc && strcmp(argv[i], suite->name); i++)
			;
		if (argc == 1 || i < argc)
			run_suite(suite);
	}
	printf("1..%u\n", results);
	return failures || !results;
}
