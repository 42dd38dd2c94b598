// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/tally, whose ioctls make files of events: see <uapi/linux/tally.h>.
 *
 *	struct tally_open o = { .size = sizeof(o), .attr = (unsigned long)&attr,
 *				.pid = 0, .cpu = -1, .group_fd = -1 };
 *	int fd = ioctl(open("/dev/tally", O_RDWR), TALLY_IOC_OPEN, &o);
 */
#include <linux/cpumask.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <uapi/linux/tally.h>
#include "base/copyin.h"
#include "builder/builder.h"
#include "builder/sample_fields.h"
#include "device/device.h"
#include "event/event.h"
#include "device/file.h"
#include "device/task_exit.h"
#include "record/output.h"
#include "set/page.h"
#include "set/publish.h"
#include "set/set.h"

/* The least sizes that an ioctl takes: those of the structs in the first header of this ABI. */
#define OPEN_SIZE_1	offsetofend(struct tally_open, name)
#define ATTACH_SIZE_1	offsetofend(struct tally_attach, name)

/* Programs are built with these layouts: a struct may grow at its end, but no member moves. */
static_assert(sizeof(struct tally_error) == 136);
static_assert(sizeof(struct tally_info) == 112);
static_assert(sizeof(struct tally_open) == 128);
static_assert(sizeof(struct tally_next) == 584);
static_assert(offsetof(struct tally_next, overflows) == 296);
static_assert(sizeof(struct tally_attach) == 112);
static_assert(sizeof(struct tally_ring_info) == 24);
static_assert(sizeof(struct tally_line) == 24);
static_assert(sizeof(struct tally_parse) == 120);
static_assert(offsetof(struct tally_error, text) == 24);
static_assert(offsetof(struct tally_info, publish_default_ns) == 56);
static_assert(offsetof(struct tally_info, max_stack) == 104);
static_assert(offsetof(struct tally_open, perf_flags) == 32);
static_assert(offsetof(struct tally_open, error) == 48);
static_assert(offsetof(struct tally_open, id) == 56);
static_assert(offsetof(struct tally_open, name) == 64);
static_assert(offsetof(struct tally_next, config) == 24);
static_assert(offsetof(struct tally_next, name) == 40);
static_assert(offsetof(struct tally_parse, scale) == 32);
static_assert(offsetof(struct tally_attach, read_format) == 24);
static_assert(offsetof(struct tally_attach, error) == 40);
static_assert(offsetof(struct tally_attach, name) == 48);

static_assert(TALLY_USER_NAME_LEN == TALLY_NAME_LEN);
static_assert(TALLY_USER_MEMBERS == TALLY_SET_MOST);

/* ---- shared by OPEN and ATTACH ---- */

static int check_interval(struct tally_builder *b, u64 interval)
{
	if (interval && (interval < TALLY_PUBLISH_SHORTEST ||
			 interval > TALLY_PUBLISH_LONGEST))
		return tally_bad_request(b, TALLY_FIELD_PUBLISH_NS, -EINVAL,
					 "publish_ns is not between 10,000 and an hour");
	/* The timers of a short interval take time from all tasks. */
	if (interval && interval < TALLY_PUBLISH_DEFAULT &&
	    !tally_perfmon_capable()) {
		b->stage = TALLY_STAGE_PERMISSION;
		return tally_bad_in(b, TALLY_FIELD_PUBLISH_NS, -EACCES,
				    "less than 10 ms needs CAP_PERFMON");
	}
	return 0;
}

/* A name has a terminating NUL, and only zeros behind it. */
static int check_name(struct tally_builder *b, const char *name)
{
	size_t len = strnlen(name, TALLY_USER_NAME_LEN);

	if (len == TALLY_USER_NAME_LEN)
		return tally_bad_request(b, TALLY_FIELD_NAME, -EINVAL,
					 "the name has no terminating NUL");
	if (memchr_inv(name + len, 0, TALLY_USER_NAME_LEN - len))
		return tally_bad_request(b, TALLY_FIELD_NAME, -EINVAL,
					 "the name has bytes behind its terminating NUL");
	return 0;
}

/* ---- TALLY_IOC_OPEN ---- */

/**
 * struct opening - state of one TALLY_IOC_OPEN
 * @s: session
 * @o: copy of the request
 * @attr: copy of the attributes that the request points to
 * @b: builder of the event
 * @leader: file that group_fd names, with a reference; NULL for none
 * @charge: charge for the event and its file; a member is charged to its leader's file
 * @how: properties of the new file
 */
struct opening {
	struct tally_session *s;
	struct tally_open o;
	struct perf_event_attr attr;
	struct tally_builder *b;
	struct file *leader;
	struct tally_charge charge;
	struct tally_file_how how;
};

/* Returns whether the event counts a task, and not all tasks or those of a cgroup. */
static bool is_of_task(const struct tally_open *o)
{
	return o->pid != -1 && !(o->perf_flags & PERF_FLAG_PID_CGROUP);
}

static int check_flags(struct opening *op)
{
	const struct tally_open *o = &op->o;
	struct tally_builder *b = op->b;

	if (o->flags & ~(TALLY_OPEN_ALL_CPUS | TALLY_OPEN_MEMBER | TALLY_OPEN_REQUIRE |
			 TALLY_OPEN_WEAK))
		return tally_bad_request(b, TALLY_FIELD_FLAGS, -EINVAL, "unknown flags");
	if (o->reserved)
		return tally_bad_request(b, TALLY_FIELD_RESERVED, -EINVAL, "reserved is not 0");
	if (o->perf_flags & ~(TALLY_PERF_FLAGS | PERF_FLAG_PID_CGROUP))
		return tally_bad_request(b, TALLY_FIELD_PERF_FLAGS, -EINVAL, "unknown perf_flags");
	if (o->flags & TALLY_OPEN_MEMBER &&
	    (o->group_fd < 0 || o->perf_flags & PERF_FLAG_FD_NO_GROUP))
		return tally_bad_request(b, TALLY_FIELD_GROUP_FD, -EINVAL,
					 "TALLY_OPEN_MEMBER needs a leader in group_fd");
	if (o->flags & TALLY_OPEN_MEMBER && o->perf_flags & PERF_FLAG_FD_OUTPUT)
		return tally_bad_request(b, TALLY_FIELD_PERF_FLAGS, -EINVAL,
				   "a member has its leader's rings, and no output of its own");
	if (o->flags & TALLY_OPEN_ALL_CPUS && is_of_task(o))
		return tally_bad_request(b, TALLY_FIELD_PID, -EINVAL, "ALL_CPUS needs pid -1");
	if (o->flags & TALLY_OPEN_ALL_CPUS && o->cpu != -1)
		return tally_bad_request(b, TALLY_FIELD_CPU, -EINVAL, "ALL_CPUS needs cpu -1");
	return check_interval(b, o->publish_ns) ?: check_name(b, o->name);
}

static bool task_exists(pid_t pid)
{
	bool exists;

	rcu_read_lock();
	exists = !pid || pid_task(find_vpid(pid), PIDTYPE_PID);
	rcu_read_unlock();
	return exists;
}

/* Allows the combinations of task, CPU and leader that perf allows, and all CPUs. */
static int check_target(struct opening *op, struct tally_file *leader)
{
	const struct tally_open *o = &op->o;
	struct tally_builder *b = op->b;

	if (is_of_task(o) && !task_exists(o->pid))
		return tally_bad_request(b, TALLY_FIELD_PID, -ESRCH, "no such task");
	b->stage = TALLY_STAGE_TARGET;
	if (is_of_task(o) && leader && leader->ev->attr.inherit != op->attr.inherit)
		return tally_bad_bit(b, TALLY_BIT_INHERIT, -EINVAL,
				     "inherit must be the same for all events of a group");
	if (!(o->flags & TALLY_OPEN_ALL_CPUS) && o->pid == -1 && o->cpu == -1)
		return tally_bad_request(b, TALLY_FIELD_CPU, -EINVAL,
				   "neither a task nor a cpu; TALLY_OPEN_ALL_CPUS counts on all cpus");
	if (o->cpu < -1 || (o->cpu >= 0 && (o->cpu >= nr_cpu_ids || !cpu_possible(o->cpu))))
		return tally_bad_request(b, TALLY_FIELD_CPU, -EINVAL, "the cpu does not exist");
	if (o->perf_flags & PERF_FLAG_PID_CGROUP)
		tally_builder_on_cgroup_fd(b, o->pid);
	return b->err;
}

/*
 * perf ignores these bits in an event of a CPU. For sigtrap, and for PERF_SAMPLE_READ with
 * inherit, describe() keeps them, so that the builder refuses the event.
 */
static void drop_task_bits(struct perf_event_attr *attr)
{
	attr->inherit = 0;
	attr->inherit_thread = 0;
	attr->enable_on_exec = 0;
	attr->remove_on_exec = 0;
}

static void describe(struct opening *op)
{
	const struct tally_open *o = &op->o;
	struct tally_builder *b = op->b;
	struct perf_event_attr *attr = &b->attr;

	*attr = op->attr;
	op->how.given = &op->attr;
	op->how.wanted = !attr->disabled;
	if (op->how.wanted)
		attr->enable_on_exec = 0;
	else if (attr->enable_on_exec && is_of_task(o))
		op->how.wanted = true;
	attr->disabled = 1;
	if (!is_of_task(o) && !attr->sigtrap &&
	    !(attr->inherit && attr->sample_type & PERF_SAMPLE_READ))
		drop_task_bits(attr);
	if (attr->sample_period) {
		tally_builder_on_overflow(b, tally_file_overflow, NULL);
		/* As for a perf event, only perf limits the rate, by its sysctls. */
		tally_builder_max_rate(b, TALLY_RATE_UNLIMITED);
	}
	if (o->name[0])
		tally_builder_name(b, o->name);
	if (o->pid >= 0 && is_of_task(o))
		tally_builder_on_pid(b, o->pid);
	if (o->cpu >= 0)
		tally_builder_on_cpu(b, o->cpu);
	else if (!is_of_task(o))
		tally_builder_on_all_cpus(b);
	op->how.read_format = attr->read_format;
	op->how.interval = o->publish_ns;
	op->how.flags = o->perf_flags & PERF_FLAG_FD_CLOEXEC ? O_CLOEXEC : 0;
	op->how.require = o->flags & TALLY_OPEN_REQUIRE;
	if (op->how.require)
		b->flags |= TALLY_BUILDER_REQUIRE;
	if (o->flags & TALLY_OPEN_WEAK)
		tally_builder_weak(b);
	/* The event will lead a group. */
	if ((o->group_fd < 0 || o->perf_flags & PERF_FLAG_FD_NO_GROUP) &&
	    op->attr.read_format & PERF_FORMAT_GROUP)
		b->flags |= TALLY_BUILDER_OWN;
	/* A sibling is enabled when it has joined its leader. */
	if (op->how.wanted && o->group_fd < 0)
		b->flags |= TALLY_BUILDER_AT_ONCE;
}

static int get_attr(struct opening *op)
{
	int err = tally_copyin_attr(&op->attr, u64_to_user_ptr(op->o.attr));

	if (err)
		return tally_bad_request(op->b, TALLY_FIELD_ATTR, err,
				   err == -E2BIG ? "attr uses what this kernel does not know" :
						   "attr cannot be read");
	op->b->attr = op->attr;
	op->b->stage = TALLY_STAGE_SETTINGS;
	err = tally_builder_check_first(op->b);
	if (err)
		return err;
	if (op->attr.sample_type & PERF_SAMPLE_REGS_INTR) {
		err = security_locked_down(LOCKDOWN_PERF);
		if (err) {
			op->b->stage = TALLY_STAGE_PERMISSION;
			return tally_bad_attr(op->b, sample_type, err,
					      "PERF_SAMPLE_REGS_INTR: the kernel is locked down");
		}
	}
	if (op->o.perf_flags & PERF_FLAG_PID_CGROUP &&
	    (op->o.pid == -1 || (op->o.cpu == -1 && !(op->o.flags & TALLY_OPEN_ALL_CPUS))))
		return tally_bad_request(op->b, TALLY_FIELD_PERF_FLAGS, -EINVAL,
					 "PERF_FLAG_PID_CGROUP needs a cgroup and a cpu");
	return 0;
}

/* The caller drops the reference in op->leader. */
static int get_leader(struct opening *op, struct tally_file **leader)
{
	*leader = NULL;
	if (op->o.group_fd == -1)
		return 0;
	op->leader = fget(op->o.group_fd);
	if (op->leader)
		*leader = tally_file_of(op->leader);
	if (!*leader || !(*leader)->ev) {
		op->b->stage = TALLY_STAGE_TARGET;
		return tally_bad_in(op->b, TALLY_FIELD_GROUP_FD,
				    *leader ? -EINVAL : -EBADF,
				    *leader ? "group_fd is attached to the event of another owner" :
					      "group_fd is no file of an event of tally");
	}
	if (tally_event_state((*leader)->ev) == TALLY_STATE_EXITED) {
		op->b->stage = TALLY_STAGE_TARGET;
		return tally_bad_in(op->b, TALLY_FIELD_GROUP_FD, -ENODEV,
				    "the leader's task has exited");
	}
	if (op->o.perf_flags & PERF_FLAG_FD_OUTPUT)
		op->how.output = *leader;
	if (op->o.perf_flags & PERF_FLAG_FD_NO_GROUP)
		*leader = NULL;
	return 0;
}

/* Returns the number of perf events: with TALLY_OPEN_ALL_CPUS one for each CPU, else one. */
static unsigned int perf_events(const struct tally_open *o)
{
	return o->flags & TALLY_OPEN_ALL_CPUS ? num_possible_cpus() : 1;
}

/* A member lives as long as its leader's file, and is charged to the same user. */
static int charge(struct opening *op, struct tally_file *leader)
{
	unsigned int nr = perf_events(&op->o);
	bool member = op->o.flags & TALLY_OPEN_MEMBER;
	u64 each = sizeof(struct perf_event) + sizeof(struct tally_view) +
		   sizeof(struct tally_slot);
	u64 bytes = nr * each + sizeof(struct tally_event) + sizeof(struct tally_counter);

	/* Any event may get rings later, by mmap() or SET_OUTPUT. */
	bytes += sizeof(struct tally_output) + nr * sizeof(struct tally_output_slot);
	if (op->attr.sample_period)
		bytes += num_possible_cpus() * sizeof(struct tally_overflow_cpu);
	/* A file has a page and a publisher. */
	if (!member)
		bytes += PAGE_SIZE * (1 + nr) + tally_file_memory() +
			 tally_publisher_memory();
	op->charge.events = nr;
	op->charge.bytes = bytes;
	if (member)
		return tally_quota_add(&leader->charge, nr, bytes, op->b);
	return tally_quota_charge(&op->charge, 1, nr, bytes, op->b);
}

static struct tally_event *build(struct opening *op)
{
	struct tally_event *ev = tally_build(op->b);

	/* The leader shares its counter with other events, which the group would hold up. */
	if (ev == ERR_PTR(-EUSERS)) {
		op->b->flags |= TALLY_BUILDER_ALONE;
		ev = tally_build(op->b);
	}
	return ev == ERR_PTR(-E2BIG) ? ERR_PTR(-EINVAL) : ev;
}

/* The caller has charged @leader; a failure gives that back. */
static int open_member(struct opening *op, struct tally_file *leader)
{
	struct tally_event *ev;
	int err;

	op->b->account = tally_quota_account(&leader->charge);
	ev = build(op);
	err = PTR_ERR_OR_ZERO(ev) ?: tally_file_add(ev, leader, &op->how, op->b);
	if (err)
		tally_quota_sub(&leader->charge, op->charge.events, op->charge.bytes);
	return err;
}

static int open_event(struct opening *op, struct tally_file *leader)
{
	struct tally_event *ev;
	int err;

	describe(op);
	if (leader) {
		tally_file_follow(leader, &op->b->attr, &op->how);
		op->b->leader = leader->ev;
	}
	/* All users share the names, and EEXIST would reveal another user's event. */
	if (op->o.name[0] && !tally_perfmon_capable()) {
		op->b->stage = TALLY_STAGE_PERMISSION;
		return tally_bad_in(op->b, TALLY_FIELD_NAME, -EACCES,
				    "a name needs CAP_PERFMON");
	}
	err = charge(op, leader);
	if (err)
		return err;
	if (op->o.flags & TALLY_OPEN_MEMBER)
		return open_member(op, leader);
	op->b->account = tally_quota_account(&op->charge);
	ev = build(op);
	if (IS_ERR(ev)) {
		tally_quota_uncharge(&op->charge);
		return PTR_ERR(ev);
	}
	return tally_file_new(op->s, ev, leader, &op->charge, &op->how, op->b);
}

/* The checks are in the order of perf's: of two mistakes, the same one is reported. */
static int do_open(void *request, struct tally_builder *b)
{
	struct tally_file *leader;
	struct opening *op = request;
	int ret;

	op->b = b;
	b->flags |= TALLY_BUILDER_FILE | TALLY_BUILDER_RECORDS;
	ret = check_flags(op) ?: get_attr(op) ?: get_leader(op, &leader) ?:
	      check_target(op, leader) ?: open_event(op, leader);
	if (op->leader)
		fput(op->leader);
	return ret;
}

static int ioc_open(struct tally_session *s, struct tally_open __user *arg)
{
	struct opening op;
	u32 size;
	int err;

	err = tally_copyin_request(&op.o, sizeof(op.o), arg, sizeof(op.o), OPEN_SIZE_1, &size);
	if (err)
		return err;
	op.s = s;
	op.leader = NULL;
	memset(&op.how, 0, sizeof(op.how));
	op.how.id_at = &arg->id;
	return tally_explained(&op, op.o.error, do_open);
}

/* ---- TALLY_IOC_ATTACH ---- */

static int check_attach(const struct tally_attach *a, struct tally_builder *b)
{
	if (a->flags & ~TALLY_ATTACH_TOTAL)
		return tally_bad_request(b, TALLY_FIELD_FLAGS, -EINVAL, "unknown flags");
	if (a->perf_flags & ~(u64)PERF_FLAG_FD_CLOEXEC)
		return tally_bad_request(b, TALLY_FIELD_PERF_FLAGS, -EINVAL, "unknown perf_flags");
	if (a->read_format & ~TALLY_FORMAT_KNOWN)
		return tally_bad_request(b, TALLY_FIELD_READ_FORMAT, -EINVAL,
					 "unknown bits in read_format");
	if (a->read_format & PERF_FORMAT_GROUP)
		return tally_bad_request(b, TALLY_FIELD_READ_FORMAT, -EINVAL,
					 "an attached event is in no group");
	if (a->id && a->name[0])
		return tally_bad_request(b, TALLY_FIELD_NAME, -EINVAL, "both an id and a name");
	return check_interval(b, a->publish_ns) ?: check_name(b, a->name);
}

static int attach(const struct tally_attach *a, struct tally_builder *b)
{
	struct tally_file_how how = {
		.read_format = a->read_format,
		.interval = a->publish_ns,
		.flags = a->perf_flags & PERF_FLAG_FD_CLOEXEC ? O_CLOEXEC : 0,
		.total = a->flags & TALLY_ATTACH_TOTAL,
	};
	struct tally_charge charge = { };
	int err;

	err = tally_quota_charge(&charge, 1, 0, PAGE_SIZE * (1 + num_possible_cpus()) +
			   tally_publisher_memory() +
			   2 * nr_cpu_ids * sizeof(struct tally_count), b);
	return err ?: tally_file_attach(a->id, a->name, &charge, &how, b);
}

static int do_attach(void *request, struct tally_builder *b)
{
	return check_attach(request, b) ?: attach(request, b);
}

static int ioc_attach(void __user *arg)
{
	struct tally_attach a;
	u32 size;
	int err;

	err = tally_copyin_request(&a, sizeof(a), arg, sizeof(a), ATTACH_SIZE_1, &size);
	return err ?: tally_explained(&a, a.error, do_attach);
}

/* ---- the ABI before this one ---- */

/* The ioctls that made files in ABI 1, whose structs held the cause of a failure. */
#define ABI_1_OPEN		_IO(TALLY_IOC_MAGIC, 0x01)
#define ABI_1_ATTACH		_IO(TALLY_IOC_MAGIC, 0x03)
#define ABI_1_OPEN_ERROR	112
#define ABI_1_ATTACH_ERROR	104

/* Writes to a program that was built for ABI 1 why it gets no file. */
static int refuse_abi_1(void __user *arg, size_t error_at)
{
	const struct {
		u32 error, stage, field;
		s32 cpu;
		char text[112];
	} e = {
		EPROTO, TALLY_STAGE_REQUEST, TALLY_FIELD_SIZE, -1,
		"the program was built for ABI 1 of tally, and this is ABI 2: build it again",
	};
	u32 size;

	if (get_user(size, (u32 __user *)arg))
		return -EFAULT;
	if (size >= error_at + sizeof(e) && copy_to_user(arg + error_at, &e, sizeof(e)))
		return -EFAULT;
	return -EPROTO;
}

/* ---- the device ---- */

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *to = (void __user *)arg;

	switch (cmd) {
	case TALLY_IOC_INFO:
		return tally_ioc_info(to);
	case TALLY_IOC_OPEN:
		return ioc_open(file->private_data, to);
	case TALLY_IOC_NEXT:
		return tally_ioc_next(to);
	case TALLY_IOC_ATTACH:
		return ioc_attach(to);
	case TALLY_IOC_LINE:
		return tally_ioc_line(to);
	case TALLY_IOC_PARSE:
		return tally_ioc_parse(to);
	case ABI_1_OPEN:
		return refuse_abi_1(to, ABI_1_OPEN_ERROR);
	case ABI_1_ATTACH:
		return refuse_abi_1(to, ABI_1_ATTACH_ERROR);
	case TALLY_IOC_ENABLE_ALL:
	case TALLY_IOC_DISABLE_ALL:
		tally_session_enable(file->private_data, cmd == TALLY_IOC_ENABLE_ALL);
		return 0;
	default:
		return -ENOTTY;
	}
}

static int device_open(struct inode *inode, struct file *file)
{
	struct tally_session *s = tally_session_new();

	file->private_data = s;
	return PTR_ERR_OR_ZERO(s);
}

static int device_release(struct inode *inode, struct file *file)
{
	tally_session_put(file->private_data);
	return 0;
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "tally",
	.fops = &device_fops,
	.mode = 0600,
};

int tally_device_init(void)
{
	return misc_register(&device);
}

void tally_device_exit(void)
{
	misc_deregister(&device);
	tally_task_exit_stop();
}
