import type { Logger } from '@picket/lib/log.ts';
import type { SpoolFacts } from './spool-message.ts';

/** Logs what a spool folder had when it was opened. */
export function logFolder({ openCount, losses, foreignFolders, folder }: SpoolFacts, log: Logger): void {
  if (openCount > 0) log.info({ results: openCount }, 'sending results found in the spool');
  if (losses.damagedParts > 0) {
    log.error(
      { parts: losses.damagedParts, folder: `${folder}/quarantine` },
      'damaged parts of the spool quarantined; everything else is sent',
    );
  }
  if (foreignFolders > 0) {
    log.warn(
      { folders: foreignFolders },
      'spool folders of other keys or services found; start an agent with their key, or remove them',
    );
  }
}
