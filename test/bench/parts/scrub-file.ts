/**
 * Scrubs one file and tells what it took. Its parent sends what to scrub, as `{ source, target, secrets, mask }`, and is answered
 * with seconds, seconds of CPU of all threads, and megabytes of memory beyond those of a process that is ready to begin.
 */

import { scrubFile } from '../../../src/agent/scrub/files/scrub-file.ts';
import { SecretFinder } from '../../../src/agent/scrub/secret-finder.ts';
import { credentialHeaderShapes } from '../../../src/agent/scrub/shapes/credentials/credential-header-shape.ts';
import { userInfoShapes } from '../../../src/agent/scrub/shapes/credentials/user-info-shape.ts';

interface Order {
  readonly source: string;
  readonly target: string;
  readonly secrets: readonly string[];
  readonly mask: string;
}

process.once('message', async ({ source, target, secrets, mask }: Order) => {
  // As an agent looks: for headers and user info of URLs too.
  const finder = new SecretFinder(secrets, [...credentialHeaderShapes(), ...userInfoShapes()]);
  const baseBytes = process.memoryUsage.rss();
  let peakBytes = baseBytes;
  const watch = setInterval(() => {
    peakBytes = Math.max(peakBytes, process.memoryUsage.rss());
  }, 20);
  const startMs = performance.now();
  const startCpu = process.cpuUsage();
  await scrubFile(source, target, { finder, mask });
  const seconds = (performance.now() - startMs) / 1000;
  const { user, system } = process.cpuUsage(startCpu);
  clearInterval(watch);
  process.send?.({
    seconds,
    cpuSeconds: (user + system) / 1e6,
    memoryMb: (peakBytes - baseBytes) / 1e6,
  });
  process.disconnect();
});
