#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
# Usage: kernel-doc -man HEADER | doc.pl FOLDER HEADER VERSION DATE. Run by scripts/doc.
#
# kernel-doc prints all pages behind each other. This writes each to files of its own, man9/NAME.9
# and html/NAME.html, and an index. The page tally(9) is made of the comments at the top of the
# header here, because kernel-doc takes the lines of their tables and lists for one paragraph.

use strict;
use warnings;

my ($out, $path, $version, $date) = @ARGV;
my (%page, %summary, %is_type, @names);
undef $/;
my $pages = <STDIN>;
open(my $file, '<', $path) or die "doc.pl: $path: $!\n";
my $header = <$file>;

sub write_to {
	my ($name, $text) = @_;
	open(my $f, '>', "$out/$name") or die "doc.pl: $out/$name: $!\n";
	print $f $text;
	close($f) or die "doc.pl: $out/$name: $!\n";
}

sub add {
	my ($name, $summary, $text) = @_;
	die "doc.pl: there are two pages $name\n" if $page{$name};
	push @names, $name;
	$summary{$name} = $summary;
	$text =~ s/^(\.SH .*\n)\.PP\n/$1/mg;
	$page{$name} = qq{.TH $name 9 $date "tally $version" "tally API"\n} .
		".ad l\n.SH NAME\n$name \\- $summary\n.SH SYNOPSIS\n.B #include <tally/tally.h>\n$text";
}

# Code and tables stay as they are, an item of a list begins with "- ", and the rest is paragraphs.
sub paragraphs {
	my ($text) = @_;
	return join '', map {
		s/\t/        /g;
		s/\\/\\e/g;
		s/^(?=[.'])/\\&/mg;
		/^[ =]/ ? ".PP\n.EX\n$_\n.EE\n" : s/^- /.IP * 2\n/mg ? s/^  //mgr . "\n" : ".PP\n$_\n";
	} split /\n{2,}/, $text;
}

# kernel-doc's declaration has quotes, blanks and breaks in it.
sub synopsis {
	my ($name, $text) = @_;
	$text =~ s/^\.br\n|^\.BI? |"//mg;
	if ($text =~ /\{/) {
		$text =~ s/\n, *$/,/mg;
		$text =~ s/\n\s*\n/\n/g;
		return ".PP\n.nf\n$text.fi\n";
	}
	$text =~ s/\s+/ /g;
	$text =~ s/ (?=[(,)])|(?<=\*) | $//g;
	$text =~ s/;$// if $text =~ /^\w+\(/;	# a macro
	$text =~ s/^(.*?)(\w+)\(/typedef $1(*$2)(/ if $header =~ /^typedef .*\(\*$name\)/m;
	return ".PP\n.nh\n.B $text\n";
}

my ($first, @blocks) = map { s/^ \* ?//mgr } $header =~ m{^/\*\*?\n( \* (?:tally|DOC): .*?)\n \*/}msg;
$first =~ s/^tally: (.*)\.\n+// or die "doc.pl: $path begins with another comment\n";
add('tally', $1, join '', ".SH DESCRIPTION\n" . paragraphs($first),
	map { s/^DOC: (.*)\n+//; ".SH \U$1\E\n" . paragraphs($_) } @blocks);

for (split /^(?=\.TH )/m, $pages) {
	/^\.SH NAME\n(?:\w+ )?(\w+) \\- (.*?)\.?\n\.SH SYNOPSIS\n(.*?)^(\.SH .*)/ms or die "doc.pl: no page: $_\n";
	my ($name, $summary, $text) = ($1, $2, $4);
	my $synopsis = synopsis($name, $3);
	$is_type{$name} = $synopsis =~ /^\.nf|^\.B typedef/m;
	$text =~ s/^\.SH "?([^"\n]*)"?\n+/.SH \U$1\E\n/mg;
	$text =~ s/^\.SH MEMBERS\n(?=\.SH)//m;	# all of them are private
	$text =~ s/\n{2,}(?=.)/\n.PP\n/g;
	$text =~ s/" above\./" in tally(9)./g;
	add($name, $summary, $synopsis . $text);
}

for my $name (@names) {
	write_to("man9/$name.9", $page{$name});
	open(my $mandoc, '-|', 'mandoc', '-T', 'html', "$out/man9/$name.9") or die "doc.pl: mandoc: $!\n";
	my $html = <$mandoc>;
	close($mandoc) or die "doc.pl: mandoc fails for $name\n";
	$html =~ s{<.*?>|\b(?i:tally_\w+|tally(?=\(9\)))}
		{$page{$&} && $& ne $name ? qq(<a href="$&.html">$&</a>) : $&}sge;
	write_to("html/$name.html", $html);
}

my (%rows, @titles);
for (@names) {
	my $title = $_ eq 'tally' ? 'Overview' : /^TALLY_/ ? 'Macros' : $is_type{$_} ? 'Types' :
		/^tally_build/ ? 'Describing and building an event' :
		/^tally_(ring|snapshot|event_(snapshot|resume))/ ? 'Rings' : /^tally_event_/ ? 'Events' :
		/^tally_se/ ? 'Sets' : /^tally_func_/ ? 'Calls of a kernel function' : 'Values';
	push @titles, $title if !$rows{$title};
	$rows{$title} .= "<tr><td><a href=\"$_.html\">$_</a><td>$summary{$_}\n";
}
write_to('html/index.html', join '', "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n",
	"<title>tally $version</title>\n<style>td { padding-right: 1em; vertical-align: top }</style>\n",
	"<h1>tally $version, for other kernel modules</h1>\n",
	map { "<h2>$_</h2>\n<table>\n$rows{$_}</table>\n" } @titles);
