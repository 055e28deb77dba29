import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { completeDefinition } from '@picket/checks/contract/definition/definition.ts';
import { findCheckType } from '@picket/checks/index.ts';
import type { Warning } from '@picket/protocol/http/warning.ts';
import type { Check } from '../store.ts';

const lifecycleFields = [
  'setupSnippetId',
  'localSetupScript',
  'setupScriptPath',
  'setupScriptDependencies',
  'tearDownSnippetId',
  'localTearDownScript',
  'tearDownScriptPath',
  'tearDownScriptDependencies',
];

/** When and where agents run a check. */
const fieldsOfRuns = ['frequency', 'locations', 'privateLocations', 'runParallel'];

/** Fields of every check that have no effect for a type. Allowed in bodies, because existing clients send them. */
export function fieldsWithoutEffect(type: CheckType): string[] {
  const usesLifecycle = type.usesLifecycleScripts === true;
  return [
    ...(type.pings ? fieldsOfRuns : []),
    ...(type.isRetried === false ? ['retryStrategy', 'doubleCheck'] : []),
    ...(usesLifecycle ? [] : lifecycleFields),
    ...(usesLifecycle || type.needsRuntime ? [] : ['runtimeId']),
    ...('shouldFail' in type.spec.shape ? [] : ['shouldFail']),
    ...('scriptPath' in type.spec.shape ? [] : ['scriptPath']),
  ];
}

/** Warnings for such fields of a check if they differ from their defaults. */
export function effectWarnings({
  checkType,
  definition,
}: Pick<Check, 'checkType' | 'definition'>): Warning[] {
  const type = findCheckType(checkType);
  if (!type) return [];
  const usual = completeDefinition(type, {});
  const named = fieldsWithoutEffect(type)
    .filter((field) => isSet((definition as Record<string, unknown>)[field], usual[field]))
    .map((field) => `"${field}"`);
  if (named.length === 0) return [];
  const [last, ...others] = named.toReversed();
  const list = others.length === 0 ? last : `${others.toReversed().join(', ')} and ${last}`;
  const message = `${list} ${others.length === 0 ? 'has' : 'have'} no effect: checks of type ${type.name} do not use ${others.length === 0 ? 'it' : 'them'}. Leave ${others.length === 0 ? 'it' : 'them'} out.`;
  return [{ code: 'NO_EFFECT', message }];
}

function isSet(value: unknown, usual: unknown): boolean {
  const isEmpty = value === undefined || value === null || value === '';
  return !isEmpty && JSON.stringify(value) !== JSON.stringify(usual ?? null);
}
