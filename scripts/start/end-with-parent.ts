/**
 * Preloaded into the parts that `npm start` runs: our standard input is a pipe held by the parent, so its end means that
 * the parent is gone, even when it was killed outright. We then stop as if asked to, and leave no strays behind.
 */
import { Socket } from 'node:net';
import { isMainThread } from 'node:worker_threads';

// Worker threads inherit the preload, but standard input is the main thread's business.
if (isMainThread) {
  process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM'));
  process.stdin.resume();
  if (process.stdin instanceof Socket) process.stdin.unref();
}
