import { randomUUID } from 'node:crypto';
import {
  type CheckDefinition,
  definitionSchema,
  maskedValues,
} from '@picket/checks/contract/definition/definition.ts';
import { fillMasked, refuseMoved } from '@picket/checks/contract/masking.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { type AnyHandler, type HandlerDeps, handlersById } from '@picket/platform/feature/handler.ts';
import { fieldError, validationError } from '@picket/platform/http/validation.ts';
import { type DefinitionRun, definitionRunRoutes } from '@picket/protocol/sessions/definition-run.ts';
import { asWritten, keepingOf } from '../checks/addresses/address-values.ts';
import { completeGroup } from '../checks/effective-check.ts';
import { defaultOffset } from '../checks/timing/slots.ts';
import { followedPlan, placeOf } from './followed-plan.ts';
import { noSession, Sessions } from './sessions.ts';
import type { TestDefinitionRow } from './stored/tables.ts';

type Job = DefinitionRun['checkRunJobs'][number];

/** Routes that run definitions which are not stored checks. */
export function definitionRunHandlers(deps: HandlerDeps): [string, AnyHandler][] {
  const sessions = new Sessions(deps);
  return handlersById(definitionRunRoutes, {
    async runDefinitions({ caller, body }) {
      const { accountId } = caller;
      const place = await placeOf(deps, accountId, body.runLocation);
      const suiteId = suiteOf(body.checkRunJobs);
      const definitions: Definition[] = [];
      for (const [index, job] of body.checkRunJobs.entries()) {
        definitions.push(
          await definitionOf(deps, {
            accountId,
            job,
            index,
            files: body.sharedFiles,
            session: body.environmentVariables,
          }),
        );
      }
      requireOwnNames(body.checkRunJobs);
      const { session, runs } = await sessions.startDefinitions(accountId, definitions, {
        ...followedPlan({ ...body, place, suiteId }),
        project_id: body.project?.logicalId ?? null,
        // For definitions, their own strategy is null unless one was requested.
        retry_strategy: null,
        streams_logs: body.streamLogs ? 1 : 0,
      });
      const names = new Map(definitions.map(({ id, logical_id: logicalId }) => [id, logicalId]));
      const byName = (value: (run: (typeof runs)[number]) => string) =>
        Object.fromEntries(runs.map((run) => [names.get(run.check_id) ?? run.check_id, value(run)]));
      return {
        schedulingId: session.id,
        testSessionId: session.id,
        testResultIds: byName(({ id }) => id),
        sequenceIds: byName((run) => run.sequence_id),
      };
    },
    async awaitScheduling({ caller, params }) {
      const session = await deps.store.testSessions.find(caller.accountId, params.id);
      if (!session) throw noSession({ kind: 'test_session_id', id: params.id });
      return { status: 'SUCCEEDED' as const, error: null };
    },
  });
}

/** A definition before its session is known. */
export type Definition = Omit<TestDefinitionRow, 'test_session_id' | 'created'>;

/**
 * Prepares a definition for running: validates it like a check, adds the files it names and the hidden values of its
 * check, and removes retries that were not requested.
 */
async function definitionOf(
  { store }: HandlerDeps,
  given: {
    readonly accountId: string;
    readonly job: Job;
    readonly index: number;
    readonly files: DefinitionRun['sharedFiles'];
    readonly session: DefinitionRun['environmentVariables'];
  },
): Promise<Definition> {
  const { accountId, job, index, files, session } = given;
  const place = `checkRunJobs.${index}`;
  const wrong = (key: string, message: string) =>
    fieldError('payload', [{ key: `${place}.${key}`, message }]);
  const { logicalId, group, testRetryStrategy, checkId, checkType, filePath, sourceInfo, ...fields } = job;
  const type = findCheckType(checkType);
  if (!type || type.pings) throw wrong('checkType', 'is not a check type that agents run');
  const stored = checkId ? await store.checks.find(accountId, checkId) : undefined;
  if (checkId && stored?.checkType !== checkType)
    throw wrong('checkId', `names no check of the type ${checkType}`);
  const written = {
    ...fields,
    ...withoutReferences(fields),
    ...withFiles(fields, files, (key, message) => wrong(key, message)),
  };
  const masked = maskedValues(type);
  const whole = stored ? fillMasked(masked, written, stored.definition) : written;
  const parsed = definitionSchema(type).safeParse(whole);
  if (!parsed.success) {
    throw validationError(
      'payload',
      parsed.error.issues.map((issue) => ({ ...issue, path: ['checkRunJobs', index, ...issue.path] })),
    );
  }
  const id = randomUUID();
  const definition = parsed.data as unknown as CheckDefinition;
  if (stored) {
    refuseMoved(masked, {
      ...{ body: written, stored: stored.definition, after: { ...definition } },
      ...(await keepingOf(store, stored, asWritten({ ...definition }), {
        group: group ?? undefined,
        session,
      })),
    });
  }
  const ofGroup = group ?? (await groupNamed(store, accountId, definition.groupId, wrong));
  return {
    id,
    account_id: accountId,
    logical_id: logicalId,
    source_file: filePath ?? null,
    check_type: type.name,
    name: definition.name,
    definition: JSON.stringify({
      ...definition,
      groupId: null,
      frequencyOffset: definition.frequencyOffset ?? defaultOffset(id, definition.frequency),
      retryStrategy: testRetryStrategy ?? null,
      doubleCheck: false,
      updatesSnapshots: sourceInfo?.updateSnapshots === true,
    }),
    // Retries of a group were not requested either.
    group_definition: ofGroup
      ? JSON.stringify({ ...ofGroup, retryStrategy: 'FALLBACK', doubleCheck: null })
      : null,
  };
}

async function groupNamed(
  store: HandlerDeps['store'],
  accountId: string,
  groupId: number | null,
  wrong: (key: string, message: string) => Error,
) {
  if (groupId === null) return undefined;
  const group = await store.groups.find(accountId, groupId);
  if (!group) throw wrong('groupId', `names no check group: ${groupId}`);
  return completeGroup(group);
}

/**
 * References of a project are resolved there, not here: the group comes with the definition, and runs of test sessions
 * open no incidents.
 */
function withoutReferences({ groupId }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return { triggerIncident: null, ...(typeof groupId === 'object' ? { groupId: null } : {}) };
}

const fileLists = ['dependencies', 'setupScriptDependencies', 'tearDownScriptDependencies'] as const;

/** Replaces file indexes by the files themselves. */
function withFiles(
  fields: Readonly<Record<string, unknown>>,
  files: DefinitionRun['sharedFiles'],
  wrong: (key: string, message: string) => Error,
): Record<string, unknown> {
  return Object.fromEntries(
    fileLists.flatMap((list) => {
      const named = fields[list];
      if (!Array.isArray(named)) return [];
      const found = named.map((one: unknown, at) => {
        if (typeof one !== 'number') return one;
        const file = files[one];
        if (!file) throw wrong(`${list}.${at}`, `is not an index of sharedFiles: ${one}`);
        return file;
      });
      return [[list, found]];
    }),
  );
}

/** Runs that are requested together are followed together. */
function suiteOf(jobs: readonly Job[]): string | null {
  const [first = null, ...others] = new Set(
    jobs.map(({ sourceInfo }) => sourceInfo?.checkRunSuiteId ?? null),
  );
  if (others.length === 0) return first;
  throw fieldError('payload', [
    { key: 'checkRunJobs.*.sourceInfo.checkRunSuiteId', message: 'must be the same in all of them' },
  ]);
}

/** The response identifies runs by these names. */
function requireOwnNames(jobs: readonly Job[]): void {
  const seen = new Set<string>();
  const twice = jobs.flatMap(({ logicalId }, index) => {
    const isTaken = seen.has(logicalId);
    seen.add(logicalId);
    return isTaken ? [{ key: `checkRunJobs.${index}.logicalId`, message: 'stands twice' }] : [];
  });
  if (twice.length > 0) throw fieldError('payload', twice);
}
