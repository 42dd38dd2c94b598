# SPDX-License-Identifier: GPL-2.0
# libtally, for user programs: run by the Makefile's targets lib and lib-install. The shared
# library exports what libtally.map lists; its soname changes only when programs would break.
# OUT= is where objects go; CROSS_COMPILE= and CFLAGS= are as usual.

here := $(dir $(lastword $(MAKEFILE_LIST)))
OUT ?= $(here)
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
PYTHONDIR ?= $(PREFIX)/lib/python3/dist-packages
VERSION ?= 0

CC := $(CROSS_COMPILE)gcc
AR := $(CROSS_COMPILE)ar
CFLAGS ?= -O2 -g
LIB_CFLAGS := -std=gnu99 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -fPIC -Wall -Wextra -Wshadow \
	      -I$(here) -I$(here)../../include/uapi

names := format sample counts events text print ring reader open device perfdata running
soname := libtally.so.0
objects := $(names:%=$(OUT)/%.o)
headers := $(wildcard $(here)*.h) $(here)../../include/uapi/linux/tally.h

all: $(OUT)/libtally.a $(OUT)/$(soname)

$(OUT)/$(soname): $(objects) $(here)libtally.map
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(soname),--version-script,$(here)libtally.map,-z,defs \
		-o $@ $(objects)
	ln -sf $(soname) $(OUT)/libtally.so

$(OUT)/libtally.a: $(objects)
	rm -f $@
	$(AR) rcs $@ $^

$(OUT)/%.o: $(here)%.c $(headers) $(here)lib.mk
	@mkdir -p $(OUT)
	$(CC) $(LIB_CFLAGS) $(CFLAGS) -c -o $@ $<

install: all
	install -d '$(DESTDIR)$(LIBDIR)/pkgconfig' '$(DESTDIR)$(INCLUDEDIR)' '$(DESTDIR)$(PYTHONDIR)'
	install -m 644 $(OUT)/libtally.a $(OUT)/$(soname) '$(DESTDIR)$(LIBDIR)'
	ln -sf $(soname) '$(DESTDIR)$(LIBDIR)/libtally.so'
	install -m 644 $(here)libtally.h $(here)libtally_record.h '$(DESTDIR)$(INCLUDEDIR)'
	sed -e 's|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@VERSION@|$(VERSION)|' \
		$(here)libtally.pc.in >'$(DESTDIR)$(LIBDIR)/pkgconfig/libtally.pc'
	install -m 644 $(here)tally.py '$(DESTDIR)$(PYTHONDIR)'

# Describes the ABI of the library, as built here, for scripts/check.
abi: $(OUT)/$(soname)
	abidw --no-show-locs --no-corpus-path --no-comp-dir-path --drop-private-types \
		--headers-dir $(here) $< >$(here)libtally.abi

.PHONY: all install abi
