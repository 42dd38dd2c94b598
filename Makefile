# SPDX-License-Identifier: GPL-2.0
#
# make            the module, for the running kernel or for KDIR=
# make check      what needs no virtual machine
# make test       everything that CI runs
# make test-all   the same on every kernel
# make help       the rest

KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build

# The version stands only in dkms.conf.
VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
DKMS_SOURCES := Kbuild Makefile dkms.conf COPYING README.md include src/module
DKMS_DIR = $(DESTDIR)/usr/src/tally-$(VERSION)

# kbuild splits the path of its folder at blanks and colons.
ifneq ($(filter-out help demo check test test-all soak matrix fuzz bench lib lib-install lib-abi fuzz-lib tool install-tool deb doc,$(or $(MAKECMDGOALS),modules)),)
ifneq ($(words $(subst :, ,$(CURDIR))),1)
$(error kbuild cannot build in a folder with a blank or colon in its path: $(CURDIR))
endif
endif

KBUILD = $(MAKE) -C $(KDIR) M=$(CURDIR)

.PHONY: modules install dkms-install dkms-remove clean check test test-all soak matrix fuzz bench demo help
.PHONY: lib lib-install lib-abi fuzz-lib tool install-tool dkms-sources deb doc

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

# The package tally-dkms has the same files.
dkms-sources:
	install -d '$(DKMS_DIR)'
	cp -r --parents $(DKMS_SOURCES) '$(DKMS_DIR)'

dkms-install: dkms-sources
	dkms add -m tally -v $(VERSION)
	dkms build -m tally -v $(VERSION) -k $(KVER)
	dkms install -m tally -v $(VERSION) -k $(KVER)

dkms-remove:
	dkms remove -m tally -v $(VERSION) --all
	rm -r '$(DKMS_DIR)'

clean: | $(KDIR)
	$(KBUILD) clean

# The head of each test says what the test needs; see tests/README.md.
check:
	scripts/setup
	scripts/test --check $(TESTS)

# TIMES=--times prints what each script took.
test:
	scripts/setup
	scripts/test $(TIMES) $(TESTS)

test-all:
	scripts/setup
	scripts/test --all $(TIMES) $(TESTS)

soak:
	scripts/setup
	scripts/test --soak $(TESTS)

# KERNELS: shell patterns of releases, such as '6.12.*-rt-amd64', or names.
matrix:
	scripts/setup
	scripts/matrix $(KERNELS)

# Shows the line counts of both guests together. A guest that crashed leaves no counts:
# then make stops.
FUZZ := 600

fuzz:
	scripts/setup
	@counts=$$(mktemp -d) && trap 'rm -rf "$$counts"' EXIT && \
	scripts/vm --kernel debug-x86_64 --smp 4 --timeout $$(($(FUZZ) + 900)) \
		--coverage "$$counts/fuzz" -- sh fuzz.sh $(FUZZ) $$(date +%s) && \
	scripts/vm --kernel debug-x86_64 --timeout $$(($(FUZZ) + 900)) --with-trinity \
		--coverage "$$counts/trinity" -- sh trinity.sh $$(($(FUZZ) / 2)) $$(date +%s) && \
	scripts/coverage --lines "$$counts/fuzz" "$$counts/trinity"

# The library for user programs; see src/lib/README.md.
lib:
	@$(MAKE) -f src/lib/lib.mk VERSION=$(VERSION)

lib-install:
	@$(MAKE) -f src/lib/lib.mk VERSION=$(VERSION) install

# Accepts what was added to the library's ABI.
lib-abi:
	@$(MAKE) -f src/lib/lib.mk CFLAGS='-O2 -g' abi

# Debian packages in the folder OUT.
deb:
	@scripts/debian-package/build $(if $(OUT),'$(OUT)')

# Manual pages and HTML of include/tally/tally.h, in the folder OUT.
doc:
	@scripts/doc $(if $(OUT),'$(OUT)')

# The command `tally`.
tool: lib
	@$(MAKE) -f src/tool/tool.mk VERSION=$(VERSION)

install-tool: tool
	@$(MAKE) -f src/tool/tool.mk VERSION=$(VERSION) install

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
	@echo '  make lib           build src/lib/libtally.a and libtally.so.0, for user programs'
	@echo '  make tool          build src/tool/tally, the command; needs libpfm4-dev libjson-c-dev'
	@echo '                     libmicrohttpd-dev libncurses-dev'
	@echo '  make deb           build Debian packages in OUT [~/.cache/tally/deb]; needs debhelper'
	@echo '                     dh-dkms and what the command and make doc need'
	@echo '  make doc           manual pages and HTML of the functions for other modules, in OUT'
	@echo '                     [~/.cache/tally/doc]; needs mandoc linux-source-6.12'
	@echo 'As root:'
	@echo '  make install       install it below /lib/modules, or INSTALL_MOD_PATH'
	@echo '  make lib-install   install libtally and its Python module below PREFIX [/usr/local],'
	@echo '                     or DESTDIR; PYTHONDIR=DIR for the module'
	@echo '  make install-tool  install the command, its completion and manual pages, not those of doc'
	@echo '  make dkms-install  hand it to dkms, which rebuilds it for new kernels'
	@echo '  make dkms-remove   take it back'
	@echo 'In virtual machines; these install Debian packages and build kernels:'
	@echo '  make demo          count in a real Debian kernel, x86-64 and arm64'
	@echo '  make test          everything that CI runs; TESTS="debugfs debian-6.1" for one'
	@echo '                     test on one kernel'
	@echo '  make test-all      the same on every kernel that a test has in its head'
	@echo '  make bench         what it costs beside its peers, in instructions'
	@echo '  make soak          what is long or statistical or compares times; TESTS="hotplug"'
	@echo '  make matrix        a table: kernels of Debian, build, warnings, a guest;'
	@echo '                     KERNELS="7.* 6.12.*-rt-amd64"'
	@echo '  make fuzz          wild calls on /dev/tally, and which lines they reach; FUZZ=SECONDS'
	@echo 'On this machine; these install Debian packages:'
	@echo '  make check         builds, linters and what else needs no virtual machine'
	@echo '  make fuzz-lib      wild bytes for the library; FUZZ_LIB=SECONDS'
	@echo 'Variables:'
	@echo '  KDIR=DIR           kernel headers or build folder [$(KDIR)]'
	@echo '  ARCH= CROSS_COMPILE=  as for the kernel, to build for another machine'
	@echo '  V=1 W=1 C=2        as for the kernel: say more, warn more, run sparse'
