import type { EnvironmentVariable } from '@picket/checks/contract/definition/common-fields.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';

/** The variables of a stored test session, which win over those of its checks. */
export const sessionVariables = storedValue<readonly EnvironmentVariable[]>(
  'test_sessions.environment_variables',
  [],
);
