// SPDX-License-Identifier: GPL-2.0
/* The calls of libpfm4. */
#include <stdio.h>
#include <string.h>
#include <perfmon/pfmlib_perf_event.h>
#include "pfm.h"

static bool initialise(void)
{
	static int result = -1;

	if (result < 0)
		result = pfm_initialize() == PFM_SUCCESS;
	return result;
}

const char *pfm_encode(const char *name, void *attr, size_t size)
{
	struct perf_event_attr encoded = { .size = sizeof(encoded) };
	pfm_perf_encode_arg_t arg = { .attr = &encoded, .size = sizeof(arg) };
	int result;

	if (!initialise())
		return "libpfm4 does not work here";
	result = pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg);
	if (result != PFM_SUCCESS)
		return pfm_strerror(result);
	/* As perf does it, a CPU's event does not count virtual machines. */
	if (encoded.type == PERF_TYPE_RAW || encoded.type == PERF_TYPE_HARDWARE)
		encoded.exclude_guest = 1;
	memcpy(attr, &encoded, size < sizeof(encoded) ? size : sizeof(encoded));
	return NULL;
}

/* An event may need a mask behind its name. */
static void each_mask(const char *event, int code, int nr,
		      void (*call)(void *data, const char *name, const char *what), void *data)
{
	char name[768];
	int i;

	for (i = 0; i < nr; i++) {
		pfm_event_attr_info_t mask = { .size = sizeof(mask) };

		if (pfm_get_event_attr_info(code, i, PFM_OS_PERF_EVENT, &mask) != PFM_SUCCESS ||
		    mask.type != PFM_ATTR_UMASK)
			continue;
		snprintf(name, sizeof(name), "%s:%s", event, mask.name);
		call(data, name, mask.desc ? mask.desc : "");
	}
}

static void each_event(const pfm_pmu_info_t *pmu,
		       void (*call)(void *data, const char *name, const char *what), void *data)
{
	char name[512];
	int code;

	for (code = pmu->first_event; code >= 0; code = pfm_get_event_next(code)) {
		pfm_event_info_t event = { .size = sizeof(event) };

		if (pfm_get_event_info(code, PFM_OS_PERF_EVENT, &event) != PFM_SUCCESS)
			continue;
		snprintf(name, sizeof(name), "%s::%s", pmu->name, event.name);
		call(data, name, event.desc ? event.desc : "");
		each_mask(name, code, event.nattrs, call, data);
	}
}

void pfm_each(void (*call)(void *data, const char *name, const char *what), void *data)
{
	int i;

	for (i = 0; i < PFM_PMU_MAX && initialise(); i++) {
		pfm_pmu_info_t pmu = { .size = sizeof(pmu) };

		/* perf's own events and tracepoints are listed by their usual names. */
		if (pfm_get_pmu_info(i, &pmu) == PFM_SUCCESS && pmu.is_present &&
		    pmu.pmu != PFM_PMU_PERF_EVENT && pmu.pmu != PFM_PMU_PERF_EVENT_RAW)
			each_event(&pmu, call, data);
	}
}
