/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the sources under test use of the kernel, made of libc and the compiler. Each source
 * is compiled with `-include kernel.h'. The UAPI headers are those of this machine. Of all
 * other headers of the kernel, native.mk makes an empty file.
 */
#ifndef TALLY_NATIVE_KERNEL_H
#define TALLY_NATIVE_KERNEL_H

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <linux/types.h>

/* ---- the machine ---- */

#define CONFIG_X86			1
#define CONFIG_EVENT_TRACING		1
#define CONFIG_HAVE_HW_BREAKPOINT	1
#define CONFIG_TRACEPOINTS		1

/* A configured option is 1, which makes the pasted name one argument more. */
#define IS_ENABLED(option)		SHIM_IS_ENABLED(option)
#define SHIM_IS_ENABLED(value)		SHIM_IS_ONE(SHIM_ARGUMENT_##value)
#define SHIM_IS_ONE(argument)		SHIM_SECOND(argument 1, 0, 0)
#define SHIM_ARGUMENT_1			0,
#define SHIM_SECOND(a, b, ...)		b

#define PAGE_SHIFT	12
#define PAGE_SIZE	4096UL
#define BITS_PER_LONG	64
#define NUMA_NO_NODE	(-1)
#define nr_cpu_ids	4U

/* ---- the language ---- */

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#define U32_MAX		UINT_MAX
#define U64_MAX		ULLONG_MAX
#define S64_MAX		LLONG_MAX
#define S64_MIN		LLONG_MIN

#define __force
#define __must_check	__attribute__((warn_unused_result))
#define __percpu
#define __rcu
#define __printf(nr, first)	__attribute__((format(printf, nr, first)))
#define __user
#define __aligned(n)	__attribute__((aligned(n)))
#define noinline	__attribute__((__noinline__))
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define data_race(x)	(x)
#undef static_assert
#define static_assert(condition, ...)	_Static_assert(condition, #condition)

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define sizeof_field(type, member)	sizeof(((type *)NULL)->member)
#define offsetofend(type, member)	(offsetof(type, member) + sizeof_field(type, member))
#define container_of(ptr, type, member)	((type *)((char *)(ptr) - offsetof(type, member)))
#define get_unaligned(ptr)							\
	(((const struct { typeof(*(ptr)) x; } __attribute__((packed)) *)(ptr))->x)

#define min(a, b)	({ typeof(a) a_ = (a); typeof(b) b_ = (b); a_ < b_ ? a_ : b_; })
#define max(a, b)	({ typeof(a) a_ = (a); typeof(b) b_ = (b); a_ > b_ ? a_ : b_; })
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define swap(a, b)	do { typeof(a) a_ = (a); (a) = (b); (b) = a_; } while (0)

#define BIT(nr)			(1UL << (nr))
#define BIT_ULL(nr)		(1ULL << (nr))
#define GENMASK_ULL(high, low)	((~0ULL << (low)) & (~0ULL >> (63 - (high))))
#define HWEIGHT64(bits)		__builtin_popcountll(bits)
#define hweight64(bits)		HWEIGHT64(bits)
#define __ffs64(bits)		__builtin_ctzll(bits)
#define ALIGN(x, to)		(((x) + (to) - 1) & ~((typeof(x))(to) - 1))
#define IS_ALIGNED(x, to)	(!((x) & ((typeof(x))(to) - 1)))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define is_power_of_2(n)	(__builtin_popcountll(n) == 1)
#define roundup_pow_of_two(n)	((n) < 2 ? 1UL : 2UL << (63 - __builtin_clzl((n) - 1UL)))

#define check_add_overflow(a, b, sum)		__builtin_add_overflow(a, b, sum)
#define check_mul_overflow(a, b, product)	__builtin_mul_overflow(a, b, product)
#define array_size(n, size)			((size_t)(n) * (size))
#define struct_size(p, member, n)	(sizeof(*(p)) + sizeof(*(p)->member) * (n))
#define mul_u64_u64_div_u64(a, b, d)	((u64)((__uint128_t)(a) * (b) / (d)))
#define div64_u64(n, d)			((u64)(n) / (d))
#define div_u64(n, d)			((u64)(n) / (u32)(d))
#define div64_u64_rem(n, d, rest) ({						\
	u64 n_ = (n), d_ = (d);							\
	*(rest) = n_ % d_;							\
	n_ / d_; })
#define div_u64_rem(n, d, rest)		div64_u64_rem(n, d, rest)

#define NSEC_PER_USEC	1000L
#define NSEC_PER_MSEC	1000000L
#define NSEC_PER_SEC	1000000000L

#define MAX_ERRNO	4095
#define ERR_PTR(err)	((void *)(long)(err))
#define PTR_ERR(ptr)	((long)(ptr))
#define IS_ERR(ptr)	((unsigned long)(ptr) >= (unsigned long)-MAX_ERRNO)
#define IS_ERR_OR_NULL(ptr)	(!(ptr) || IS_ERR(ptr))
#define PTR_ERR_OR_ZERO(ptr)	(IS_ERR(ptr) ? (int)PTR_ERR(ptr) : 0)

#define THIS_MODULE	((struct module *)NULL)
#define MODULE_AUTHOR(text)		struct module
#define MODULE_DESCRIPTION(text)	struct module
#define MODULE_LICENSE(text)		struct module
#define within_module(addr, module)	true

/* ---- text ---- */

/* The kernel's characters are those of Latin-1. */
#undef isspace
#undef isalnum
#undef isgraph
#define isspace(c)	(isspace((u8)(c)) || (u8)(c) == 0xa0)
#define isgraph(c)	(isgraph((u8)(c)) || (u8)(c) > 0xa0)
#define isalnum(c)	(isalnum((u8)(c)) || ((u8)(c) >= 0xc0 && ((u8)(c) & 0xdf) != 0xd7))

/* libc has functions with these names. */
#define random		kernel_random
#define strlcat		kernel_strlcat

#define strstarts(text, prefix)		(!strncmp(text, prefix, strlen(prefix)))
#define str_has_prefix(text, prefix)	(strstarts(text, prefix) ? strlen(prefix) : 0)
#define kstrtouint(text, base, value)	shim_strtou(text, base, UINT_MAX, value)
#define kstrtou64(text, base, value)	shim_strtou(text, base, U64_MAX, value)
#define kstrtoint(text, base, value)	shim_strtos(text, base, INT_MIN, INT_MAX, value)
#define kstrtos64(text, base, value)	shim_strtos(text, base, S64_MIN, S64_MAX, value)
#define shim_strtou(text, base, most, value) ({					\
	u64 n_ = 0;								\
	int err_ = shim_unsigned(text, base, &n_);				\
	err_ = !err_ && n_ > (most) ? -ERANGE : err_;				\
	if (!err_)								\
		*(value) = n_;							\
	err_; })
#define shim_strtos(text, base, least, most, value) ({				\
	s64 n_ = 0;								\
	int err_ = shim_signed(text, base, &n_);				\
	err_ = !err_ && (n_ < (least) || n_ > (most)) ? -ERANGE : err_;		\
	if (!err_)								\
		*(value) = n_;							\
	err_; })

int shim_unsigned(const char *text, int base, u64 *value);
int shim_signed(const char *text, int base, s64 *value);
ssize_t strscpy(char *to, const char *from, size_t size);
size_t strlcat(char *to, const char *from, size_t size);
char *strnstr(const char *text, const char *part, size_t len);
char *strreplace(char *text, char old, char new);
char *strim(char *text);
char *skip_spaces(const char *text);
int match_string(const char *const *words, size_t n, const char *word);
__printf(3, 4) int scnprintf(char *buf, size_t size, const char *format, ...);

struct rnd_state {
	u64 state;
};

static inline void prandom_seed_state(struct rnd_state *rnd, u64 seed)
{
	rnd->state = seed + 1;
}

/* splitmix64 */
static inline u32 prandom_u32_state(struct rnd_state *rnd)
{
	u64 z = rnd->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z >> 32;
}

#define pr_err(format, ...)	((void)0)
#define perfmon_capable()	true
#define security_locked_down(what)	0

/* ---- memory ---- */

#define GFP_KERNEL		0
#define GFP_KERNEL_ACCOUNT	0
#define __GFP_ZERO		0
#define __GFP_NOWARN		0
typedef int gfp_t;

#define kmalloc(size, flags)			shim_alloc(size)
#define kzalloc_node(size, flags, node)		shim_alloc(size)
#define kvmalloc_node(size, flags, node)	shim_alloc(size)
#define kvzalloc(size, flags)			shim_alloc(size)
#define kzalloc(size, flags)			shim_alloc(size)
#define kvcalloc(n, size, flags)		shim_alloc(array_size(n, size))
#define kfree(memory)		free((void *)(memory))
#define kvfree(memory)		kfree(memory)
#define kstrdup(text, flags)	kmemdup(text, strlen(text) + 1, flags)
#define kmemdup(from, size, flags) ({						\
	void *copy_ = shim_alloc(size);						\
	copy_ ? memcpy(copy_, from, size) : NULL; })
#define kasprintf(flags, ...) ({						\
	char *text_;								\
	asprintf(&text_, __VA_ARGS__) < 0 ? NULL : text_; })
#define alloc_percpu(type)	((type *)shim_alloc(sizeof(type)))
#define free_percpu(memory)	kfree(memory)
#define this_cpu_ptr(memory)	(memory)
#define raw_cpu_ptr(variable)	((void *)(variable))
#define DECLARE_PER_CPU(type, name)	extern struct shim_per_cpu name

#define VM_READ			1UL
#define VM_WRITE		2UL
#define VM_MAP			0
#define PAGE_KERNEL		0
typedef unsigned long vm_flags_t, pgprot_t;

struct vm_area_struct {
	vm_flags_t vm_flags;
	pgprot_t vm_page_prot;
	unsigned long vm_start;
};

struct page;
#define cpu_to_node(cpu)		0
#define alloc_pages_node(node, flags, order)	shim_page_alloc()
#define vmap(pages, n, flags, prot)	shim_vmap(pages, n)
#define vunmap(memory)			vfree(memory)
/* There are no programs that map. */
#define page_to_pfn(page)		((unsigned long)(page))
#define vm_get_page_prot(flags)		(flags)
#define remap_pfn_range(vma, addr, pfn, size, prot)	((void)(prot), (pfn) ? -EIO : 0)
#define tally_zap_vma(vma, addr, size)	((void)(vma))

void *shim_alloc(size_t size);
void *vmalloc(size_t size);
void vfree(void *memory);
struct page *shim_page_alloc(void);
void __free_page(struct page *page);
void *page_address(const struct page *page);
void *shim_vmap(struct page **pages, unsigned int n);
int copy_from_kernel_nofault(void *to, const void *from, size_t n);
#define copy_from_user_nofault(to, from, n)	copy_from_kernel_nofault(to, from, n)

struct list_head {
	struct list_head *next, *prev;
};

#define INIT_LIST_HEAD(head)	((head)->next = (head)->prev = (head))
#define LIST_HEAD(head)		struct list_head head = { &(head), &(head) }
#define list_add(node, head)	((void)(node), (void)(head))
#define list_empty(head)	((head)->next == (head))
#define list_for_each_entry(at, head, member)					\
	for (at = container_of((head)->next, typeof(*at), member); &at->member != (head); \
	     at = container_of(at->member.next, typeof(*at), member))

/* ---- one CPU: the current thread, and what interrupts it ---- */

#define TASK_COMM_LEN	16

/**
 * struct task_struct - a thread
 * @comm: its name
 * @fail_nth: the allocation to fail, counted down to 0
 * @fn: what it runs, with @data
 * @data: see @fn
 * @stop: a request to end
 * @thread: libc's thread
 */
struct task_struct {
	char comm[TASK_COMM_LEN];
	int fail_nth;
	int (*fn)(void *data);
	void *data;
	bool stop;
	pthread_t thread;
};

/**
 * struct shim_source - what interrupts a thread
 * @next: the next source of the thread
 * @run: the interrupt
 * @word: the word after whose stores it comes; NULL if it comes at any point, by chance
 * @runs: it has interrupted and has not returned
 */
struct shim_source {
	struct shim_source *next;
	void (*run)(struct shim_source *source);
	const void *word;
	bool runs;
};

extern __thread struct task_struct *current;
extern __thread struct shim_source *shim_sources;

void shim_interrupt(const void *word);
void shim_add(struct shim_source *source);
void shim_remove(struct shim_source *source);

/*
 * A place between two accesses to memory, the last of which was a store to @word. There the
 * thread may be interrupted: shim_sources is empty but for threads that ask for that.
 */
static inline void shim_point(const void *word)
{
	if (unlikely(shim_sources))
		shim_interrupt(word);
}

/*
 * ThreadSanitizer knows no control dependency. A test of one sets SHIM_READ to
 * __ATOMIC_ACQUIRE.
 */
#ifndef SHIM_READ
#define SHIM_READ	__ATOMIC_RELAXED
#endif

#define SHIM_LOAD(word, order) ({						\
	__auto_type value_ = __atomic_load_n(word, order);			\
	shim_point(NULL);							\
	value_; })
#define SHIM_STORE(word, value, order)						\
	do {									\
		typeof(word) word_ = (word);					\
		__atomic_store_n(word_, value, order);				\
		shim_point(word_);						\
	} while (0)
#define SHIM_CHANGE(word, change) ({						\
	typeof(word) word_ = (word);						\
	__auto_type value_ = change;						\
	shim_point(word_);							\
	value_; })

#define barrier()							\
	do {								\
		__asm__ volatile("" ::: "memory");			\
		shim_point(NULL);					\
	} while (0)
#define READ_ONCE(x)			SHIM_LOAD(&(x), SHIM_READ)
#define WRITE_ONCE(x, value)		SHIM_STORE(&(x), value, __ATOMIC_RELAXED)
#define smp_load_acquire(word)		SHIM_LOAD(word, __ATOMIC_ACQUIRE)
#define smp_store_release(word, value)	SHIM_STORE(word, value, __ATOMIC_RELEASE)
#define cmpxchg(word, old, new)		cmpxchg_local(word, old, new)
#define cmpxchg_local(word, old, new)	SHIM_CHANGE(word, ({			\
	typeof(*word_) seen_ = (old);						\
	__atomic_compare_exchange_n(word_, &seen_, new, false,			\
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);	\
	seen_; }))

#define xchg(word, value)							\
	SHIM_CHANGE(word, __atomic_exchange_n(word_, value, __ATOMIC_SEQ_CST))

typedef struct {
	long n;
} local_t;

#define local_read(l)		SHIM_LOAD(&(l)->n, __ATOMIC_RELAXED)
#define local_set(l, value)	SHIM_STORE(&(l)->n, value, __ATOMIC_RELAXED)
#define local_add_return(value, l)						\
	SHIM_CHANGE(&(l)->n, __atomic_add_fetch(word_, value, __ATOMIC_RELAXED))
#define local_add(value, l)	((void)local_add_return(value, l))
#define local_inc(l)		local_add(1, l)
#define local_xchg(l, value)							\
	SHIM_CHANGE(&(l)->n, __atomic_exchange_n(word_, value, __ATOMIC_RELAXED))
#define local_cmpxchg(l, old, new)	cmpxchg_local(&(l)->n, (long)(old), (long)(new))

#define preempt_disable()		barrier()
#define preempt_enable()		barrier()
#define migrate_disable()		barrier()
#define migrate_enable()		barrier()
#define cond_resched()			sched_yield()
#define raw_smp_processor_id()		0
#define interrupt_context_level()	0
#define cpu_online_mask			NULL
#define cpumask_first(mask)		0
#define cpumask_last(mask)		1
#define cpu_relax()			barrier()
#define cpu_possible(cpu)		((unsigned int)(cpu) < nr_cpu_ids)

/* ---- threads, locks, timers and works ---- */

struct task_struct *kthread_create(int (*fn)(void *data), void *data, const char *name);
void wake_up_process(struct task_struct *task);
void kthread_stop(struct task_struct *task);
#define kthread_should_stop()		READ_ONCE(current->stop)
#define kthread_bind(task, cpu)		((void)(cpu))

#define HZ			1000UL
#define jiffies			shim_jiffies()
#define time_before(a, b)	((long)((a) - (b)) < 0)
#define msleep(ms)		usleep((ms) * 1000)
unsigned long shim_jiffies(void);

/* Tasks have the numbers of machine.c, and nobody counts references. */
struct task_struct *shim_task(pid_t nr);
#define get_task_struct(task)		(task)
#define put_task_struct(task)		((void)(task))
#define find_get_pid(nr)		((void *)(long)(nr))
#define get_pid_task(pid, type)		shim_task((long)(pid))
#define put_pid(pid)			((void)(pid))
#define down_read_interruptible(lock)	0
#define up_read(lock)			((void)0)

struct mutex {
	pthread_mutex_t libc;
};

#define DEFINE_MUTEX(lock)	struct mutex lock = { PTHREAD_MUTEX_INITIALIZER }
#define mutex_lock(lock)	pthread_mutex_lock(&(lock)->libc)
#define mutex_trylock(lock)	(!pthread_mutex_trylock(&(lock)->libc))
#define lockdep_assert_held(lock)	((void)(lock))
#define mutex_unlock(lock)	pthread_mutex_unlock(&(lock)->libc)
#define might_sleep()		((void)0)
typedef struct { int none; } spinlock_t;
typedef struct { int none; } wait_queue_head_t;
typedef struct { int none; } seqcount_latch_t;
#define raw_read_seqcount_latch(latch)		((void)(latch), 0U)
#define read_seqcount_latch_retry(latch, seq)	((void)(latch), (void)(seq), false)
#define spin_lock_init(lock)	((void)(lock))

typedef struct {
	int n;
} refcount_t;

#define refcount_set(r, value)		((r)->n = (value))
#define refcount_inc(r)			((r)->n++)
#define refcount_inc_not_zero(r)	((r)->n ? (r)->n++ : 0)
#define refcount_dec_and_test(r)	(!--(r)->n)

typedef struct { int n; } atomic_t;
typedef struct { long n; } atomic64_t, atomic_long_t;
#define atomic64_read(a)	READ_ONCE((a)->n)

struct irq_work { int none; };
struct llist_node { int none; };
struct hlist_node { int none; };
struct rb_node { int none; };

struct work_struct {
	void (*fn)(struct work_struct *work);
};

struct rcu_work {
	struct work_struct work;
};

struct delayed_work {
	struct work_struct work;
};

/* A grace period is over at once: there are no readers. */
#define INIT_RCU_WORK(rwork, run)	((rwork)->work.fn = (run))
#define to_rcu_work(w)			container_of(w, struct rcu_work, work)
#define queue_rcu_work(wq, rwork)	((rwork)->work.fn(&(rwork)->work))
#define alloc_workqueue(name, ...)	((void *)(name))
#define destroy_workqueue(wq)		((void)(wq))
#define rcu_barrier()			barrier()

typedef s64 ktime_t;

enum hrtimer_restart { HRTIMER_NORESTART, HRTIMER_RESTART };
enum hrtimer_mode { HRTIMER_MODE_REL_PINNED_HARD };

/* A timer comes at any point of the thread that has started it, much earlier than it is due. */
struct hrtimer {
	struct shim_source source;
	enum hrtimer_restart (*function)(struct hrtimer *timer);
};

#define ns_to_ktime(ns)			((ktime_t)(ns))
#define hrtimer_start(t, time, mode)	shim_add(&(t)->source)
#define hrtimer_cancel(t)		shim_remove(&(t)->source)
#define hrtimer_forward_now(t, interval)	((void)(interval))

/* ---- perf ---- */

#define PERF_MAX_STACK_DEPTH	127

struct perf_event;

struct pmu {
	int task_ctx_nr;
	void (*read)(struct perf_event *event);
};

struct perf_raw_frag {
	union {
		struct perf_raw_frag *next;
		unsigned long pad;
	};
	unsigned long (*copy)(void *to, const void *from, unsigned long at, unsigned long n);
	void *data;
	u32 size;
} __attribute__((packed));

struct perf_raw_record {
	struct perf_raw_frag frag;
	u32 size;
};

#define perf_raw_frag_last(frag)	((frag)->pad < sizeof(u64))

struct perf_branch_stack {
	u64 nr;
	u64 hw_idx;
	struct perf_branch_entry entries[];
};

struct perf_sample_data {
	u64 sample_flags;
	struct perf_raw_record *raw;
	union perf_sample_weight weight;
	union perf_mem_data_src data_src;
	u64 phys_addr;
	u64 addr;
};

struct pt_regs;
struct perf_event;
typedef void (*perf_overflow_handler_t)(struct perf_event *event, struct perf_sample_data *data,
					struct pt_regs *regs);

struct hw_perf_event {
	u64 interrupts;
	local_t prev_count;
};

/* A breakpoint: it interrupts its thread right after each store to a word. */
struct perf_event {
	struct shim_source source;
	perf_overflow_handler_t overflow_handler;
	void *overflow_handler_context;
	struct hw_perf_event hw;
	struct pmu *pmu;
	int oncpu, state, attach_state;
	u64 tstamp, total_time_enabled, total_time_running;
	local_t count;
};

#define PERF_EVENT_STATE_ERROR	(-2)
#define PERF_EVENT_STATE_INACTIVE	0
#define PERF_EVENT_STATE_ACTIVE	1
#define PERF_ATTACH_CONTEXT	1
#define local64_read(l)		((u64)local_read(l))
#define local64_set(l, i)	local_set(l, i)

#define hw_breakpoint_init(attr)	memset(attr, 0, sizeof(*(attr)))
u64 perf_event_read_value(struct perf_event *event, u64 *enabled, u64 *running);
struct perf_event *perf_event_create_kernel_counter(struct perf_event_attr *attr, int cpu,
						    struct task_struct *task,
						    perf_overflow_handler_t handler,
						    void *context);
void perf_event_release_kernel(struct perf_event *event);

struct device;
struct attribute {
	const char *name;
};

/* ---- files in debugfs ---- */

/**
 * struct seq_file - a file that is being read
 * @text: what it shows
 * @len: bytes of @text
 */
struct seq_file {
	char text[4096];
	size_t len;
};

__printf(2, 3) void seq_printf(struct seq_file *m, const char *format, ...);
#define seq_puts(m, text)	seq_printf(m, "%s", text)
#define seq_putc(m, c)		seq_printf(m, "%c", c)
/* Only paths of cgroups are escaped, and all in one way. */
#define seq_escape_mem(m, text, len, flags, only)				\
	shim_escape(m, text, (flags) ? (only) : "")
void shim_escape(struct seq_file *m, const char *text, const char *only);
#define ESCAPE_OCTAL	1
#define ESCAPE_NAP	2
#define ESCAPE_APPEND	4

struct dentry;

static inline void debugfs_remove(struct dentry *dentry)
{
}

static inline const char *kbasename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- trace events ---- */

enum {
	FILTER_OTHER, FILTER_STATIC_STRING, FILTER_DYN_STRING, FILTER_RDYN_STRING,
	FILTER_PTR_STRING, FILTER_TRACE_FN, FILTER_COMM, FILTER_CPU, FILTER_STACKTRACE,
	FILTER_CPUMASK,
};

#define MAX_FILTER_STR_VAL	256U
#define TRACE_EVENT_FL_DYNAMIC	1
#define TRACE_FUNCTION_TYPE	((const char *)~0UL)

struct trace_entry {
	unsigned short type;
	unsigned char flags;
	unsigned char preempt_count;
	int pid;
};

struct trace_event_fields {
	const char *type;
	const char *name;
	int size;
	int align;
	int is_signed;
	int filter_type;
};

struct trace_event_call;

struct trace_event_class {
	const char *system;
	const struct trace_event_fields *fields_array;
	struct list_head *(*get_fields)(struct trace_event_call *call);
	struct list_head fields;
};

struct trace_event_call {
	struct trace_event_class *class;
	const char *name;
	int flags;
};

struct trace_event_file {
	struct trace_event_call *event_call;
};

#define trace_event_name(call)	((call)->name)
/* This machine has no other trace events. */
#define trace_get_event_file(instance, system, event)				\
	((struct trace_event_file *)((system) && (event) ? ERR_PTR(-ENOENT) : NULL))
#define trace_put_event_file(file)	((void)(file))

struct trace_array;
struct event_filter;
struct dynevent_cmd { int none; };

#define MAX_DYNEVENT_CMD_LEN	2048
#define kprobe_event_cmd_init(cmd, buf, len)	((void)(cmd), (void)(buf))
#define kprobe_event_gen_cmd_start(cmd, ...)	(-EOPNOTSUPP)
#define kprobe_event_gen_cmd_end(cmd)		(-EOPNOTSUPP)
#define kprobe_event_delete(name)		(-ENOENT)

/* Finds the functions in formula.c. */
struct kprobe {
	const char *symbol_name;
	void *addr;
	int flags;
};

#define KPROBE_FLAG_DISABLED	1
#define unregister_kprobe(kp)	((void)(kp))
int register_kprobe(struct kprobe *kp);

/* <trace/define_trace.h> makes the table of the fields and the event. */
#define TRACE_EVENT(name, proto, args, fields, assign, print)			\
	struct trace_event_raw_##name {						\
		struct trace_entry ent;						\
		fields								\
	}
#define TP_STRUCT__entry(...)		__VA_ARGS__
#define __field(type, name)		type name;
#define __array(type, name, n)		type name[n];
#define __string(name, from)		u32 __data_loc_##name;
#define __rel_string(name, from)	u32 __rel_loc_##name;
#define __dynamic_array(type, name, n)	u32 __data_loc_##name;
#define __cpumask(name)			u32 __data_loc_##name;

#endif /* TALLY_NATIVE_KERNEL_H */
