import { randomBytes } from 'node:crypto';
import type { ServiceHarness } from '../service/service.ts';
import type { GeneratedAccount } from './generated-account.ts';

/** Creates a generated account through the API. */
export async function makeAccount(
  harness: ServiceHarness,
  key: string,
  account: GeneratedAccount,
): Promise<void> {
  const ids = new Map<string, unknown[]>();
  const unique = randomBytes(6).toString('hex');
  for (const { kind, path, body } of account.calls) {
    const filled = JSON.parse(
      JSON.stringify(body).replaceAll('{{unique}}', unique),
      (_key, value: unknown) => {
        const [, of = '', index = ''] =
          /^\{\{(\w+):(\d+)\}\}$/.exec(typeof value === 'string' ? value : '') ?? [];
        return of === '' ? value : ids.get(of)?.[Number(index)];
      },
    ) as object;
    const answer = await harness.call('POST', path, filled, { key });
    if (answer.status > 201)
      throw new Error(`${path}: ${JSON.stringify(answer.body)} of ${JSON.stringify(filled)}`);
    ids.set(kind, [...(ids.get(kind) ?? []), answer.body.id]);
  }
}
