// SPDX-License-Identifier: GPL-2.0
/*
 * The operations of an event's file, which speaks perf's protocol.
 *
 *	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
 *	read(fd, &count, sizeof(count));
 *
 * Nothing is copied to or from a program under a lock. A copy may fault and
 * take mmap_lock; mmap() takes tally_mapping::lock inside mmap_lock, and that
 * lock nests inside all others of a file.
 */
#include <linux/compat.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <uapi/linux/tally.h>
#include "base/copyin.h"
#include "builder/builder.h"
#include "event/overflow.h"
#include "event/event.h"
#include "life/life.h"
#include "device/file.h"
#include "device/quota.h"
#include "record/output.h"
#include "record/recorder.h"
#include "set/page.h"
#include "set/budget.h"
#include "filter/apply.h"
#include "filter/filter.h"

/* ---- perf's ioctls ---- */

static void control(struct tally_file *f, unsigned int cmd, u64 flags)
{
	struct tally_set *set = tally_file_lock(f);

	tally_file_control(set, flags & PERF_IOC_FLAG_GROUP ? tally_set_all(set) :
			   tally_group_bit(set, f->ev), cmd);
	mutex_unlock(&set->lock);
}

/* Enables the event for so many more overflows. 0 leaves the limit as it is. */
static int refresh(struct tally_file *f, int overflows)
{
	struct tally_set *set = tally_file_lock(f);
	int err;

	err = tally_event_limit(f->ev, overflows);
	if (!err)
		tally_file_control(set, tally_group_bit(set, f->ev), PERF_EVENT_IOC_ENABLE);
	mutex_unlock(&set->lock);
	return err;
}

static int set_period(struct tally_file *f, const u64 __user *arg)
{
	u64 period;

	if (copy_from_user(&period, arg, sizeof(period)))
		return -EFAULT;
	return tally_event_set_period(f->ev, period);
}

/* As in perf, only the members set below may change. */
static bool same_but(const struct perf_event_attr *attr,
		     const struct perf_event_attr *given)
{
	struct perf_event_attr same = *given;

	same.bp_addr = attr->bp_addr;
	same.bp_len = attr->bp_len;
	same.bp_type = attr->bp_type;
	same.disabled = attr->disabled;
	return !memcmp(&same, attr, sizeof(same));
}

/* Called with the set locked. */
static int modify_breakpoint(struct tally_file *f, const struct perf_event_attr *attr)
{
	int err;

	if (!same_but(attr, f->given) || attr->bp_len > UINT_MAX)
		return -EINVAL;
	err = tally_event_modify(f->ev, attr->bp_addr, attr->bp_len, attr->bp_type);
	if (err)
		return err;
	*f->given = *attr;
	tally_file_control(f->set, tally_group_bit(f->set, f->ev),
			   attr->disabled ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE);
	return 0;
}

static int modify(struct tally_file *f, struct perf_event_attr __user *arg)
{
	struct perf_event_attr attr;
	struct tally_set *set;
	int err;

	err = tally_copyin_attr(&attr, arg);
	if (err)
		return err;
	if (!tally_attr_is_known(&attr) || attr.type != f->ev->attr.type)
		return -EINVAL;
	if (attr.type != PERF_TYPE_BREAKPOINT)
		return -EOPNOTSUPP;
	set = tally_file_lock(f);
	err = modify_breakpoint(f, &attr);
	mutex_unlock(&set->lock);
	return err;
}

/* The event writes to the rings of the file @fd from now on; if @fd is -1UL, to none. */
static int set_output(struct tally_file *f, unsigned long fd)
{
	struct tally_file *to;
	struct file *file;
	int err = -EBADF;

	if (fd == -1UL)
		return tally_output_set(f->ev, &f->wait, NULL);
	file = fget(fd);
	if (!file)
		return -EBADF;
	to = tally_file_of(file);
	if (to)
		err = to->ev ? tally_output_set(f->ev, &f->wait, to->ev) : -EINVAL;
	fput(file);
	return err;
}

/*
 * As in perf, the text is shorter than a page. An event that only counts gets new events of
 * perf, which checks the rights of the program that opened the file, not of the caller.
 */
static int set_filter(struct file *file, const char __user *arg)
{
	struct tally_file *f = file->private_data;
	const struct cred *cred;
	struct tally_builder b;
	char *text;
	size_t size;
	int err;

	text = strndup_user(arg, PAGE_SIZE);
	if (IS_ERR(text))
		return PTR_ERR(text);
	if (!tally_filter_can(&f->ev->attr)) {
		kfree(text);
		return -EINVAL;
	}
	/* The sentence that @b receives is dropped: the ioctl has no room for it. */
	tally_builder_clear(&b, THIS_MODULE);
	size = tally_filter_size(text);
	err = tally_quota_add(&f->charge, 0, size, &b);
	if (!err) {
		cred = override_creds(file->f_cred);
		err = tally_event_set_filter(f->ev, text);
		revert_creds(cred);
		if (err)
			tally_quota_sub(&f->charge, 0, size);
	}
	kfree(text);
	return err;
}

static int get_id(struct tally_file *f, u64 __user *arg)
{
	u64 id = f->ev ? f->ev->id : f->at.id;

	return copy_to_user(arg, &id, sizeof(id)) ? -EFAULT : 0;
}

static int reset_attached(struct tally_file *f)
{
	struct tally_totals base;
	int err;

	if (f->at.unprivileged) {
		tally_mapping_reset(&f->mapping);
		return 0;
	}
	/* The count and the page are reset under one lock: the later of two resets wins. */
	mutex_lock(&f->at.lock);
	err = tally_attachment_reset(&f->at, &base);
	if (!err)
		tally_mapping_rebase(&f->mapping, &base);
	mutex_unlock(&f->at.lock);
	return err;
}

/* Describes the owner's rings; EACCES if the attached file may not map them. */
static int ring_info(struct tally_file *f, void __user *arg)
{
	struct tally_ring_info info;
	u32 size;
	int err;

	err = tally_copyin_request(&info, sizeof(info), arg, sizeof(size), sizeof(info), &size);
	if (err)
		return err;
	if (!f->at_ring)
		return -EACCES;
	memset(&info, 0, sizeof(info));
	err = tally_recorder_info(&f->at.ev, &info);
	return err ?: tally_copyin_answer(arg, &info, sizeof(info), size);
}

/* Returns the budget of the attached event; NULL if it has none or has ended. */
static struct tally_budget *budget_of(struct tally_file *f)
{
	lockdep_assert_held(&f->at.lock);
	return f->at.ev ? f->at.ev->budget : NULL;
}

static int fill_budget(struct tally_file *f, struct tally_budget_info *info)
{
	struct tally_budget *b = budget_of(f);
	struct tally_budget_stats stats;
	u64 used = 0, exceeded;
	int err;

	if (!f->at.ev)
		return -ENODEV;
	/* The sum is read first: poll(2) reports each window that is exceeded after that. */
	exceeded = b ? tally_budget_nr_exceeded(b) : 0;
	err = tally_event_budget(f->at.ev, info->cpu, &stats);
	if (err)
		return err;
	f->exceeded = exceeded;
	err = tally_budget_used(f->at.ev, info->cpu, &used);
	if (err)
		return err == -ENODEV ? -EINVAL : err;
	info->budget = b->max;
	info->window_ns = b->window_ns;
	info->window = stats.window;
	info->used = used;
	info->windows = stats.windows;
	info->exceeded = stats.exceeded;
	BUILD_BUG_ON(sizeof(info->latest) != sizeof(stats.latest));
	memcpy(info->latest, stats.latest, sizeof(stats.latest));
	return 0;
}

/* Describes the windows of the attached event on a CPU. */
static int budget(struct tally_file *f, void __user *arg)
{
	struct tally_budget_info info;
	u32 size;
	int err;

	err = tally_copyin_request(&info, sizeof(info), arg,
				   offsetofend(struct tally_budget_info, cpu), sizeof(info), &size);
	if (err)
		return err;
	if (f->at.unprivileged)
		return -EACCES;
	mutex_lock(&f->at.lock);
	err = fill_budget(f, &info);
	mutex_unlock(&f->at.lock);
	return err ?: tally_copyin_answer(arg, &info, sizeof(info), size);
}

static __poll_t poll_budget(struct tally_file *f)
{
	struct tally_budget *b;
	__poll_t mask = 0;

	mutex_lock(&f->at.lock);
	b = budget_of(f);
	if (b && tally_budget_nr_exceeded(b) != f->exceeded)
		mask = EPOLLPRI;
	mutex_unlock(&f->at.lock);
	return mask;
}

/* The file is attached to an event of another owner. */
static long attached_ioctl(struct tally_file *f, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case PERF_EVENT_IOC_RESET:
		return reset_attached(f);
	case PERF_EVENT_IOC_ENABLE:
	case PERF_EVENT_IOC_DISABLE:
	case PERF_EVENT_IOC_REFRESH:
	case PERF_EVENT_IOC_PERIOD:
	case PERF_EVENT_IOC_MODIFY_ATTRIBUTES:
	case PERF_EVENT_IOC_SET_OUTPUT:
	case PERF_EVENT_IOC_SET_FILTER:
	case PERF_EVENT_IOC_PAUSE_OUTPUT:
		return -EPERM;
	case TALLY_IOC_RING_INFO:
		return ring_info(f, (void __user *)arg);
	case TALLY_IOC_BUDGET:
		return budget(f, (void __user *)arg);
	default:
		return -ENOTTY;
	}
}

static long own_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct tally_file *f = file->private_data;
	void __user *to = (void __user *)arg;

	switch (cmd) {
	case PERF_EVENT_IOC_ENABLE:
	case PERF_EVENT_IOC_DISABLE:
	case PERF_EVENT_IOC_RESET:
		control(f, cmd, arg);
		return 0;
	case PERF_EVENT_IOC_REFRESH:
		return refresh(f, (int)arg);
	case PERF_EVENT_IOC_PERIOD:
		return set_period(f, to);
	case PERF_EVENT_IOC_MODIFY_ATTRIBUTES:
		return modify(f, to);
	case PERF_EVENT_IOC_SET_OUTPUT:
		return set_output(f, arg);
	case PERF_EVENT_IOC_PAUSE_OUTPUT:
		return tally_output_pause(READ_ONCE(f->ev->output), arg);
	case PERF_EVENT_IOC_SET_FILTER:
		return set_filter(file, to);
	default:
		return -ENOTTY;
	}
}

static long file_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct tally_file *f = file->private_data;

	switch (cmd) {
	case TALLY_IOC_READ:
		return tally_file_ioc_read(f, (void __user *)arg);
	case PERF_EVENT_IOC_ID:
		return get_id(f, (void __user *)arg);
	case PERF_EVENT_IOC_SET_BPF:
	case PERF_EVENT_IOC_QUERY_BPF:
		return -EOPNOTSUPP;
	default:
		return f->ev ? own_ioctl(file, cmd, arg) : attached_ioctl(f, cmd, arg);
	}
}

#ifdef CONFIG_COMPAT
/* Some of perf's numbers contain the size of a pointer. */
static long file_compat_ioctl(struct file *file, unsigned int cmd,
			      unsigned long arg)
{
	switch (_IOC_NR(cmd)) {
	case _IOC_NR(PERF_EVENT_IOC_SET_FILTER):
	case _IOC_NR(PERF_EVENT_IOC_ID):
	case _IOC_NR(PERF_EVENT_IOC_QUERY_BPF):
	case _IOC_NR(PERF_EVENT_IOC_MODIFY_ATTRIBUTES):
		if (_IOC_TYPE(cmd) == _IOC_TYPE(PERF_EVENT_IOC_ID) &&
		    _IOC_SIZE(cmd) == sizeof(compat_uptr_t)) {
			cmd &= ~IOCSIZE_MASK;
			cmd |= sizeof(void *) << IOCSIZE_SHIFT;
		}
		break;
	}
	/* -1 of a 32-bit program arrives as U32_MAX, which perf takes for a descriptor. */
	if (cmd == PERF_EVENT_IOC_SET_OUTPUT && arg == U32_MAX)
		arg = -1UL;
	/* tally's ioctls and perf's with a direction may have an address; others have a number. */
	if (_IOC_TYPE(cmd) == TALLY_IOC_MAGIC || _IOC_DIR(cmd))
		arg = (unsigned long)compat_ptr(arg);
	return file_ioctl(file, cmd, arg);
}
#else
#define file_compat_ioctl NULL
#endif

/* ---- poll, signals and mappings ---- */

static __poll_t file_poll(struct file *file, poll_table *wait)
{
	struct tally_file *f = file->private_data;
	struct tally_output *out;

	poll_wait(file, &f->wait, wait);
	if (!f->ev && !f->at.unprivileged)
		poll_wait(file, &tally_budget_wait, wait);
	if (tally_file_has_ended(f))
		return EPOLLHUP;
	if (!f->ev)
		return f->at.unprivileged ? 0 : poll_budget(f);
	out = READ_ONCE(f->ev->output);
	return out ? tally_output_poll(out) : 0;
}

static int file_fasync(int fd, struct file *file, int on)
{
	struct tally_file *f = file->private_data;

	return fasync_helper(fd, file, on, &f->fasync);
}

static int file_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct tally_file *f = file->private_data;

	/* One page is the published count. A longer mapping is a header page and a ring. */
	if (vma_pages(vma) > 1 || vma->vm_pgoff) {
		if (f->ev)
			return tally_output_mmap(f->ev, &f->wait, vma);
		return f->at_ring ? tally_recorder_mmap(&f->at.ev, vma) : -EACCES;
	}
	return tally_mapping_mmap(&f->mapping, vma);
}

/* ---- file operations ---- */

static int file_release(struct inode *inode, struct file *file)
{
	tally_file_end(file->private_data);
	return 0;
}

static ssize_t file_read(struct file *file, char __user *buf, size_t size,
			 loff_t *pos)
{
	return tally_file_read(file->private_data, buf, size);
}

#ifdef CONFIG_PROC_FS
static unsigned int attached_state(struct tally_file *f)
{
	unsigned int state = TALLY_IS_RELEASED;

	mutex_lock(&f->at.lock);
	rcu_read_lock();
	if (f->at.ev)
		state = tally_event_state_now(f->at.ev);
	rcu_read_unlock();
	mutex_unlock(&f->at.lock);
	return state;
}

static void file_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct tally_file *f = file->private_data;
	struct tally_count count;
	u64 time_ns;

	/* A reader may look at all programs: it must not wait for events, nor interrupt CPUs. */
	seq_printf(m, "tally-id:\t%llu\n", f->ev ? f->ev->id : f->at.id);
	if (f->ev) {
		seq_printf(m, "tally-name:\t%s\n", f->ev->name);
		rcu_read_lock();
		count.state = tally_event_state_now(f->ev);
		rcu_read_unlock();
	} else if (f->at.unprivileged) {
		tally_mapping_read(&f->mapping, &count, &time_ns);
	} else {
		count.state = attached_state(f);
	}
	if (count.state == TALLY_IS_RELEASED) {
		seq_puts(m, "tally-state:\treleased\n");
		return;
	}
	seq_printf(m, "tally-state:\t%s\n", tally_state_name(count.state));
}
#endif

const struct file_operations tally_file_ops = {
	.owner = THIS_MODULE,
	.read = file_read,
	.poll = file_poll,
	.unlocked_ioctl = file_ioctl,
	.compat_ioctl = file_compat_ioctl,
	.mmap = file_mmap,
	.fasync = file_fasync,
	.release = file_release,
#ifdef CONFIG_PROC_FS
	.show_fdinfo = file_show_fdinfo,
#endif
};

/* Returns the event's file behind an open file, without a reference; NULL for other files. */
struct tally_file *tally_file_of(struct file *file)
{
	return file->f_op == &tally_file_ops ? file->private_data : NULL;
}
