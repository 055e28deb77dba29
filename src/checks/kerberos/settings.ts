import { isAbsolute } from 'node:path';
import { readEnvironment } from '@picket/lib/env.ts';
import { AppError } from '@picket/lib/errors.ts';
import { type SettingTree, setting, shapeOf, type Values, valuesOf } from '@picket/lib/setting-tree.ts';
import { matchesGlob } from '@picket/lib/text.ts';
import type { KerberosMeans } from '@picket/probes/http/login/negotiate/negotiate.ts';
import { z } from 'zod';

const absolutePath = z.string().refine((value) => isAbsolute(value), 'must be an absolute path');

const hostPatterns = z
  .string()
  .transform((value) =>
    value
      .split(',')
      .map((one) => one.trim().toLowerCase())
      .filter((one) => one !== ''),
  )
  .pipe(
    z.array(
      z
        .string()
        .regex(/^[^\s:/?#@]{1,253}$/, 'must be host names without scheme and port, separated by commas'),
    ),
  )
  .default([])
  .meta({ defaultText: 'none' });

/** Each needs a ticket of its own. */
const mostBrowserServers = 20;

/** Settings of the Kerberos identity with which an agent logs in for its checks. */
export const kerberosSettings = {
  keytab: setting(
    'KERBEROS_KEYTAB',
    absolutePath.optional(),
    'Keytab of the principal with which checks log in by Kerberos (`auth` of type NEGOTIATE); see log-in-to-intranets.md',
  ),
  principal: setting(
    'KERBEROS_PRINCIPAL',
    z.string().min(1).max(500).optional().meta({ defaultText: 'the first of the keytab' }),
    'That principal, such as `monitor@EXAMPLE.COM`',
  ),
  ticketCache: setting(
    'KERBEROS_TICKET_CACHE',
    z
      .string()
      .regex(
        /^(?:\/|(?:FILE|DIR|KEYRING|KCM|MEMORY):)/,
        'must be an absolute path, or a name such as FILE:/path or KEYRING:user',
      )
      .optional()
      .meta({ defaultText: 'memory, for each login anew' }),
    'Cache of tickets that another program renews; with KERBEROS_KEYTAB the agent keeps its own tickets there',
  ),
  configFile: setting(
    'KERBEROS_CONFIG',
    absolutePath.optional().meta({ defaultText: '`/etc/krb5.conf`' }),
    'The krb5.conf with the realms and their KDCs',
  ),
  servers: setting(
    'KERBEROS_SERVERS',
    hostPatterns,
    'Hosts at which checks may log in with that identity, separated by commas; `*` stands for any characters: `*.intra.example.com`',
  ),
  browserServers: setting(
    'KERBEROS_BROWSER_SERVERS',
    hostPatterns
      .refine((hosts) => !hosts.some((host) => host.includes('*')), 'must be whole names, without *')
      .refine((hosts) => hosts.length <= mostBrowserServers, `must be at most ${mostBrowserServers} hosts`)
      .meta({ defaultText: 'none' }),
    'Hosts at which the Chromium of browser checks and suites logs in with that identity, as whole names separated by commas. Scripts can use the tickets for these hosts; see log-in-to-intranets.md',
  ),
} satisfies SettingTree;

/** The Kerberos identity of an agent, in a form that threads can pass on. */
export type KerberosSettings = Values<typeof kerberosSettings>;

/** Whether the operator named an identity. */
export function hasKerberos({ keytab, ticketCache }: KerberosSettings): boolean {
  return keytab !== undefined || ticketCache !== undefined;
}

/** Files with keys or tickets. */
export function kerberosFiles({ keytab, ticketCache }: KerberosSettings): string[] {
  const cache = /^(?:(?:FILE|DIR):)?(\/.*)$/.exec(ticketCache ?? '')?.[1];
  return [keytab, cache].filter((path) => path !== undefined);
}

/** The file of the ticket cache; undefined without a cache, or if the cache is not a file. */
export function ticketCacheFile({ ticketCache }: KerberosSettings): string | undefined {
  return /^(?:FILE:)?(\/.*)$/.exec(ticketCache ?? '')?.[1];
}

/**
 * Refuses servers for browsers without an identity whose tickets can be given to them.
 *
 * @throws AppError CONFIG_INVALID
 */
export function requireBrowserIdentity(settings: KerberosSettings): void {
  const { browserServers, keytab } = settings;
  if (browserServers.length === 0 || keytab !== undefined || ticketCacheFile(settings) !== undefined) return;
  const line = 'KERBEROS_BROWSER_SERVERS: needs KERBEROS_KEYTAB, or a file in KERBEROS_TICKET_CACHE';
  throw new AppError('CONFIG_INVALID', `1 problem in the configuration:\n  - ${line}`, {
    attributes: { problems: [line] },
  });
}

/** Returns what logins by Kerberos need; undefined without an identity. */
export function kerberosMeans(settings: KerberosSettings | undefined): KerberosMeans | undefined {
  if (!settings || !hasKerberos(settings)) return undefined;
  const { servers, browserServers: _, ...identity } = settings;
  return {
    ...identity,
    isAllowed: (hostname) => servers.some((pattern) => matchesGlob(hostname.toLowerCase(), pattern)),
  };
}

/** Reads the settings from the environment of a command. @throws AppError CONFIG_INVALID */
export function readKerberosSettings(
  environment: Readonly<Record<string, string | undefined>>,
): KerberosSettings {
  const settings = valuesOf(
    kerberosSettings,
    readEnvironment(z.object(shapeOf(kerberosSettings)), environment),
  );
  requireBrowserIdentity(settings);
  return settings;
}
