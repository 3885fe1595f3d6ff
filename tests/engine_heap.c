// SPDX-License-Identifier: Apache-2.0
// C++'s new and delete without the address sanitizer. Whatever is C++ in a process of assay's is an engine's or the
// database's, which are not instrumented: the sanitizer's allocator sees little of them and takes half of the processor time
// of every process that loads one. They have libc's allocator here. All that is C keeps the sanitizer's: assay itself, and
// what engines ask of malloc; a pointer that goes from one to the other's free is found by both. What is not seen: an object
// of theirs that assay forgets to release, or releases twice. Unit tests, which open the same through the same files of
// ours, do without this unless they say "Heap: libc".
#include <stddef.h>
#include <stdlib.h>

void *__libc_malloc(size_t nbytes);
void __libc_free(void *p);

#define EXPORT __attribute__((visibility("default")))

// The forms of the Itanium C++ ABI, but those that align beyond malloc: they are few, and stay with the sanitizer. What
// cannot be had ends the process, as the sanitizer does: C has no std::bad_alloc to throw.
#define FORMS(new, delete) \
	EXPORT void *new##m(size_t n) \
	{ \
		void *p = __libc_malloc(n); \
		if (!p) \
			abort(); \
		return p; \
	} \
	EXPORT void *new##mRKSt9nothrow_t(size_t n) \
	{ \
		return __libc_malloc(n); \
	} \
	DELETE(delete##Pv) \
	DELETE(delete##Pvm) \
	DELETE(delete##PvRKSt9nothrow_t)

#define DELETE(name) \
	EXPORT void name(void *p) \
	{ \
		__libc_free(p); \
	}

FORMS(_Znw, _Zdl)
FORMS(_Zna, _Zda)
