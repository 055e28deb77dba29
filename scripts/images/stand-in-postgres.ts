import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine } from './engine.ts';

/**
 * Where the image of PostgreSQL cannot be pulled, one with Debian's PostgreSQL under the same name, which understands the settings that
 * deploy/compose.yaml gives: POSTGRES_USER, POSTGRES_DB, POSTGRES_PASSWORD_FILE, data in /var/lib/postgresql/data.
 *
 * @param base an image of Debian.
 */
export async function makeStandInPostgres(
  engine: Engine,
  tag: string,
  base: string,
  cacheFolder: string,
): Promise<void> {
  const context = join(cacheFolder, 'stand-in-postgres');
  await mkdir(context, { recursive: true });
  await writeFile(
    join(context, 'start.sh'),
    [
      '#!/bin/sh',
      'set -eu',
      'data=/var/lib/postgresql/data/main',
      'if [ ! -e "$data/PG_VERSION" ]; then',
      '  chown postgres: /var/lib/postgresql/data',
      '  cp "$POSTGRES_PASSWORD_FILE" /tmp/password && chown postgres: /tmp/password',
      '  setpriv --reuid postgres --regid postgres --clear-groups initdb -D "$data" -U "$POSTGRES_USER" \\',
      '    --pwfile /tmp/password --auth-host scram-sha-256 --auth-local trust -E UTF8',
      '  rm /tmp/password',
      '  echo "host all all all scram-sha-256" >> "$data/pg_hba.conf"',
      '  echo "CREATE DATABASE $POSTGRES_DB" | setpriv --reuid postgres --regid postgres --clear-groups postgres --single -D "$data" postgres',
      'fi',
      `exec setpriv --reuid postgres --regid postgres --clear-groups postgres -D "$data" -c listen_addresses='*'`,
      '',
    ].join('\n'),
  );
  await writeFile(
    join(context, 'Dockerfile'),
    [
      `FROM ${base}`,
      'RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql \\',
      '    && rm -rf /var/lib/apt/lists/* && mkdir -p /run/postgresql && chown postgres: /run/postgresql',
      'ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      'COPY --chmod=755 start.sh /usr/local/bin/start.sh',
      'STOPSIGNAL SIGINT',
      'VOLUME /var/lib/postgresql/data',
      'ENTRYPOINT ["/usr/local/bin/start.sh"]',
      '',
    ].join('\n'),
  );
  await engine.ask(['build', ...engine.buildArgs, '-t', tag, context]);
}
