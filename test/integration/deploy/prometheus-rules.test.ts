import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { ownFamilies } from '../../../src/service/check-metrics/families.ts';

const root = join(import.meta.dirname, '../../..');
const textOf = (path: string) => readFileSync(join(root, path), 'utf8');
const namesIn = (text: string) => [...text.matchAll(/picket_\w+/g)].map(([name]) => name);

function expressionsOf(rules: string): string {
  const { groups } = parse(rules) as { groups: { rules: { expr: string }[] }[] };
  return groups
    .flatMap((group) => group.rules)
    .map(({ expr }) => expr)
    .join('\n');
}

it('uses metrics that the service has, with labels that they have', () => {
  const rules = textOf('deploy/prometheus/rules.yaml');
  const files = [
    'service/metrics/metrics.ts',
    'service/metrics/store-metrics.ts',
    'service/metrics/stored-metrics.ts',
    'service/metrics/queue-metrics.ts',
    'service/custom-domains/figures.ts',
    'extras/clickhouse/figures.ts',
    'checks/model/totals.ts',
  ];
  const metrics = files.map((file) => textOf(`src/${file}`)).join('');
  const names = namesIn(expressionsOf(rules));
  expect(names.length).toBeGreaterThan(2);
  for (const name of names) expect(metrics).toContain(`'${name}'`);
  for (const outcome of ['refused', 'given-up', 'rate-limited']) expect(rules).toContain(outcome);
});

it('uses metrics that checks have, in rules and on the dashboard, which uses existing rules', () => {
  const suffixes = { counter: ['_total'], histogram: ['_bucket', '_sum', '_count'], info: ['_info'] };
  const families = ownFamilies({ areBucketsShown: true });
  const known = new Set([
    'picket_check_metrics_cut',
    ...families.flatMap(({ name, type }) =>
      (type in suffixes ? suffixes[type as keyof typeof suffixes] : ['']).map((suffix) => name + suffix),
    ),
  ]);
  const rules = textOf('deploy/prometheus/checks.yaml');
  const dashboard = textOf('deploy/grafana/checks.json');
  for (const text of [expressionsOf(rules), dashboard]) {
    expect(namesIn(text).length).toBeGreaterThan(5);
    for (const name of namesIn(text)) expect(known).toContain(name);
  }
  const recorded = [...dashboard.matchAll(/picket:[\w:]+/g)].map(([name]) => name);
  expect(recorded.length).toBeGreaterThan(0);
  for (const name of recorded) expect(rules).toContain(`record: ${name}`);
  const { panels } = JSON.parse(dashboard) as { panels: { id: number }[] };
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
});
