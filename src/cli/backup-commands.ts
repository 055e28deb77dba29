import { systemClock } from '@picket/lib/clock.ts';
import { createLogger } from '@picket/lib/log.ts';
import { readServiceConfig } from '@picket/platform/config/config.ts';
import { openConfiguredStore } from '@picket/server/service.ts';
import { backUp, restore } from '@picket/service/backup/backup.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** `picket service backup FOLDER`: the database, and the run artifacts if they are stored in a folder. */
export async function backupCommand(
  environment: Environment,
  folder: string,
  options: { readonly artifacts: boolean },
): Promise<void> {
  process.umask(0o077);
  const config = readServiceConfig(environment);
  const { hasArtifacts } = await backUp({
    config,
    environment,
    folder,
    now: systemClock.wallMs(),
    withArtifacts: options.artifacts,
  });
  console.log(`Backed up to ${folder}: the database${hasArtifacts ? ' and artifacts' : ', no artifacts'}.`);
  console.log(
    config.SECRETS_KEY === undefined
      ? 'It contains secrets in clear text: SECRETS_KEY is not set.'
      : 'Its secrets are encrypted. Store SECRETS_KEY in another place.',
  );
}

/** `picket service restore FOLDER`: no service may run meanwhile. */
export async function restoreCommand(
  environment: Environment,
  folder: string,
  options: { readonly replace?: boolean },
): Promise<void> {
  process.umask(0o077);
  const config = readServiceConfig(environment);
  const logger = createLogger('picket', 'error');
  const { movedTo } = await restore({
    config,
    environment,
    folder,
    now: systemClock.wallMs(),
    replace: options.replace === true,
    open: (path) => openConfiguredStore(config, logger, path),
  });
  console.log(`Restored ${folder}.`);
  if (movedTo !== undefined) console.log(`The previous data is in ${movedTo}.`);
}
