import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageVersion } from '../../../src/lib/version.ts';
import { expectWhole } from './agreement.ts';
import {
  areValidValues,
  chart,
  chartFolder,
  defaultValues,
  merged,
  readOfChart,
  renderChart,
} from './chart.ts';
import { chartValues, wrongValues } from './chart-values.ts';
import { TemplateSet } from './go-template.ts';

describe('the Helm chart', () => {
  it('is of this version', () => {
    expect(chart.appVersion).toBe(packageVersion());
  });

  it.each(Object.entries(chartValues))('makes whole objects of the values of %s', (_, values) => {
    const objects = expectWhole(renderChart(values));
    expect(objects.length).toBeGreaterThan(1);
  });

  it('reads each of its values', () => {
    const inUse = new Set<string>();
    const seen = (value: unknown, path: string): unknown =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? new Proxy(value as object, {
            get: (target, name) => {
              const inner = Reflect.get(target, name) as unknown;
              if (typeof name !== 'string') return inner;
              inUse.add(`${path}${name}`);
              return seen(inner, `${path}${name}.`);
            },
          })
        : value;
    for (const values of Object.values(chartValues)) {
      const templates = new TemplateSet();
      const files = readdirSync(join(chartFolder, 'templates')).sort();
      const all = files.map((name) => templates.parse(readOfChart(`templates/${name}`)));
      const data = {
        Values: seen(merged(defaultValues, values), ''),
        Chart: chart,
        Release: { Name: 'lab' },
      };
      for (const one of all) one(data);
    }
    const leaves = (value: unknown, path: string): string[] =>
      typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
        ? Object.entries(value).flatMap(([name, inner]) =>
            leaves(inner, path === '' ? name : `${path}.${name}`),
          )
        : [path];
    const unused = leaves(defaultValues, '').filter(
      (path) =>
        !inUse.has(path) && ![...inUse].some((used) => path.startsWith(`${used}.`) && isPassedOn(used)),
    );
    expect(unused).toEqual([]);
  });

  it.each(wrongValues)('refuses values with $says', ({ values, says }) => {
    expect(() => renderChart(values)).toThrow(says);
  });

  it('refuses values that it does not know', () => {
    expect(areValidValues(merged(defaultValues, { agent: { replica: 3 } }))).toBe(false);
    expect(areValidValues(merged(defaultValues, { agent: { jobConcurrency: 11 } }))).toBe(false);
    expect(areValidValues(merged(defaultValues, { image: { digest: 'latest' } }))).toBe(false);
  });

  it('is not taken in by misspelt fields', () => {
    const objects = renderChart(chartValues['an agent'] ?? {});
    const text = JSON.stringify(objects);
    for (const [right, wrong] of [
      ['"runAsNonRoot"', '"runAsNonRot"'],
      ['"readinessProbe"', '"readinesProbe"'],
      ['"SHUTDOWN_GRACE_SECONDS"', '"SHUTDOWN_GRACE_SECOND"'],
      ['"terminationGracePeriodSeconds":330', '"terminationGracePeriodSeconds":300'],
      ['"name":"spool","mountPath"', '"name":"spol","mountPath"'],
    ] as const) {
      expect(text).toContain(right);
      const broken = JSON.parse(text.replace(right, wrong)) as unknown[];
      expect(() => expectWhole(broken), wrong).toThrow();
    }
  });
});

/** Values that go into the object as they are. */
function isPassedOn(path: string): boolean {
  return /(resources|settings|podAnnotations|nodeSelector|tolerations|affinity)$/.test(path);
}
