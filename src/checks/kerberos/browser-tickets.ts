import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCodeOf, toError } from '@picket/lib/errors.ts';
import { ProbeError } from '@picket/probes/connection/errors.ts';
import { kerberosToken } from '@picket/probes/http/login/negotiate/kerberos.ts';
import type { BrowserLogin } from '@picket/sandbox/browsers/browser-login.ts';
import { type KerberosSettings, ticketCacheFile } from './settings.ts';
import { readTicketFile, type TicketFile } from './ticket-file.ts';

/** Tickets for browsers, and the servers without one. */
export interface BrowserTickets {
  readonly login: BrowserLogin | undefined;
  /** Servers with a ticket, and when the first of these tickets ends, in epoch milliseconds. */
  readonly servers: readonly string[];
  readonly endsAtMs: number;
  readonly problems: readonly { readonly server: string; readonly error: ProbeError }[];
}

/** A script can take its tickets along, so they are good for little longer than the longest run. */
const lifetime = '1h';
/** The longest run, and some minutes. */
const neededMs = 36 * 60_000;
const shortestMs = 60_000;
/** For all servers together: a run waits for it. */
const patienceMs = 15_000;

/** Tickets of this thread, by the settings that they came from. */
const kept = new Map<string, { readonly tickets: Promise<BrowserTickets>; freshUntilMs: number }>();

/**
 * Returns the login of the browser of a run: tickets for the servers of KERBEROS_BROWSER_SERVERS and for nothing
 * else. Neither the keytab nor the ticket that gets other tickets is among it. Servers without a ticket are in the log
 * of the run.
 */
export async function browserLogin({
  kerberos,
  log,
}: {
  readonly kerberos?: KerberosSettings | undefined;
  readonly log: { write(level: 'WARN', text: string): void };
}): Promise<BrowserLogin | undefined> {
  if (!kerberos || kerberos.browserServers.length === 0) return undefined;
  try {
    const { login, problems } = await currentTickets(kerberos);
    for (const { server, error } of problems) {
      log.write('WARN', `The browser has no Kerberos ticket for ${server}: ${error.message}`);
    }
    return login;
  } catch (thrown) {
    // A script that visits other servers needs none.
    log.write('WARN', `The browser has no Kerberos tickets: ${toError(thrown).message}`);
    return undefined;
  }
}

async function currentTickets(settings: KerberosSettings): Promise<BrowserTickets> {
  const key = JSON.stringify(settings);
  const known = kept.get(key);
  if (known && Date.now() < known.freshUntilMs) return await known.tickets;
  const tickets = fetchBrowserTickets(settings, AbortSignal.timeout(patienceMs));
  const entry = { tickets, freshUntilMs: Date.now() + patienceMs };
  kept.set(key, entry);
  const { endsAtMs, problems } = await tickets;
  const spareMs = problems.length > 0 ? 0 : endsAtMs - Date.now() - neededMs;
  entry.freshUntilMs = Date.now() + Math.max(shortestMs, spareMs);
  return await tickets;
}

/** Gets tickets for the servers of KERBEROS_BROWSER_SERVERS from the KDC. */
export async function fetchBrowserTickets(
  settings: KerberosSettings,
  signal: AbortSignal,
): Promise<BrowserTickets> {
  const { browserServers, keytab, principal, configFile } = settings;
  // Gone when the function returns: it also has the ticket that gets others.
  const folder = await mkdtemp(join(hiddenFolder, 'picket-tickets-'));
  try {
    const cache = join(folder, 'cache');
    const shortened = join(folder, 'krb5.conf');
    await writeFile(shortened, `[libdefaults]\n  ticket_lifetime = ${lifetime}\n`);
    const problems: { server: string; error: ProbeError }[] = [];
    const source = ticketCacheFile(settings);
    if (keytab === undefined && source !== undefined) await copied(source, cache);
    for (const server of browserServers) {
      const question = {
        ...{ keytab, principal, hostname: server },
        ticketCache: `FILE:${cache}`,
        configFile: `${shortened}:${configFile ?? systemConfig}`,
      };
      try {
        await kerberosToken(question, signal);
      } catch (thrown) {
        if (!(thrown instanceof ProbeError)) throw thrown;
        problems.push({ server, error: thrown });
      }
    }
    return { ...(await loginFrom(cache, configFile ?? systemConfig)), problems };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const systemConfig = '/etc/krb5.conf';
/** Not TMPDIR: under each mechanism of isolation, scripts have another user or a /tmp of their own. */
const hiddenFolder = '/tmp';

/** A cache that is not there is reported by the library, in words that operators know. */
async function copied(from: string, to: string): Promise<void> {
  try {
    await copyFile(from, to);
  } catch (thrown) {
    if (errorCodeOf(toError(thrown)) !== 'ENOENT') throw thrown;
  }
}

async function loginFrom(
  cache: string,
  configFile: string,
): Promise<Pick<BrowserTickets, 'login' | 'servers' | 'endsAtMs'>> {
  const nothing = { login: undefined, servers: [], endsAtMs: 0 };
  const found = await contentOf(cache);
  if (!found) return nothing;
  const { beginning } = found;
  const tickets = found.tickets.filter(({ server }) => server.startsWith('HTTP/'));
  if (tickets.length === 0) return nothing;
  return {
    login: {
      tickets: Buffer.concat([beginning, ...tickets.map(({ bytes }) => bytes)]),
      config: (await fileIfThere(configFile)) ?? Buffer.alloc(0),
    },
    servers: tickets.map(({ server }) => server.slice('HTTP/'.length)),
    endsAtMs: Math.min(...tickets.map(({ endsAtMs }) => endsAtMs)),
  };
}

async function contentOf(cache: string): Promise<TicketFile | undefined> {
  const file = await fileIfThere(cache);
  return file && readTicketFile(file);
}

async function fileIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (thrown) {
    if (errorCodeOf(toError(thrown)) === 'ENOENT') return undefined;
    throw thrown;
  }
}
