import type { LogDestination } from '@picket/lib/log-destination.ts';
import type { Scrubber } from './scrubber.ts';

/**
 * A log destination whose lines contain none of the agent's own secrets. The agent never logs the contents of checks,
 * but error messages of libraries can quote anything.
 *
 * @param scrubber knows these secrets, and those that it learns later.
 */
export function scrubbedLog(destination: LogDestination, scrubber: Scrubber): LogDestination {
  return {
    write(line) {
      // A URL may contain a password that the agent does not know.
      const isClean = !line.includes('@') && scrubber.finder.find(Buffer.from(line)).length === 0;
      destination.write(isClean ? line : `${scrubber.json(JSON.parse(line))}\n`);
    },
    close: (graceMs) => destination.close(graceMs),
  };
}
