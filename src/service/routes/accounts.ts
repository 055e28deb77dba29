import { AlertSettings } from '../../checks/common-fields.ts';
import { defaultRuntimeId } from '../../checks/runtimes.ts';
import { accountRoutes } from '../../protocol/account.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from './handler.ts';

/** The routes of accounts. */
export function accountHandlers({ store }: HandlerDeps): [string, AnyHandler][] {
  return handlersById(accountRoutes, {
    async getOwnAccount({ caller }) {
      const account = await store.accounts.find(caller.accountId);
      if (!account) throw new Error('the account of a valid key is not there');
      return {
        id: account.id,
        name: account.name,
        runtimeId: defaultRuntimeId,
        alertSettings: AlertSettings.parse({}),
      };
    },
  });
}
