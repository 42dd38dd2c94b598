/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A probe is a file that compiles if the kernel has what it asks for. Kbuild
 * compiles it two or three times, with another argument of TRY() each time. The
 * first is a thing that no kernel has, with which the probe must not compile. The
 * second is what is asked for. If the probe does not compile with it, the third is
 * a thing that all kernels have, with which it must. The first and the third are
 * the controls. If one of them fails, the result of the probe means nothing, and
 * Kbuild ends the build.
 *
 * TRY(asked, there, missing) is the one of its arguments that this compilation tries.
 */
#ifndef TALLY_TRY_H
#define TALLY_TRY_H

#include <linux/compiler.h>

#if defined(TRY_ASKED)
#define TRY(asked, there, missing)	asked
#elif defined(TRY_THERE)
#define TRY(asked, there, missing)	there
#elif defined(TRY_MISSING)
#define TRY(asked, there, missing)	missing
#else
#error "Kbuild says what is tried"
#endif

/* A probe declares a function or a pointer, and nobody uses either. */
#define PROBE	static __maybe_unused

/* A probe of a name that has a type: a function, or a value. */
#define PROBE_NAME(asked, there, missing)					\
	PROBE typeof(TRY(asked, there, missing)) (*probe)

/* A probe of a member of a struct. */
#define PROBE_MEMBER(type, asked, there, missing)				\
	PROBE typeof(((type *)0)->TRY(asked, there, missing)) (*probe)

#endif /* TALLY_TRY_H */
