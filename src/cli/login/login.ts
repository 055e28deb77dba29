import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { accountRoutes } from '@picket/protocol/accounts/account.ts';
import { ApiError } from '../api/api-error.ts';
import { ApiClient } from '../api/client.ts';
import { ApiSettings } from '../api/settings.ts';
import { forgetLogin, keepLogin, loginFile } from '../api/stored-login.ts';
import { printable } from '../api/text.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface LoginOptions {
  readonly url?: string;
  readonly json?: boolean;
}

/** Source of the user's input: a terminal, or a pipe with one answer per line. */
interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream;
}

/**
 * `picket login`: prompts for the URL of a service and a key, verifies them, and stores them for the other commands.
 * The key is never an argument, because other users of the host can see those.
 */
export async function loginCommand(
  environment: Environment,
  { url: givenUrl, json }: LoginOptions,
  terminal: Terminal = { input: process.stdin, output: process.stderr },
): Promise<void> {
  const ask = openPrompt(terminal);
  const defaultUrl = environment['PICKET_URL'] || 'http://127.0.0.1:8080';
  let settings: { readonly PICKET_URL: string; readonly PICKET_API_KEY: string };
  try {
    const url = givenUrl ?? ((await ask.line(`Address of the service [${defaultUrl}]: `)) || defaultUrl);
    if (!ApiSettings.shape.PICKET_URL.safeParse(url).success) {
      throw new ApiError(`${url}: must be the http:// or https:// URL of the service.`, true);
    }
    const apiKey = await ask.hidden('API key (it is not shown): ');
    if (apiKey === '') throw new ApiError('No API key was entered. Nothing was changed.', true);
    settings = { PICKET_URL: url, PICKET_API_KEY: apiKey };
  } finally {
    ask.close();
  }
  const account = await new ApiClient(settings).call(accountRoutes.getOwnAccount);
  const path = await keepLogin(environment, {
    url: settings.PICKET_URL,
    apiKey: settings.PICKET_API_KEY,
    accountId: account.id,
    accountName: account.name,
  });
  if (json) {
    console.log(
      JSON.stringify({ url: settings.PICKET_URL, account: { id: account.id, name: account.name }, path }),
    );
    return;
  }
  console.log(`Logged in to ${settings.PICKET_URL}: account ${printable(account.name)} (${account.id}).`);
  console.log(`The key is in ${path}; "picket logout" removes it.`);
}

/** `picket logout`: deletes the stored key. The key stays valid: revoke it at the service if it is no longer needed. */
export async function logoutCommand(environment: Environment): Promise<void> {
  const wasThere = await forgetLogin(environment);
  console.log(
    wasThere
      ? `${loginFile(environment)} is removed. The key itself stays valid until it is revoked.`
      : 'You were not logged in.',
  );
}

/** Reads lines, without echo for a hidden one. */
function openPrompt({ input, output }: Terminal) {
  let isMuted = false;
  const echo = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!isMuted) output.write(chunk);
      done();
    },
  });
  const isTerminal = input.isTTY === true;
  const lines = createInterface({ input, output: echo, terminal: isTerminal, historySize: 0 });
  const read = lines[Symbol.asyncIterator]();
  const line = async (question: string): Promise<string> => {
    if (isTerminal) output.write(question);
    const next = await read.next();
    if (next.done) throw new ApiError('No input. Nothing was changed.', true);
    return next.value.trim();
  };
  return {
    line,
    hidden: async (question: string) => {
      if (isTerminal) output.write(question);
      isMuted = true;
      try {
        const next = await read.next();
        return next.done ? '' : String(next.value).trim();
      } finally {
        isMuted = false;
        if (isTerminal) output.write('\n');
      }
    },
    close: () => lines.close(),
  };
}
