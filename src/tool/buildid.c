// SPDX-License-Identifier: GPL-2.0
/* perf.data files, with build ids of mapped files and the arguments as features. */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "perfdata.h"
#include "tool.h"

/* perf's numbers of features */
#define HEADER_BUILD_ID	2
#define HEADER_CMDLINE	11

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
 * Files that programs have mapped are anybody's. A larger section of notes, or more parts of a
 * program, have no build id.
 */
#define MOST_NOTES	65536
#define MOST_PARTS	128

/* Mapped files that are kept before the first look for those that are there twice. */
#define MANY		4096

const char *perfdata_name(const char *path)
{
	return strcmp(path, "-") ? path : "standard output";
}

bool perfdata_is_stdout(const char *path)
{
	struct stat file, output;

	if (!strcmp(path, "-"))
		return true;
	return !stat(path, &file) && !fstat(STDOUT_FILENO, &output) && !S_ISCHR(file.st_mode) &&
	       file.st_dev == output.st_dev && file.st_ino == output.st_ino;
}

static bool is_terminal(const char *path)
{
	struct stat status;
	int fd;
	bool is;

	if (!strcmp(path, "-"))
		return isatty(STDOUT_FILENO);
	if (stat(path, &status) || !S_ISCHR(status.st_mode))
		return false;
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	is = fd >= 0 && isatty(fd);
	if (fd >= 0)
		close(fd);
	return is;
}

void perfdata_check_path(struct argp_state *state, const char *path)
{
	if (is_terminal(path))
		argp_error(state, "%s is a terminal: give a file, or a pipe to perf report -i -",
			   perfdata_name(path));
}

void perfdata_wait_for_reader(const char *path)
{
	struct stat status;

	/* The end that is opened here stays open, so that the file opens at once later. */
	if (!stat(path, &status) && S_ISFIFO(status.st_mode))
		open(path, O_WRONLY | O_CLOEXEC);
}

struct libtally_perfdata *perfdata_create(const char *path, const struct libtally_events *events)
{
	struct libtally_perfdata *data;
	struct stat status;
	char *old = NULL;

	if (strcmp(path, "-") && !lstat(path, &status) && S_ISREG(status.st_mode) &&
	    status.st_size) {
		if (asprintf(&old, "%s.old", path) < 0)
			need(NULL);
		/* In a folder of others it is overwritten. */
		if (rename(path, old))
			say("%s: %s", old, strerror(errno));
		free(old);
	}
	data = libtally_perfdata_create(path, events);
	if (!data && errno == E2BIG)
		die("%s: a pipe has no room for so many tasks and CPUs: write to a file",
		    perfdata_name(path));
	if (!data)
		die("%s: %s", perfdata_name(path), strerror(errno));
	signal(SIGPIPE, SIG_IGN);
	return data;
}

/**
 * struct mapped_file - a file that a program has mapped
 * @path:	path as the program sees it
 * @device:	device of its file system, and
 * @ino:	number of its inode, as the record says; 0 beside a build id
 * @pid:	the program
 * @size:	size of @id; 0 if the record has none
 * @id:		build id, which the kernel has read from the file that is mapped
 */
struct mapped_file {
	char *path;
	dev_t device;
	__u64 ino;
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
	file->pid = m->pid;
	file->size = m->build_id_size;
	if (file->size)
		memcpy(file->id, m->build_id, file->size);
}

/* Finds the build id in notes. Returns its size; 0 without one. */
static size_t id_in_notes(Elf_Data *notes, __u8 *id)
{
	size_t at = 0, name_at, id_at, size;
	GElf_Nhdr note;

	while ((at = gelf_getnote(notes, at, &note, &name_at, &id_at)) > 0) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
		    memcmp((char *)notes->d_buf + name_at, "GNU", sizeof("GNU")))
			continue;
		size = note.n_descsz > ID_SIZE ? ID_SIZE : note.n_descsz;
		memcpy(id, (char *)notes->d_buf + id_at, size);
		return size;
	}
	return 0;
}

static size_t id_of_elf(Elf *elf, __u8 *id)
{
	size_t nr, i, size = 0;
	GElf_Phdr part;
	Elf_Data *notes;

	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &nr) || nr > MOST_PARTS)
		return 0;
	for (i = 0; i < nr && !size; i++) {
		if (!gelf_getphdr(elf, i, &part) || part.p_type != PT_NOTE)
			continue;
		if (part.p_filesz > MOST_NOTES)
			return 0;
		notes = elf_getdata_rawchunk(elf, part.p_offset, part.p_filesz, ELF_T_NHDR);
		if (notes)
			size = id_in_notes(notes, id);
	}
	return size;
}

/*
 * Opens a path if it is that of a file that was mapped. The path may be that of a device, and
 * opening that may have an effect. Nor does this wait for the owner of a lease to give it up.
 */
static int open_mapped(const char *path, const struct mapped_file *file)
{
	struct stat status;
	char name[64];
	int at, fd = -1;

	at = open(path, O_PATH | O_CLOEXEC);
	if (at < 0)
		return -1;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", at);
	if (!fstat(at, &status) && S_ISREG(status.st_mode) && status.st_dev == file->device &&
	    status.st_ino == file->ino)
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	close(at);
	return fd;
}

/*
 * Reads the build id for a record without one: of a file that the kernel had not read, or that was
 * mapped before. The path is as the program sees it, which may have ended.
 */
static size_t id_of_file(const struct mapped_file *file, __u8 *id)
{
	char path[64 + PATH_MAX];
	size_t size;
	Elf *elf;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/root%s", file->pid, file->path);
	fd = open_mapped(path, file);
	if (fd < 0)
		fd = open_mapped(file->path, file);
	if (fd < 0)
		return 0;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	size = id_of_elf(elf, id);
	elf_end(elf);
	close(fd);
	return size;
}

static size_t id_of_kernel(__u8 *id)
{
	char content[4096];
	FILE *file = fopen("/sys/kernel/notes", "re");
	size_t got, size = 0;
	Elf_Data notes = { .d_buf = content, .d_type = ELF_T_NHDR, .d_version = EV_CURRENT,
			   .d_align = 4 };

	if (!file)
		return 0;
	got = fread(content, 1, sizeof(content), file);
	fclose(file);
	notes.d_size = got;
	size = id_in_notes(&notes, id);
	return size;
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

	elf_version(EV_CURRENT);
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
