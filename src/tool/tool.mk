# SPDX-License-Identifier: GPL-2.0
# The command `tally`: run by the Makefile's targets tool and install-tool. OUT= is where objects
# go; LIB= is a folder with libtally, and ROOT= one with Debian's libraries of another machine.

here := $(dir $(lastword $(MAKEFILE_LIST)))
OUT ?= $(here)
LIB ?= $(here)../lib
ROOT ?=
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
COMPDIR ?= $(PREFIX)/share/bash-completion/completions
VERSION ?= 0

CC := $(CROSS_COMPILE)gcc
CFLAGS ?= -O2 -g
triplet := $(shell $(CC) -print-multiarch)
root_flags := $(if $(ROOT),--sysroot=$(ROOT) -isystem $(ROOT)/usr/include/$(triplet))
root_libs := $(if $(ROOT),--sysroot=$(ROOT) $(foreach d,/usr/lib/$(triplet) /lib/$(triplet),\
	-L$(ROOT)$d -Wl,-rpath-link,$(ROOT)$d))
TOOL_CFLAGS := -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Wall -Wextra -Wshadow \
	       -Wno-missing-field-initializers -Wno-format-truncation -DTOOL_VERSION='"$(VERSION)"' \
	       -I$(here) -I$(here)../lib -I$(here)../../include/uapi $(root_flags)
TOOL_LIBS := -lpfm -ljson-c -lmicrohttpd -lncursesw -ltinfo -lm

names := main say lines parse pfm target child counters metrics stat stat_print attached list top \
	 watch openmetrics export record companion snapshot buildid tracing doctor selftest \
	 selftest_machine selftest_count selftest_cpus selftest_pmu
objects := $(names:%=$(OUT)/tool-%.o)
uapi := $(here)../../include/uapi/linux/tally.h
# Manual pages of the commands, and of the module.
pages := $(wildcard $(here)*.1 $(here)../man/*.[1-8])
sections := $(sort $(subst .,,$(suffix $(pages))))

$(OUT)/tally: $(objects) $(LIB)/libtally.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(objects) $(LIB)/libtally.a $(root_libs) $(TOOL_LIBS)

$(OUT)/tool-%.o: $(here)%.c $(wildcard $(here)*.h $(here)../lib/*.h) $(uapi) $(here)tool.mk
	@mkdir -p $(OUT)
	$(CC) $(TOOL_CFLAGS) $(CFLAGS) -c -o $@ $<


install: $(OUT)/tally
	install -d '$(DESTDIR)$(BINDIR)' $(sections:%='$(DESTDIR)$(MANDIR)/man%') '$(DESTDIR)$(COMPDIR)'
	install -m 755 $(OUT)/tally '$(DESTDIR)$(BINDIR)'
	$(foreach n,$(sections),install -m 644 $(filter %.$n,$(pages)) '$(DESTDIR)$(MANDIR)/man$n' &&) true
	install -m 644 $(here)completion.bash '$(DESTDIR)$(COMPDIR)/tally'

.PHONY: install
