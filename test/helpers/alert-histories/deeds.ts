import { findCheckType } from '../../../src/checks/index.ts';
import { ServiceConfig } from '../../../src/platform/config/config.ts';
import type { AnyHandler, Call } from '../../../src/platform/feature/handler.ts';
import { allRoutes } from '../../../src/server/features.ts';
import { alertChannelHandlers } from '../../../src/service/alerts/channels/routes.ts';
import { alertHandlingHandlers } from '../../../src/service/alerts/handling/routes.ts';
import { checkGroupHandlers } from '../../../src/service/checks/groups/routes.ts';
import { type CheckDeps, CheckWriter } from '../../../src/service/checks/writer.ts';
import { DomainProof } from '../../../src/service/custom-domains/domain-proof.ts';
import { privateLocationHandlers } from '../../../src/service/locations/routes.ts';
import { maintenanceHandlers } from '../../../src/service/maintenance/routes.ts';
import { resourceHandlers } from '../../../src/service/resources/handlers.ts';
import { rescheduler } from '../../../src/service/runs/rescheduling.ts';
import { quietLogger, type ServiceHarness } from '../service/service.ts';

type Body = Readonly<Record<string, unknown>>;

/**
 * Performs the deeds of people through the handlers of the API and the check writer. HTTP requests and the audit log do
 * not affect alerts; without them a history takes less than half of the time.
 */
export class People {
  readonly #writer: CheckWriter;
  readonly #handlers: ReadonlyMap<string, AnyHandler>;
  readonly #routes = new Map(allRoutes.map((route) => [route.operationId, route]));

  constructor({ store, clock, ledger }: Pick<ServiceHarness, 'store' | 'clock' | 'ledger'>) {
    const base = {
      ...{ store, clock, logger: quietLogger, reschedule: rescheduler(), publicUrl: 'http://picket.test' },
      domainProof: new DomainProof({ isAllowed: () => false }),
    };
    // No deed involves files.
    const deps = base as unknown as CheckDeps;
    this.#writer = new CheckWriter(deps);
    this.#handlers = new Map([
      ...checkGroupHandlers(deps),
      ...alertChannelHandlers({ ...deps, ledger, channelSettings: ServiceConfig.parse({}) }),
      ...alertHandlingHandlers(deps),
      ...maintenanceHandlers(deps),
      ...privateLocationHandlers(deps),
      ...resourceHandlers(deps),
    ]);
  }

  async createCheck(accountId: string, typeName: string, body: Body): Promise<string> {
    const type = findCheckType(typeName);
    if (!type) throw new Error(`there is no type of checks called ${typeName}`);
    return (await this.#writer.create(accountId, type, body, true)).id;
  }

  async updateCheck(accountId: string, id: string, body: Body): Promise<void> {
    await this.#writer.update(accountId, id, body);
  }

  async deleteCheck(accountId: string, id: string): Promise<void> {
    await this.#writer.delete(accountId, id);
  }

  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  async call(accountId: string, operationId: string, params: Body, body?: Body): Promise<any> {
    const route = this.#routes.get(operationId);
    const handler = this.#handlers.get(operationId);
    if (!route || !handler) throw new Error(`people of histories do no ${operationId}`);
    const actor = { kind: 'API_KEY', id: 'key', name: 'test' } as const;
    return handler({
      params: route.params?.parse(params),
      // New groups do not subscribe to channels automatically.
      query: route.query?.parse(operationId === 'createCheckGroup' ? { autoAssignAlerts: 'false' } : {}),
      body: route.body?.parse(body),
      caller: { accountId, role: 'ADMIN', actor },
    } as unknown as Call);
  }
}
