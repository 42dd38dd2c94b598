#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
# Usage: insert.pl FOLDER. Puts pmu.c and its calls into the source of QEMU in a folder.
#
# Each place is named by a file, a function of it, and a regular expression for the text there. If a
# place is not found exactly once, this ends with a sentence, and QEMU is not built.

use strict;
use warnings;
use File::Copy;
use FindBin;

my $qemu = shift or die "usage: insert.pl FOLDER\n";
my %text;

sub text_of {
	my ($file) = @_;
	return \$text{$file} if defined $text{$file};
	open(my $f, '<', "$qemu/$file") or die "insert.pl: $file: $!\n";
	local $/;
	$text{$file} = <$f>;
	return \$text{$file};
}

# Changes a file at one place. With a name, the place is in the function of this name, from the
# line that begins with its type to the next line that is a closing brace.
sub change {
	my ($what, $file, $name, $from, $to) = @_;
	my $text = text_of($file);
	my ($begin, $end) = (0, length $$text);

	if ($name) {
		my @found;
		while ($$text =~ /^[A-Za-z](?:[^\n;{}=]*[ *])?\Q$name\E\((?:[^;{}]*)\)\s*\n\{.*?^\}\n/msg) {
			push @found, [$-[0], $+[0]];
		}
		die "insert.pl: $file has ", scalar @found, " functions $name(); it must have one\n" if @found != 1;
		($begin, $end) = @{$found[0]};
	}
	my $part = substr($$text, $begin, $end - $begin);
	my $n = () = $part =~ /$from/g;
	die "insert.pl: $file", $name ? ", $name()" : '', ": $n places were found $what; there must be one\n"
		if $n != 1;
	$part =~ s/$from/$to->()/e;
	substr($$text, $begin, $end - $begin) = $part;
}

sub append { my ($file, $more) = @_; ${text_of($file)} .= $more }

# The counters of a CPU, which a reset does not make anew.
my $cpu_h = 'target/i386/cpu.h';
change('after the fields of a reset', $cpu_h, '',
	qr/^( *struct \{\} end_reset_fields;\n\s*\/\* Fields after this point are preserved [^\n]*\n)/m,
	sub { "$1    struct tally_pmu *tally_pmu;\n" });
change('before the function that loads a segment', $cpu_h, '',
	qr/^(static inline void cpu_x86_load_seg_cache\()/m, sub { "#include \"tally_pmu.h\"\n\n$1" });
change('where the privilege level is set', $cpu_h, 'cpu_x86_load_seg_cache',
	qr/^( *env->hflags = \(env->hflags & ~HF_CPL_MASK\) \| cpl;\n)/m,
	sub { "            tally_pmu_set_ring(env, cpl);\n$1" });

# CPUID, whose function gets another name, and reset.
my $cpu_c = 'target/i386/cpu.c';
change('with its name', $cpu_c, 'cpu_x86_cpuid', qr/^void cpu_x86_cpuid\(/m,
	sub { 'void tally_plain_cpuid(' });
change('at its end', $cpu_c, 'x86_cpu_reset_hold', qr/^\}\n/m,
	sub { "    tally_pmu_reset(env);\n}\n" });

# The instructions that read and write registers. With -icount they are the last ones of their
# blocks, so that the time is exact there.
my $msr = 'target/i386/tcg/system/misc_helper.c';
my $which = qr/^( *switch \(\(uint32_t\)env->regs\[R_ECX\]\) \{\n)/m;
change('that select a register', $msr, 'helper_rdmsr', $which, sub {
	"    if (tally_pmu_rdmsr(env, env->regs[R_ECX])) {\n        return;\n    }\n$1" });
change('that select a register', $msr, 'helper_wrmsr', $which, sub {
	"    if (tally_pmu_wrmsr(env, env->regs[R_ECX], val, GETPC())) {\n        return;\n    }\n$1" });
my $rdpmc = 'target/i386/tcg/misc_helper.c';
change('with its type', $rdpmc, 'helper_rdpmc', qr/^G_NORETURN void /m, sub { 'void ' });
change('after the checks', $rdpmc, 'helper_rdpmc',
	qr/^ *\/\* currently unimplemented \*\/\n.*raise_exception_err\(env, EXCP06_ILLOP, 0\);\n/ms,
	sub { "    tally_pmu_rdpmc(env, GETPC());\n" });
change('that declare rdpmc', 'target/i386/helper.h', '', qr/^DEF_HELPER\w*\(rdpmc, .*\n/m,
	sub { "DEF_HELPER_1(rdpmc, void, env)\n" });
my $emit = 'target/i386/tcg/emit.c.inc';
change('after which nothing is translated', $emit, 'gen_RDPMC',
	qr/^ *s->base.is_jmp = DISAS_NORETURN;\n/m, sub { '' });
for my $name (qw(rdmsr wrmsr)) {
	change("that call $name", $emit, 'gen_' . uc $name, qr/^( *gen_helper_$name\(tcg_env\);\n)/m,
		sub { "    translator_io_start(&s->base);\n$1" });
}

# A CPU that waits for an interrupt.
change('where it halts', $msr, 'helper_hlt', qr/^( *cs->halted = 1;\n)/m,
	sub { "    tally_pmu_set_halted(env, true);\n$1" });
change('where it goes on', 'target/i386/tcg/system/seg_helper.c', 'x86_cpu_exec_halt',
	qr/^( *return true;\n)/m, sub { "    tally_pmu_set_halted(env, false);\n$1" });

# The instructions of each CPU.
change('of the budget of instructions', 'include/hw/core/cpu.h', '',
	qr/^( *int64_t icount_budget;\n)/m, sub { "    int64_t tally_icount;\n$1" });
my $icount = 'accel/tcg/icount-common.c';
change('that take from the budget', $icount, 'icount_update_locked',
	qr/^( *cpu->icount_budget -= executed;\n)/m, sub { "    cpu->tally_icount += executed;\n$1" });
append($icount, <<'END');

int64_t tally_icount_of(CPUState *cpu);

int64_t tally_icount_of(CPUState *cpu)
{
    return cpu->tally_icount + icount_get_executed(cpu);
}
END

# The local APIC's entry for performance counters.
my $apic = 'hw/intc/apic.c';
change('that write an entry', $apic, 'apic_register_write', qr/^( *s->lvt\[n\] = val;\n)/m, sub {
	"$1            if (n == APIC_LVT_PERFORM) {\n                tally_pmu_lvt_written(&s->cpu->env);\n            }\n" });
append($apic, <<'END');

bool tally_apic_deliver(DeviceState *dev, bool masks)
{
    APICCommonState *s = APIC(dev);

    if (s->lvt[APIC_LVT_PERFORM] & APIC_LVT_MASKED) {
        return false;
    }
    apic_local_deliver(s, APIC_LVT_PERFORM);
    if (masks) {
        s->lvt[APIC_LVT_PERFORM] |= APIC_LVT_MASKED;
    }
    return true;
}
END

change('that list the helpers', 'target/i386/tcg/system/meson.build', '', qr/^( *'misc_helper.c',\n)/m,
	sub { "$1  'tally_pmu.c',\n" });

# Debian's source has no firmware that it does not build itself.
change('with a list of blobs', 'pc-bios/meson.build', '', qr/^blobs = \[\n.*?^\]\n/ms, sub { "blobs = []\n" });
change('of firmware for UEFI', 'pc-bios/meson.build', '', qr/^if unpack_edk2_blobs\n/m, sub { "if false\n" });

for my $file (sort keys %text) {
	open(my $f, '>', "$qemu/$file") or die "insert.pl: $file: $!\n";
	print $f $text{$file};
	close $f or die "insert.pl: $file: $!\n";
}
copy("$FindBin::Bin/pmu.c", "$qemu/target/i386/tcg/system/tally_pmu.c") &&
	copy("$FindBin::Bin/tally_pmu.h", "$qemu/target/i386/tally_pmu.h") or
	die "insert.pl: pmu.c cannot be copied: $!\n";
