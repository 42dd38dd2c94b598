# SPDX-License-Identifier: GPL-2.0
#
# make            the module, for the running kernel or for KDIR=
# make test       everything that CI runs
# make help       the rest

KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build

# From the file that dkms reads, so that it is said once.
VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
DKMS_SOURCES := Kbuild Makefile dkms.conf COPYING README.md include src/module
DKMS_DIR = $(DESTDIR)/usr/src/tally-$(VERSION)

# kbuild takes its folder apart at blanks and colons.
ifneq ($(filter-out help demo test soak fuzz bench lib lib-install fuzz-lib,$(or $(MAKECMDGOALS),modules)),)
ifneq ($(words $(subst :, ,$(CURDIR))),1)
$(error kbuild cannot build in a folder with a blank or colon in its path: $(CURDIR))
endif
endif

KBUILD = $(MAKE) -C $(KDIR) M=$(CURDIR)

.PHONY: modules install dkms-install dkms-remove clean test soak fuzz bench demo help
.PHONY: lib lib-install fuzz-lib

modules: | $(KDIR)
	$(KBUILD) modules

install: modules
	$(KBUILD) modules_install
	@case '$(INSTALL_MOD_PATH)' in \
	'') depmod $(KVER) ;; \
	esac

$(KDIR):
	@echo 'No kernel headers in $(KDIR).' >&2
	@echo 'Install linux-headers-$(KVER), or give KDIR=/path/to/headers.' >&2
	@false

dkms-install:
	install -d '$(DKMS_DIR)'
	cp -r --parents $(DKMS_SOURCES) '$(DKMS_DIR)'
	dkms add -m tally -v $(VERSION)
	dkms build -m tally -v $(VERSION) -k $(KVER)
	dkms install -m tally -v $(VERSION) -k $(KVER)

dkms-remove:
	dkms remove -m tally -v $(VERSION) --all
	rm -r '$(DKMS_DIR)'

clean: | $(KDIR)
	$(KBUILD) clean

test:
	scripts/setup
	scripts/test $(TESTS)

# Each in a guest of its own, one after the other.
SOAK := 300

soak:
	scripts/setup
	scripts/vm --kernel debug-x86_64 --smp 4 --timeout 1500 -- sh soak.sh $(SOAK)
	scripts/vm --kernel debug-arm64 --smp 4 --timeout 1500 -- sh soak.sh $(SOAK)
	scripts/vm --kernel debug-x86_64 --timeout 1500 -- sh hotplug.sh 200
	scripts/vm --kernel debug-x86_64 --timeout 1500 -- sh failslab.sh 1
	scripts/vm --kernel debug-x86_64 --smp 4 --timeout 3000 -- \
		sh hammer.sh $$(($(SOAK) * 2)) abuse abuse_speed
	scripts/vm --kernel debug-x86_64 --smp 4 --timeout 3000 -- sh hammer.sh $(SOAK)
	scripts/vm --kernel debug-arm64 --smp 4 --timeout 3000 -- sh hammer.sh $(SOAK)
	scripts/vm --kernel debian-6.12 --smp 1 --timeout 3000 -- sh hammerwake.sh 100000
	for kernel in debian-6.1 debian-6.12 debian-6.12-arm64; do \
		scripts/vm --kernel $$kernel --with-perf --module zram --timeout 3000 -- \
			sh each.sh 'perfstat.sh soak' 'truth.sh soak' 'storm.sh soak' \
			'load.sh soak' 'recorded.sh soak' 'forks.sh 1000' || exit; \
	done

# The counts of both together. A guest that was lost has none, and make stops.
FUZZ := 600

fuzz:
	scripts/setup
	@counts=$$(mktemp -d) && trap 'rm -rf "$$counts"' EXIT && \
	scripts/vm --kernel debug-x86_64 --smp 4 --timeout $$(($(FUZZ) + 900)) \
		--coverage "$$counts/fuzz" -- sh fuzz.sh $(FUZZ) $$(date +%s) && \
	scripts/vm --kernel debug-x86_64 --timeout $$(($(FUZZ) + 900)) --with-trinity \
		--coverage "$$counts/trinity" -- sh trinity.sh $$(($(FUZZ) / 2)) $$(date +%s) && \
	scripts/coverage --lines "$$counts/fuzz" "$$counts/trinity"

# For user programs: src/lib/README.md.
lib:
	@$(MAKE) -f src/lib/lib.mk VERSION=$(VERSION)

lib-install:
	@$(MAKE) -f src/lib/lib.mk VERSION=$(VERSION) install

FUZZ_LIB := 600

fuzz-lib:
	scripts/setup
	tests/host/library.sh --fuzz $(FUZZ_LIB)

bench:
	scripts/setup
	scripts/bench

demo:
	scripts/setup
	scripts/demo

help:
	@echo 'Out of the tree of a kernel; no network and no root:'
	@echo '  make [modules]     build tally.ko for the running kernel'
	@echo '  make clean         remove what was built'
	@echo '  make help          this text'
	@echo '  make lib           build src/lib/libtally.a, for user programs'
	@echo 'As root:'
	@echo '  make install       install it below /lib/modules, or INSTALL_MOD_PATH'
	@echo '  make lib-install   install libtally below PREFIX [/usr/local], or DESTDIR'
	@echo '  make dkms-install  hand it to dkms, which rebuilds it for new kernels'
	@echo '  make dkms-remove   take it back'
	@echo 'In virtual machines; these install Debian packages and build kernels:'
	@echo '  make demo          count in a real Debian kernel, x86-64 and arm64'
	@echo '  make test          everything that CI runs; TESTS="kunit vm" for some'
	@echo '  make bench         what it costs beside its peers, in instructions'
	@echo '  make soak          a storm of events that overflow and end; SOAK=SECONDS'
	@echo '  make fuzz          wild calls on /dev/tally, and which lines they reach; FUZZ=SECONDS'
	@echo 'On this machine; it installs Debian packages:'
	@echo '  make fuzz-lib      wild bytes for the library; FUZZ_LIB=SECONDS'
	@echo 'Variables:'
	@echo '  KDIR=DIR           kernel headers or build folder [$(KDIR)]'
	@echo '  ARCH= CROSS_COMPILE=  as for the kernel, to build for another machine'
	@echo '  V=1 W=1 C=2        as for the kernel: say more, warn more, run sparse'
