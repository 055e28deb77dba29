import type { EnvironmentVariable } from '@picket/checks/contract/definition/common-fields.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';

/** Variables of a stored test session, which override those of its checks. */
export const sessionVariables = storedValue<readonly EnvironmentVariable[]>(
  'test_sessions.environment_variables',
  [],
);
