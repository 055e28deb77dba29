import type { Clock } from '@picket/lib/clock.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import { auditRow } from './audited-handlers.ts';
import { keptAnswer, noChanges } from './changes.ts';
import type { AuditRow } from './tables.ts';

/** An action, done or rejected, that is not an operation of the API. */
export interface AuditedAction {
  readonly actor: {
    readonly kind: AuditRow['actor_kind'];
    readonly id: string | null;
    readonly name: string;
  };
  /** Null if it belongs to no known account. */
  readonly accountId: string | null;
  readonly operation: string;
  readonly address?: string;
  readonly resource?: string;
  readonly resourceName?: string;
  readonly outcome?: AuditRow['outcome'];
  readonly before?: object;
  readonly after?: object;
  /** Whether users other than admins may see it. */
  readonly isForAll?: boolean;
}

/** Writes a row about a completed action. */
export async function record(
  repositories: Pick<Repositories, 'audit'>,
  clock: Clock,
  deed: AuditedAction,
): Promise<void> {
  const { actor, accountId, operation, address, resource, resourceName, outcome, before, after } = deed;
  await repositories.audit.insert({
    ...auditRow(clock.wallMs()),
    account_id: accountId,
    actor_kind: actor.kind,
    actor_id: actor.id,
    actor_name: actor.name.slice(0, 300).toWellFormed(),
    operation,
    address: address ?? null,
    resource: resource ?? null,
    resource_name: resourceName ?? null,
    outcome: outcome ?? 'DONE',
    for_admins: deed.isForAll ? 0 : 1,
    changes: JSON.stringify({ ...noChanges, before: keptAnswer(before), after: keptAnswer(after) }),
  });
}
