import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '../../..');
const rules = readFileSync(join(root, 'deploy/prometheus/rules.yaml'), 'utf8');

it('asks for metrics that the service has, with labels that they have', () => {
  const metrics = readFileSync(join(root, 'src/service/metrics.ts'), 'utf8');
  const { groups } = parse(rules) as { groups: { rules: { expr: string }[] }[] };
  const names = groups
    .flatMap((group) => group.rules)
    .flatMap(({ expr }) => [...expr.matchAll(/picket_\w+/g)].map(([name]) => name));
  expect(names.length).toBeGreaterThan(2);
  for (const name of names) expect(metrics).toContain(`'${name}'`);
  for (const outcome of ['refused', 'given-up', 'rate-limited']) expect(rules).toContain(outcome);
});
