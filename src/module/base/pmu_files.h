/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_PMU_FILES_H
#define TALLY_PMU_FILES_H

#include <linux/types.h>

struct attribute;
struct device;

/**
 * struct tally_pmu_files - a PMU whose files are read
 * @dev: its device, which is locked; NULL if there is no such PMU
 * @text: room for a file, of PAGE_SIZE
 * @page: as @text
 */
struct tally_pmu_files {
	struct device *dev;
	char *text;
	char *page;
};

typedef int (*tally_pmu_file_fn)(struct device *dev, struct attribute *attr, void *data);

int tally_pmu_files_open(struct tally_pmu_files *files, u32 type);
void tally_pmu_files_close(struct tally_pmu_files *files);
int tally_pmu_walk(struct device *dev, const char *folder, tally_pmu_file_fn take, void *data);
bool tally_pmu_read(struct device *dev, const char *folder, const char *name, char *page);
bool tally_pmu_has_event(struct device *dev, const char *name);

#endif /* TALLY_PMU_FILES_H */
