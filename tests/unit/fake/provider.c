// SPDX-License-Identifier: Apache-2.0
// A stand-in for a provider's library: it needs libcudart.so.13 by its soname alone, as the real one does, so it opens only
// where that was opened before.
int cudaDeviceSynchronize(void);
__attribute__((visibility("default"))) int fake_provider(void);
int fake_provider(void)
{
	return cudaDeviceSynchronize();
}
