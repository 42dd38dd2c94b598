# SPDX-License-Identifier: GPL-2.0
# Test programs for the guest. Each C file in a folder of tests/guest becomes a static
# program in $(OUT). Files in bench/bpf do so if BPF_ROOT is a folder with libbpf. Files
# in preload and tool/late become libraries, NAME.so. scripts/lib.sh runs this file in the folder
# where the project is built.

CC := $(CROSS_COMPILE)gcc
CFLAGS := -std=gnu11 -O2 -Wall -Wextra -static -pthread -Iinclude/uapi -Iinclude \
	-Itests/guest/lib

sources := $(wildcard tests/guest/*/*.c)
programs := $(patsubst %.c,$(OUT)/%,$(notdir $(sources)))
vpath %.c $(sort $(dir $(sources)))

libraries := $(wildcard tests/guest/*/preload/*.c tests/guest/tool/late/*.c)
programs += $(patsubst %.c,$(OUT)/%.so,$(notdir $(libraries)))
vpath %.c $(sort $(dir $(libraries)))

# Programs that use the device are also built for 32 bits, as NAME32.
ifeq ($(CROSS_COMPILE),)
of_32_bits := chains counting devabi devcount devfilter devgroups devinfo devoutput devquota devread devrights devring
of_32_bits += devvalues devwake devwho fuzz lines sampling
programs += $(patsubst %,$(OUT)/%32,$(of_32_bits))
endif

ifneq ($(BPF_ROOT),)
# Debian has libraries in a folder with the name of their architecture.
bpf_lib := $(patsubst %/libbpf.a,%,$(wildcard $(BPF_ROOT)/usr/lib/*/libbpf.a))
BPF_FLAGS := -I$(BPF_ROOT)/usr/include -I$(BPF_ROOT)/usr/include/$(notdir $(bpf_lib))
# libelf may need either of the last two; BPF_ROOT has no pkg-config file that names it.
BPF_LIBS := $(bpf_lib)/libbpf.a $(bpf_lib)/libelf.a $(wildcard $(bpf_lib)/libz.a $(bpf_lib)/libzstd.a)
programs += $(patsubst tests/guest/bench/bpf/%.c,$(OUT)/%,$(filter-out %.bpf.c,$(wildcard tests/guest/bench/bpf/*.c)))
objects := $(patsubst tests/guest/bench/bpf/%.c,$(OUT)/%.o,$(wildcard tests/guest/bench/bpf/*.bpf.c))
endif

# The command tally, if TOOL_ROOT is a folder with the libraries that it links with. It finds
# them in the guest in their usual places.
ifneq ($(TOOL_ROOT),)
programs += $(OUT)/tally $(if $(SANITIZED),$(OUT)/tallysan)
endif

stale := $(filter-out $(OUT)/tally $(OUT)/tallysan,$(filter-out $(programs) $(programs:=.d) $(objects) $(objects:=.d), $(wildcard $(OUT)/*)))

all: $(programs) $(objects)
	$(if $(stale),rm -f $(stale))

$(OUT)/%: %.c scripts/guest/programs.mk
	$(CC) $(CFLAGS) -MMD -MP -MF $@.d -o $@ $<

$(OUT)/%.so: %.c scripts/guest/programs.mk
	$(CC) $(filter-out -static,$(CFLAGS)) -fno-omit-frame-pointer -shared -fPIC -MMD -MP -MF $@.d -o $@ $<

# It maps a library, which a static program cannot.
$(OUT)/latelib: latelib.c scripts/guest/programs.mk
	$(CC) $(filter-out -static,$(CFLAGS)) -fno-omit-frame-pointer -MMD -MP -MF $@.d -o $@ $<

$(OUT)/%32: %.c scripts/guest/programs.mk
	i686-linux-gnu-gcc $(CFLAGS) -MMD -MP -MF $@.d -o $@ $<

$(OUT)/%: tests/guest/bench/bpf/%.c scripts/guest/programs.mk
	$(CC) $(CFLAGS) $(BPF_FLAGS) -MMD -MP -MF $@.d -o $@ $< $(BPF_LIBS)

$(OUT)/%.bpf.o: tests/guest/bench/bpf/%.bpf.c scripts/guest/programs.mk
	clang -target bpf -O2 -g -Wall -Wextra $(BPF_FLAGS) -MMD -MP -MF $@.d -c -o $@ $<

# bench_lib links with src/lib as users do. The objects of src/lib are not in OUT, because
# guests get all files of OUT.
$(OUT)/bench_lib: bench_lib.c $(OUT).lib/libtally.a scripts/guest/programs.mk
	$(CC) $(CFLAGS) -Isrc/lib -MMD -MP -MF $@.d -o $@ $< $(OUT).lib/libtally.a

$(OUT).lib/libtally.a: $(wildcard src/lib/*.[ch]) include/uapi/linux/tally.h src/lib/lib.mk
	mkdir -p $(OUT).lib
	$(MAKE) -f src/lib/lib.mk OUT=$(OUT).lib $@

# The program is linked anew if the folder with the libraries is another one.
tool_root := $(OUT).tool/$(notdir $(TOOL_ROOT)).root
$(tool_root):
	mkdir -p $(@D)
	rm -f $(@D)/*
	touch $@

$(OUT)/tally: $(OUT).lib/libtally.a $(tool_root) $(wildcard src/tool/*.[ch] src/tool/*.mk) \
		include/uapi/linux/tally.h
	$(MAKE) -f src/tool/tool.mk OUT=$(OUT).tool LIB=$(OUT).lib ROOT=$(TOOL_ROOT) \
		VERSION=$$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
	cp $(OUT).tool/tally $@

# The same with sanitizers.
san := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
$(OUT)/tallysan: $(wildcard src/lib/*.[ch] src/tool/*.[ch] src/tool/*.mk) include/uapi/linux/tally.h
	$(MAKE) -f src/lib/lib.mk OUT=$(OUT).san $(OUT).san/libtally.a CC=clang CFLAGS="-O1 -g $(san) -Wno-unknown-warning-option"
	$(MAKE) -f src/tool/tool.mk OUT=$(OUT).san LIB=$(OUT).san ROOT=$(TOOL_ROOT) CC=clang \
		CFLAGS="-O1 -g $(san) -Wno-unknown-warning-option"
	cp $(OUT).san/tally $@

# A source that was moved is found in its new folder, so its old name needs no rule. The
# compiler writes the lists of dependencies, so they need no rule either.
tests/guest/%.c tests/guest/%.h: ;
$(programs:=.d) $(objects:=.d): ;

-include $(programs:=.d) $(objects:=.d)
.PHONY: all
