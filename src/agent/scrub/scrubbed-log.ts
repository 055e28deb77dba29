import type { LogDestination } from '../../lib/log-destination.ts';
import { Scrubber } from './scrubber.ts';

/**
 * A destination whose lines hold none of the agent's own secrets. Nobody logs what checks are made of, but the message of an error
 * of a library can quote anything.
 */
export function scrubbedLog(destination: LogDestination, ownSecrets: readonly string[]): LogDestination {
  const scrubber = new Scrubber(ownSecrets);
  return {
    write(line) {
      // A URL of anybody's may hold a password that nobody told us.
      const isClean = !line.includes('@') && scrubber.finder.find(Buffer.from(line)).length === 0;
      destination.write(isClean ? line : `${scrubber.json(JSON.parse(line))}\n`);
    },
    close: (graceMs) => destination.close(graceMs),
  };
}
