/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* Texts of others, for the library and for the command, which is linked with libtally.a. */
#ifndef LIBTALLY_TEXT_H
#define LIBTALLY_TEXT_H

#include <stddef.h>

/*
 * Returns the length in bytes of the character at the beginning of a text if it is UTF-8, shows
 * where it stands, and changes no other one's place; else 0.
 */
size_t libtally_printable(const char *text);

#endif /* LIBTALLY_TEXT_H */
