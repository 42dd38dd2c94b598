// SPDX-License-Identifier: GPL-2.0
/* The functions of kernel.h: text, memory, and threads that are interrupted. */
#include <sys/mman.h>
#include <sys/uio.h>
#include "native.h"

/* ---- text ---- */

int shim_unsigned(const char *text, int base, u64 *value)
{
	char *end;

	text += *text == '+';
	if (!isxdigit(*text))
		return -EINVAL;
	errno = 0;
	*value = strtoull(text, &end, base);
	end += *end == '\n';
	return *end ? -EINVAL : -errno;
}

int shim_signed(const char *text, int base, s64 *value)
{
	bool negative = *text == '-';
	u64 n;
	int err = shim_unsigned(text + negative, base, &n);

	if (err || (negative && text[1] == '+'))
		return err ?: -EINVAL;
	if (n > (u64)S64_MAX + negative)
		return -ERANGE;
	*value = negative ? -n : n;
	return 0;
}

ssize_t strscpy(char *to, const char *from, size_t size)
{
	size_t len = strnlen(from, size);

	if (!size)
		return -E2BIG;
	memcpy(to, from, min(len, size - 1));
	to[min(len, size - 1)] = '\0';
	return len < size ? (ssize_t)len : -E2BIG;
}

size_t strlcat(char *to, const char *from, size_t size)
{
	size_t len = strlen(to);

	strscpy(to + len, from, size - len);
	return len + strlen(from);
}

char *strnstr(const char *text, const char *part, size_t len)
{
	return memmem(text, strnlen(text, len), part, strlen(part));
}

char *strreplace(char *text, char old, char new)
{
	char *at;

	for (at = text; *at; at++)
		if (*at == old)
			*at = new;
	return text;
}

char *skip_spaces(const char *text)
{
	while (isspace(*text))
		text++;
	return (char *)text;
}

char *strim(char *text)
{
	size_t len = strlen(text);

	while (len && isspace(text[len - 1]))
		text[--len] = '\0';
	return skip_spaces(text);
}

int match_string(const char *const *words, size_t n, const char *word)
{
	size_t i;

	for (i = 0; i < n && words[i]; i++)
		if (!strcmp(words[i], word))
			return i;
	return -EINVAL;
}

int scnprintf(char *buf, size_t size, const char *format, ...)
{
	va_list args;
	size_t n;

	va_start(args, format);
	n = vsnprintf(buf, size, format, args);
	va_end(args);
	return n < size ? n : size - !!size;
}

/* ---- memory ---- */

void *shim_alloc(size_t size)
{
	if (current->fail_nth && !--current->fail_nth)
		return NULL;
	return calloc(1, size ?: 1);
}

/* Reserves pages that cannot be accessed, and one in front, which has their length. */
static void *reserve(size_t size)
{
	size_t *page = mmap(NULL, PAGE_SIZE + size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		abort();
	mprotect(page, PAGE_SIZE, PROT_READ | PROT_WRITE);
	*page = PAGE_SIZE + size;
	return (char *)page + PAGE_SIZE;
}

/* The page behind cannot be accessed. */
void *vmalloc(size_t size)
{
	void *memory;

	size = ALIGN(size, PAGE_SIZE);
	memory = reserve(size + PAGE_SIZE);
	mprotect(memory, size, PROT_READ | PROT_WRITE);
	return memory;
}

void vfree(void *memory)
{
	size_t *page = (void *)((char *)memory - PAGE_SIZE);

	munmap(page, *page);
}

/* A page is a file, so that it can be mapped more than once. */
struct page {
	int fd;
	void *address;
};

static void *map_page(const struct page *page, void *at)
{
	void *memory = mmap(at, PAGE_SIZE, PROT_READ | PROT_WRITE,
			    MAP_SHARED | (at ? MAP_FIXED : 0), page->fd, 0);

	if (memory == MAP_FAILED)
		abort();
	return memory;
}

struct page *shim_page_alloc(void)
{
	struct page *page = shim_alloc(sizeof(*page));

	if (!page)
		return NULL;
	page->fd = memfd_create("page", 0);
	if (page->fd < 0 || ftruncate(page->fd, PAGE_SIZE))
		abort();
	page->address = map_page(page, NULL);
	return page;
}

void __free_page(struct page *page)
{
	munmap(page->address, PAGE_SIZE);
	close(page->fd);
	free(page);
}

void *page_address(const struct page *page)
{
	return page->address;
}

void *shim_vmap(struct page **pages, unsigned int n)
{
	char *memory = reserve(n * PAGE_SIZE);
	unsigned int i;

	for (i = 0; i < n; i++)
		map_page(pages[i], memory + i * PAGE_SIZE);
	return memory;
}

int copy_from_kernel_nofault(void *to, const void *from, size_t n)
{
	struct iovec local = { to, n }, remote = { (void *)from, n };

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)n ? 0 : -EFAULT;
}

/* ---- threads ---- */

/* KUnit's thread has this name, too. */
static struct task_struct first = { .comm = "kunit_try_catch" };
__thread struct task_struct *current = &first;

static void *run_thread(void *data)
{
	current = data;
	current->fn(current->data);
	return NULL;
}

struct task_struct *kthread_create(int (*fn)(void *data), void *data, const char *name)
{
	struct task_struct *task = calloc(1, sizeof(*task));

	strscpy(task->comm, name, sizeof(task->comm));
	task->fn = fn;
	task->data = data;
	return task;
}

void wake_up_process(struct task_struct *task)
{
	if (pthread_create(&task->thread, NULL, run_thread, task))
		abort();
}

void kthread_stop(struct task_struct *task)
{
	WRITE_ONCE(task->stop, true);
	if (task->thread)
		pthread_join(task->thread, NULL);
	free(task);
}

double native_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* The time of a thread's CPU: on a busy machine, a test takes longer and is not cut short. */
unsigned long shim_jiffies(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * HZ + now.tv_nsec / (NSEC_PER_SEC / HZ);
}

/* ---- interrupts ---- */

#define POINTS	16	/* a timer comes at one of so many points */

__thread struct shim_source *shim_sources;
static __thread struct rnd_state rnd;
static u64 passes;

/* Interrupts that the current thread has had since the last call. */
u64 native_passes(void)
{
	return __atomic_exchange_n(&passes, 0, __ATOMIC_RELAXED);
}

static bool is_due(const struct shim_source *source, const void *word)
{
	if (source->word)
		return source->word == word;
	return !(prandom_u32_state(&rnd) % POINTS);
}

void shim_interrupt(const void *word)
{
	struct shim_source *source;

	for (source = shim_sources; source; source = source->next) {
		if (source->runs || !is_due(source, word))
			continue;
		__atomic_fetch_add(&passes, 1, __ATOMIC_RELAXED);
		source->runs = true;
		source->run(source);
		source->runs = false;
	}
}

void shim_add(struct shim_source *source)
{
	const char *seed = getenv("TALLY_SEED");

	if (!rnd.state)
		prandom_seed_state(&rnd, seed ? strtoull(seed, NULL, 0) : 1);
	source->next = shim_sources;
	shim_sources = source;
}

void shim_remove(struct shim_source *source)
{
	struct shim_source **at = &shim_sources;

	while (*at != source)
		at = &(*at)->next;
	*at = source->next;
}

void shim_run_timer(struct shim_source *source)
{
	struct hrtimer *timer = container_of(source, struct hrtimer, source);

	timer->function(timer);
}

static void hit(struct shim_source *source)
{
	struct perf_event *event = container_of(source, struct perf_event, source);

	event->overflow_handler(event, NULL, NULL);
}

struct perf_event *perf_event_create_kernel_counter(struct perf_event_attr *attr, int cpu,
						    struct task_struct *task,
						    perf_overflow_handler_t handler,
						    void *context)
{
	struct perf_event *event = calloc(1, sizeof(*event));

	event->source.run = hit;
	event->source.word = (void *)(unsigned long)attr->bp_addr;
	event->overflow_handler = handler;
	event->overflow_handler_context = context;
	shim_add(&event->source);
	return event;
}

void perf_event_release_kernel(struct perf_event *event)
{
	shim_remove(&event->source);
	free(event);
}
