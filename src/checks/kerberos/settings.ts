import { isAbsolute } from 'node:path';
import { readEnvironment } from '@picket/lib/env.ts';
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

/** Returns what logins by Kerberos need; undefined without an identity. */
export function kerberosMeans(settings: KerberosSettings | undefined): KerberosMeans | undefined {
  if (!settings || !hasKerberos(settings)) return undefined;
  const { servers, ...identity } = settings;
  return {
    ...identity,
    isAllowed: (hostname) => servers.some((pattern) => matchesGlob(hostname.toLowerCase(), pattern)),
  };
}

/** Reads the settings from the environment of a command. @throws AppError CONFIG_INVALID */
export function readKerberosSettings(
  environment: Readonly<Record<string, string | undefined>>,
): KerberosSettings {
  return valuesOf(kerberosSettings, readEnvironment(z.object(shapeOf(kerberosSettings)), environment));
}
