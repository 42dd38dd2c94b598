// SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note
/* Characters that may be shown to people. */
#include "text.h"

static int is_hidden(unsigned int character)
{
	/* Control characters, invisible ones, those that turn text, and what is no character */
	static const struct {
		unsigned int from, to;
	} hidden[] = {
		{ 0, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x61c, 0x61c }, { 0x180e, 0x180e },
		{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xd800, 0xdfff },
		{ 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe0fff },
		{ 0x110000, ~0U },
	};
	size_t i;

	for (i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (character >= hidden[i].from && character <= hidden[i].to)
			return 1;
	return 0;
}

size_t libtally_printable(const char *text)
{
	/* The first characters that need 2, 3 and 4 bytes; a longer form of others is no UTF-8. */
	static const unsigned int first[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *c = (const unsigned char *)text;
	size_t length = *c < 0x80 ? 1 : *c < 0xc0 ? 0 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : 4, i;
	unsigned int character;

	if (!length || *c > 0xf4)
		return 0;
	character = length == 1 ? *c : *c & (0x7f >> length);
	for (i = 1; i < length; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (c[i] & 0x3f);
	}
	return character >= first[length] && !is_hidden(character) ? length : 0;
}
