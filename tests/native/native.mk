# SPDX-License-Identifier: GPL-2.0
# Builds the KUnit suites as a program of this machine. From the top folder:
#
#	make -f tests/native/native.mk OUT=FOLDER CHECK=address
#
# CHECK is the sanitizer beside that for undefined behaviour: address or thread.
# OUT is outside of the checkout. With MUTANT=NAME and MUTATED=FILE, the program is one of
# OUT/mutant.NAME, where a changed copy of the file replaces the one of the checkout.

CC := clang
CHECK := address
here := tests/native
module := builder/name builder/generic builder/line builder/builder builder/check \
	  builder/attr builder/levels builder/sampling builder/sample_fields base/terms base/queue \
	  base/payload base/count base/alias filter/filter filter/match filter/fields record/ring \
	  life/build life/lines life/line_set debugfs/spec
suites := name line filter queue queue_race storm ring payload count

sources := $(module:%=src/module/%.c) $(suites:%=tests/kunit/%.c) $(wildcard $(here)/*.c)
changed := $(if $(MUTANT),$(OUT)/mutant.$(MUTANT))
# What a mutant is compiled into: itself; or, of a header, what includes it.
again := $(if $(MUTANT),$(filter $(MUTATED),$(sources)) \
	   $(if $(filter %.h,$(MUTATED)),$(shell grep -l '"$(MUTATED:src/module/%=%)"' $(sources))))
objects := $(patsubst %.c,$(OUT)/%.o,$(filter-out $(again),$(sources))) \
	   $(patsubst %.c,$(changed)/%.o,$(again))

# Interrupts of each storm. ThreadSanitizer looks at orders, of which there are more.
nested := $(if $(filter thread,$(CHECK)),400000,20000)
# The kernel's own flags for the language, and for warnings.
flags := -std=gnu11 -O1 -g -fno-strict-aliasing -fwrapv -fno-sanitize-recover=all \
	 -fsanitize=$(CHECK),undefined -pthread -D_GNU_SOURCE -DSTORM_NESTED=$(nested) \
	 -Wall -Werror -Wno-format-zero-length -Wno-unused-function
include := -I$(here)/shim -Iinclude -Isrc/module -Itests/kunit -idirafter $(OUT)/empty \
	   -include $(here)/shim/kernel.h

# A writer of a ring reads data_tail by a control dependency.
%/ring.o: flags += -DSHIM_READ=__ATOMIC_ACQUIRE

$(or $(changed),$(OUT))/native: $(objects)
	$(CC) $(flags) -o $@ $^

$(changed)/%.o: %.c $(here)/native.mk $(wildcard $(changed)/$(MUTATED)) | $(OUT)/empty/made
	@mkdir -p $(@D)
	$(CC) $(flags) -I$(changed)/src/module $(include) -MMD -MP -c -o $@ \
		$(or $(wildcard $(changed)/$<),$<)

$(OUT)/%.o: %.c $(here)/native.mk | $(OUT)/empty/made
	@mkdir -p $(@D)
	$(CC) $(flags) $(include) -MMD -MP -c -o $@ $<

# Empty files for the kernel's headers: they are used where neither shim/ nor this machine
# has one of the name.
$(OUT)/empty/made: $(here)/native.mk $(sources) $(wildcard include/tally/*.h src/module/*/*.h tests/kunit/*.h)
	@mkdir -p $(@D)
	sed -nE 's/^#include <(.*\/.*)>.*/\1/p' $^ | sort -u | while read -r header; do \
		mkdir -p "$(@D)/$${header%/*}"; \
		: >"$(@D)/$$header"; \
	done
	@touch $@

-include $(objects:.o=.d)
