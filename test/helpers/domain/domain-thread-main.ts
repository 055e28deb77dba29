/** A thread that knows what domain monitors of other threads learned: answers with the end of a server's pause. */
import { parentPort } from 'node:worker_threads';
import { earlierAnswer, pausedUntil } from '../../../src/checks/domain/earlier-answers.ts';

parentPort?.on('message', (href: string) => {
  const url = new URL(href);
  parentPort?.postMessage({ untilMs: pausedUntil(url), answer: earlierAnswer(url) });
});
