# SPDX-License-Identifier: GPL-2.0
# Test programs for the guest: each C file in tests/guest that is no kernel
# module becomes one static program in $(OUT). Run by scripts/lib.sh in the
# folder where the project is built.

CC := $(CROSS_COMPILE)gcc
CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -static -pthread -Iinclude/uapi -Iinclude

sources := $(wildcard tests/guest/*.c)
sources := $(if $(sources),$(shell grep -L 'linux/module\.h' $(sources)))
programs := $(sources:tests/guest/%.c=$(OUT)/%)
stale := $(filter-out $(programs) $(programs:=.d), $(wildcard $(OUT)/*))

all: $(programs)
	$(if $(stale),rm -f $(stale))

$(OUT)/%: tests/guest/%.c scripts/guest/programs.mk
	$(CC) $(CFLAGS) -MMD -MP -MF $@.d -o $@ $<

-include $(programs:=.d)
.PHONY: all
