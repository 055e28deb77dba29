/**
 * Scrubs one file and reports the cost. Its parent sends the job as `{ source, target, secrets, mask }`, and receives
 * seconds, CPU seconds of all threads, and megabytes of memory beyond those of an idle process.
 */

import { scrubFile } from '../../../src/agent/scrub/files/scrub-file.ts';
import { SecretFinder } from '../../../src/checks/secrets/secret-finder.ts';
import { credentialHeaderShapes } from '../../../src/checks/secrets/shapes/credentials/credential-header-shape.ts';
import { userInfoShapes } from '../../../src/checks/secrets/shapes/credentials/user-info-shape.ts';

interface Order {
  readonly source: string;
  readonly target: string;
  readonly secrets: readonly string[];
  readonly mask: string;
}

process.once('message', async ({ source, target, secrets, mask }: Order) => {
  // Like an agent: also searches for headers and user info of URLs.
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
