/**
 * Entry of a probe thread. The thread that waits for the kernel takes as long to start as the rest takes to load, so it
 * is started first; runners wait for it.
 */
import { openTimekeeper } from '@picket/probes/kernel-thread/timekeeper.ts';

void openTimekeeper();
// Deferred until that thread is started: loading the rest blocks the event loop.
setImmediate(() => void import('./probe-orders.ts'));
