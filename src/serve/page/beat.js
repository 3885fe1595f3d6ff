// SPDX-License-Identifier: Apache-2.0
// A worker of the page: says now and then that the page's process lives, also while the page itself is in a long run.
onmessage = e => setInterval(() => fetch(e.data, { method: "POST" }).catch(() => {}), 5000);
