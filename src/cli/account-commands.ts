import { systemClock } from '../lib/clock.ts';
import { createLogger } from '../lib/log.ts';
import { addAccount, addKey } from '../service/accounts.ts';
import { readServiceConfig } from '../service/config.ts';
import { openConfiguredStore } from '../service/service.ts';
import type { Store } from '../service/store/store.ts';
import type { KeyRole } from '../service/store/tables.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface OutputOptions {
  readonly json?: boolean;
}

/** `picket service add-account NAME`: prints the id and the first key, which is shown this once. */
export async function addAccountCommand(
  environment: Environment,
  name: string,
  options: OutputOptions,
): Promise<void> {
  await withStore(environment, async (store) => {
    const { accountId } = await addAccount(store, systemClock, name);
    const { rawKey } = await addKey(store, systemClock, { accountId, name: 'first key', role: 'ADMIN' });
    print({ accountId, apiKey: rawKey }, options);
  });
}

/** `picket service add-key --account ID --role ROLE`: prints the key, which is shown this once. */
export async function addKeyCommand(
  environment: Environment,
  options: OutputOptions & { readonly account: string; readonly role: KeyRole; readonly name: string },
): Promise<void> {
  const { account: accountId, role, name } = options;
  await withStore(environment, async (store) => {
    const { rawKey } = await addKey(store, systemClock, { accountId, name, role });
    print({ accountId, role, apiKey: rawKey }, options);
  });
}

async function withStore(environment: Environment, work: (store: Store) => Promise<void>): Promise<void> {
  const config = readServiceConfig(environment);
  const store = await openConfiguredStore(config, createLogger('picket', 'error'));
  try {
    await work(store);
  } finally {
    await store.close();
  }
}

function print(values: Readonly<Record<string, string>>, options: OutputOptions): void {
  if (options.json) {
    console.log(JSON.stringify(values));
    return;
  }
  const width = Math.max(...Object.keys(values).map((name) => name.length));
  for (const [name, value] of Object.entries(values)) console.log(`${name.padEnd(width)}  ${value}`);
}
