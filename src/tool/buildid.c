// SPDX-License-Identifier: GPL-2.0
/* perf.data files, with build ids of mapped files and the arguments as features. */
#include <errno.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "datafile.h"
#include "../lib/perfdata.h"
#include "tool.h"

/* perf's numbers of features */
#define HEADER_BUILD_ID	2
#define HEADER_CMDLINE	11
#define HEADER_GROUP_DESC	17

/* perf's record of a build id, which is no record of the kernel's */
#define RECORD_BUILD_ID		67
#define MISC_BUILD_ID_SIZE	(1U << 15)
#define ID_SIZE			20

struct build_id_record {
	struct perf_event_header header;
	__s32 pid;
	__u8 id[ID_SIZE];
	__u8 size;
	__u8 reserved[3];
};

/*
 * Any user may have written a file that a program has mapped. So this command skips a segment with
 * more bytes of notes, and finds no build id in a file with more program headers (parts).
 */
#define MOST_NOTES	65536
#define MOST_PARTS	128

/* Number of mapped files that are kept before unite() first removes those that are there twice. */
#define MANY		4096

const char *perfdata_name(const char *path)
{
	return strcmp(path, "-") ? path : "standard output";
}

const char *const perfdata_usual = "perf.data";

/*
 * Returns whether the path is opened as it is. Else a new file replaces what is there: a regular
 * file or a link, and a fifo that no -o names, may be another user's.
 */
static bool is_opened(const char *path, struct stat *status)
{
	if (libtally_perfdata_is_open(path))
		return !stat(path, status);
	return !lstat(path, status) && !S_ISREG(status->st_mode) && !S_ISLNK(status->st_mode) &&
	       !(S_ISFIFO(status->st_mode) && path == perfdata_usual);
}

bool perfdata_is_stdout(const char *path)
{
	struct stat file, output;

	if (!strcmp(path, "-"))
		return true;
	return is_opened(path, &file) && !fstat(STDOUT_FILENO, &output) &&
	       !S_ISCHR(file.st_mode) && file.st_dev == output.st_dev &&
	       file.st_ino == output.st_ino;
}

static bool is_terminal(const char *path)
{
	struct stat status;
	int fd;
	bool is;

	if (!strcmp(path, "-"))
		return isatty(STDOUT_FILENO);
	if (!is_opened(path, &status) || !S_ISCHR(status.st_mode))
		return false;
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	is = fd >= 0 && isatty(fd);
	if (fd >= 0)
		close(fd);
	return is;
}

void perfdata_check_path(struct argp_state *state, const char *path)
{
	if (!*path)
		argp_error(state, "-o takes the name of a file");
	if (is_terminal(path))
		argp_error(state, "%s is a terminal: give a file, or a pipe to perf report -i -",
			   perfdata_name(path));
}

void perfdata_wait_for_reader(const char *path)
{
	struct stat status;

	/* The end that is opened here stays open, so that the file opens at once later. */
	if (is_opened(path, &status) && S_ISFIFO(status.st_mode))
		open(path, O_WRONLY | O_CLOEXEC);
}

/* The name that a new file has until perfdata_publish(); NULL without one. */
static char *unpublished;

static void remove_unpublished(void)
{
	if (unpublished)
		unlink(unpublished);
}

static void choose_name(const char *path)
{
	int fd;

	if (asprintf(&unpublished, "%s.XXXXXX", path) < 0)
		need(NULL);
	fd = mkostemp(unpublished, O_CLOEXEC);
	if (fd < 0) {
		unpublished = NULL;
		die("%s: %s", path, strerror(errno));
	}
	close(fd);
	atexit(remove_unpublished);
}

struct libtally_perfdata *perfdata_create(const char *path, const struct libtally_events *events)
{
	struct libtally_perfdata *data;
	struct stat status;

	signal(SIGPIPE, SIG_IGN);
	if (strcmp(path, "-") && !is_opened(path, &status))
		choose_name(path);
	data = libtally_perfdata_create(unpublished ? unpublished : path, events);
	if (!data && errno == E2BIG)
		die("%s: a pipe has no room for so many tasks and CPUs: write to a file",
		    perfdata_name(path));
	if (!data)
		die("%s: %s", perfdata_name(path), strerror(errno));
	return data;
}

int perfdata_publish(const char *path)
{
	struct stat status;
	char *old;

	if (!unpublished)
		return 0;
	if (!lstat(path, &status) && (!S_ISREG(status.st_mode) || status.st_size)) {
		if (asprintf(&old, "%s.old", path) < 0)
			need(NULL);
		if (rename(path, old))
			say("%s: %s", old, strerror(errno));
		free(old);
	}
	if (rename(unpublished, path))
		return -errno;
	free(unpublished);
	unpublished = NULL;
	return 0;
}

/**
 * struct mapped_file - a file that a program has mapped
 * @path:	path as the program sees it
 * @device:	device of its file system, as the record says; 0 if the record has a build id
 * @ino:	number of its inode, as the record says; 0 if the record has a build id
 * @begin:	address of the mapping
 * @end:	address behind it
 * @offset:	place in the file at @begin, in bytes
 * @pid:	process of the program
 * @size:	size of @id in bytes; 0 without a build id
 * @id:		build id, from the record, or from the file by id_of_file()
 */
struct mapped_file {
	char *path;
	dev_t device;
	__u64 ino;
	__u64 begin, end, offset;
	__u32 pid;
	__u32 size;
	__u8 id[ID_SIZE];
};

static int compare_words(__u64 a, __u64 b)
{
	return a < b ? -1 : a > b;
}

static int compare(const void *first, const void *second)
{
	const struct mapped_file *a = first, *b = second;
	int by = strcmp(a->path, b->path);

	if (!by)
		by = compare_words(a->size, b->size);
	if (!by)
		by = memcmp(a->id, b->id, sizeof(a->id));
	if (!by)
		by = compare_words(a->device, b->device);
	return by ? by : compare_words(a->ino, b->ino);
}

/* Sorts the files, and keeps each once. */
static void unite(struct mapped_files *files)
{
	size_t i, nr = 0;

	qsort(files->list, files->nr, sizeof(*files->list), compare);
	for (i = 0; i < files->nr; i++) {
		if (nr && !compare(&files->list[i], &files->list[nr - 1]))
			free(files->list[i].path);
		else
			files->list[nr++] = files->list[i];
	}
	files->nr = nr;
	files->most = 2 * nr > MANY ? 2 * nr : MANY;
}

void mapped_files_add(void *data, const struct perf_event_header *record)
{
	static const struct libtally_format no_trailer;
	struct mapped_files *files = data;
	struct libtally_record parsed;
	const struct libtally_mmap *m = &parsed.u.mmap;
	struct mapped_file *file;

	if (record->type != PERF_RECORD_MMAP2 ||
	    libtally_record_parse(&parsed, record, record->size, &no_trailer) ||
	    *m->filename != '/' || m->filename[1] == '/')
		return;
	if (files->nr >= files->most)
		unite(files);
	files->list = need(realloc(files->list, (files->nr + 1) * sizeof(*files->list)));
	file = &files->list[files->nr++];
	memset(file, 0, sizeof(*file));
	file->path = need(strdup(m->filename));
	file->device = makedev(m->maj, m->min);
	file->ino = m->ino;
	file->begin = m->addr;
	file->end = m->addr + m->len;
	file->offset = m->pgoff;
	file->pid = m->pid;
	file->size = m->build_id_size;
	if (file->size)
		memcpy(file->id, m->build_id, file->size);
}

/**
 * struct elf - the form of an ELF file
 * @fd:		the file
 * @is_64:	the file is of ELFCLASS64, and not of ELFCLASS32
 * @is_big:	the most significant byte of a number is the first one
 */
struct elf {
	int fd;
	bool is_64, is_big;
};

/* Returns the number that is stored in size bytes. */
static __u64 number(const struct elf *elf, const __u8 *at, size_t size)
{
	__u64 value = 0;
	size_t i;

	for (i = 0; i < size; i++)
		value = value << 8 | at[elf->is_big ? i : size - 1 - i];
	return value;
}

/* Returns a number that has 64 or 32 bits, as the form of the file, and an offset in each form. */
static __u64 word(const struct elf *elf, const __u8 *at, size_t offset_64, size_t offset_32)
{
	return elf->is_64 ? number(elf, at + offset_64, 8) : number(elf, at + offset_32, 4);
}

static __u64 half(const struct elf *elf, const __u8 *at, size_t offset_64, size_t offset_32)
{
	return number(elf, at + (elf->is_64 ? offset_64 : offset_32), 2);
}

#define ALIGN_NOTE(size)	(((size) + 3) & ~(size_t)3)

/* Finds the build id in notes. Returns its size; 0 without one. */
static size_t id_in_notes(const struct elf *elf, const __u8 *notes, size_t left, __u8 *id)
{
	size_t name, content, type;

	/* Both forms have the same header of a note: three numbers of 32 bits. */
	while (left >= sizeof(Elf64_Nhdr)) {
		name = number(elf, notes + offsetof(Elf64_Nhdr, n_namesz), 4);
		content = number(elf, notes + offsetof(Elf64_Nhdr, n_descsz), 4);
		type = number(elf, notes + offsetof(Elf64_Nhdr, n_type), 4);
		notes += sizeof(Elf64_Nhdr);
		left -= sizeof(Elf64_Nhdr);
		if (name > left || ALIGN_NOTE(name) > left || content > left - ALIGN_NOTE(name))
			return 0;
		if (type == NT_GNU_BUILD_ID && name == sizeof("GNU") &&
		    !memcmp(notes, "GNU", sizeof("GNU"))) {
			content = content > ID_SIZE ? ID_SIZE : content;
			memcpy(id, notes + ALIGN_NOTE(name), content);
			return content;
		}
		content = ALIGN_NOTE(name) + ALIGN_NOTE(content);
		if (content > left)
			return 0;
		notes += content;
		left -= content;
	}
	return 0;
}

static bool read_at(const struct elf *elf, void *to, size_t size, __u64 offset)
{
	return offset <= __LONG_MAX__ && pread(elf->fd, to, size, offset) == (ssize_t)size;
}

/* Reads the header, and with it the form. */
static bool read_header(struct elf *elf, __u8 *header)
{
	if (!read_at(elf, header, sizeof(Elf32_Ehdr), 0) || memcmp(header, ELFMAG, SELFMAG))
		return false;
	elf->is_64 = header[EI_CLASS] == ELFCLASS64;
	elf->is_big = header[EI_DATA] == ELFDATA2MSB;
	return !elf->is_64 || read_at(elf, header, sizeof(Elf64_Ehdr), 0);
}

static size_t id_of_part(const struct elf *elf, const __u8 *part, __u8 *id)
{
	__u64 type = number(elf, part, 4);
	__u64 offset = word(elf, part, offsetof(Elf64_Phdr, p_offset),
			    offsetof(Elf32_Phdr, p_offset));
	__u64 size = word(elf, part, offsetof(Elf64_Phdr, p_filesz),
			  offsetof(Elf32_Phdr, p_filesz));
	__u8 notes[MOST_NOTES];

	if (type != PT_NOTE || size > sizeof(notes) || !read_at(elf, notes, size, offset))
		return 0;
	return id_in_notes(elf, notes, size, id);
}

static size_t id_of_elf(int fd, __u8 *id)
{
	__u8 header[sizeof(Elf64_Ehdr)], parts[MOST_PARTS * sizeof(Elf64_Phdr)];
	struct elf elf = { .fd = fd };
	size_t nr, i, one, size = 0;
	__u64 offset;

	if (!read_header(&elf, header))
		return 0;
	offset = word(&elf, header, offsetof(Elf64_Ehdr, e_phoff), offsetof(Elf32_Ehdr, e_phoff));
	nr = half(&elf, header, offsetof(Elf64_Ehdr, e_phnum), offsetof(Elf32_Ehdr, e_phnum));
	one = half(&elf, header, offsetof(Elf64_Ehdr, e_phentsize),
		   offsetof(Elf32_Ehdr, e_phentsize));
	if (nr > MOST_PARTS || one != (elf.is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)) ||
	    !read_at(&elf, parts, nr * one, offset))
		return 0;
	for (i = 0; i < nr && !size; i++)
		size = id_of_part(&elf, parts + i * one, id);
	return size;
}

/*
 * Returns whether an open file is the one that was mapped. The record has the device of
 * /proc/PID/maps. On btrfs and overlayfs, stat(2) returns another device, with the major number 0;
 * then a file with the same inode number that is large enough for the mapping is taken for it.
 */
static bool was_mapped(const struct stat *status, const struct mapped_file *file)
{
	__u64 pages = (status->st_size + sysconf(_SC_PAGESIZE) - 1) / sysconf(_SC_PAGESIZE);

	if (status->st_ino != file->ino)
		return false;
	if (status->st_dev == file->device)
		return true;
	return !major(status->st_dev) &&
	       file->offset + (file->end - file->begin) <= pages * sysconf(_SC_PAGESIZE);
}

/* Returns whether a link leads to the path of a mapped file. */
static bool leads_to(const char *link, const struct mapped_file *file)
{
	char path[PATH_MAX];
	ssize_t length = readlink(link, path, sizeof(path));

	return length == (ssize_t)strlen(file->path) && !memcmp(path, file->path, length);
}

/*
 * Opens a path if it leads to the regular file that was mapped; returns -1 if not. O_PATH looks at
 * the path first, because opening a device may have an effect. With O_NONBLOCK, open(2) does not
 * wait for the owner of a lease. is_mapping: the path is the kernel's link to what is mapped now.
 */
static int open_mapped(const char *path, const struct mapped_file *file, bool is_mapping)
{
	struct stat status;
	char name[64];
	int at, fd = -1;

	at = open(path, O_PATH | O_CLOEXEC);
	if (at < 0)
		return -1;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", at);
	/* On overlayfs, stat(2) may also return another number of the inode than the record has. */
	if (!fstat(at, &status) && S_ISREG(status.st_mode) &&
	    (was_mapped(&status, file) ||
	     (is_mapping && !major(status.st_dev) && leads_to(name, file))))
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	close(at);
	return fd;
}

/*
 * Reads the build id of a file whose record has none: the kernel could not read it, or the file was
 * mapped before the recording. Returns its size; 0 without one. Root opens the link to the mapping.
 * For another user, or if the mapping is gone, the path is opened in the root of the program; and
 * if the program has ended, in the root of this command.
 */
static size_t id_of_file(const struct mapped_file *file, __u8 *id)
{
	char path[64 + PATH_MAX];
	size_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", file->pid,
		 (unsigned long long)file->begin, (unsigned long long)file->end);
	fd = open_mapped(path, file, true);
	if (fd < 0) {
		snprintf(path, sizeof(path), "/proc/%u/root%s", file->pid, file->path);
		fd = open_mapped(path, file, false);
	}
	if (fd < 0)
		fd = open_mapped(file->path, file, false);
	if (fd < 0)
		return 0;
	size = id_of_elf(fd, id);
	close(fd);
	return size;
}

static size_t id_of_kernel(__u8 *id)
{
	static const __u16 one = 1;
	const struct elf elf = { .is_big = !*(const char *)&one };
	__u8 notes[4096];
	FILE *file = fopen("/sys/kernel/notes", "re");
	size_t got;

	if (!file)
		return 0;
	got = fread(notes, 1, sizeof(notes), file);
	fclose(file);
	return id_in_notes(&elf, notes, got, id);
}

/* perf pads strings to a multiple of 64 bytes. */
static size_t padded_size(const char *text)
{
	return (strlen(text) + 1 + 63) / 64 * 64;
}

static void write_padded(FILE *f, const char *text)
{
	static const char zeros[64];
	size_t length = strlen(text) + 1;

	fwrite(text, length, 1, f);
	fwrite(zeros, padded_size(text) - length, 1, f);
}

static void write_id(FILE *f, __s32 pid, __u16 misc, const char *path, const __u8 *id, size_t size)
{
	struct build_id_record r = {
		.header = { RECORD_BUILD_ID, misc | MISC_BUILD_ID_SIZE,
			    sizeof(r) + padded_size(path) },
		.pid = pid, .size = size,
	};

	memcpy(r.id, id, size);
	fwrite(&r, sizeof(r), 1, f);
	write_padded(f, path);
}

void perfdata_add_build_ids(struct libtally_perfdata *data, struct mapped_files *files)
{
	__u8 id[ID_SIZE];
	char *content = NULL;
	size_t size, i;
	FILE *f = need(open_memstream(&content, &size));

	i = id_of_kernel(id);
	if (i)
		write_id(f, -1, PERF_RECORD_MISC_KERNEL, "[kernel.kallsyms]", id, i);
	unite(files);
	for (i = 0; i < files->nr; i++) {
		struct mapped_file *file = &files->list[i];

		if (!file->size)
			file->size = id_of_file(file, file->id);
		if (file->size)
			write_id(f, -1, PERF_RECORD_MISC_USER, file->path, file->id, file->size);
		free(file->path);
	}
	free(files->list);
	memset(files, 0, sizeof(*files));
	if (fclose(f))
		need(NULL);
	libtally_perfdata_feature(data, HEADER_BUILD_ID, content, size);
	free(content);
}

void perfdata_add_groups(struct libtally_perfdata *data, const struct wanted_list *events,
			 const int *numbers)
{
	static const char name[] = "{anon_group}";
	__u32 size = padded_size(name), groups = 0, nr;
	int e, first, behind;
	char *content = NULL;
	size_t length;
	FILE *f = need(open_memstream(&content, &length));

	fwrite(&groups, sizeof(groups), 1, f);
	for (first = 0; first < events->nr; first = behind) {
		behind = wanted_behind(events, first);
		nr = behind - first;
		/* perf's groups are of consecutive events: a set with a gap is left out. */
		for (e = first; e < behind; e++)
			if (numbers[e] < 0 || numbers[e] != numbers[first] + e - first)
				nr = 0;
		if (nr < 2)
			continue;
		fwrite(&size, sizeof(size), 1, f);
		write_padded(f, name);
		fwrite(&numbers[first], sizeof(numbers[first]), 1, f);
		fwrite(&nr, sizeof(nr), 1, f);
		groups++;
	}
	if (fclose(f))
		need(NULL);
	memcpy(content, &groups, sizeof(groups));
	if (groups)
		libtally_perfdata_feature(data, HEADER_GROUP_DESC, content, length);
	free(content);
}

void perfdata_add_command(struct libtally_perfdata *data, int argc, char **argv)
{
	char *content = NULL;
	size_t size;
	FILE *f = need(open_memstream(&content, &size));
	__u32 number = argc, i;

	fwrite(&number, sizeof(number), 1, f);
	for (i = 0; i < (__u32)argc; i++) {
		number = padded_size(argv[i]);
		fwrite(&number, sizeof(number), 1, f);
		write_padded(f, argv[i]);
	}
	if (fclose(f))
		need(NULL);
	libtally_perfdata_feature(data, HEADER_CMDLINE, content, size);
	free(content);
}
