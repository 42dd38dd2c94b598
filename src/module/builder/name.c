// SPDX-License-Identifier: GPL-2.0
/*
 * Parses and writes the names of events. The names are perf's:
 *
 *	cycles  cs  page-faults		generic names and their aliases
 *	L1-dcache-load-misses		caches: which, then operation, then result
 *	r3c				raw code, hexadecimal
 *	mem:0x1000/8:w			breakpoint: address, length, access
 *	msr/tsc/  cpu/event=0x3c/	PMU by name or number, and its terms: base/terms.c
 *	sched:sched_switch		tracepoint; also tracepoint:ID
 *	kprobe:do_exit+0x10		kernel probe by symbol, MODULE:SYMBOL or 0xADDRESS;
 *	kretprobe:do_exit		and on return
 *
 * with modifiers behind a colon, or behind a PMU's last slash: u k h count only
 * user space, kernel, hypervisor; G H only virtual machines, only the host; I
 * not the idle task; D pinned, e exclusive; p precise, P as precise as the PMU can.
 */
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/hw_breakpoint.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <tally/tally.h>
#include "compat.h"
#include "builder/builder.h"
#include "builder/name.h"
#include "base/kprobe.h"
#include "base/pmu.h"
#include "base/terms.h"

#define MODIFIER_USER	BIT(0)
#define MODIFIER_KERNEL	BIT(1)
#define MODIFIER_HV	BIT(2)
#define MODIFIER_GUEST	BIT(3)
#define MODIFIER_HOST	BIT(4)
#define MODIFIER_LEVELS	(MODIFIER_USER | MODIFIER_KERNEL | MODIFIER_HV)

/**
 * tally_name_modify - parse modifiers
 * @attr: attributes of an event
 * @text: the modifiers
 * @why: receives a sentence on failure
 * @size: bytes of room in @why
 *
 * Context: Any context.
 * Return: 0; EINVAL for an unknown modifier, and for more than three p.
 */
int tally_name_modify(struct perf_event_attr *attr, const char *text, char *why, size_t size)
{
	unsigned int seen = 0;

	for (; *text; text++) {
		switch (*text) {
		case 'u':
			seen |= MODIFIER_USER;
			break;
		case 'k':
			seen |= MODIFIER_KERNEL;
			break;
		case 'h':
			seen |= MODIFIER_HV;
			break;
		case 'G':
			seen |= MODIFIER_GUEST;
			break;
		case 'H':
			seen |= MODIFIER_HOST;
			break;
		case 'I':
			attr->exclude_idle = 1;
			break;
		case 'D':
			attr->pinned = 1;
			break;
		case 'e':
			attr->exclusive = 1;
			break;
		case 'P':
			attr->precise_ip = 3;
			break;
		case 'p':
			if (attr->precise_ip == 3)
				return tally_say(why, size, -EINVAL, "more than three p");
			attr->precise_ip++;
			break;
		default:
			return tally_say(why, size, -EINVAL, "unknown modifier '%c'", *text);
		}
	}
	if (seen & MODIFIER_LEVELS) {
		attr->exclude_user = !(seen & MODIFIER_USER);
		attr->exclude_kernel = !(seen & MODIFIER_KERNEL);
		attr->exclude_hv = !(seen & MODIFIER_HV);
	}
	if (seen & (MODIFIER_GUEST | MODIFIER_HOST)) {
		attr->exclude_guest = !(seen & MODIFIER_GUEST);
		attr->exclude_host = !(seen & MODIFIER_HOST);
	}
	return 0;
}

/**
 * tally_attr_defaults - exclude what perf excludes by default
 * @attr: attributes whose type is set
 *
 * Events of the CPUs' own PMUs do not count virtual machines. Other PMUs may
 * refuse every kind of exclusion.
 *
 * Context: Any context.
 */
void tally_attr_defaults(struct perf_event_attr *attr)
{
	attr->exclude_guest = attr->type == PERF_TYPE_HARDWARE ||
			      attr->type == PERF_TYPE_HW_CACHE ||
			      attr->type == PERF_TYPE_RAW || tally_pmu_is_core(attr->type);
}

static int parse_access(const char *text)
{
	int access = 0;

	for (; *text; text++) {
		int bit = *text == 'r' ? HW_BREAKPOINT_R :
			  *text == 'w' ? HW_BREAKPOINT_W :
			  *text == 'x' ? HW_BREAKPOINT_X : 0;

		if (!bit || access & bit)
			return -1;
		access |= bit;
	}
	return access;
}

/* Parses ADDR[/len][:rwx][:modifiers], behind "mem:". */
static int parse_breakpoint(struct perf_event_attr *attr, char *text,
			    char **modifiers, char *why, size_t size)
{
	char *spot = strsep(&text, ":");
	char *addr = strsep(&spot, "/");
	u64 address, len = 0;
	int access = -1;

	if (kstrtou64(addr, 0, &address) || (spot && kstrtou64(spot, 0, &len)) ||
	    (spot && !len))
		return tally_say(why, size, -EINVAL, "expected mem:ADDRESS[/length][:rwx]");
	if (text) {
		access = parse_access(text);
		if (access < 0) {
			char *rest = text;
			char *word = strsep(&rest, ":");

			access = parse_access(word);
			if (access < 0 && rest)
				return tally_say(why, size, -EINVAL, "unknown access '%s'", word);
			*modifiers = access < 0 ? word : rest;
		}
	}
	if (access <= 0)
		access = HW_BREAKPOINT_RW;
	if (!len)
		len = access == HW_BREAKPOINT_X ? sizeof(long) :
						  HW_BREAKPOINT_LEN_4;
	attr->type = PERF_TYPE_BREAKPOINT;
	attr->bp_addr = address;
	attr->bp_type = access;
	attr->bp_len = len;
	return 0;
}

/* The letters that tally_name_modify() knows */
#define MODIFIERS "ukhGHIDePp"

/*
 * Returns 1 if @name is taken for a module's, and else 0 or ENOMEM. It is if no function has the
 * name, and @rest is more than modifiers.
 */
static int is_module(const char *name, const char *rest)
{
	u64 addr;
	int err;

	if (!rest[strspn(rest, MODIFIERS)] || isdigit(*name) || strchr(name, '+'))
		return 0;
	err = tally_symbol_address(name, 0, &addr);
	return err == -ENOMEM ? err : err == -ENOENT;
}

/* Cuts what is to be probed out of @text, which receives the rest; NULL without one. ENOMEM. */
static char *cut_place(char **text)
{
	char *place = strsep(text, ":");
	int ret = *text ? is_module(place, *text) : 0;

	if (ret < 0)
		return ERR_PTR(ret);
	if (ret) {
		(*text)[-1] = ':';
		strsep(text, ":");
	}
	return place;
}

/* Parses [MODULE:]SYMBOL[+offset] or an address, behind "kprobe:" or "kretprobe:". */
static int parse_kprobe(struct perf_event_attr *attr, char *text, bool ret,
			char **modifiers, char *why, size_t size)
{
	char *plus = cut_place(&text), *symbol;
	u64 offset = 0, address = 0;
	int type, err;

	if (IS_ERR(plus))
		return tally_say(why, size, PTR_ERR(plus), "out of memory");
	symbol = strsep(&plus, "+");
	*modifiers = text;
	if (plus && kstrtou64(plus, 0, &offset))
		return tally_say(why, size, -EINVAL, "bad offset '%s'", plus);
	if (ret && offset)
		return tally_say(why, size, -EINVAL, "a function returns as a whole: no offset");
	if (isdigit(*symbol)) {
		err = kstrtou64(symbol, 0, &address) ? -EINVAL : 0;
		if (err)
			snprintf(why, size, "bad address '%s'", symbol);
		address += offset;
	} else {
		err = tally_symbol_address(symbol, offset, &address) ?:
		      tally_kprobe_check(symbol, offset, address);
		if (err == -EADDRNOTAVAIL)
			snprintf(why, size, TALLY_SEVERAL, symbol);
		else if (err)
			snprintf(why, size, "cannot probe symbol '%s'", symbol);
		if (err == -ENOENT)
			tally_symbol_suggest(symbol, why, size);
	}
	if (err)
		return err;
	type = tally_pmu_type("kprobe");
	if (type < 0)
		return tally_say(why, size, type, "this kernel has no kprobe PMU");
	attr->type = type;
	attr->config = ret;
	attr->kprobe_addr = address;
	return 0;
}

static int parse_pmu(struct perf_event_attr *attr, char *text, char **modifiers,
		     char *why, size_t size)
{
	char *name = strsep(&text, "/");
	char *terms = strsep(&text, "/");
	int type;

	if (!text)
		return tally_say(why, size, -EINVAL, "expected PMU/EVENT,TERM=NUMBER,.../");
	*modifiers = *text == ':' ? text + 1 : text;
	if (kstrtouint(name, 10, &attr->type)) {
		type = tally_pmu_type(name);
		if (type < 0)
			return tally_say(why, size, type, "no PMU '%s' on this machine", name);
		attr->type = type;
	}
	return tally_terms_apply(attr, terms, why, size);
}

static int parse_tracepoint(struct perf_event_attr *attr, char *system,
			    char *text, char **modifiers, char *why,
			    size_t size)
{
	char *event = strsep(&text, ":");
	int id;

	*modifiers = text;
	attr->type = PERF_TYPE_TRACEPOINT;
	if (!strcmp(system, "tracepoint")) {
		if (!kstrtou64(event, 0, &attr->config))
			return 0;
		return tally_say(why, size, -EINVAL, "expected tracepoint:NUMBER");
	}
	id = tally_tracepoint_id(system, event);
	if (id < 0)
		return tally_say(why, size, id, "no tracepoint %s:%s in this kernel",
				 system, event);
	attr->config = id;
	return 0;
}

static int parse_event(struct perf_event_attr *attr, char *text,
		       char **modifiers, char *why, size_t size)
{
	char *rest = text;
	char *word;

	if (strstarts(text, "mem:"))
		return parse_breakpoint(attr, text + 4, modifiers, why, size);
	if (strchr(text, '/'))
		return parse_pmu(attr, text, modifiers, why, size);

	word = strsep(&rest, ":");
	*modifiers = rest;
	if (tally_generic_parse(attr, word))
		return 0;
	if (!rest)
		return tally_say(why, size, -ENOENT, "unknown event '%s'", word);
	if (!strcmp(word, "kprobe") || !strcmp(word, "kretprobe"))
		return parse_kprobe(attr, rest, word[1] == 'r', modifiers, why,
				    size);
	return parse_tracepoint(attr, word, rest, modifiers, why, size);
}

/**
 * tally_name_parse - parse the name of an event
 * @attr: zeroed; receives type, config and modifiers
 * @text: the name; it is modified
 * @modifiers_at: receives the offset of the modifiers, or the length of @text
 * @why: receives a sentence on failure
 * @size: bytes of room in @why
 *
 * Context: Process context, may sleep.
 * Return: 0; EINVAL for a text that cannot be parsed, or levels that
 * tally_levels_why() refuses; ENOENT for a name that this machine does not
 * know; EADDRNOTAVAIL for the name of several functions; EBUSY if a
 * tracepoint's module is being unloaded; EOPNOTSUPP for what this kernel lacks;
 * ENOMEM.
 */
int tally_name_parse(struct perf_event_attr *attr, char *text,
		     size_t *modifiers_at, char *why, size_t size)
{
	size_t len = strlen(text);
	char *modifiers = NULL;
	bool by_number = strchr(text, '/');
	const char *wrong;
	int err;

	if (!*text)
		return tally_say(why, size, -EINVAL, "no event");
	err = parse_event(attr, text, &modifiers, why, size);
	if (err)
		return err;
	tally_attr_defaults(attr);
	*modifiers_at = modifiers ? modifiers - text : len;
	if (!modifiers)
		return 0;
	err = tally_name_modify(attr, modifiers, why, size);
	if (err)
		return err;
	/* The text is now in parts: the system of a tracepoint, and its name. */
	wrong = tally_levels_why(attr, text, by_number ? NULL : text + strlen(text) + 1, false);
	return wrong ? tally_say(why, size, -EINVAL, "%s", wrong) : 0;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_name_parse);

static void format_modifiers(const struct perf_event_attr *attr, char *m)
{
	struct perf_event_attr usual = { .type = attr->type };
	unsigned int i;

	tally_attr_defaults(&usual);
	if (attr->exclude_user || attr->exclude_kernel || attr->exclude_hv) {
		if (!attr->exclude_user)
			*m++ = 'u';
		if (!attr->exclude_kernel)
			*m++ = 'k';
		if (!attr->exclude_hv)
			*m++ = 'h';
	}
	if (attr->exclude_guest != usual.exclude_guest || attr->exclude_host) {
		if (!attr->exclude_guest)
			*m++ = 'G';
		if (!attr->exclude_host)
			*m++ = 'H';
	}
	if (attr->exclude_idle)
		*m++ = 'I';
	if (attr->pinned)
		*m++ = 'D';
	if (attr->exclusive)
		*m++ = 'e';
	for (i = 0; i < attr->precise_ip; i++)
		*m++ = 'p';
	*m = '\0';
}

/* Writes the name of an event, without modifiers; false if it has only a PMU's number. */
static bool format_named(const struct perf_event_attr *attr, char *buf, size_t size)
{
	if (attr->type == PERF_TYPE_BREAKPOINT) {
		snprintf(buf, size, "mem:0x%llx/%llu:%s%s%s", attr->bp_addr,
			 attr->bp_len,
			 attr->bp_type & HW_BREAKPOINT_R ? "r" : "",
			 attr->bp_type & HW_BREAKPOINT_W ? "w" : "",
			 attr->bp_type & HW_BREAKPOINT_X ? "x" : "");
		return true;
	}
	if (attr->config1 || attr->config2 || tally_attr_config3(attr))
		return false;
	if (attr->type == PERF_TYPE_TRACEPOINT) {
		snprintf(buf, size, "tracepoint:%llu", attr->config);
		return true;
	}
	return tally_generic_format(attr, buf, size);
}

static void format_pmu(const struct perf_event_attr *attr, char *buf, size_t size)
{
	size_t n;

	n = scnprintf(buf, size, "%u/config=0x%llx", attr->type, attr->config);
	if (attr->config1)
		n += scnprintf(buf + n, size - n, ",config1=0x%llx",
			       attr->config1);
	if (attr->config2)
		n += scnprintf(buf + n, size - n, ",config2=0x%llx",
			       attr->config2);
	if (tally_attr_config3(attr))
		n += scnprintf(buf + n, size - n, ",config3=0x%llx",
			       tally_attr_config3(attr));
	scnprintf(buf + n, size - n, "/");
}

/**
 * tally_name_format - write the name of an event, which tally_name_parse() can parse
 * @attr: attributes of the event
 * @given: text that the event was parsed from, without modifiers; empty if it was not
 *	parsed. Written for tracepoints and PMUs, which have only a number otherwise.
 * @buf: receives the name
 * @size: bytes of room in @buf; TALLY_EVENT_LEN is enough for any event
 *
 * Context: Any context.
 */
void tally_name_format(const struct perf_event_attr *attr, const char *given,
		       char *buf, size_t size)
{
	bool named = format_named(attr, buf, size);
	char modifiers[16];

	/* The text that was parsed says more than the number of a tracepoint or PMU. */
	if (*given && (!named || attr->type == PERF_TYPE_TRACEPOINT ||
		       (attr->type == PERF_TYPE_RAW && strchr(given, '/'))))
		strscpy(buf, given, size);
	else if (!named)
		format_pmu(attr, buf, size);
	format_modifiers(attr, modifiers);
	if (!*modifiers)
		return;
	/* Modifiers need no colon behind the last slash of a PMU. */
	if (buf[strlen(buf) - 1] != '/')
		strlcat(buf, ":", size);
	strlcat(buf, modifiers, size);
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_name_format);

/**
 * tally_name_check - check a name for an event
 * @name: the name, which is to be that of a folder and a word in lines
 * @why: receives a sentence on failure
 * @size: bytes of room in @why
 *
 * Context: Any context.
 * Return: 0; EINVAL; ENAMETOOLONG; EEXIST for the names of tally's own files.
 */
int tally_name_check(const char *name, char *why, size_t size)
{
	static const char *const own[] = {
		"events", "stats", "tricks", "create", "remove", "pmus"
	};
	const char *c;

	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return tally_say(why, size, -EINVAL, "'%s' is no name for an event", name);
	if (strlen(name) >= TALLY_NAME_LEN)
		return tally_say(why, size, -ENAMETOOLONG,
				 "a name has at most %d characters", TALLY_NAME_LEN - 1);
	for (c = name; *c; c++) {
		if (!isascii(*c) || !isgraph(*c) || *c == '/')
			return tally_say(why, size, -EINVAL,
					 "a name is of printable ASCII, no blank and no '/'");
	}
	if (match_string(own, ARRAY_SIZE(own), name) >= 0)
		return tally_say(why, size, -EEXIST, "'%s' is a file of tally's own", name);
	return 0;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_name_check);

/**
 * tally_name_trim - take the blanks off both ends of a text
 * @text: the text; it is modified
 *
 * strim() also takes the byte 0xa0, with which a character of UTF-8 in the path of a cgroup may
 * end.
 *
 * Context: Any context.
 * Return: the text behind its first blanks.
 */
char *tally_name_trim(char *text)
{
	static const char blanks[] = " \t\n\v\f\r";
	size_t len;

	text += strspn(text, blanks);
	for (len = strlen(text); len && strchr(blanks, text[len - 1]); len--)
		text[len - 1] = '\0';
	return text;
}

/**
 * tally_name_next - cut the next line out of a list
 * @list: rest of the list; NULL at its end
 * @separator: from tally_name_separator()
 *
 * A ',' between the slashes of a PMU's terms, or between the braces of a set,
 * does not separate. A ';' always does.
 *
 * Context: Any context.
 * Return: the line; NULL at the end of the list.
 */
char *tally_name_next(char **list, char separator)
{
	bool terms = false, braces = false;
	char *line = *list, *c;

	if (!line)
		return NULL;
	for (c = line; *c; c++) {
		if (*c == separator && (separator == ';' || (!terms && !braces)))
			break;
		if (*c == '/' && !braces && !strstarts(line, "mem:"))
			terms = !terms;
		if (*c == '{' || *c == '}')
			braces = *c == '{';
	}
	*list = *c ? c + 1 : NULL;
	*c = '\0';
	return line;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_name_next);

/**
 * tally_name_members - cut the members of a set out of its text
 * @text: the text behind the '{'; it is modified
 * @members: receives the text between the braces, for tally_name_next() with ','
 * @why: receives a sentence on failure
 * @size: bytes of room in @why
 *
 * Context: Any context.
 * Return: the text behind the '}'; ERR_PTR(-EINVAL) if the braces are no pair,
 * or have blanks between them.
 */
char *tally_name_members(char *text, char **members, char *why, size_t size)
{
	char *end = strpbrk(text, "{}");

	if (!end || *end == '{')
		return ERR_PTR(tally_say(why, size, -EINVAL,
					 end ? "a set has no set inside" : "a '{' without a '}'"));
	*end = '\0';
	if (strpbrk(text, " \t"))
		return ERR_PTR(tally_say(why, size, -EINVAL,
					 "options of a set stand behind its '}'"));
	*members = text;
	return end + 1;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_name_members);

/* Returns ';' for lines, which have blanks or end in ';', and ',' for plain names. */
char tally_name_separator(const char *list)
{
	return strpbrk(list, "; \t\n") ? ';' : ',';
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_name_separator);
