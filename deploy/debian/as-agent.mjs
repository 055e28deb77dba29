// Turns root into the user of the service, before the program starts. Its threads and processes load this file too.
import { isMainThread } from 'node:worker_threads';

if (isMainThread && process.getuid() === 0) {
  process.chdir('/');
  process.initgroups('picket', 'picket');
  process.setgid('picket');
  process.setuid('picket');
}
