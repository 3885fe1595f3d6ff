// SPDX-License-Identifier: Apache-2.0
// A stand-in for a provider's library: it needs libcudart.so.13 by its soname alone, as the real one does, so it opens only
// where that was opened before. And as the real one it calls ONNX Runtime from a static initialiser, through an interface that
// only ONNX Runtime can hand over: opened by anybody else, it crashes.
#include <stdlib.h>

__attribute__((constructor)) static void call_host(void)
{
	if (!getenv("FAKE_HOST"))
		abort();
}

int cudaDeviceSynchronize(void);
__attribute__((visibility("default"))) int fake_provider(void);
int fake_provider(void)
{
	return cudaDeviceSynchronize();
}
