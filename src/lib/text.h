/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* The library and the command, which links libtally.a, both use this. */
#ifndef LIBTALLY_TEXT_H
#define LIBTALLY_TEXT_H

#include <stddef.h>

/*
 * Returns the length in bytes of the first character of a text. Returns 0 if it is not UTF-8, is
 * invisible or a control character, or changes the places of other characters.
 */
size_t libtally_printable(const char *text);

#endif /* LIBTALLY_TEXT_H */
