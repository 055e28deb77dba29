/**
 * Entry of a probe thread. The thread that waits for the kernel takes as long to start as the rest here takes to
 * load, so it is begun first; runners wait for it.
 */
import { openTimekeeper } from '@picket/probes/kernel-thread/timekeeper.ts';

void openTimekeeper();
// Not before that thread was started: loading the rest leaves no turn for it.
setImmediate(() => void import('./probe-orders.ts'));
