/** Keeps one CPU busy until it is killed, or its standard input closes. Prints a line when it starts. */
import { Worker } from 'node:worker_threads';

process.stdin.on('end', () => process.exit(0)).resume();
// In a separate thread, so that this one notices the end.
new Worker('for (;;);', { eval: true });
console.log('busy');
