import { ApiError } from '@picket/cli/api/api-error.ts';
import { ApiClient } from '@picket/cli/api/client.ts';
import type { Shown } from '@picket/cli/api/command.ts';
import { ApiSettings } from '@picket/cli/api/settings.ts';
import { showProgress } from '@picket/cli/api/show.ts';
import { readForeignAccount } from '@picket/cli/deploy/account.ts';
import { type ImportCommandOptions, importAccountCommand } from './import-command.ts';

interface Options extends ImportCommandOptions {
  readonly url: string;
  readonly account?: string;
}

/** `picket import account FOLDER --url URL`: imports an account of a service with the same API. */
export async function importAccountFrom(
  folder: string,
  { url, account, ...options }: Options,
  { IMPORT_API_KEY: key }: Readonly<Record<string, string | undefined>>,
): Promise<Shown> {
  if (!key) throw new ApiError('IMPORT_API_KEY is not set. It is an API key of the account to import.', true);
  const settings = ApiSettings.safeParse({ PICKET_URL: url, PICKET_API_KEY: key });
  if (!settings.success) throw new ApiError(`${url}: must be an http:// or https:// address.`, true);
  const headers: Record<string, string> = account === undefined ? {} : { 'x-checkly-account': account };
  const progress = showProgress();
  const read = await readForeignAccount(new ApiClient(settings.data, headers), (what) =>
    progress.say(`reading ${what}`),
  );
  progress.end();
  return await importAccountCommand(read, folder, options);
}
