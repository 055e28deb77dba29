import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorCodeOf, toError } from '@picket/lib/errors.ts';
import { ProbeError } from '../../../connection/errors.ts';

/** The Kerberos identity of an agent: its operator names it, checks only use it. */
export interface KerberosIdentity {
  /** File with the keys of a principal, by which the library gets tickets itself. */
  readonly keytab?: string | undefined;
  /** Name of a ticket cache, such as `/run/tickets` or `KEYRING:user`; absent with a keytab: kept in memory. */
  readonly ticketCache?: string | undefined;
  /** Such as `monitor@EXAMPLE.COM`; absent: the first of the keytab, or that of the cache. */
  readonly principal?: string | undefined;
  /** The krb5.conf; absent: that of the system. */
  readonly configFile?: string | undefined;
}

/** Asks for the token for a server. */
export interface TokenQuestion extends KerberosIdentity {
  /** Absent: only the credential of the agent is tried. */
  readonly hostname?: string | undefined;
  /** Channel binding in Base64. */
  readonly binding?: string | undefined;
}

export type TokenAnswer =
  | {
      /** In Base64; empty if only the credential was tried, which the other fields describe. */
      readonly token: string;
      readonly principal?: string;
      readonly lifetimeS?: number;
    }
  | { readonly problem: string; readonly isLibraryMissing?: boolean };

/** Codes of errors that have a fix of their own. */
export const kerberosCodes = { library: 'KERBEROS_LIBRARY_MISSING', keytab: 'KEYTAB_UNREADABLE' } as const;

const program = fileURLToPath(new URL(`./gssapi-main${extname(import.meta.url)}`, import.meta.url));
const maxAnswerBytes = 1024 * 1024;
/** Shorter than a run may take: a KDC that is silent is no failure of the target. */
const timeoutMs = 10_000;

/**
 * Returns the first token of SPNEGO (RFC 4178) for a service `HTTP/hostname`, in Base64. Time that the KDC takes is part
 * of no phase.
 *
 * @throws ProbeError `login-unavailable`, with the words of the library.
 */
export async function kerberosToken(question: TokenQuestion, signal: AbortSignal): Promise<string> {
  return (await answered(question, signal)).token;
}

/**
 * Gets a ticket for the identity alone, to see whether it works.
 *
 * @returns its principal, and for how many seconds its ticket is valid.
 * @throws ProbeError `login-unavailable`, with the words of the library.
 */
export async function tryIdentity(
  identity: KerberosIdentity,
  signal: AbortSignal,
): Promise<{ readonly principal: string; readonly lifetimeS: number }> {
  const { principal = '', lifetimeS = 0 } = await answered(identity, signal);
  return { principal, lifetimeS };
}

async function answered(
  question: TokenQuestion,
  signal: AbortSignal,
): Promise<Extract<TokenAnswer, { readonly token: string }>> {
  const { keytab } = question;
  try {
    if (keytab !== undefined) accessSync(keytab, constants.R_OK);
  } catch (thrown) {
    const reason = errorCodeOf(toError(thrown));
    throw unavailable(`the keytab ${keytab} cannot be read: ${reason}`, kerberosCodes.keytab);
  }
  const answer = await ask(question, signal);
  if (!('problem' in answer)) return answer;
  throw unavailable(answer.problem, answer.isLibraryMissing ? kerberosCodes.library : undefined);
}

async function ask({ configFile, ...question }: TokenQuestion, signal: AbortSignal): Promise<TokenAnswer> {
  // Without the environment of the agent: the library does not need its key.
  const env = configFile === undefined ? {} : { KRB5_CONFIG: configFile };
  const child = spawn(process.execPath, [program], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env,
    signal,
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    if (text.length > maxAnswerBytes) child.kill('SIGKILL');
  });
  // It ended before it read: its exit code tells.
  child.stdin.on('error', () => undefined);
  child.stdin.end(JSON.stringify(question));
  const code = await new Promise<number | string | null>((resolve) => {
    child.on('error', (error) => resolve(errorCodeOf(error) ?? error.message));
    child.on('close', (exitCode, killedBy) => resolve(exitCode ?? killedBy));
  });
  if (code === 0) return JSON.parse(text) as TokenAnswer;
  const how = code === 'SIGKILL' ? `got no answer in ${timeoutMs / 1000} seconds` : `ended (${code})`;
  return { problem: `the Kerberos library ${how}` };
}

function unavailable(message: string, code?: string): ProbeError {
  return new ProbeError('login-unavailable', 'firstByte', `no Kerberos ticket: ${message}`, code);
}
