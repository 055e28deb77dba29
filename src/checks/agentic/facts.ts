import { noFacts, type RunFacts } from '../contract/facts.ts';
import type { AgenticDetail } from './detail.ts';

export function agenticFacts({ errors }: AgenticDetail): RunFacts {
  const found = errors.map(({ error: { message } }) => ({ name: null, message, test: null }));
  return { ...noFacts, script: { errors: found, pageErrors: [] } };
}
