/**
 * Preloaded into the parts that `npm start` runs: standard input is a pipe held by the parent, so its end means that
 * the parent is gone, even if it was killed. The process then stops as after SIGTERM, and leaves no orphans behind.
 */
import { Socket } from 'node:net';
import { isMainThread } from 'node:worker_threads';

// Worker threads inherit the preload, but only the main thread reads standard input.
if (isMainThread) {
  process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM'));
  process.stdin.resume();
  if (process.stdin instanceof Socket) process.stdin.unref();
}
