# SPDX-License-Identifier: GPL-2.0
# libtally, for user programs: run by the Makefile's targets lib and lib-install.
# OUT= is where objects go; CROSS_COMPILE= and CFLAGS= are as usual.

here := $(dir $(lastword $(MAKEFILE_LIST)))
OUT ?= $(here)
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
VERSION ?= 0

CC := $(CROSS_COMPILE)gcc
AR := $(CROSS_COMPILE)ar
CFLAGS ?= -O2 -g
LIB_CFLAGS := -std=gnu99 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -fPIC -Wall -Wextra -Wshadow \
	      -I$(here) -I$(here)../../include/uapi

names := record sample counts events print ring reader open perfdata running
objects := $(names:%=$(OUT)/%.o)
headers := $(wildcard $(here)*.h)

$(OUT)/libtally.a: $(objects)
	rm -f $@
	$(AR) rcs $@ $^

$(OUT)/%.o: $(here)%.c $(headers) $(here)lib.mk
	$(CC) $(LIB_CFLAGS) $(CFLAGS) -c -o $@ $<

install: $(OUT)/libtally.a
	install -d '$(DESTDIR)$(LIBDIR)/pkgconfig' '$(DESTDIR)$(INCLUDEDIR)'
	install -m 644 $(OUT)/libtally.a '$(DESTDIR)$(LIBDIR)'
	install -m 644 $(here)libtally.h $(here)libtally_record.h '$(DESTDIR)$(INCLUDEDIR)'
	sed -e 's|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@VERSION@|$(VERSION)|' \
		$(here)libtally.pc.in >'$(DESTDIR)$(LIBDIR)/pkgconfig/libtally.pc'

.PHONY: install
