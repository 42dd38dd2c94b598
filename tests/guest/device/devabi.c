// SPDX-License-Identifier: GPL-2.0
/*
 * devabi abi: sizes, reserved members and unknown bits.
 * devabi structs: structs of other sizes, and of the ABI before this one.
 * devabi unbuilt: features that tally does not have, and refuses by their names.
 */
#define _GNU_SOURCE
#include "devtest.h"

/* ---- abi ---- */

/* Sets each bit from @first up to @end, counted from byte @at of the attr. */
static void reserved_bits(const char *name, size_t at, unsigned int first,
			  unsigned int end, unsigned int field)
{
	unsigned int bit;
	char what[64];

	for (bit = first; bit < end; bit++) {
		usual();
		((char *)&attr)[at + bit / 8] |= 1 << bit % 8;
		snprintf(what, sizeof(what), "%s %u", name, bit);
		refused(EINVAL, field, what);
	}
}

static void abi_open(void)
{
	struct {
		struct tally_open o;
		char more[64];
	} longer;
	unsigned int bit, size;
	char what[64];
	int fd;

	usual();
	made("the usual one");
	usual();
	o.size = sizeof(o) - 1;
	expect(open_it(), EINVAL, "a size below the first one");
	memset(&longer, 0, sizeof(longer));
	usual();
	longer.o = o;
	longer.o.size = sizeof(longer);
	fd = ioctl(device, TALLY_IOC_OPEN, &longer);
	expect(fd, 0, "a longer struct that is 0 there");
	close(fd);
	longer.more[63] = 1;
	expect(ioctl(device, TALLY_IOC_OPEN, &longer), E2BIG, "one that is not");
	tell(longer.o.size == sizeof(o), "and is told the size: %u", longer.o.size);
	usual();
	o.size = 5000;
	expect(open_it(), E2BIG, "a size above a page");
	expect(ioctl(device, TALLY_IOC_OPEN, 8), EFAULT, "no address");

	for (bit = 4; bit < 32; bit++) {
		usual();
		o.flags = 1U << bit;
		snprintf(what, sizeof(what), "flag %u", bit);
		refused(EINVAL, TALLY_FIELD_FLAGS, what);
	}
	for (bit = 0; bit < 32; bit++) {
		usual();
		o.reserved = 1U << bit;
		snprintf(what, sizeof(what), "reserved bit %u", bit);
		refused(EINVAL, TALLY_FIELD_RESERVED, what);
	}
	for (bit = 4; bit < 64; bit++) {
		usual();
		o.perf_flags = 1ULL << bit;
		snprintf(what, sizeof(what), "perf flag %u", bit);
		refused(EINVAL, TALLY_FIELD_PERF_FLAGS, what);
	}
	usual();
	o.perf_flags = PERF_FLAG_FD_OUTPUT;
	made("PERF_FLAG_FD_OUTPUT without a file");
	usual();
	o.perf_flags = PERF_FLAG_PID_CGROUP;
	refused(EINVAL, TALLY_FIELD_PERF_FLAGS, "PERF_FLAG_PID_CGROUP without a cpu");
	o.cpu = 0;
	o.pid = device;
	refused(EBADF, TALLY_FIELD_PID, "with a file of no cgroup");
	o.pid = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY);
	made("with one of a cgroup");
	o.cpu = -1;
	o.flags = TALLY_OPEN_ALL_CPUS;
	made("on all CPUs");
	close(o.pid);
	usual();
	o.publish_ns = 9999;
	refused(EINVAL, TALLY_FIELD_PUBLISH_NS, "an interval that is too short");
	usual();
	o.publish_ns = 3600000000001ULL;
	refused(EINVAL, TALLY_FIELD_PUBLISH_NS, "one that is too long");
	usual();
	memset(o.name, 'x', sizeof(o.name));
	refused(EINVAL, TALLY_FIELD_NAME, "a name without an end");
	usual();
	memcpy(o.name, "a\0b", 4);
	refused(EINVAL, TALLY_FIELD_NAME, "something behind a name's end");
	usual();
	strcpy(o.name, "a/b");
	refused(EINVAL, TALLY_FIELD_NAME, "a name with a '/'");
	usual();
	strcpy(o.name, "a b");
	refused(EINVAL, TALLY_FIELD_NAME, "a name with a blank");
	usual();
	strcpy(o.name, "named");
	fd = open_it();
	tell(fd >= 0, "a name: %s", why.text);
	refused(EEXIST, TALLY_FIELD_NAME, "the same again");
	close(fd);
	made("and when that is closed");
	usual();
	o.attr = 8;
	refused(EFAULT, TALLY_FIELD_ATTR, "attr nowhere");
	usual();
	o.flags = TALLY_OPEN_ALL_CPUS;
	refused(EINVAL, TALLY_FIELD_PID, "a task on all CPUs");
	o.pid = -1;
	o.cpu = 0;
	refused(EINVAL, TALLY_FIELD_CPU, "all CPUs and one");
	usual();
	o.flags = TALLY_OPEN_MEMBER;
	refused(EINVAL, TALLY_FIELD_GROUP_FD, "a member of nothing");
	usual();
	o.group_fd = -2;
	refused(EBADF, TALLY_FIELD_GROUP_FD, "group_fd -2");
	usual();
	o.group_fd = device;
	refused(EBADF, TALLY_FIELD_GROUP_FD, "group_fd the device");

	/* The attr: each size and each unknown bit. */
	for (size = PERF_ATTR_SIZE_VER0; size <= 144; size++) {
		char room[144] = { 0 };

		usual();
		memcpy(room, &attr, sizeof(attr) < size ? sizeof(attr) : size);
		memcpy(room + 4, &size, 4);
		o.attr = (unsigned long)room;
		snprintf(what, sizeof(what), "attr of %u bytes", size);
		made(what);
	}
	{
		char room[4096] = { 0 };
		uint32_t kernels;

		usual();
		memcpy(room, &attr, sizeof(attr));
		size = sizeof(room);
		memcpy(room + 4, &size, 4);
		o.attr = (unsigned long)room;
		made("attr of a page that is 0");
		room[4095] = 1;
		refused(E2BIG, TALLY_FIELD_ATTR, "one that is not");
		memcpy(&kernels, room + 4, 4);
		tell(kernels >= 128 && kernels <= 144, "and is told the size: %u", kernels);
	}
	reserved_bits("attr's bit", 40, 38, 64, TALLY_FIELD_ATTR_BIT(38));
	reserved_bits("attr's __reserved_2, bit", 110, 0, 16, TALLY_FIELD_ATTR_AT(110));
	reserved_bits("attr's __reserved_3, bit", 116, 3, 32, TALLY_FIELD_ATTR_AT(116));
	for (bit = 25; bit < 64; bit++) {
		usual();
		attr.sample_type = 1ULL << bit;
		snprintf(what, sizeof(what), "sample_type %u", bit);
		refused(EINVAL, TALLY_FIELD_ATTR_AT(24), what);
	}
	for (bit = 5; bit < 64; bit++) {
		usual();
		attr.read_format = 1ULL << bit;
		snprintf(what, sizeof(what), "read_format %u", bit);
		refused(EINVAL, TALLY_FIELD_ATTR_AT(32), what);
	}
}

/* The part of a struct that is longer than the kernel's must be 0. */
static void longer(unsigned long cmd, int fd, const void *from, uint32_t size, int error,
		   const char *what)
{
	static char room[8192];
	uint32_t told;

	memset(room, 0, sizeof(room));
	memcpy(room, from, size);
	told = size + 40;
	memcpy(room, &told, 4);
	expect(ioctl(fd, cmd, room), error, what);
	memcpy(room, from, size);
	memcpy(room, &told, 4);
	room[size + 39] = 1;
	expect(ioctl(fd, cmd, room), E2BIG, "with more than the kernel knows");
	memcpy(&told, room, 4);
	tell(told == size, "%s: it is told the size: %u", what, told);
	told = 5000;
	memcpy(room, &told, 4);
	expect(ioctl(fd, cmd, room), E2BIG, "with more than a page");
}

static void abi_rest(void)
{
	struct tally_info info = { .size = sizeof(info) };
	struct tally_next next = { .size = sizeof(next) };
	struct tally_attach at = { .size = sizeof(at) };
	struct tally_read r = {
		.size = sizeof(r), .cpu = -1,
		.value_size = sizeof(struct tally_value),
	};
	struct tally_value value;
	unsigned int bit;
	int fd;

	expect(ioctl(device, TALLY_IOC_INFO, &info), 0, "info");
	tell(info.abi == TALLY_ABI && info.size == sizeof(info) && info.attr_size >= 128 &&
	     info.nr_cpus && info.features & TALLY_FEATURE_ALL_CPUS,
	     "abi %u, attr of %u, %u cpus, features %#llx", info.abi, info.attr_size,
	     info.nr_cpus, (unsigned long long)info.features);
	info.size = 32;
	expect(ioctl(device, TALLY_IOC_INFO, &info), EINVAL, "info in too little room");
	longer(TALLY_IOC_INFO, device, &info, sizeof(info), 0, "info");
	longer(TALLY_IOC_NEXT, device, &next, sizeof(next), ENOENT, "next");
	longer(TALLY_IOC_ATTACH, device, &at, sizeof(at), ENOENT, "attach");
	expect(ioctl(device, TALLY_IOC_INFO, 8), EFAULT, "info nowhere");
	expect(ioctl(device, _IO(TALLY_IOC_MAGIC, 0x3f), 0), ENOTTY, "no such call");
	expect(read(device, &info, 8), EINVAL, "the device cannot be read");

	next.size = 8;
	expect(ioctl(device, TALLY_IOC_NEXT, &next), EINVAL, "next in too little room");
	next.size = sizeof(next);
	for (bit = 1; bit < 32; bit++) {
		next.flags = 1U << bit;
		expect(ioctl(device, TALLY_IOC_NEXT, &next), EINVAL, "next with an unknown flag");
	}
	next.flags = TALLY_NEXT_OF_FILE;
	next.id = ~0ULL;
	expect(ioctl(device, TALLY_IOC_NEXT, &next), ENOENT, "nothing comes after all");

	for (bit = 1; bit < 32; bit++) {
		at.flags = 1U << bit;
		expect(ioctl(device, TALLY_IOC_ATTACH, &at), EINVAL, "attach, an unknown flag");
	}
	at.flags = 0;
	at.publish_ns = 9999;
	expect(ioctl(device, TALLY_IOC_ATTACH, &at), EINVAL, "attach, too short an interval");
	at.publish_ns = 0;
	memset(at.name, 'x', sizeof(at.name));
	expect(ioctl(device, TALLY_IOC_ATTACH, &at), EINVAL, "attach, a name without an end");
	memset(at.name, 0, sizeof(at.name));
	at.name[63] = 'x';
	expect(ioctl(device, TALLY_IOC_ATTACH, &at), EINVAL, "attach, something behind it");
	at.name[63] = 0;
	for (bit = 0; bit < 64; bit++) {
		at.perf_flags = 1ULL << bit;
		at.id = ~0ULL;
		expect(ioctl(device, TALLY_IOC_ATTACH, &at), bit == 3 ? ENOENT : EINVAL,
		       "attach, a perf flag");
	}
	at.perf_flags = 0;
	for (bit = 3; bit < 64; bit++) {
		at.read_format = 1ULL << bit;
		expect(ioctl(device, TALLY_IOC_ATTACH, &at), bit == 4 ? ENOENT : EINVAL,
		       "attach, a format");
	}
	at.read_format = 0;
	at.error = (unsigned long)&why;
	expect(ioctl(device, TALLY_IOC_ATTACH, &at), ENOENT, "attach to no event");
	tell(why.error == ENOENT && why.field == TALLY_FIELD_ID &&
	     why.text[0], "and why: %s", why.text);
	at.id = 0;
	expect(ioctl(device, TALLY_IOC_ATTACH, &at), ENOENT, "attach to nothing");
	strcpy(at.name, "nothing");
	expect(ioctl(device, TALLY_IOC_ATTACH, &at), ENOENT, "attach to no name");
	at.id = 1;
	expect(ioctl(device, TALLY_IOC_ATTACH, &at), EINVAL, "attach to both");

	usual();
	fd = open_it();
	tell(fcntl(fd, F_GETFD) == FD_CLOEXEC, "closed by exec()");
	longer(TALLY_IOC_READ, fd, &r, sizeof(r), ENOSPC, "read");
	expect(ioctl(fd, TALLY_IOC_READ, &r), ENOSPC, "read without room");
	tell(r.nr == 1, "and is told how much: %u", r.nr);
	r.values = (unsigned long)&value;
	expect(ioctl(fd, TALLY_IOC_READ, &r), 0, "read");
	expect(ioctl(fd, TALLY_IOC_READ, &r), 0, "and again, with what was written");
	tell(r.nr == 1 && value.state == TALLY_IS_ACTIVE && value.id && r.time_ns,
	     "value %llu, state %u", (unsigned long long)value.value, value.state);
	for (bit = 1; bit < 32; bit++) {
		r.flags = 1U << bit;
		expect(ioctl(fd, TALLY_IOC_READ, &r), EINVAL, "read, a flag");
	}
	r.flags = 0;
	r.cpu = 0;
	expect(ioctl(fd, TALLY_IOC_READ, &r), EINVAL, "read of a CPU that it is not on");
	r.cpu = -2;
	expect(ioctl(fd, TALLY_IOC_READ, &r), EINVAL, "read of CPU -2");
	r.cpu = -1;
	r.values = 8;
	r.nr = 1;
	expect(ioctl(fd, TALLY_IOC_READ, &r), EFAULT, "read to nowhere");
	r.size = 8;
	expect(ioctl(fd, TALLY_IOC_READ, &r), EINVAL, "read, too short a struct");
	expect(ioctl(fd, PERF_EVENT_IOC_SET_BPF, 0), EOPNOTSUPP, "SET_BPF");
	expect(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "ip"), EINVAL, "SET_FILTER of no tracepoint");
	expect(ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, 0), EOPNOTSUPP, "QUERY_BPF");
	expect(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, -1L), 0, "SET_OUTPUT to none");
	expect(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), EINVAL, "PAUSE_OUTPUT of no ring");
	expect(ioctl(fd, PERF_EVENT_IOC_ID, 8), EFAULT, "ID to nowhere");
	expect(ioctl(fd, PERF_EVENT_IOC_PERIOD, 8), EFAULT, "PERIOD from nowhere");
	expect(ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, 8), EFAULT, "MODIFY from nowhere");
	attr.type = PERF_TYPE_BREAKPOINT;
	expect(ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr), EINVAL,
	       "MODIFY to another type");
	attr.type = PERF_TYPE_SOFTWARE;
	attr.__reserved_2 = 1;
	expect(ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr), EINVAL,
	       "MODIFY of something reserved");
	attr.__reserved_2 = 0;
	attr.sample_type = 1U << 31;
	expect(ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr), EINVAL,
	       "MODIFY of an unknown bit");
	attr.sample_type = 0;
	expect(ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr), EOPNOTSUPP,
	       "MODIFY of no breakpoint");
	expect(syscall(SYS_read, fd, 8, 8), EFAULT, "read(2) to nowhere");
	expect(read(fd, &value, 7), ENOSPC, "read(2) of 7 bytes");
	close(fd);
	usual();
	attr.read_format = PERF_FORMAT_GROUP;
	fd = open_it();
	expect(syscall(SYS_read, fd, 8, 64), EFAULT, "read(2) of a group to nowhere");
	expect(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0, "the group is disabled");
	expect(syscall(SYS_read, fd, 8, 64), EFAULT, "read(2) of a disabled group to nowhere");
	expect(read(fd, &value, 15), ENOSPC, "read(2) of 15 bytes");
	close(fd);
	expect(ioctl(device, PERF_EVENT_IOC_ENABLE, 0), ENOTTY, "the device is no event");
}

static void abi(void)
{
	abi_open();
	abi_rest();
}

/* ---- structs ---- */

/* The number that the next file gets: the same if a call has left none behind. */
static int next_fd(void)
{
	int fd = dup(device);

	close(fd);
	return fd;
}

static void errors(void)
{
	struct {
		struct tally_error why;
		char more[40];
	} longer = { .why.size = sizeof(longer) };
	int fd;

	usual();
	o.flags = 1U << 31;
	o.error = (unsigned long)&longer;
	memset(longer.more, 'm', sizeof(longer.more));
	expect(open_it(), EINVAL, "a longer struct for the cause");
	tell(longer.why.size == sizeof(longer.why) && longer.why.error == EINVAL &&
	     longer.why.field == TALLY_FIELD_FLAGS && longer.why.cpu == -1 &&
	     !longer.why.reserved && longer.more[0] == 'm', "has it: %s", longer.why.text);
	why.error = 0;
	why.size--;
	o.error = (unsigned long)&why;
	expect(open_it(), EINVAL, "a shorter one");
	tell(!why.error, "and nothing is written");
	usual();
	expect(open_it(), EINVAL, "even the usual one is not made with such a size");
	why.size++;
	o.error = 8;
	fd = next_fd();
	expect(open_it(), EFAULT, "one that is nowhere");
	tell(next_fd() == fd, "and no file is made");
	o.error = 0;
	made("without one");
	o.flags = 1U << 31;
	expect(open_it(), EINVAL, "a failure without one");
}

/* The id cannot be written to a page that is read-only. */
static void ids(void)
{
	struct tally_attach at = { .size = sizeof(at), .name = "named" }, was = at;
	struct tally_open *there = mmap(NULL, page_size, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct tally_value values[64];
	uint64_t id = 0, same = 0;
	int fd, next, i;

	usual();
	strcpy(o.name, "named");
	fd = open_it();
	ioctl(fd, PERF_EVENT_IOC_ID, &id);
	tell(fd >= 0 && id && o.id == id, "the id is written: %llu", (unsigned long long)o.id);
	for (i = 0; i < 2; i++) {
		next = ioctl(device, TALLY_IOC_ATTACH, &at);
		ioctl(next, PERF_EVENT_IOC_ID, &same);
		tell(next >= 0 && same == id && !memcmp(&at, &was, sizeof(at)),
		     "ATTACH %d with the same struct: %s", i, outcome(next));
		close(next);
	}

	next = next_fd();
	usual();
	*there = o;
	mprotect(there, page_size, PROT_READ);
	expect(ioctl(device, TALLY_IOC_OPEN, there), EFAULT, "an id that cannot be written");
	tell(why.error == EFAULT && why.field == TALLY_FIELD_ID, "and why: %s", why.text);
	mprotect(there, page_size, PROT_READ | PROT_WRITE);
	there->flags = TALLY_OPEN_MEMBER;
	there->group_fd = fd;
	mprotect(there, page_size, PROT_READ);
	expect(ioctl(device, TALLY_IOC_OPEN, there), EFAULT, "of a member");
	tell(next_fd() == next && read_values(fd, values, NULL) == 1, "nothing is made");
	munmap(there, page_size);
	close(fd);
}

static void value_sizes(void)
{
	struct tally_read r = { .size = sizeof(r), .cpu = -1, .nr = 2 };
	struct {
		struct tally_value value;
		char more[24];
	} longer[2];
	unsigned int i, turn;
	int fd;

	usual();
	fd = open_it();
	o.group_fd = fd;
	o.flags = TALLY_OPEN_MEMBER;
	expect(open_it(), 0, "a member");
	r.values = (unsigned long)longer;
	r.value_size = sizeof(struct tally_value) - 1;
	expect(ioctl(fd, TALLY_IOC_READ, &r), EINVAL, "values that are too short");
	r.value_size = 4097;
	expect(ioctl(fd, TALLY_IOC_READ, &r), EINVAL, "values that are too long");
	r.value_size = sizeof(longer[0]);
	for (turn = 0; turn < 2; turn++) {
		memset(longer, 'm', sizeof(longer));
		expect(ioctl(fd, TALLY_IOC_READ, &r), 0, "longer values");
		for (i = 0; i < sizeof(longer[1].more) && !longer[1].more[i]; i++)
			;
		tell(i == sizeof(longer[1].more) && longer[1].value.id == o.id &&
		     longer[0].value.id < o.id && longer[1].value.state == TALLY_IS_ACTIVE,
		     "%d: the second begins behind the first, and ends with 0", turn);
	}
	for (i = 0; i < 32; i++) {
		r.reserved = 1U << i;
		expect(ioctl(fd, TALLY_IOC_READ, &r), EINVAL, "read, something reserved");
	}
	close(fd);
}

/*
 * Structs are given twice, as the kernel has left them. Nothing is written behind a shorter
 * struct, and the size that is written is not above the one that was given.
 */
static void given_again(void)
{
	struct {
		struct tally_info info;
		char more[40];
	} longer = { .info.size = sizeof(longer) };
	struct {
		struct tally_next next;
		char more[40];
	} far = { .next.size = sizeof(far) };
	struct {
		struct tally_error why;
		char more[40];
	} cause = { .why.size = sizeof(cause) };
	struct tally_info info = { .size = 64 };
	int turn, fd;

	usual();
	fd = open_it();
	info.attr_bits = ~0ULL;
	info.reserved = ~0U;
	for (turn = 0; turn < 2; turn++) {
		expect(ioctl(device, TALLY_IOC_INFO, &info), 0, "INFO of 64 bytes");
		tell(info.size == 64 && info.attr_bits == ~0ULL && info.reserved == ~0U,
		     "%d: its size is %u, and nothing is written behind", turn, info.size);
		expect(ioctl(device, TALLY_IOC_INFO, &longer), 0, "a longer INFO");
		tell(longer.info.size == sizeof(info), "%d: its size is %u", turn,
		     longer.info.size);
		far.next.id = 0;
		expect(ioctl(device, TALLY_IOC_NEXT, &far), 0, "a longer NEXT");
		tell(far.next.size == sizeof(far.next), "%d: its size is %u", turn,
		     far.next.size);
	}
	close(fd);
	for (turn = 0; turn < 2; turn++) {
		usual();
		o.flags = 1U << 31;
		o.error = (unsigned long)&cause;
		expect(open_it(), EINVAL, "a failure");
		tell(cause.why.size == sizeof(why) && cause.why.error == EINVAL,
		     "%d: the size of the cause is %u", turn, cause.why.size);
	}
}

/* A program of ABI 1, whose structs had 240 and 232 bytes and ended with the cause. */
static void abi_1(void)
{
	static const struct {
		unsigned int nr, size, error_at;
		const char *name;
	} calls[] = { { 1, 240, 112, "OPEN" }, { 3, 232, 104, "ATTACH" } };
	struct tally_info info = { .size = 64 };
	uint32_t old[60];
	unsigned int i;

	expect(ioctl(device, TALLY_IOC_INFO, &info), 0, "INFO as in ABI 1");
	tell(info.abi == 2 && info.size == 64 && !info.attr_bits,
	     "it says what the ABI is: %u", info.abi);
	for (i = 0; i < 2; i++) {
		memset(old, 0, sizeof(old));
		old[0] = calls[i].size;
		expect(ioctl(device, _IO(TALLY_IOC_MAGIC, calls[i].nr), old), EPROTO,
		       calls[i].name);
		tell(old[calls[i].error_at / 4] == EPROTO && strstr((char *)old +
		     calls[i].error_at + 16, "ABI 1"), "and why: %s",
		     (char *)old + calls[i].error_at + 16);
		memset(old, 0, sizeof(old));
		old[0] = calls[i].size - 1;
		expect(ioctl(device, _IO(TALLY_IOC_MAGIC, calls[i].nr), old), EPROTO,
		       "a shorter one");
		tell(!old[calls[i].error_at / 4], "nothing is written");
		expect(ioctl(device, _IO(TALLY_IOC_MAGIC, calls[i].nr), 8), EFAULT, "nowhere");
	}
}

static void structs(void)
{
	errors();
	ids();
	value_sizes();
	given_again();
	abi_1();
}

/* ---- what tally does not have ---- */

/* Probes whose config1 is the address of a symbol's name, and one by its own address. */
static void probes(void)
{
	int fd, i;

	usual();
	attr.type = type_of("uprobe");
	attr.config = 0;
	attr.config1 = (unsigned long)"/bin/busybox";
	if (attr.type)
		refused(EOPNOTSUPP, TALLY_FIELD_ATTR_AT(56), "a uprobe");
	attr.type = type_of("kprobe");
	attr.config1 = (unsigned long)"do_exit";
	if (!attr.type) {
		refused(ENOENT, TALLY_FIELD_NONE, "this kernel has no kprobes");
		return;
	}
	refused(EOPNOTSUPP, TALLY_FIELD_ATTR_AT(56), "a kprobe by a symbol");
	attr.config1 = 0;
	attr.config2 = address_of("__x64_sys_getppid") ?: address_of("__arm64_sys_getppid");
	fd = open_it();
	for (i = 0; i < 10; i++)
		syscall(SYS_getppid);
	tell(fd >= 0 && value_of(fd) >= 10, "a kprobe by its address: %llu %s",
	     (unsigned long long)value_of(fd), why.text);
	close(fd);
}

static void unbuilt(void)
{
	static const struct {
		unsigned int bit;
		const char *name;
	} bits[] = {
		{ 8, "mmap" }, { 11, "inherit_stat" }, { 17, "mmap_data" }, { 23, "mmap2" },
		{ 28, "namespaces" }, { 29, "ksymbol" }, { 30, "bpf_event" },
		{ 31, "aux_output" }, { 33, "text_poke" }, { 34, "build_id" },
	};
	/* comm, task and other bits of task records, and bits of rings. */
	static const unsigned int built[] = {
		9, 13, 14, 18, 21, 22, 24, 25, 26, 27, 32,
	};
	static const struct {
		unsigned int at, length;
		const char *name;
	} members[] = {
		{ 112, 4, "aux_sample_size" }, { 116, 4, "aux_action" },
	};
	unsigned int i;
	uint64_t word;

	for (i = 0; i < sizeof(bits) / sizeof(*bits); i++) {
		usual();
		word = 1ULL << bits[i].bit;
		memcpy((char *)&attr + 40, &word, 8);
		refused(EOPNOTSUPP, TALLY_FIELD_ATTR_BIT(bits[i].bit), bits[i].name);
		tell(!strncmp(why.text, bits[i].name, strlen(bits[i].name)),
		     "by its name: %s", why.text);
	}
	for (i = 0; i < sizeof(members) / sizeof(*members); i++) {
		usual();
		word = 1;
		memcpy((char *)&attr + members[i].at, &word, members[i].length);
		/* In older kernels the bits of aux_action are reserved. */
		if (members[i].at == 116 && open_errno(PERF) == EINVAL) {
			refused(EINVAL, TALLY_FIELD_ATTR_AT(116), members[i].name);
			continue;
		}
		refused(EOPNOTSUPP, TALLY_FIELD_ATTR_AT(members[i].at), members[i].name);
		tell(!strncmp(why.text, members[i].name, strlen(members[i].name)),
		     "by its name: %s", why.text);
	}
	for (i = 0; i < sizeof(built) / sizeof(*built); i++) {
		usual();
		word = 1ULL << built[i];
		memcpy((char *)&attr + 40, &word, 8);
		made("a bit that there is");
	}
	usual();
	attr.sample_period = 1000;
	attr.sample_type = PERF_SAMPLE_AUX;
	refused(EOPNOTSUPP, TALLY_FIELD_ATTR_AT(24), "an AUX area");
	tell(!strncmp(why.text, "PERF_SAMPLE_AUX", 15), "by its name: %s", why.text);
	probes();
}

static const struct devtest tests[] = {
	{ "abi", .run = abi },
	{ "structs", .run = structs },
	{ "unbuilt", .run = unbuilt },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
